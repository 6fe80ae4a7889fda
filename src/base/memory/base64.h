/* Base64: the encoding of RFC 4648, and the digits of Base16.
 *
 * What: with the standard alphabet and "=" at the end, or with the alphabet of URLs and without
 * "=".
 * Threads: any; pure.
 * Errors: RESULT_MEMORY or RESULT_LIMIT of the buffer; RESULT_INVALID: the text is not Base64. */
#pragma once

#include "base/memory/buffer.h"

typedef enum Base64Kind {
    BASE64_STANDARD,
    BASE64_URL /* "-" and "_" in place of "+" and "/", no padding */
} Base64Kind;

/* Appends the text of length bytes. */
Result base64_append(Buffer *text, const void *bytes, size_t length, Base64Kind kind);
/* Appends what the text stands for; padding may be missing. */
Result base64_read(Buffer *bytes, const char *text, size_t length, Base64Kind kind);

/* The value of a hexadecimal digit, or -1. */
static inline int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}
