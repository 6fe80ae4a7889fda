/* Domain to ASCII: host names outside ASCII as browsers write them.
 *
 * What: UTS 46, non-transitional, no STD3 rules, hyphens and DNS lengths unchecked, joiners and
 * bidi checked.
 * Threads: pure functions.
 * Errors: RESULT_INVALID, RESULT_LIMIT (longer than any name can be), RESULT_MEMORY.
 * Source: unicode.org/reports/tr46; RFC 3492 (Punycode); RFC 5892, 5893. */
#ifndef PARSE_URL_URL_IDNA_H
#define PARSE_URL_URL_IDNA_H

#include "parse/url/url_types.h"

/* Normalization form C of host names: what UTS 46 asks for between mapping and splitting.
 *
 * What: Hangul by arithmetic, the rest by table.
 * Threads: pure functions.
 * Source: UAX 15. */

/* A growing array of code points. */
typedef struct UrlCodes {
    uint32_t *at; /* owned */
    size_t n;
} UrlCodes;

void url_codes_destroy(UrlCodes *codes);

/* Appends the composed form of in[0..n) to out, which is empty. RESULT_MEMORY. */
Result url_nfc(const uint32_t *in, size_t n, UrlCodes *out);

/* Appends the ASCII form of a valid UTF-8 domain that is not all ASCII. */
Result url_idna_append(Url *out, const char *domain, size_t length);

#endif
