/* The states of the URL standard, in order: scheme, authority, port, path, query.
 *
 * What: the reference, which accepts everything that the standard does. url_fast.h gives the same
 * result for input that is in normal form already, which most links are.
 * Threads: pure functions; a Url belongs to one thread.
 * Errors: those of url_parse.
 * Source: url.spec.whatwg.org, "URL parsing". */
#ifndef PARSE_URL_URL_STANDARD_H
#define PARSE_URL_URL_STANDARD_H

#include "parse/url/url_types.h"

/* Arguments as url_parse_in_document. */
Result url_parse_standard(Url *out, const Url *base, const char *input, size_t length,
                          const char *encoding);

#endif
