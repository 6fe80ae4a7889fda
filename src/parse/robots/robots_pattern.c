#include "parse/robots/robots_pattern.h"

#include <string.h>

enum {
    PLAIN = 1,      /* stands for itself in a normalised path */
    UNRESERVED = 2, /* its escape is decoded */
};

/* Letters, digits, -._~ are unreserved (RFC 3986); the reserved ones stand for themselves but for
 * '*' and '$'; '#' cannot occur in a path and is escaped. */
static const uint8_t byte_class[256] = {
    /* clang-format off */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* 00 */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* 10 */
    0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 1, 1, 3, 3, 1, /* 20 */
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 1, 1, 0, 1, 0, 1, /* 30 */
    1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, /* 40 */
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 1, 0, 1, 0, 3, /* 50 */
    0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, /* 60 */
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 0, 0, 0, 3, 0, /* 70 */
    /* clang-format on; the upper half is 0 */
};

static const char hex_digits[] = "0123456789ABCDEF";

static int robots_pattern_hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* The byte that an escape at p stands for, or -1 when there is none. */
static int escaped_byte(const char *p, const char *end)
{
    if (end - p < 3 || p[0] != '%') {
        return -1;
    }
    int high = robots_pattern_hex_value(p[1]);
    int low = robots_pattern_hex_value(p[2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

static char *put_escape(char *out, uint8_t byte)
{
    *out++ = '%';
    *out++ = hex_digits[byte >> 4];
    *out++ = hex_digits[byte & 15];
    return out;
}

/* Writes the normal form of what stands at *p, at most three bytes, and steps behind it. */
static char *put_normal(char *out, const char **p, const char *end)
{
    uint8_t byte = (uint8_t)**p;
    int decoded = byte == '%' ? escaped_byte(*p, end) : -1;
    if (decoded >= 0) {
        *p += 3;
        if (byte_class[decoded] & UNRESERVED) {
            *out++ = (char)decoded;
            return out;
        }
        return put_escape(out, (uint8_t)decoded);
    }
    *p += 1;
    if ((byte_class[byte] & PLAIN) != 0 || byte == '%') { /* a lone '%' stays */
        *out++ = (char)byte;
        return out;
    }
    return put_escape(out, byte);
}

bool robots_path_is_normal(const char *path, size_t length)
{
    const uint8_t *p = (const uint8_t *)path;
    unsigned all = PLAIN;
    for (size_t i = 0; i < length; i++) {
        all &= byte_class[p[i]];
    }
    return all == PLAIN;
}

size_t robots_path_normalize(const char *path, size_t length, char *out)
{
    const char *end = path + length;
    char *to = out;
    while (path < end) {
        to = put_normal(to, &path, end);
    }
    return (size_t)(to - out);
}

static inline unsigned pair_bit(uint8_t a, uint8_t b)
{
    uint32_t key = ((uint32_t)a << 8) | b;
    return (key * UINT32_C(0x9E3779B1)) >> 24;
}

void robots_pairs_of(const char *bytes, size_t length, RobotsPairs *pairs)
{
    const uint8_t *p = (const uint8_t *)bytes;
    for (size_t i = 1; i < length; i++) {
        unsigned bit = pair_bit(p[i - 1], p[i]);
        pairs->bits[bit >> 6] |= UINT64_C(1) << (bit & 63);
    }
}

static void describe(RobotsPattern *pattern, const char *text)
{
    const char *end = text + pattern->length;
    const char *part = text;
    const char *star = memchr(text, '*', pattern->length);
    pattern->has_wildcard = star != NULL;
    pattern->first_length = (uint32_t)(star != NULL ? star - text : end - text);
    while (star != NULL) {
        robots_pairs_of(part, (size_t)(star - part), &pattern->pairs);
        part = star + 1;
        star = memchr(part, '*', (size_t)(end - part));
    }
    robots_pairs_of(part, (size_t)(end - part), &pattern->pairs);
}

Result robots_pattern_compile(const char *rule, size_t length, Buffer *out, RobotsPattern *pattern,
                              uint32_t *octets)
{
    *pattern = (RobotsPattern){.is_anchored = length > 0 && rule[length - 1] == '$'};
    *octets = pattern->is_anchored ? 1 : 0;
    Result rc = buffer_reserve(out, 3 * length + 1);
    if (rc != RESULT_OK) {
        return rc;
    }
    const char *end = rule + length - (pattern->is_anchored ? 1 : 0);
    char *start = out->data + out->length;
    char *to = start;
    while (rule < end) {
        if (*rule == '*') {
            rule++;
            (*octets)++;
            if (to == start || to[-1] != '*') {
                *to++ = '*';
            }
            continue;
        }
        /* An octet written plainly counts once even where its normal form is an escape. */
        bool is_plain_ascii = (uint8_t)*rule < 0x80 && *rule != '%';
        char *before = to;
        to = put_normal(to, &rule, end);
        *octets += is_plain_ascii ? 1 : (uint32_t)(to - before);
    }
    if (!pattern->is_anchored && to > start && to[-1] == '*') {
        to--;
    }
    *to = '\0';
    pattern->length = (uint32_t)(to - start);
    out->length += pattern->length;
    describe(pattern, start);
    return RESULT_OK;
}

/* Steps of looking for a part of n bytes in a text: memmem compares up to 256 bytes of the
 * part at each place, 32 in a step; for longer parts it is linear, but begins with a table. */
static int64_t search_steps(size_t bytes, size_t n)
{
    return n > 256 ? (int64_t)(2 * bytes + 2 * n + 512) : (int64_t)(bytes * (1 + n / 32) + 16);
}

/* The parts behind the first '*', leftmost one after the other. */
static RobotsMatch match_rest(const RobotsPattern *pattern, const char *text, const char *path,
                              const char *path_end, int64_t *steps)
{
    const char *end = text + pattern->length;
    const char *part = text + pattern->first_length + 1;
    for (;;) {
        const char *star = memchr(part, '*', (size_t)(end - part));
        size_t n = (size_t)((star != NULL ? star : end) - part);
        size_t left = (size_t)(path_end - path);
        if (star == NULL && pattern->is_anchored) {
            *steps -= (int64_t)(n / 32);
            return left >= n && memcmp(path_end - n, part, n) == 0 ? ROBOTS_MATCH_YES
                                                                   : ROBOTS_MATCH_NO;
        }
        if (n > left) {
            return ROBOTS_MATCH_NO;
        }
        if (search_steps(left, n) > *steps) {
            return ROBOTS_MATCH_UNKNOWN;
        }
        const char *found = memmem(path, left, part, n);
        *steps -= search_steps(found == NULL ? left : (size_t)(found - path) + n, n);
        if (found == NULL || star == NULL) {
            return found != NULL ? ROBOTS_MATCH_YES : ROBOTS_MATCH_NO;
        }
        path = found + n;
        part = star + 1;
    }
}

RobotsMatch robots_pattern_matches(const RobotsPattern *pattern, const char *text, const char *path,
                                   size_t length, int64_t *steps)
{
    size_t n = pattern->first_length;
    *steps -= (int64_t)(n / 32);
    if (length < n || memcmp(path, text, n) != 0) {
        return ROBOTS_MATCH_NO;
    }
    if (!pattern->has_wildcard) {
        return !pattern->is_anchored || length == n ? ROBOTS_MATCH_YES : ROBOTS_MATCH_NO;
    }
    return match_rest(pattern, text, path + n, path + length, steps);
}
