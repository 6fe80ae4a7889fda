/* Filter, its types: what an expression is compiled into.
 *
 * What: the types that its parts share; filter.h has the functions.
 * Owns: what each comment says.
 * Threads: as filter.h says. */
#pragma once

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
    FILTER_HAS_USAGE = 64, /* what the site says of the page's use */
    FILTER_HAS_ALL = 127,
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
    bool is_unread;        /* nobody knows that: it was not fetched */
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

/* The table of atoms, for help: the i-th, or NULL behind the last. Static. */
typedef struct FilterAtomHelp {
    const char *name;
    const char *arguments;
    const char *help;
} FilterAtomHelp;

/* RESULT_MEMORY. A scratch works with every filter. */
Result filter_scratch_new(FilterScratch **scratch);
void filter_scratch_delete(FilterScratch *scratch);
/* How many matches were given up because a regular expression ran into its limit. Such an atom is
 * false; the operator should see the count. */
uint64_t filter_scratch_given_up(const FilterScratch *scratch);
