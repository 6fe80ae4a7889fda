/* Domain set: names of hosts, each of which stands for itself and for all hosts below it.
 *
 * What: "example.org" covers www.example.org; either may end in the dot of the root. A look costs
 * one hash for each label of the name that is asked for, however large the set is.
 * Owns: its copies of the names.
 * Threads: readers any; the set is filled by one thread before. */
#pragma once

#include "base/memory/map.h"
#include "base/memory/buffer.h"

typedef struct DomainSet {
    Map hashes; /* of lower-case names, to the names */
    char **names;
    size_t n;
} DomainSet; /* all zero: an empty set */

/* Adds one name, in lower case. RESULT_MEMORY. */
Result domain_set_add(DomainSet *set, const char *name, size_t length);
/* Adds a list with commas or blanks between the names. RESULT_MEMORY. */
Result domain_set_parse(DomainSet *set, const char *list);
void domain_set_destroy(DomainSet *set);
/* The name in the set that covers this host, or NULL. */
const char *domain_set_find(const DomainSet *set, const char *host, size_t length);

/* URL regex: a regular expression (PCRE) that is looked for in URLs.
 *
 * What: compiled once, with a bound on what a match may cost.
 * Owns: the caller owns the code.
 * Threads: any, once it is compiled.
 * Errors: error gets "NAME: column N: what is wrong". */

typedef struct pcre2_real_code_8 UrlRegex;

/* *regex is NULL for an empty text. name: for the message. RESULT_INVALID. */
Result url_regex_compile(const char *text, const char *name, UrlRegex **regex, Buffer *error);
void url_regex_delete(UrlRegex *regex); /* NULL is allowed */
/* Whether it is found in the URL. at_limit: what counts when the match runs into its bound. */
bool url_regex_find(const UrlRegex *regex, const char *url, size_t length, bool at_limit);
