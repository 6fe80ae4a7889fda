/* How far a text needs no decoding: spans of ASCII and of well-formed UTF-8.
 *
 * What: most pages are one such span and are parsed in place. Sixteen to thirty-two bytes are
 * looked at in one step.
 * Threads: pure functions. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Eight bytes, for looking at all of them at once. */
static inline uint64_t charset_load_64(const char *p)
{
    uint64_t x = 0;
    memcpy(&x, p, sizeof x);
    return x;
}

/* The length of the longest prefix that is well-formed UTF-8 and holds no NUL. */
size_t charset_utf8_span(const char *bytes, size_t length);
/* The same for bytes 0x01-0x7F. */
size_t charset_ascii_span(const char *bytes, size_t length);
/* Looks at one sequence that begins with a byte >= 0x80: its length when it is well-formed, or 0
 * and in *bad the length of the maximal subpart, which one U+FFFD replaces. */
size_t charset_utf8_sequence(const unsigned char *p, size_t left, size_t *bad);
