/* Bytes of URLs: their classes, percent-encoding, and the repair of UTF-8.
 *
 * What: one table says of each byte in which parts of a URL it may stand as it is.
 * Threads: pure functions.
 * Errors: RESULT_MEMORY.
 * Source: url.spec.whatwg.org, "Percent-encoded bytes". */
#pragma once

#include "base/memory/base64.h"
#include "parse/url/url_types.h"

/* The text of a Url while it is written from left to right.
 *
 * What: room is made before bytes are put, and kept from one parse to the next.
 * Owns: the string is the Url's.
 * Threads: a Url belongs to one thread.
 * Errors: RESULT_MEMORY; RESULT_LIMIT at 4 GiB, which no input that url.h accepts comes to. */

/* Empties a Url but keeps its memory. */
void url_clear(Url *url);
/* Makes room for capacity bytes and the NUL behind them. */
Result url_reserve(Url *url, size_t capacity);
/* Reserves and appends. */
Result url_append(Url *url, const char *bytes, size_t length);

static inline void url_put(Url *url, char c) /* room was reserved */
{
    url->href[url->length++] = c;
}

/* Classes of a byte; url_class[byte] is their sum. */
enum {
    URL_PATH_SAFE = 1,       /* stays as it is inside a path segment ('%' and '.' included) */
    URL_QUERY_SAFE = 2,      /* outside the special-query percent-encode set */
    URL_USERINFO_SAFE = 4,   /* outside the userinfo percent-encode set */
    URL_HOST_PLAIN = 8,      /* a-z 0-9 - . _ : a host made of them is in normal form */
    URL_HOST_FORBIDDEN = 16, /* forbidden domain code point */
    URL_SCHEME = 32,         /* alphanumeric + - . */
    URL_AUTHORITY_END = 64,  /* / \ ? # */
    URL_UNCLEAN = 128,       /* tab, LF, CR (to be removed), and bytes that may be bad UTF-8 */
};
extern const uint8_t url_class[256];

static inline unsigned url_class_of(char c)
{
    return url_class[(unsigned char)c];
}

/* Appends bytes, those that lack the class safe as %XX. */
Result url_encode_append(Url *out, const char *bytes, size_t length, unsigned safe);
/* Whether there is neither a tab nor a newline nor anything that is not UTF-8. */
bool url_encode_is_clean(const char *input, size_t length);
/* Copies input without tabs and newlines and with U+FFFD for what is not UTF-8; out must hold
 * 3 * length bytes. Returns the length. */
size_t url_encode_clean(const char *input, size_t length, char *out);
/* Decodes one code point of valid UTF-8. */
uint32_t url_utf8_next(const char **p);
