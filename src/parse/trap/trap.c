#include "parse/trap/trap.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/ascii.h"
#include "base/memory/base64.h"

/* ---- Signs of a crawler trap that a URL alone shows ---- */

#define UUID_LENGTH 36

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
    /* Hashes of the segments of a path; returns how many. */
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

/* Hexadecimal digits in groups of 8, 4, 4, 4 and 12, with dashes between them. */
static bool is_uuid(const char *p, const char *end)
{
    if (end - p < UUID_LENGTH) {
        return false;
    }
    for (size_t i = 0; i < UUID_LENGTH; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? p[i] != '-' : !(hex_value(p[i]) >= 0)) {
            return false;
        }
    }
    return true;
}

size_t trap_identifier(const char *start, const char *p, const char *end)
{
    if (p == end || !ascii_is_alnum(*p) || (p > start && ascii_is_alnum(p[-1]))) {
        return 0;
    }
    if (is_uuid(p, end) && (end - p == UUID_LENGTH || !ascii_is_alnum(p[UUID_LENGTH]))) {
        return UUID_LENGTH;
    }
    const char *q = p;
    bool hex = true;
    unsigned changes = 0; /* between digits and letters */
    while (q < end && ascii_is_alnum(*q)) {
        hex = hex && (hex_value(*q) >= 0);
        changes += q > p && ascii_is_digit(*q) != ascii_is_digit(q[-1]);
        q++;
    }
    size_t n = (size_t)(q - p);
    return (hex && n >= TRAP_LEAST_IDENTIFIER && changes > 0) || (n >= 16 && changes >= 4) ? n : 0;
}

/* Appends text with digits and identifiers generalised; escapes stay as they are. Errors stick in
 * the buffer, here and below. */
static void append_general(Buffer *out, const char *text, size_t length)
{
    const char *p = text;
    const char *end = text + length;
    const char *plain = text; /* up to p it stays as it is */
    while (p < end) {
        size_t n = ascii_is_alnum(*p) ? trap_identifier(text, p, end) : 0;
        char mark = n > 0 ? 'x' : '0';
        while (mark == '0' && p + n < end && ascii_is_digit(p[n])) {
            n++;
        }
        if (n == 0) {
            p += *p == '%' && end - p >= 3 ? 3 : 1;
            while (p < end && ascii_is_letter(*p) && ascii_is_alnum(p[-1])) {
                p++; /* nothing begins here */
            }
            continue;
        }
        (void)buffer_append(out, plain, (size_t)(p - plain));
        (void)buffer_append_char(out, mark);
        p += n;
        plain = p;
    }
    (void)buffer_append(out, plain, (size_t)(end - plain));
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
static void trap_append_sorted(Buffer *out, const Name *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || compare_names(&names[i - 1], &names[i]) != 0) {
            (void)buffer_append_char(out, i == 0 ? '?' : '&');
            (void)buffer_append(out, names[i].at, names[i].length);
            (void)buffer_append_char(out, '=');
        }
    }
}

static Result append_parameters(Buffer *out, const char *query, size_t length)
{
    unsigned n = trap_parameters(query, length);
    if (n == 0) {
        return RESULT_OK;
    }
    Name *names = calloc(n, sizeof *names);
    size_t *ends = calloc(n, sizeof *ends);
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    Result rc = names == NULL || ends == NULL ? RESULT_MEMORY : RESULT_OK;
    const char *p = query;
    const char *end = query + length;
    size_t i = 0;
    while (rc == RESULT_OK && ends != NULL && p < end) {
        const char *amp = memchr(p, '&', (size_t)(end - p));
        const char *stop = amp != NULL ? amp : end;
        if (stop > p) {
            const char *equals = memchr(p, '=', (size_t)(stop - p));
            append_general(&text, p, (size_t)((equals != NULL ? equals : stop) - p));
            ends[i++] = text.length;
        }
        p = stop < end ? stop + 1 : end;
    }
    rc = result_first(rc, text.failed);
    if (rc == RESULT_OK) {
        for (size_t k = 0; k < i; k++) {
            size_t start = k == 0 ? 0 : ends[k - 1];
            names[k] = (Name){.at = buffer_string(&text) + start, .length = ends[k] - start};
        }
        qsort(names, i, sizeof *names, compare_names);
        trap_append_sorted(out, names, i);
    }
    buffer_destroy(&text);
    free(ends);
    free(names);
    return rc;
}

Result trap_pattern(const Url *url, Buffer *out)
{
    size_t before = out->length;
    Result rc = RESULT_OK;
    (void)buffer_append(out, url->href, url->path_start);
    append_general(out, url->href + url->path_start, url->query_start - url->path_start);
    if (url->query_start < url->length) {
        rc = append_parameters(out, url->href + url->query_start + 1,
                               url->length - url->query_start - 1);
    }
    out->failed = result_first(rc, out->failed);
    return buffer_end(out, before);
}

/* ---- The patterns of URLs (trap_pattern) that are parked, as fetching threads see them */

struct TrapSet {
    size_t n;
    Hash128 patterns[]; /* ascending */
};

/* The place of the first pattern that is not before this one. */
static size_t trap_set_place_of(const TrapSet *set, Hash128 pattern)
{
    size_t first = 0;
    size_t behind = trap_set_count(set);
    while (first < behind) {
        size_t middle = first + (behind - first) / 2;
        const Hash128 *there = &set->patterns[middle];
        bool before =
            there->high < pattern.high || (there->high == pattern.high && there->low < pattern.low);
        first = before ? middle + 1 : first;
        behind = before ? behind : middle;
    }
    return first;
}

TrapSet *trap_set_with(const TrapSet *set, Hash128 pattern)
{
    size_t n = trap_set_count(set);
    size_t place = trap_set_place_of(set, pattern);
    TrapSet *more = malloc(sizeof *more + (n + 1) * sizeof *more->patterns);
    if (more == NULL) {
        return NULL;
    }
    if (n > 0) {
        memcpy(more->patterns, set->patterns, place * sizeof pattern);
        memcpy(more->patterns + place + 1, set->patterns + place, (n - place) * sizeof pattern);
    }
    more->patterns[place] = pattern;
    more->n = n + 1;
    return more;
}

size_t trap_set_count(const TrapSet *set)
{
    return set == NULL ? 0 : set->n;
}

Result trap_pattern_key(const Url *url, Buffer *text, Hash128 *key)
{
    buffer_reset(text);
    Result rc = trap_pattern(url, text);
    *key = rc == RESULT_OK ? hash_128(text->data, text->length) : (Hash128){.high = 0};
    return rc;
}

bool trap_set_has(const TrapSet *set, const Url *url, Buffer *text)
{
    if (set == NULL) {
        return false;
    }
    Hash128 pattern;
    if (trap_pattern_key(url, text, &pattern) != RESULT_OK) {
        return false;
    }
    size_t place = trap_set_place_of(set, pattern);
    return place < set->n && set->patterns[place].high == pattern.high &&
           set->patterns[place].low == pattern.low;
}

void trap_set_delete(void *set)
{
    free(set);
}
