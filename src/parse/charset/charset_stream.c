#include "parse/charset/charset_stream.h"

#include <string.h>

#include "parse/charset/charset.h"
#include "parse/charset/charset_span.h"

#define ESC          '\x1B'
#define ESCAPE_BYTES 3
/* No byte up to this one is part of a character of more than one byte: of ISO-2022-JP, where also
 * ESC begins what belongs together, and of the others. */
#define BLANK 0x20
#define SLASH 0x2F

void charset_stream_init(CharsetStream *stream)
{
    memset(stream, 0, sizeof *stream);
    buffer_init(&stream->waits, BUFFER_NO_LIMIT);
    buffer_init(&stream->text, BUFFER_NO_LIMIT);
}

void charset_stream_destroy(CharsetStream *stream)
{
    buffer_destroy(&stream->waits);
    buffer_destroy(&stream->text);
}

void charset_stream_begin(CharsetStream *stream, const char *encoding)
{
    stream->encoding = encoding;
    stream->has_begun = false;
    stream->is_ascii = true;
    stream->escape_length = 0;
    buffer_trim(&stream->waits, 2 * CHARSET_STREAM_WAITS);
    buffer_trim(&stream->text, 8 * CHARSET_STREAM_WAITS);
}

/* ---- where a text may be cut ---- */

static bool is_jp(const CharsetStream *s)
{
    return strcmp(s->encoding, "ISO-2022-JP") == 0;
}

/* Behind the last byte that is a character of its own; one byte stays, which shows whether an
 * escape sequence follows. */
static size_t cut_multi_byte(const unsigned char *p, size_t length, unsigned most)
{
    size_t i = length > 0 ? length - 1 : 0;
    while (i > 0 && (p[i - 1] > most || p[i - 1] == ESC)) {
        i--;
    }
    return i == 0 && length > CHARSET_STREAM_WAITS ? length - 1 : i;
}

static size_t cut_of(const CharsetStream *s, const char *bytes, size_t length)
{
    const unsigned char *p = (const unsigned char *)bytes;
    if (strcmp(s->encoding, "UTF-8") == 0) {
        /* The length of what is before a sequence that goes on behind the end. */
        size_t i = length;
        while (i > 0 && length - i < 3 && (p[i - 1] & 0xC0) == 0x80) {
            i--;
        }
        bool is_lead = i > 0 && p[i - 1] >= 0xC0;
        return is_lead ? i - 1 : length;
    }
    if (strncmp(s->encoding, "UTF-16", 6) == 0) {
        bool big = s->encoding[6] == 'B';
        size_t even = length & ~(size_t)1;
        if (even >= 2) {
            unsigned high = p[even - (big ? 2 : 1)];
            even -= high >= 0xD8 && high <= 0xDB ? 2 : 0;
        }
        return even;
    }
    if (charset_is_single_byte(s->encoding)) {
        return length;
    }
    return cut_multi_byte(p, length, is_jp(s) ? BLANK : SLASH);
}

/* ---- decoding ---- */

/* A BOM is dropped at the document's beginning only: those that a later piece begins with are text,
 * which charset_decode would drop one of. */
static Result keep_boms(CharsetStream *s, const char **bytes, size_t *length)
{
    static const char bom[] = "\xEF\xBB\xBF";
    size_t n = s->has_begun ? charset_bom_length(s->encoding, *bytes, *length) : 0;
    while (n > 0) {
        *bytes += n;
        *length -= n;
        (void)buffer_append(&s->text, bom, sizeof bom - 1);
        n = charset_bom_length(s->encoding, *bytes, *length);
    }
    return s->text.failed; /* an error sticks */
}

static bool charset_stream_is_escape(const char *p, const char *end)
{
    return end - p >= ESCAPE_BYTES && p[0] == ESC &&
           ((p[1] == '$' && (p[2] == '@' || p[2] == 'B')) ||
            (p[1] == '(' && (p[2] == 'B' || p[2] == 'J' || p[2] == 'I')));
}

/* Decodes behind what is in s->text. */
static Result charset_stream_decode(CharsetStream *s, const char *bytes, size_t length)
{
    if (strcmp(s->encoding, "replacement") == 0 && s->has_begun) {
        return RESULT_OK; /* it is one character, however long */
    }
    Result rc = keep_boms(s, &bytes, &length);
    if (rc == RESULT_OK) {
        rc = charset_decode(s->encoding, bytes, length, &s->text);
    }
    return rc == RESULT_INVALID ? charset_decode("windows-1252", bytes, length, &s->text) : rc;
}

/* ISO-2022-JP: the text goes on in the characters that were in effect. */
static Result decode_jp(CharsetStream *s, const char *bytes, size_t length)
{
    Buffer whole = {.limit = BUFFER_NO_LIMIT};
    Result rc = RESULT_OK;
    if (length > 0 && !charset_stream_is_escape(bytes, bytes + length)) {
        rc = buffer_append(&whole, s->escape, s->escape_length);
    }
    if (rc == RESULT_OK) {
        rc = buffer_append(&whole, bytes, length);
    }
    if (rc == RESULT_OK) {
        rc = charset_stream_decode(s, buffer_string(&whole), whole.length);
        /* Remembers the last escape sequence of a text that was decoded. */
        size_t i = length;
        while (i > 0 && !charset_stream_is_escape(bytes + i - 1, bytes + length)) {
            i--;
        }
        if (i > 0) {
            memcpy(s->escape, bytes + i - 1, ESCAPE_BYTES);
            s->escape_length = ESCAPE_BYTES;
        }
    }
    buffer_destroy(&whole);
    return rc;
}

/* Whether the text of these bytes are the bytes. */
static bool is_clean(const CharsetStream *s, const char *bytes, size_t length)
{
    if (strcmp(s->encoding, "UTF-8") == 0) {
        return (s->has_begun || charset_bom_length(s->encoding, bytes, length) == 0) &&
               charset_utf8_span(bytes, length) == length;
    }
    return charset_is_ascii_superset(s->encoding) && charset_ascii_span(bytes, length) == length;
}

static Result charset_stream_give(CharsetStream *s, const char *bytes, size_t length,
                                  const char **text, size_t *text_length)
{
    Result rc = RESULT_OK;
    if (is_clean(s, bytes, length)) {
        *text = bytes;
        *text_length = length;
    } else {
        rc = is_jp(s) ? decode_jp(s, bytes, length) : charset_stream_decode(s, bytes, length);
        *text = buffer_string(&s->text);
        *text_length = s->text.length;
    }
    s->has_begun = s->has_begun || length > 0;
    return rc;
}

/* The bytes that waited, and behind them the piece. */
static Result next_of_both(CharsetStream *s, const char *bytes, size_t length, bool is_last,
                           const char **text, size_t *text_length)
{
    Result rc = buffer_append(&s->waits, bytes, length);
    if (rc != RESULT_OK) {
        return rc;
    }
    size_t cut = is_last ? s->waits.length : cut_of(s, s->waits.data, s->waits.length);
    rc = charset_stream_give(s, s->waits.data, cut, text, text_length);
    if (*text == s->waits.data) { /* it is about to move */
        rc = buffer_append(&s->text, *text, *text_length);
        *text = buffer_string(&s->text);
    }
    memmove(s->waits.data, s->waits.data + cut, s->waits.length - cut);
    s->waits.length -= cut;
    return rc;
}

Result charset_stream_next(CharsetStream *stream, const char *bytes, size_t length, bool is_last,
                           const char **text, size_t *text_length)
{
    CharsetStream *s = stream;
    buffer_reset(&s->text);
    *text = "";
    *text_length = 0;
    s->is_ascii = s->is_ascii && (length == 0 || charset_ascii_span(bytes, length) == length);
    if (s->waits.length > 0) {
        return next_of_both(s, bytes, length, is_last, text, text_length);
    }
    if (length == 0) {
        return RESULT_OK;
    }
    size_t cut = is_last ? length : cut_of(s, bytes, length);
    Result rc = charset_stream_give(s, bytes, cut, text, text_length);
    return rc == RESULT_OK ? buffer_append(&s->waits, bytes + cut, length - cut) : rc;
}
