/* Normalization form C of host names: what UTS 46 asks for between mapping and splitting.
 *
 * What: Hangul by arithmetic, the rest by table.
 * Threads: pure functions.
 * Source: UAX 15. */
#ifndef PARSE_URL_URL_NFC_H
#define PARSE_URL_URL_NFC_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"

/* A growing array of code points. */
typedef struct UrlCodes {
    uint32_t *at; /* owned */
    size_t n;
    size_t capacity;
} UrlCodes;

void url_codes_destroy(UrlCodes *codes);
/* RESULT_MEMORY. */
Result url_codes_add(UrlCodes *codes, uint32_t c);

/* The packed properties of a code point (url_idna_tables.h). */
unsigned url_nfc_properties(uint32_t c);

/* Appends the composed form of in[0..n) to out, which is empty. RESULT_MEMORY. */
Result url_nfc(const uint32_t *in, size_t n, UrlCodes *out);

#endif
