/* URL regex: a regular expression (PCRE) that is looked for in URLs.
 *
 * What: compiled once, with a bound on what a match may cost.
 * Owns: the caller owns the code.
 * Threads: any, once it is compiled.
 * Errors: error gets "NAME: column N: what is wrong". */
#ifndef RULES_URL_REGEX_H
#define RULES_URL_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/result.h"
#include "base/memory/buffer.h"

typedef struct pcre2_real_code_8 UrlRegex;

/* *regex is NULL for an empty text. name: for the message. RESULT_INVALID. */
Result url_regex_compile(const char *text, const char *name, UrlRegex **regex, Buffer *error);
void url_regex_delete(UrlRegex *regex); /* NULL is allowed */
/* Whether it is found in the URL. at_limit: what counts when the match runs into its bound. */
bool url_regex_find(const UrlRegex *regex, const char *url, size_t length, bool at_limit);

#endif
