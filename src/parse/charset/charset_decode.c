#include "parse/charset/charset.h"

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "parse/charset/charset_sink.h"
#include "parse/charset/charset_tables.h"

/* ---- the sink ---- */

void charset_sink_flush(CharsetSink *sink)
{
    size_t n = sink->used;
    sink->used = 0;
    if (sink->rc != RESULT_OK) {
        return;
    }
    Result rc = buffer_append(sink->out, sink->block, n);
    if (rc == RESULT_LIMIT) {
        size_t fits = sink->out->limit - sink->out->length;
        while (fits > 0 && ((unsigned char)sink->block[fits] & 0xC0) == 0x80) {
            fits--;
        }
        (void)buffer_append(sink->out, sink->block, fits);
    }
    sink->rc = rc;
}

void charset_sink_bytes(CharsetSink *sink, const char *bytes, size_t length)
{
    while (length > 0) {
        if (sink->used > CHARSET_BLOCK_BYTES - 8) {
            charset_sink_flush(sink);
        }
        size_t n = CHARSET_BLOCK_BYTES - sink->used;
        if (length <= n) {
            n = length;
        } else {
            while (((unsigned char)bytes[n] & 0xC0) == 0x80) {
                n--;
            }
        }
        memcpy(sink->block + sink->used, bytes, n);
        sink->used += n;
        bytes += n;
        length -= n;
    }
}

/* ---- spans ---- */

static uint64_t load_64(const char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

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
        uint64_t x = load_64(bytes + i);
        if ((((x - UINT64_C(0x0101010101010101)) | x) & UINT64_C(0x8080808080808080)) != 0) {
            break;
        }
    }
    while (i < length && (signed char)bytes[i] > 0) {
        i++;
    }
    return i;
}

/* Looks at one sequence that begins with a byte >= 0x80: its length when it is well-formed, or 0
 * and in *bad the length of the maximal subpart, which one U+FFFD replaces. */
static size_t utf8_sequence(const unsigned char *p, size_t left, size_t *bad)
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
            size_t n = utf8_sequence((const unsigned char *)bytes + i, length - i, &bad);
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

bool charset_is_ascii_superset(const char *encoding)
{
    return strncmp(encoding, "UTF-16", 6) != 0 && strcmp(encoding, "ISO-2022-JP") != 0 &&
           strcmp(encoding, "replacement") != 0;
}

/* ---- decoders ---- */

static void decode_utf8(const unsigned char *p, size_t length, CharsetSink *sink)
{
    size_t i = 0;
    while (i < length && sink->rc == RESULT_OK) {
        size_t good = charset_utf8_span((const char *)p + i, length - i);
        charset_sink_bytes(sink, (const char *)p + i, good);
        i += good;
        if (i < length) {
            size_t bad = 1;
            if (p[i] != 0) {
                (void)utf8_sequence(p + i, length - i, &bad);
            }
            charset_sink_put(sink, CHARSET_REPLACEMENT);
            i += bad;
        }
    }
}

static void decode_utf16(const unsigned char *p, size_t length, bool big, CharsetSink *sink)
{
    size_t high_at = big ? 0 : 1;
    size_t i = 0;
    while (i + 1 < length && sink->rc == RESULT_OK) {
        uint32_t c = (uint32_t)p[i + high_at] << 8 | p[i + 1 - high_at];
        i += 2;
        if (c >= 0xDC00 && c <= 0xDFFF) {
            c = CHARSET_REPLACEMENT;
        } else if (c >= 0xD800 && c <= 0xDBFF) {
            uint32_t d = i + 1 < length ? (uint32_t)p[i + high_at] << 8 | p[i + 1 - high_at] : 0;
            if (d >= 0xDC00 && d <= 0xDFFF) {
                c = 0x10000 + ((c - 0xD800) << 10) + (d - 0xDC00);
                i += 2;
            } else {
                /* At the very end an odd byte belongs to the same error. */
                i += i + 1 == length ? 1 : 0;
                c = CHARSET_REPLACEMENT;
            }
        }
        charset_sink_put(sink, c);
    }
    if (i < length) {
        charset_sink_put(sink, CHARSET_REPLACEMENT);
    }
}

static void decode_single_byte(const unsigned char *p, size_t length, const uint16_t *high,
                               CharsetSink *sink)
{
    size_t i = 0;
    while (i < length && sink->rc == RESULT_OK) {
        if (i + 8 <= length && (load_64((const char *)p + i) & UINT64_C(0x8080808080808080)) == 0) {
            size_t ascii = charset_ascii_span((const char *)p + i, length - i);
            charset_sink_bytes(sink, (const char *)p + i, ascii);
            i += ascii;
            if (i == length) {
                break;
            }
        }
        charset_sink_put(sink, p[i] < 0x80 ? p[i] : high[p[i] - 0x80]); /* 0 is put as U+FFFD */
        i++;
    }
}

static void decode_user_defined(const unsigned char *p, size_t length, CharsetSink *sink)
{
    for (size_t i = 0; i < length && sink->rc == RESULT_OK; i++) {
        charset_sink_put(sink, p[i] < 0x80 ? p[i] : 0xF780u + (p[i] - 0x80u));
    }
}

static size_t bom_length(const char *encoding, const unsigned char *p, size_t length)
{
    if (length >= 3 && strcmp(encoding, "UTF-8") == 0 && memcmp(p, "\xEF\xBB\xBF", 3) == 0) {
        return 3;
    }
    if (length >= 2 && ((strcmp(encoding, "UTF-16LE") == 0 && memcmp(p, "\xFF\xFE", 2) == 0) ||
                        (strcmp(encoding, "UTF-16BE") == 0 && memcmp(p, "\xFE\xFF", 2) == 0))) {
        return 2;
    }
    return 0;
}

Result charset_decode(const char *encoding, const char *body, size_t length, Buffer *out)
{
    const unsigned char *p = (const unsigned char *)body;
    size_t bom = bom_length(encoding, p, length);
    p += bom;
    length -= bom;
    CharsetSink sink;
    sink.out = out;
    sink.used = 0;
    sink.rc = RESULT_OK;
    const uint16_t *table = charset_single_byte_table(encoding);
    Result rc = RESULT_OK;
    if (strcmp(encoding, "UTF-8") == 0) {
        decode_utf8(p, length, &sink);
    } else if (table != NULL) {
        decode_single_byte(p, length, table, &sink);
    } else if (strcmp(encoding, "UTF-16LE") == 0 || strcmp(encoding, "UTF-16BE") == 0) {
        decode_utf16(p, length, encoding[6] == 'B', &sink);
    } else if (strcmp(encoding, "x-user-defined") == 0) {
        decode_user_defined(p, length, &sink);
    } else if (strcmp(encoding, "replacement") == 0) {
        if (length > 0) {
            charset_sink_put(&sink, CHARSET_REPLACEMENT);
        }
    } else {
        rc = charset_decode_cjk(encoding, p, length, &sink);
        rc = rc == RESULT_NOT_FOUND ? RESULT_INVALID : rc;
    }
    charset_sink_flush(&sink);
    return rc != RESULT_OK ? rc : sink.rc;
}
