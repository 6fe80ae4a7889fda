#include "base/memory/json_writer.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define ONE_BYTES   6u  /* of "\u001f" */
#define BLOCK_BYTES 16u /* are looked at in one step, and may be written behind the end */
#define PIECE_BYTES ((size_t)4096)

void json_init(JsonWriter *json, Buffer *out)
{
    *json = (JsonWriter){.out = out};
}

static void json_writer_keep(JsonWriter *json, Result rc)
{
    if (json->result == RESULT_OK) {
        json->result = rc;
    }
}

/* Length of the UTF-8 sequence that begins there; 0 when it is none.
 * Source: Unicode 15, table 3-7.
 */
static size_t sequence(const unsigned char *p, size_t left)
{
    static const struct {
        unsigned char first, last, low, high;
        size_t n;
    } forms[] = {{0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
                 {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3},
                 {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
                 {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (p[0] < forms[i].first || p[0] > forms[i].last) {
            continue;
        }
        if (forms[i].n > left || p[1] < forms[i].low || p[1] > forms[i].high) {
            return 0;
        }
        for (size_t k = 2; k < forms[i].n; k++) {
            if ((p[k] & 0xC0) != 0x80) {
                return 0;
            }
        }
        return forms[i].n;
    }
    return 0;
}

/* Writes what stands for the bytes at p: an escape, a character, or U+FFFD for what is none. At
 * most ONE_BYTES; returns how many were written. */
static size_t put_one(char *out, const unsigned char *p, size_t left, size_t *used)
{
    static const char digits[] = "0123456789abcdef";
    static const char letters[32] = {['\t'] = 't', ['\n'] = 'n', ['\r'] = 'r'};
    unsigned char c = *p;
    *used = 1;
    if (c >= 0x80) {
        size_t n = sequence(p, left);
        if (n == 2 && c == 0xC2 && p[1] < 0xA0) { /* U+0080 to U+009F: terminals obey some */
            memcpy(out, "\\u00", 4);
            out[4] = digits[p[1] >> 4];
            out[5] = digits[p[1] & 15];
            *used = 2;
            return 6;
        }
        *used = n == 0 ? 1 : n;
        memcpy(out, n == 0 ? "\xEF\xBF\xBD" : (const char *)p, n == 0 ? 3 : n);
        return n == 0 ? 3 : n;
    }
    if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7F) {
        out[0] = (char)c;
        return 1;
    }
    out[0] = '\\';
    if (c == '"' || c == '\\' || (c < 0x20 && letters[c] != 0)) {
        out[1] = c < 0x20 ? letters[c] : (char)c;
        return 2;
    }
    memcpy(out + 1, "u00", 3);
    out[4] = digits[c >> 4];
    out[5] = digits[c & 15];
    return 6;
}

/* How many bytes at p stand for themselves, of BLOCK_BYTES that can be read; copies the block. */
static size_t put_block(char *out, const unsigned char *p)
{
#ifdef __SSE2__
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
    _mm_storeu_si128((__m128i *)(void *)out, x);
    /* Signed: what is beyond ASCII is below the space, too. */
    __m128i low = _mm_cmplt_epi8(x, _mm_set1_epi8(' '));
    __m128i quote = _mm_cmpeq_epi8(x, _mm_set1_epi8('"'));
    __m128i slash = _mm_cmpeq_epi8(x, _mm_set1_epi8('\\'));
    __m128i del = _mm_cmpeq_epi8(x, _mm_set1_epi8(0x7F));
    __m128i any = _mm_or_si128(_mm_or_si128(low, quote), _mm_or_si128(slash, del));
    unsigned mask = (unsigned)_mm_movemask_epi8(any);
    return mask == 0 ? BLOCK_BYTES : (size_t)__builtin_ctz(mask);
#else
    size_t n = 0;
    while (n < BLOCK_BYTES && p[n] >= 0x20 && p[n] < 0x7F && p[n] != '"' && p[n] != '\\') {
        out[n] = (char)p[n];
        n++;
    }
    return n;
#endif
}

/* Writes the bytes from *at up to stop, and those of a character that begins before it. */
static void put_piece(Buffer *out, const unsigned char *p, size_t *at, size_t stop, size_t length)
{
    char *to = out->data + out->length;
    size_t i = *at;
    while (i < stop) {
        size_t n = length - i >= BLOCK_BYTES ? put_block(to, p + i) : 0;
        to += n;
        i += n;
        if (i < length && n < BLOCK_BYTES) {
            to += put_one(to, p + i, length - i, &n);
            i += n;
        }
    }
    *to = '\0';
    out->length = (size_t)(to - out->data);
    *at = i;
}

Result json_append_text(Buffer *out, const char *bytes, size_t length)
{
    const unsigned char *p = (const unsigned char *)bytes;
    Result rc = buffer_append_char(out, '"');
    size_t at = 0;
    while (rc == RESULT_OK && at < length) {
        /* In pieces, so that the room for the worst case stays small beside the text. */
        size_t stop = length - at < PIECE_BYTES ? length : at + PIECE_BYTES;
        rc = buffer_reserve(out, (stop - at) * ONE_BYTES + 3 * BLOCK_BYTES);
        if (rc == RESULT_OK) {
            put_piece(out, p, &at, stop, length);
        } else if (rc == RESULT_LIMIT) { /* near the limit byte by byte: it may yet fit */
            char one[ONE_BYTES];
            size_t used = 0;
            size_t n = put_one(one, p + at, length - at, &used);
            rc = buffer_append(out, one, n);
            at += used;
        }
    }
    return rc == RESULT_OK ? buffer_append_char(out, '"') : rc;
}

/* What stands before a value. */
static void json_writer_start(JsonWriter *json, const char *name)
{
    if (json->depth > 0) {
        bool *has_member = &json->has_member[json->depth - 1];
        if (*has_member) {
            json_writer_keep(json, buffer_append_string(json->out, ", "));
        }
        *has_member = true;
    }
    if (name != NULL) {
        json_writer_keep(json, json_append_text(json->out, name, strlen(name)));
        json_writer_keep(json, buffer_append_string(json->out, ": "));
    }
}

void json_open(JsonWriter *json, const char *name, char bracket)
{
    assert(json->depth < JSON_DEPTH && (bracket == '{' || bracket == '['));
    json_writer_start(json, name);
    json_writer_keep(json, buffer_append_char(json->out, bracket));
    json->has_member[json->depth] = false;
    json->closing[json->depth++] = bracket == '{' ? '}' : ']';
}

void json_close(JsonWriter *json)
{
    assert(json->depth > 0);
    json_writer_keep(json, buffer_append_char(json->out, json->closing[--json->depth]));
}

void json_text(JsonWriter *json, const char *name, const char *bytes, size_t length)
{
    json_writer_start(json, name);
    json_writer_keep(json, json_append_text(json->out, bytes, length));
}

void json_string(JsonWriter *json, const char *name, const char *string)
{
    if (string == NULL) {
        json_null(json, name);
    } else {
        json_text(json, name, string, strlen(string));
    }
}

void json_integer(JsonWriter *json, const char *name, int64_t number)
{
    json_writer_start(json, name);
    json_writer_keep(json, buffer_printf(json->out, "%" PRId64, number));
}

void json_count(JsonWriter *json, const char *name, uint64_t number)
{
    json_writer_start(json, name);
    json_writer_keep(json, buffer_printf(json->out, "%" PRIu64, number));
}

void json_real(JsonWriter *json, const char *name, double number, int decimals)
{
    if (!isfinite(number)) {
        json_null(json, name);
        return;
    }
    json_writer_start(json, name);
    json_writer_keep(json, buffer_printf(json->out, "%.*f", decimals, number));
}

void json_bool(JsonWriter *json, const char *name, bool value)
{
    json_writer_start(json, name);
    json_writer_keep(json, buffer_append_string(json->out, value ? "true" : "false"));
}

void json_null(JsonWriter *json, const char *name)
{
    json_writer_start(json, name);
    json_writer_keep(json, buffer_append_string(json->out, "null"));
}

void json_raw(JsonWriter *json, const char *name, const char *bytes, size_t length)
{
    json_writer_start(json, name);
    json_writer_keep(json, buffer_append(json->out, bytes, length));
}
