/* What the files of the filter language share; nobody else includes it.
 *
 *   filter.c        evaluation, explanation, scratch
 *   filter_parse.c  the grammar: text to code
 *   filter_args.c   the arguments of atoms, brought into the form they are compared in
 *   filter_atoms.c  the table of atoms and what each of them tests
 *   filter_lookup.c atoms by name, and the nearest name to a wrong one
 *   filter_set.c    sets of hosts from files */
#ifndef PARSE_FILTER_FILTER_INTERNAL_H
#define PARSE_FILTER_FILTER_INTERNAL_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/memory/arena.h"
#include "parse/filter/filter.h"
#include "parse/filter/filter_set.h"

typedef struct FilterAtom FilterAtom;

typedef enum FilterArguments {
    FILTER_NO_ARGUMENTS,
    FILTER_TEXT,         /* as it is */
    FILTER_NAME_VALUES,  /* the same, at least two */
    FILTER_LOWER,        /* in lower case */
    FILTER_HOST,         /* a host name in the form of Url.href */
    FILTER_HOST_END,     /* the same, but may begin with a dot or inside a label */
    FILTER_URL,          /* a normalised URL */
    FILTER_EXTENSION,    /* lower case, without a dot */
    FILTER_HEX,          /* a digest: lower case, without "name:" */
    FILTER_NUMBER,       /* low */
    FILTER_TIMES,        /* low, at least 2 */
    FILTER_SIZE,         /* low, with K, Ki, M, Mi, G, Gi */
    FILTER_NUMBER_RANGE, /* "200" or "300-399" */
    FILTER_REGEX,        /* must match all of the text */
    FILTER_REGEX_SEARCH, /* must match anywhere */
    FILTER_FILE,         /* a set of hosts */
} FilterArguments;

typedef struct FilterAtomType {
    FilterAtomHelp help;
    FilterArguments arguments;
    bool is_list;   /* one or more arguments, else exactly one */
    unsigned needs; /* FILTER_HAS_... */
    bool (*matches)(const FilterAtom *atom, const FilterInput *input, FilterScratch *scratch);
} FilterAtomType;

typedef struct FilterItem {
    const char *text; /* NUL-terminated, in the filter's arena */
    size_t length;
    uint64_t low; /* numbers and ranges */
    uint64_t high;
} FilterItem;

struct FilterAtom {
    const FilterAtomType *type;
    FilterItem *items; /* in the filter's arena */
    size_t n_items;
    pcre2_code *regex; /* owned */
    FilterSet *set;    /* owned */
    size_t start;      /* where it stands in the expression */
    size_t end;
};

typedef enum FilterOp {
    FILTER_OP_TEST,          /* value = atom number argument */
    FILTER_OP_CONSTANT,      /* value = argument */
    FILTER_OP_NOT,           /* value = !value */
    FILTER_OP_JUMP_IF_FALSE, /* go on at argument when value is false */
    FILTER_OP_JUMP_IF_TRUE,
} FilterOp;

typedef struct FilterStep {
    FilterOp op;
    uint32_t argument;
} FilterStep;

struct Filter {
    Arena arena;
    char *text;
    FilterStep *code; /* owned */
    size_t n_code;
    FilterAtom *atoms; /* owned */
    size_t n_atoms;
};

struct FilterScratch {
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    uint64_t given_up;
};

/* What compiling carries around. */
typedef struct FilterCompiler {
    Filter *filter;
    const FilterOptions *options;
    FilterError *error;
    const char *text;
    size_t length;
    size_t at; /* next byte */
} FilterCompiler;

/* filter_atoms.c: the i-th type, or NULL behind the last. */
const FilterAtomType *filter_atom_type(size_t i);

/* filter_lookup.c: the type called name, or NULL. */
const FilterAtomType *filter_atom_find(const char *name, size_t length);
/* The name that is most like another, or NULL when none is. */
const char *filter_atom_nearest(const char *name, size_t length);

/* filter_parse.c: fills the error with what is wrong at a byte of the text. RESULT_INVALID. */
Result filter_fail(FilterCompiler *compiler, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* filter_args.c: reads "( arguments )" from compiler->at on into atom, whose type is set. */
Result filter_read_arguments(FilterCompiler *compiler, FilterAtom *atom);

/* filter.c: whether the regular expression of atom matches. */
bool filter_regex_matches(const FilterAtom *atom, const char *text, size_t length,
                          FilterScratch *scratch);

#endif
