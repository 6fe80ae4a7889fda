#include "parse/url/url_encode.h"

#include <stdlib.h>
#include <string.h>

#include "parse/charset/charset_span.h"

/* ---- The text of a Url while it is written from left to right ---- */

#define URL_FIRST_BYTES 128

void url_init(Url *url)
{
    *url = (Url){.href = NULL};
}

void url_destroy(Url *url)
{
    free(url->href);
    url_init(url);
}

void url_clear(Url *url)
{
    char *href = url->href;
    uint32_t capacity = url->capacity;
    *url = (Url){.href = href, .capacity = capacity};
    if (href != NULL) {
        href[0] = '\0';
    }
}

Result url_reserve(Url *url, size_t capacity)
{
    if (capacity < url->capacity) {
        return RESULT_OK;
    }
    size_t bytes = url->capacity < URL_FIRST_BYTES ? URL_FIRST_BYTES : url->capacity;
    while (bytes <= capacity) {
        bytes *= 2;
    }
    if (bytes > UINT32_MAX) {
        return RESULT_LIMIT;
    }
    char *href = realloc(url->href, bytes);
    if (href == NULL) {
        return RESULT_MEMORY;
    }
    url->href = href;
    url->capacity = (uint32_t)bytes;
    return RESULT_OK;
}

Result url_append(Url *url, const char *bytes, size_t length)
{
    Result rc = url_reserve(url, url->length + length);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (length > 0) {
        memcpy(url->href + url->length, bytes, length);
        url->length += (uint32_t)length;
    }
    return RESULT_OK;
}

/* ---- Bytes of URLs ---- */

const uint8_t url_class[256] = {
    0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x90, 0x90, 0x10, 0x10, 0x90, 0x10, 0x10,
    0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10,
    0x10, 0x07, 0x00, 0x50, 0x07, 0x17, 0x07, 0x05, 0x07, 0x07, 0x07, 0x27, 0x07, 0x2f, 0x2f, 0x52,
    0x2f, 0x2f, 0x2f, 0x2f, 0x2f, 0x2f, 0x2f, 0x2f, 0x2f, 0x2f, 0x13, 0x03, 0x10, 0x03, 0x10, 0x52,
    0x13, 0x27, 0x27, 0x27, 0x27, 0x27, 0x27, 0x27, 0x27, 0x27, 0x27, 0x27, 0x27, 0x27, 0x27, 0x27,
    0x27, 0x27, 0x27, 0x27, 0x27, 0x27, 0x27, 0x27, 0x27, 0x27, 0x27, 0x13, 0x52, 0x13, 0x12, 0x0f,
    0x02, 0x2f, 0x2f, 0x2f, 0x2f, 0x2f, 0x2f, 0x2f, 0x2f, 0x2f, 0x2f, 0x2f, 0x2f, 0x2f, 0x2f, 0x2f,
    0x2f, 0x2f, 0x2f, 0x2f, 0x2f, 0x2f, 0x2f, 0x2f, 0x2f, 0x2f, 0x2f, 0x02, 0x13, 0x02, 0x07, 0x10,
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
};

static const char hex_digits[] = "0123456789ABCDEF";

Result url_encode_append(Url *out, const char *bytes, size_t length, unsigned safe)
{
    size_t n_unsafe = 0;
    for (size_t i = 0; i < length; i++) {
        n_unsafe += (url_class_of(bytes[i]) & safe) == 0;
    }
    if (n_unsafe == 0) {
        return url_append(out, bytes, length);
    }
    Result rc = url_reserve(out, out->length + length + 2 * n_unsafe);
    if (rc != RESULT_OK) {
        return rc;
    }
    for (size_t i = 0; i < length; i++) {
        if ((url_class_of(bytes[i]) & safe) != 0) {
            url_put(out, bytes[i]);
        } else {
            /* Room for three bytes was reserved. */
            unsigned char byte = (unsigned char)bytes[i];
            url_put(out, '%');
            url_put(out, hex_digits[byte >> 4]);
            url_put(out, hex_digits[byte & 15]);
        }
    }
    return RESULT_OK;
}

/* The length of the sequence at p, or 0 and in *bad what becomes one U+FFFD. */
static size_t utf8_length(const unsigned char *p, const unsigned char *end, size_t *bad)
{
    return *p < 0x80 ? 1 : charset_utf8_sequence(p, (size_t)(end - p), bad);
}

bool url_encode_is_clean(const char *input, size_t length)
{
    const unsigned char *p = (const unsigned char *)input;
    const unsigned char *end = p + length;
    while (p < end) {
        size_t bad = 0;
        size_t n = 1;
        if ((url_class[*p] & URL_UNCLEAN) != 0) {
            n = *p < 0x80 ? 0 : utf8_length(p, end, &bad);
        }
        if (n == 0) {
            return false;
        }
        p += n;
    }
    return true;
}

size_t url_encode_clean(const char *input, size_t length, char *out)
{
    const unsigned char *p = (const unsigned char *)input;
    const unsigned char *end = p + length;
    char *to = out;
    while (p < end) {
        if (*p == '\t' || *p == '\n' || *p == '\r') {
            p++;
            continue;
        }
        size_t bad = 0;
        size_t n = utf8_length(p, end, &bad);
        if (n > 0) {
            memcpy(to, p, n);
            to += n;
            p += n;
        } else {
            memcpy(to, "\xEF\xBF\xBD", 3);
            to += 3;
            p += bad;
        }
    }
    return (size_t)(to - out);
}

uint32_t url_utf8_next(const char **p)
{
    const unsigned char *s = (const unsigned char *)*p;
    unsigned lead = s[0];
    if (lead < 0x80) {
        *p += 1;
        return lead;
    }
    if (lead < 0xE0) {
        *p += 2;
        return (lead & 0x1Fu) << 6 | (s[1] & 0x3Fu);
    }
    if (lead < 0xF0) {
        *p += 3;
        return (lead & 0x0Fu) << 12 | (s[1] & 0x3Fu) << 6 | (s[2] & 0x3Fu);
    }
    *p += 4;
    return (lead & 0x07u) << 18 | (s[1] & 0x3Fu) << 12 | (s[2] & 0x3Fu) << 6 | (s[3] & 0x3Fu);
}
