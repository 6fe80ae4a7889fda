#include "parse/text/json_text.h"

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define ESCAPE_BYTES 6u  /* of "\u001f" */
#define BLOCK_BYTES  16u /* may be written behind the end */

/* Writes one byte that may need an escape; returns where the next one goes. */
static char *put(char *out, unsigned char c)
{
    static const char digits[] = "0123456789abcdef";
    static const char letters[32] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f) {
        *out++ = (char)c;
        return out;
    }
    *out++ = '\\';
    if (c == '"' || c == '\\') {
        *out++ = (char)c;
    } else if (c < 0x20 && letters[c] != 0) {
        *out++ = letters[c];
    } else {
        memcpy(out, "u00", 3);
        out[3] = digits[c >> 4];
        out[4] = digits[c & 15];
        out += 5;
    }
    return out;
}

/* Writes text until less than a block of it is left; *p moves on. */
static char *put_blocks(char *out, const char **p, const char *end)
{
#ifdef __SSE2__
    const __m128i control = _mm_set1_epi8(0x1f);
    while (end - *p >= (ptrdiff_t)BLOCK_BYTES) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)*p);
        __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(x, control), x);
        __m128i quote = _mm_cmpeq_epi8(x, _mm_set1_epi8('"'));
        __m128i slash = _mm_cmpeq_epi8(x, _mm_set1_epi8('\\'));
        __m128i del = _mm_cmpeq_epi8(x, _mm_set1_epi8(0x7f));
        __m128i any = _mm_or_si128(_mm_or_si128(low, quote), _mm_or_si128(slash, del));
        unsigned mask = (unsigned)_mm_movemask_epi8(any);
        _mm_storeu_si128((__m128i *)(void *)out, x);
        if (mask == 0) {
            out += BLOCK_BYTES;
            *p += BLOCK_BYTES;
        } else {
            unsigned n = (unsigned)__builtin_ctz(mask);
            out = put(out + n, (unsigned char)(*p)[n]);
            *p += n + 1;
        }
    }
#else
    (void)p;
    (void)end;
#endif
    return out;
}

Result json_text_append(Buffer *out, const char *bytes, size_t length)
{
    /* In pieces, so that the room for the worst case stays small beside the text. */
    const size_t piece = 4096;
    size_t before = out->length;
    const char *p = bytes;
    const char *end = bytes + length;
    Result rc = buffer_append_char(out, '"');
    while (rc == RESULT_OK && p < end) {
        const char *stop = (size_t)(end - p) < piece ? end : p + piece;
        rc = buffer_reserve(out, (size_t)(stop - p) * ESCAPE_BYTES + BLOCK_BYTES);
        if (rc != RESULT_OK) {
            break;
        }
        char *at = put_blocks(out->data + out->length, &p, stop);
        while (p < stop) {
            at = put(at, (unsigned char)*p++);
        }
        *at = '\0';
        out->length = (size_t)(at - out->data);
    }
    rc = rc == RESULT_OK ? buffer_append_char(out, '"') : rc;
    if (rc != RESULT_OK) {
        out->length = before;
        if (out->data != NULL) {
            out->data[before] = '\0';
        }
    }
    return rc;
}
