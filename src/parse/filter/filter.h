/* Which URLs to schedule, fetch, parse, follow and store: BUbiNG's boolean filter language.
 *
 *   expression  = or
 *   or          = and { ("or" | "|" | "||" | U+2228) and }
 *   and         = not { ("and" | "&" | "&&" | U+2227) not }
 *   not         = { "not" | "!" | "~" | U+00AC } ground
 *   ground      = NAME "(" arguments ")" | "true" | "false" | "(" or ")"
 *
 * What: keywords may also be all upper case; white space is free; parentheses nest to any depth.
 * NAME is an atom of the table in filter_atoms.c (`ragno check filter --atoms` prints it). A class
 * name with dots, as BUbiNG takes, is its last part. Arguments are
 *
 * - "quoted": anything; \" is a quote, \\ a backslash, and any other backslash stands for itself,
 *   so "\d+" and "\\d+" are both the regular expression \d+;
 * - 'quoted': anything but a single quote;
 * - bare: up to the closing parenthesis that matches, trimmed; inner ones must be balanced, escaped
 *   or, in a regular expression, in brackets;
 * - lists of these, separated by "," (or "\,", as in BUbiNG's property files).
 *
 * A regular expression is PCRE2's, on bytes. URLMatchesRegex and ResponseMatches must match all of
 * the text, as in BUbiNG; URLContainsRegex and ResponseContainsRegex look anywhere. What an atom
 * asks about may be absent (no response yet, no source): then the atom is false.
 *
 * Expressions are compiled to a list of tests and jumps, so neither depth nor length costs stack.
 * Files are read by the caller's function, at compile time only.
 *
 * Owns: a Filter owns its code and arguments.
 * Threads: a Filter is immutable once compiled: any number of threads evaluate it, each with a
 * FilterScratch of its own. To change a filter in a running crawl, compile another and replace it.
 * Errors: RESULT_INVALID with message, column and hint; RESULT_MEMORY.
 * Source: BUbiNG's filter package and grammar. */
#ifndef PARSE_FILTER_FILTER_H
#define PARSE_FILTER_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"
#include "base/memory/buffer.h"
#include "parse/url/url.h"

#define FILTER_MAX_BYTES ((size_t)1024 * 1024) /* of an expression */

typedef struct Filter Filter;
typedef struct FilterScratch FilterScratch; /* one thread's memory for regular expressions */

/* What an atom needs to know beyond the URL; also what a hook has to offer. */
enum {
    FILTER_HAS_SOURCE = 1,   /* the page the URL was found on */
    FILTER_HAS_RESPONSE = 2, /* its body, and what was made of it */
    FILTER_HAS_DEPTH = 4,
    FILTER_HAS_STATUS = 8, /* of the response */
    FILTER_HAS_TYPE = 16,  /* Content-Type of the response */
    FILTER_HAS_TEXT = 32,  /* what is written: on a link and around it, or on a page */
    FILTER_HAS_ALL = 63,
};

/* What is asked about. Everything is borrowed; zero it first: absent is NULL, 0 or false. */
typedef struct FilterInput {
    const Url *url;    /* never NULL */
    const Url *source; /* page that links to url */
    bool has_depth;
    uint32_t depth;           /* links from a seed to url */
    int status;               /* HTTP status, 0 = no response */
    const char *content_type; /* header value */
    bool has_body;
    const char *body;
    size_t body_length;
    unsigned usage_denied; /* USAGE_... bits: what the page may not be used for */
    /* Of a link: the text on it, around it, and the title of the page that it is on; of a page: its
     * visible text and its title. */
    const char *anchor;
    size_t anchor_length;
    const char *text;
    size_t text_length;
    const char *title;  /* NUL-terminated */
    const char *digest; /* of the payload, hexadecimal, "name:" in front is ignored */
} FilterInput;

typedef struct FilterOptions {
    unsigned available; /* FILTER_HAS_...: an atom that needs more is an error */
    /* Reads a file of HostInFile or DomainInFile; NULL: such atoms are errors. */
    Result (*read_file)(void *context, const char *path, Buffer *out);
    void *context;
} FilterOptions;

/* Why an expression was refused. Texts are NUL-terminated and fit one line. */
typedef struct FilterError {
    size_t column;     /* of the first wrong character, 1-based, in characters (UTF-8) */
    char message[200]; /* "expected ...", "unknown atom 'X'" */
    char hint[80];     /* "did you mean HostEquals?" or "" */
} FilterError;

/* Compiles an expression. options may be NULL: everything available, no files. error is filled
 * whenever the result is not RESULT_OK: RESULT_INVALID for the expression, RESULT_LIMIT when it is
 * too long, RESULT_MEMORY, or what read_file said. */
Result filter_compile(Filter **filter, const char *text, size_t length,
                      const FilterOptions *options, FilterError *error);
void filter_delete(Filter *filter);
/* What its atoms ask about: FILTER_HAS_... */
unsigned filter_needs(const Filter *filter);

/* RESULT_MEMORY. A scratch works with every filter. */
Result filter_scratch_new(FilterScratch **scratch);
void filter_scratch_delete(FilterScratch *scratch);
/* How many matches were given up because a regular expression ran into its limit. Such an atom is
 * false; the operator should see the count. */
uint64_t filter_scratch_given_up(const FilterScratch *scratch);

/* Evaluates, from left to right, no more atoms than needed. */
bool filter_matches(const Filter *filter, const FilterInput *input, FilterScratch *scratch);
/* The same, and appends the atoms that were evaluated ("HostEquals(a.com) false, ..."): the reason
 * for `ragno why`. Errors as buffer_append. */
Result filter_explain(const Filter *filter, const FilterInput *input, FilterScratch *scratch,
                      bool *matches, Buffer *out);

/* The table of atoms, for help: the i-th, or NULL behind the last. Static. */
typedef struct FilterAtomHelp {
    const char *name;
    const char *arguments;
    const char *help;
} FilterAtomHelp;
const FilterAtomHelp *filter_atom_help(size_t i);

#endif
