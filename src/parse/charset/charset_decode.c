#include "parse/charset/charset.h"

#include <stdint.h>
#include <string.h>

#include "parse/charset/charset_cjk.h"
#include "parse/charset/charset_sink.h"
#include "parse/charset/charset_span.h"
#include "parse/charset/charset_tables.h"

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
                (void)charset_utf8_sequence(p + i, length - i, &bad);
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
        if (i + 8 <= length &&
            (charset_load_64((const char *)p + i) & UINT64_C(0x8080808080808080)) == 0) {
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

bool charset_is_single_byte(const char *encoding)
{
    return charset_single_byte_table(encoding) != NULL || strcmp(encoding, "x-user-defined") == 0 ||
           strcmp(encoding, "replacement") == 0;
}

size_t charset_bom_length(const char *encoding, const char *p, size_t length)
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
    size_t bom = charset_bom_length(encoding, body, length);
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
