#include "parse/text/entities.h"

#include <string.h>

#include "base/core/ascii.h"
#include "base/memory/base64.h"
#include "parse/text/entities_table.h"

/* ---- numeric references ---- */

/* What 0x80-0x9F stand for: the characters of windows-1252 (0 = itself). */
static const uint16_t c1_points[32] = {
    0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0,      0x017D, 0,      0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};

static size_t read_numeric(const char *p, size_t length, char *value, size_t *value_length)
{
    size_t i = 2; /* behind "&#" */
    bool hex = i < length && (p[i] == 'x' || p[i] == 'X');
    i += hex ? 1 : 0;
    size_t first = i;
    uint32_t c = 0;
    for (; i < length; i++) {
        int digit = hex_value(p[i]);
        if (digit < 0 || (!hex && digit > 9)) {
            break;
        }
        if (c <= 0x10FFFF) {
            c = c * (hex ? 16 : 10) + (uint32_t)digit;
        }
    }
    if (i == first) {
        return 0;
    }
    if (i < length && p[i] == ';') {
        i++;
    }
    if (c == 0 || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) {
        c = 0xFFFD;
    } else if (c >= 0x80 && c <= 0x9F && c1_points[c - 0x80] != 0) {
        c = c1_points[c - 0x80];
    }
    *value_length = ascii_put_utf8(c, value);
    return i;
}

/* ---- named references ---- */

static const EntityRow *entities_find(const char *name, size_t length)
{
    unsigned char c = (unsigned char)name[0];
    size_t letter = c >= 'a' ? 26u + (c - 'a') : c - (unsigned)'A';
    size_t low = entity_first[letter];
    size_t high = entity_first[letter + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const EntityRow *row = &entity_rows[middle];
        size_t n = row->length < length ? row->length : length;
        int order = memcmp(name, row->name, n);
        if (order == 0 && row->length == length) {
            return row;
        }
        if (order < 0 || (order == 0 && length < row->length)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}

size_t entity_read(const char *p, size_t length, bool attribute, char value[ENTITY_MAX_BYTES],
                   size_t *value_length)
{
    if (length < 3) {
        return 0;
    }
    if (p[1] == '#') {
        return read_numeric(p, length, value, value_length);
    }
    if (!(ascii_is_digit(p[1]) || ascii_is_letter(p[1])) || ascii_is_digit(p[1])) {
        return 0;
    }
    size_t n = 1;
    while (1 + n < length && n <= ENTITY_NAME_BYTES &&
           (ascii_is_digit(p[1 + n]) || ascii_is_letter(p[1 + n]))) {
        n++;
    }
    const EntityRow *row = NULL;
    size_t used = 0;
    if (1 + n < length && p[1 + n] == ';') {
        row = entities_find(p + 1, n);
        used = n + 2;
    }
    if (row == NULL) {
        n = n < ENTITY_BARE_BYTES ? n : ENTITY_BARE_BYTES;
        for (; n >= 2 && row == NULL; n--) {
            const EntityRow *candidate = entities_find(p + 1, n);
            if (candidate != NULL && candidate->bare) {
                row = candidate;
                used = n + 1;
            }
        }
        if (row == NULL) {
            return 0;
        }
        if (attribute && used < length &&
            (p[used] == '=' || (ascii_is_digit(p[used]) || ascii_is_letter(p[used])))) {
            return 0;
        }
    }
    *value_length = strlen(row->value);
    memcpy(value, row->value, *value_length);
    return used;
}

size_t entity_decode(const char *text, size_t length, bool attribute, char *out)
{
    char *to = out;
    size_t i = 0;
    while (i < length) {
        char c = text[i];
        if (c == '&') {
            size_t n = 0;
            size_t used = entity_read(text + i, length - i, attribute, to, &n);
            if (used > 0) {
                to += n;
                i += used;
                continue;
            }
        } else if (c == '\r') {
            i += i + 1 < length && text[i + 1] == '\n' ? 1 : 0;
            c = '\n';
        }
        *to++ = c;
        i++;
    }
    return (size_t)(to - out);
}
