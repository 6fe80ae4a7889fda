#include "parse/charset/charset_span.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

size_t charset_ascii_span(const char *bytes, size_t length)
{
    size_t i = 0;
#ifdef __SSE2__
    /* As signed bytes, everything that ends the span is less than 1. */
    const __m128i one = _mm_set1_epi8(1);
    for (; i + 32 <= length; i += 32) {
        __m128i a = _mm_loadu_si128((const __m128i *)(const void *)(bytes + i));
        __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(bytes + i + 16));
        if (_mm_movemask_epi8(_mm_or_si128(_mm_cmplt_epi8(a, one), _mm_cmplt_epi8(b, one))) != 0) {
            break;
        }
    }
#endif
    for (; i + 8 <= length; i += 8) {
        uint64_t x = charset_load_64(bytes + i);
        if ((((x - UINT64_C(0x0101010101010101)) | x) & UINT64_C(0x8080808080808080)) != 0) {
            break;
        }
    }
    while (i < length && (signed char)bytes[i] > 0) {
        i++;
    }
    return i;
}

size_t charset_utf8_sequence(const unsigned char *p, size_t left, size_t *bad)
{
    unsigned lead = p[0];
    unsigned low = 0x80;
    unsigned high = 0xBF;
    size_t need = 0;
    if (lead >= 0xC2 && lead <= 0xDF) {
        need = 2;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
        need = 3;
        low = lead == 0xE0 ? 0xA0 : 0x80;
        high = lead == 0xED ? 0x9F : 0xBF;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
        need = 4;
        low = lead == 0xF0 ? 0x90 : 0x80;
        high = lead == 0xF4 ? 0x8F : 0xBF;
    } else {
        *bad = 1;
        return 0;
    }
    for (size_t i = 1; i < need; i++) {
        if (i >= left || p[i] < low || p[i] > high) {
            *bad = i;
            return 0;
        }
        low = 0x80;
        high = 0xBF;
    }
    return need;
}

size_t charset_utf8_span(const char *bytes, size_t length)
{
    size_t i = 0;
    size_t bad = 0;
    for (;;) {
        i += charset_ascii_span(bytes + i, length - i);
        /* Text in other scripts: stay here while it lasts. */
        while (i < length && (signed char)bytes[i] < 0) {
            size_t n = charset_utf8_sequence((const unsigned char *)bytes + i, length - i, &bad);
            if (n == 0) {
                return i;
            }
            i += n;
        }
        if (i >= length || bytes[i] == '\0') {
            return i;
        }
    }
}
