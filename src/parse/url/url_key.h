/* The dedup key of a URL: two URLs with one key are taken for one page and fetched once.
 *
 * What: the key is only compared, never fetched; what is fetched is always Url.href. It is made
 * from the href by these steps, in this order:
 *
 * 1. always: escapes that mean the same are written alike (RFC 3986 6.2.2): hexadecimal digits of
 *    "%3a" in upper case, and letters, digits, "-", ".", "_", "~" not escaped;
 * 2. session_ids: ";jsessionid=..." and its like are cut out of the path, and parameters that carry
 *    a session (sid, phpsessid, ... with a value that looks like one) out of the query;
 * 3. tracking: parameters that only say where a visitor came from (utm_*, gclid, fbclid, ...) are
 *    cut out of the query;
 * 4. index_pages: a last path segment "index.html" (default.asp, ...) is cut off;
 * 5. sorted_query: parameters are sorted by name, those of one name stay in order.
 *
 * A query that is emptied by steps 2 and 3 loses its "?". Steps 2 to 5 are off unless asked for:
 * each of them merges pages that differ on some servers. Linear time, but for the sorting.
 *
 * Owns: nothing.
 * Threads: pure functions.
 * Errors: those of the Buffer. */
#pragma once

#include "parse/url/url_types.h"

typedef struct UrlKeyOptions {
    bool session_ids;
    bool tracking;
    bool index_pages;
    bool sorted_query;
} UrlKeyOptions;

/* Appends the key. options may be NULL: all off. Errors as buffer_append; out is as before then. */
Result url_key(const Url *url, const UrlKeyOptions *options, Buffer *out);
