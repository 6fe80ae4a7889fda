#include "parse/trap.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* Hashes of the segments of a path; returns how many. */
static size_t hash_segments(const char *path, size_t length, uint64_t hashes[TRAP_MAX_SEGMENTS])
{
    const char *p = path;
    const char *end = path + length;
    size_t n = 0;
    if (p < end && *p == '/') {
        p++;
    }
    while (p < end && n < TRAP_MAX_SEGMENTS) {
        const char *slash = memchr(p, '/', (size_t)(end - p));
        const char *segment_end = slash != NULL ? slash : end;
        hashes[n++] = hash_64(p, (size_t)(segment_end - p), 0);
        p = segment_end < end ? segment_end + 1 : end;
    }
    return n;
}

/* Whether hashes[j] == hashes[j + period] holds for need consecutive j. Such a run is at least one
 * period long, so looking at every period-th j finds it. */
static bool has_run(const uint64_t *hashes, size_t n, size_t period, size_t need)
{
    for (size_t j = period - 1; j + period < n; j += period) {
        if (hashes[j] != hashes[j + period]) {
            continue;
        }
        size_t first = j;
        while (first > 0 && hashes[first - 1] == hashes[first - 1 + period]) {
            first--;
        }
        size_t last = j;
        while (last + 1 + period < n && hashes[last + 1] == hashes[last + 1 + period]) {
            last++;
        }
        if (last - first + 1 >= need) {
            return true;
        }
        while (j + period <= last) {
            j += period;
        }
    }
    return false;
}

bool trap_repeats(const char *path, size_t length, unsigned times)
{
    uint64_t hashes[TRAP_MAX_SEGMENTS];
    size_t n = hash_segments(path, length, hashes);
    for (size_t period = 1; times >= 2 && period * times <= n; period++) {
        if (has_run(hashes, n, period, period * (times - 1))) {
            return true;
        }
    }
    return false;
}

unsigned trap_path_depth(const char *path, size_t length)
{
    unsigned depth = 0;
    for (size_t i = 0; i < length; i++) {
        depth += path[i] != '/' && (i == 0 || path[i - 1] == '/');
    }
    return depth;
}

unsigned trap_parameters(const char *query, size_t length)
{
    unsigned n = 0;
    for (size_t i = 0; i < length; i++) {
        n += query[i] != '&' && (i == 0 || query[i - 1] == '&');
    }
    return n;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'z';
}

static bool is_hex(char c)
{
    char lower = (char)(c | 0x20);
    return is_digit(c) || (lower >= 'a' && lower <= 'f');
}

/* The length of an identifier at p: hexadecimal digits, with the dashes of a UUID, or 0. A word
 * must not go on before or behind it. */
static size_t scan_identifier(const char *start, const char *p, const char *end)
{
    const size_t least = 8;
    if (p > start && (is_letter(p[-1]) || is_digit(p[-1]))) {
        return 0;
    }
    const char *q = p;
    size_t n_hex = 0;
    bool has_digit = false;
    bool has_letter = false;
    while (q < end &&
           (is_hex(*q) || (*q == '-' && n_hex >= least && q + 1 < end && is_hex(q[1])))) {
        n_hex += *q != '-';
        has_digit = has_digit || is_digit(*q);
        has_letter = has_letter || is_letter(*q);
        q++;
    }
    if (n_hex < least || !has_digit || !has_letter || (q < end && is_letter(*q))) {
        return 0;
    }
    return (size_t)(q - p);
}

/* Appends text with digits and identifiers generalised; escapes stay as they are. */
static Result append_general(Buffer *out, const char *text, size_t length)
{
    const char *p = text;
    const char *end = text + length;
    Result rc = RESULT_OK;
    while (p < end && rc == RESULT_OK) {
        size_t n = scan_identifier(text, p, end);
        if (n > 0) {
            p += n;
            rc = buffer_append_char(out, 'x');
        } else if (is_digit(*p)) {
            while (p < end && is_digit(*p)) {
                p++;
            }
            rc = buffer_append_char(out, '0');
        } else {
            n = *p == '%' && end - p >= 3 ? 3 : 1;
            rc = buffer_append(out, p, n);
            p += n;
        }
    }
    return rc;
}

typedef struct Name {
    const char *at;
    size_t length;
} Name;

static int compare_names(const void *a, const void *b)
{
    const Name *x = a;
    const Name *y = b;
    size_t n = x->length < y->length ? x->length : y->length;
    int order = memcmp(x->at, y->at, n);
    return order != 0 ? order : (x->length > y->length) - (x->length < y->length);
}

/* Appends "?a=&b=": sorted names, each once. */
static Result append_sorted(Buffer *out, const Name *names, size_t n)
{
    Result rc = RESULT_OK;
    for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
        if (i > 0 && compare_names(&names[i - 1], &names[i]) == 0) {
            continue;
        }
        rc = buffer_append_char(out, i == 0 ? '?' : '&');
        if (rc == RESULT_OK) {
            rc = buffer_append(out, names[i].at, names[i].length);
        }
        if (rc == RESULT_OK) {
            rc = buffer_append_char(out, '=');
        }
    }
    return rc;
}

static Result append_parameters(Buffer *out, const char *query, size_t length)
{
    unsigned n = trap_parameters(query, length);
    if (n == 0) {
        return RESULT_OK;
    }
    Name *names = calloc(n, sizeof *names);
    size_t *ends = calloc(n, sizeof *ends);
    Buffer text;
    buffer_init(&text, BUFFER_NO_LIMIT);
    Result rc = names == NULL || ends == NULL ? RESULT_MEMORY : RESULT_OK;
    const char *p = query;
    const char *end = query + length;
    size_t i = 0;
    while (rc == RESULT_OK && ends != NULL && p < end) {
        const char *amp = memchr(p, '&', (size_t)(end - p));
        const char *stop = amp != NULL ? amp : end;
        if (stop > p) {
            const char *equals = memchr(p, '=', (size_t)(stop - p));
            rc = append_general(&text, p, (size_t)((equals != NULL ? equals : stop) - p));
            ends[i++] = text.length;
        }
        p = stop < end ? stop + 1 : end;
    }
    for (size_t k = 0; k < i && rc == RESULT_OK; k++) {
        size_t start = k == 0 ? 0 : ends[k - 1];
        names[k] = (Name){.at = buffer_string(&text) + start, .length = ends[k] - start};
    }
    if (rc == RESULT_OK) {
        qsort(names, i, sizeof *names, compare_names);
        rc = append_sorted(out, names, i);
    }
    buffer_destroy(&text);
    free(ends);
    free(names);
    return rc;
}

Result trap_pattern(const Url *url, Buffer *out)
{
    size_t before = out->length;
    Result rc = buffer_append(out, url->href, url->path_start);
    if (rc == RESULT_OK) {
        rc = append_general(out, url->href + url->path_start, url->query_start - url->path_start);
    }
    if (rc == RESULT_OK && url->query_start < url->length) {
        rc = append_parameters(out, url->href + url->query_start + 1,
                               url->length - url->query_start - 1);
    }
    if (rc != RESULT_OK && out->data != NULL) {
        out->length = before;
        out->data[before] = '\0';
    }
    return rc;
}

static bool is_decimal(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hexadecimal(char c)
{
    return is_decimal(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static bool is_word(char c)
{
    return is_decimal(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

uint64_t trap_content_hash(const char *body, size_t length)
{
    const uint64_t prime = UINT64_C(0x100000001B3); /* FNV-1a */
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    size_t i = 0;
    while (i < length) {
        size_t end = i;
        bool has_decimal = false;
        bool has_letter = false; /* plain numbers count as they are */
        while (end < length && is_hexadecimal(body[end])) {
            has_decimal |= is_decimal(body[end]);
            has_letter |= !is_decimal(body[end]);
            end++;
        }
        bool is_whole = end == length || !is_word(body[end]);
        if (is_whole && has_decimal && has_letter && end - i >= 8) {
            hash = (hash ^ 0xFF) * prime;
            i = end;
            continue;
        }
        /* The rest of this word, and one byte behind it. */
        do {
            hash = (hash ^ (uint8_t)body[i]) * prime;
            i++;
        } while (i < length && is_word(body[i - 1]));
    }
    return hash | 1;
}
