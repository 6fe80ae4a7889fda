/* One atom of a filter: its type, and its arguments in the form in which they are compared.
 *
 * What: the types are rows of the table in filter_tests.c; `matches` is a test of filter_tests.h.
 * Owns: regex and set; the items are in the arena of the filter.
 * Threads: immutable once the filter is compiled. */
#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "parse/filter/filter_types.h"
#include "base/memory/arena.h"
#include "base/memory/map.h"

/* A set of host names from a file: what HostInFile and DomainInFile look into.
 *
 * What: a map whose keys are 128-bit hashes of the names, 32 to 64 bytes each; its values say
 * nothing.
 * Owns: nothing; the map is the atom's.
 * Threads: immutable once built; any thread may ask.
 * Errors: RESULT_INVALID names the line; RESULT_MEMORY. */

/* Adds what a text says: one host or http(s) URL (its host counts) a line; blank lines and lines
 * that begin with "#" are skipped; names are brought to the form they have in Url.href.
 * RESULT_INVALID: *line is none of these. RESULT_MEMORY. */
Result filter_set_read(Map *set, const char *text, size_t length, size_t *line);

/* Whether a host is there; a trailing dot does not count. */
bool filter_set_contains(const Map *set, const char *host, size_t length);
/* Whether a host, or one of the domains above it, is there. */
bool filter_set_contains_domain(const Map *set, const char *host, size_t length);

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
    FILTER_USAGE,        /* low: the USAGE_... bits of its name */
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
    Map set;           /* of FILTER_FILE */
    size_t start;      /* where it stands in the expression */
    size_t end;
};

/* A compiled filter: steps over one truth value, with jumps.
 *
 * What: "and" and "or" are jumps over their right side, "not" turns the value round, and each atom
 * is a test that sets it.
 * Owns: code, atoms, and the arena with the text and the arguments.
 * Threads: immutable once compiled. */

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
