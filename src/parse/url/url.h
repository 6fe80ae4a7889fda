/* URLs as browsers understand them: parsing and resolution by the WHATWG URL standard, for http and
 * https.
 *
 * What: every link, redirect, sitemap entry and seed goes through url_parse before anything else
 * looks at it. What comes out is what is fetched, stored and compared. The standard's serialisation
 * is never rewritten further; a dedup key is another thing (url_key.h). Everything but http and
 * https is rejected.
 *
 * Two ways lead to the same result: url.c resolves what is in normal form already by one scan
 * with a table; everything else goes through the states of the standard in url.c.
 *
 * Owns: a Url owns one string, the serialised absolute URL without fragment, and offsets into it.
 * It is reused for one parse after another, so that resolving a link allocates nothing.
 * Threads: pure functions; a Url belongs to one thread. Invariants of a Url that holds something
 * (length > 0):
 * 1. href[0..length) is printable ASCII without fragment, NUL-terminated, at most URL_MAX_BYTES;
 * 2. "http" or "https" ":" "//" <= host_start < host_end <= path_start < query_start <= length;
 * 3. href[path_start] is '/'; href[query_start] is '?' or query_start is length;
 * 4. parsing href again gives the same Url.
 * Errors: RESULT_INVALID (not an http or https URL), RESULT_LIMIT, RESULT_MEMORY; the Url is then
 * empty.
 * Source: url.spec.whatwg.org; UTS 46 for host names. */
#pragma once

#include "parse/url/url_types.h"

/* URLs that are in normal form already, resolved by one scan with a table.
 *
 * What: most links need no state machine. This module accepts only what it is sure of.
 * Threads: pure functions; a Url belongs to one thread.
 * Invariants: whatever it accepts, url_parse_standard answers alike (tests/fuzz/fuzz_url.c). */

/* True when input was resolved. False when url.h must resolve it: out is then valid, with
 * unspecified content. */
bool url_fast_parse(Url *out, const Url *base, const char *input, size_t length);

/* The states of the URL standard, in order: scheme, authority, port, path, query.
 *
 * What: the reference, which accepts everything that the standard does. url.h gives the same
 * result for input that is in normal form already, which most links are.
 * Threads: pure functions; a Url belongs to one thread.
 * Errors: those of url_parse.
 * Source: url.spec.whatwg.org, "URL parsing". */

/* Arguments as url_parse_in_document. */
Result url_parse_standard(Url *out, const Url *base, const char *input, size_t length,
                          const char *encoding);

/* Parses input (any bytes; invalid UTF-8 is replaced as a browser would) against base, which may be
 * NULL when input must be absolute. out may not be base. RESULT_INVALID: not an http(s) URL;
 * RESULT_LIMIT: longer than URL_MAX_BYTES; RESULT_MEMORY. On failure out is empty. Linear time. */
Result url_parse(Url *out, const Url *base, const char *input, size_t length);
/* A word as in an address bar: without a scheme it is http. Errors as url_parse. */
Result url_parse_word(Url *out, const char *word);

/* The same for a link found in a document in a legacy encoding: its query is encoded in that
 * encoding (the path is always UTF-8). encoding is a WHATWG name ("windows-1251"), in any case, or
 * NULL for UTF-8; an unknown name is UTF-8. */
Result url_parse_in_document(Url *out, const Url *base, const char *input, size_t length,
                             const char *encoding);

/* "http://host:81": scheme and authority without userinfo, what a visit state is named by.
 * Appends to out; errors as buffer_append. */
Result url_origin(const Url *url, Buffer *out);
