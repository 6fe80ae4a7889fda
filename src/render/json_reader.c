#include "render/json_reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/base64.h"

typedef struct JsonScan {
    const char *at;
    const char *end;
} JsonScan;

static void json_blanks(JsonScan *scan)
{
    while (scan->at < scan->end &&
           (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\n' || *scan->at == '\r')) {
        scan->at++;
    }
}

static bool json_takes(JsonScan *scan, char c)
{
    json_blanks(scan);
    if (scan->at >= scan->end || *scan->at != c) {
        return false;
    }
    scan->at++;
    return true;
}

/* Over a text that begins here; false when it does not end. */
static bool json_pass_text(JsonScan *scan)
{
    if (!json_takes(scan, '"')) {
        return false;
    }
    while (scan->at < scan->end) {
        const char *quote = memchr(scan->at, '"', (size_t)(scan->end - scan->at));
        if (quote == NULL) {
            break;
        }
        size_t slashes = 0;
        while (quote - slashes > scan->at && quote[-1 - (ptrdiff_t)slashes] == '\\') {
            slashes++;
        }
        scan->at = quote + 1;
        if (slashes % 2 == 0) {
            return true;
        }
    }
    return false;
}

static bool json_is_plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '+' || c == '.';
}

/* Over a number or a word; false when there is none. */
static bool json_pass_plain(JsonScan *scan)
{
    const char *start = scan->at;
    while (scan->at < scan->end && json_is_plain(*scan->at)) {
        scan->at++;
    }
    return scan->at > start;
}

/* Over a value of any kind. The brackets that are open are counted, and not told apart: the bytes
 * of a message come from a program that writes them in pairs, and nobody reads on after a mistake
 * but within the bounds of the message. */
static bool json_pass(JsonScan *scan)
{
    unsigned depth = 0;
    do {
        json_blanks(scan);
        if (scan->at >= scan->end || depth > JSON_READ_DEPTH) {
            return false;
        }
        char c = *scan->at;
        if (c == '{' || c == '[') {
            depth++;
            scan->at++;
        } else if (c == '}' || c == ']') {
            if (depth == 0) {
                return false;
            }
            depth--;
            scan->at++;
        } else if (c == '"') {
            if (!json_pass_text(scan)) {
                return false;
            }
        } else if (depth > 0 && (c == ',' || c == ':')) {
            scan->at++;
        } else if (!json_pass_plain(scan)) {
            return false;
        }
    } while (depth > 0);
    return true;
}

static JsonKind json_kind(char c)
{
    switch (c) {
    case '{':
        return JSON_OBJECT;
    case '[':
        return JSON_ARRAY;
    case '"':
        return JSON_TEXT;
    case 't':
        return JSON_TRUE;
    case 'f':
        return JSON_FALSE;
    case 'n':
        return JSON_NULL;
    default:
        return (c >= '0' && c <= '9') || c == '-' ? JSON_NUMBER : JSON_NOTHING;
    }
}

Result json_read(const char *bytes, size_t length, JsonValue *value)
{
    *value = (JsonValue){.kind = JSON_NOTHING};
    if (length == 0) {
        return RESULT_INVALID;
    }
    JsonScan scan = {.at = bytes, .end = bytes + length};
    json_blanks(&scan);
    if (scan.at >= scan.end || json_kind(*scan.at) == JSON_NOTHING) {
        return RESULT_INVALID;
    }
    *value = (JsonValue){.kind = json_kind(*scan.at), .begin = scan.at, .end = scan.end};
    return RESULT_OK;
}

static bool json_value_at(const JsonScan *scan, JsonValue *value)
{
    return json_read(scan->at, (size_t)(scan->end - scan->at), value) == RESULT_OK;
}

bool json_read_member(JsonValue object, const char *name, JsonValue *member)
{
    size_t length = strlen(name);
    JsonScan scan = {.at = object.begin, .end = object.end};
    *member = (JsonValue){.kind = JSON_NOTHING};
    if (object.kind != JSON_OBJECT || !json_takes(&scan, '{')) {
        return false;
    }
    do {
        json_blanks(&scan);
        const char *key = scan.at + 1;
        if (!json_pass_text(&scan)) {
            return false;
        }
        bool is_it = (size_t)(scan.at - 1 - key) == length && memcmp(key, name, length) == 0;
        if (!json_takes(&scan, ':')) {
            return false;
        }
        if (is_it) {
            return json_value_at(&scan, member);
        }
        if (!json_pass(&scan)) {
            return false;
        }
    } while (json_takes(&scan, ','));
    return false;
}

bool json_read_next(JsonValue array, const char **position, JsonValue *element)
{
    JsonScan scan = {.at = *position == NULL ? array.begin : *position, .end = array.end};
    *element = (JsonValue){.kind = JSON_NOTHING};
    if (array.kind != JSON_ARRAY || !json_takes(&scan, *position == NULL ? '[' : ',')) {
        return false;
    }
    if (!json_value_at(&scan, element) || !json_pass(&scan)) {
        return false;
    }
    *position = scan.at;
    return true;
}

static int json_hex(const char *at)
{
    int value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_value(at[i]);
        if (digit < 0) {
            return -1;
        }
        value = value * 16 + digit;
    }
    return value;
}

/* One \uXXXX, or a pair of them; at stands behind the u. */
static Result json_code(JsonScan *scan, Buffer *out)
{
    int unit = scan->end - scan->at >= 4 ? json_hex(scan->at) : -1;
    if (unit < 0) {
        return RESULT_INVALID;
    }
    scan->at += 4;
    if (unit < 0xd800 || unit > 0xdfff) {
        return buffer_append_code_point(out, (uint32_t)unit);
    }
    bool has_low =
        unit < 0xdc00 && scan->end - scan->at >= 6 && scan->at[0] == '\\' && scan->at[1] == 'u';
    int low = has_low ? json_hex(scan->at + 2) : -1;
    if (low < 0xdc00 || low > 0xdfff) {
        return buffer_append_code_point(out, 0xfffd);
    }
    scan->at += 6;
    return buffer_append_code_point(
        out, 0x10000u + (((uint32_t)unit & 0x3ffu) << 10 | ((uint32_t)low & 0x3ffu)));
}

static Result json_escape(JsonScan *scan, Buffer *out)
{
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    if (scan->at >= scan->end) {
        return RESULT_INVALID;
    }
    char c = *scan->at++;
    if (c == 'u') {
        return json_code(scan, out);
    }
    const char *name = c == '\0' ? NULL : strchr(names, c);
    return name == NULL ? RESULT_INVALID : buffer_append_char(out, values[name - names]);
}

Result json_read_text(JsonValue value, Buffer *out)
{
    JsonScan scan = {.at = value.begin, .end = value.end};
    if (value.kind != JSON_TEXT || !json_takes(&scan, '"')) {
        return RESULT_INVALID;
    }
    while (scan.at < scan.end && *scan.at != '"') {
        const char *start = scan.at;
        while (scan.at < scan.end && *scan.at != '"' && *scan.at != '\\') {
            scan.at++;
        }
        Result rc = buffer_append(out, start, (size_t)(scan.at - start));
        if (rc == RESULT_OK && scan.at < scan.end && *scan.at == '\\') {
            scan.at++;
            rc = json_escape(&scan, out);
        }
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return scan.at < scan.end ? RESULT_OK : RESULT_INVALID;
}

bool json_read_is(JsonValue value, const char *text)
{
    size_t length = strlen(text);
    return value.kind == JSON_TEXT && (size_t)(value.end - value.begin) >= length + 2 &&
           memcmp(value.begin + 1, text, length) == 0 && value.begin[length + 1] == '"';
}

int64_t json_read_integer(JsonValue value, int64_t when_not)
{
    char digits[32];
    size_t n = 0;
    if (value.kind != JSON_NUMBER) {
        return when_not;
    }
    while (n < sizeof digits - 1 && value.begin + n < value.end && json_is_plain(value.begin[n])) {
        digits[n] = value.begin[n];
        n++;
    }
    digits[n] = '\0';
    double number = strtod(digits, NULL);
    return number >= -9e18 && number <= 9e18 ? (int64_t)number : when_not;
}
