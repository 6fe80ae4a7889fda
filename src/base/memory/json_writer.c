#include "base/memory/json_writer.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

void json_init(JsonWriter *json, Buffer *out)
{
    *json = (JsonWriter){.out = out};
}

static void keep(JsonWriter *json, Result rc)
{
    json->result = json->result == RESULT_OK ? rc : json->result;
}

/* Length of the UTF-8 sequence that begins there; 0 when it is none. Source: Unicode 15, table 3-7.
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

static Result append_one(Buffer *out, const unsigned char *p, size_t left, size_t *used)
{
    *used = 1;
    switch (*p) {
    case '"':
        return buffer_append_string(out, "\\\"");
    case '\\':
        return buffer_append_string(out, "\\\\");
    case '\n':
        return buffer_append_string(out, "\\n");
    case '\t':
        return buffer_append_string(out, "\\t");
    case '\r':
        return buffer_append_string(out, "\\r");
    default:
        break;
    }
    if (*p < 0x20 || *p == 0x7F) {
        return buffer_printf(out, "\\u%04x", (unsigned)*p);
    }
    if (*p < 0x80) {
        return buffer_append_char(out, (char)*p);
    }
    size_t n = sequence(p, left);
    if (n == 0) {
        return buffer_append_string(out, "\xEF\xBF\xBD");
    }
    *used = n;
    return buffer_append(out, p, n);
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

Result json_append_text(Buffer *out, const char *bytes, size_t length)
{
    const unsigned char *p = (const unsigned char *)bytes;
    Result rc = buffer_append_char(out, '"');
    size_t at = 0;
    while (rc == RESULT_OK && at < length) {
        size_t n = 0;
        while (at + n < length && is_plain(p[at + n])) {
            n++;
        }
        rc = n > 0 ? buffer_append(out, bytes + at, n) : append_one(out, p + at, length - at, &n);
        at += n;
    }
    return rc == RESULT_OK ? buffer_append_char(out, '"') : rc;
}

/* What stands before a value. */
static void start(JsonWriter *json, const char *name)
{
    if (json->depth > 0) {
        bool *has_member = &json->has_member[json->depth - 1];
        if (*has_member) {
            keep(json, buffer_append_string(json->out, ", "));
        }
        *has_member = true;
    }
    if (name != NULL) {
        keep(json, json_append_text(json->out, name, strlen(name)));
        keep(json, buffer_append_string(json->out, ": "));
    }
}

void json_open(JsonWriter *json, const char *name, char bracket)
{
    assert(json->depth < JSON_DEPTH && (bracket == '{' || bracket == '['));
    start(json, name);
    keep(json, buffer_append_char(json->out, bracket));
    json->has_member[json->depth] = false;
    json->closing[json->depth++] = bracket == '{' ? '}' : ']';
}

void json_close(JsonWriter *json)
{
    assert(json->depth > 0);
    keep(json, buffer_append_char(json->out, json->closing[--json->depth]));
}

void json_text(JsonWriter *json, const char *name, const char *bytes, size_t length)
{
    start(json, name);
    keep(json, json_append_text(json->out, bytes, length));
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
    start(json, name);
    keep(json, buffer_printf(json->out, "%" PRId64, number));
}

void json_count(JsonWriter *json, const char *name, uint64_t number)
{
    start(json, name);
    keep(json, buffer_printf(json->out, "%" PRIu64, number));
}

void json_real(JsonWriter *json, const char *name, double number, int decimals)
{
    if (!isfinite(number)) {
        json_null(json, name);
        return;
    }
    start(json, name);
    keep(json, buffer_printf(json->out, "%.*f", decimals, number));
}

void json_bool(JsonWriter *json, const char *name, bool value)
{
    start(json, name);
    keep(json, buffer_append_string(json->out, value ? "true" : "false"));
}

void json_null(JsonWriter *json, const char *name)
{
    start(json, name);
    keep(json, buffer_append_string(json->out, "null"));
}
