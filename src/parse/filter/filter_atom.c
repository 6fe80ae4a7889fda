#include "parse/filter/filter_atom.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/memory/buffer.h"
#include "base/core/hash.h"
#include "parse/url/url.h"

#define SET_MAX_BYTES ((size_t)1 << 30)
#define HASH_SEED     UINT64_C(0x686f737473)

typedef struct Entry {
    uint32_t offset; /* of the name in names */
    uint32_t length;
} Entry;

struct FilterSet {
    Buffer names;    /* one behind the other */
    Entry *entries;  /* n of them */
    uint32_t *slots; /* entry number + 1, or 0; linear probing */
    size_t n;
    size_t capacity; /* of entries */
    size_t mask;     /* slots are a power of two */
};

static uint32_t *filter_set_find_slot(const FilterSet *set, const char *host, size_t length)
{
    size_t i = (size_t)hash_64(host, length, HASH_SEED) & set->mask;
    for (;; i = (i + 1) & set->mask) {
        if (set->slots[i] == 0) {
            return &set->slots[i];
        }
        const Entry *entry = &set->entries[set->slots[i] - 1];
        if (entry->length == length && memcmp(set->names.data + entry->offset, host, length) == 0) {
            return &set->slots[i];
        }
    }
}

static Result filter_set_grow(FilterSet *set)
{
    size_t capacity = set->capacity == 0 ? 64 : set->capacity * 2;
    Entry *entries = realloc(set->entries, capacity * sizeof *entries);
    if (entries == NULL) {
        return RESULT_MEMORY;
    }
    set->entries = entries;
    uint32_t *slots = calloc(capacity * 2, sizeof *slots);
    if (slots == NULL) {
        return RESULT_MEMORY;
    }
    free(set->slots);
    set->slots = slots;
    set->capacity = capacity;
    set->mask = capacity * 2 - 1;
    for (size_t i = 0; i < set->n; i++) {
        const Entry *entry = &set->entries[i];
        *filter_set_find_slot(set, set->names.data + entry->offset, entry->length) =
            (uint32_t)i + 1;
    }
    return RESULT_OK;
}

static size_t without_dot(const char *host, size_t length)
{
    return length > 0 && host[length - 1] == '.' ? length - 1 : length;
}

static Result filter_set_add(FilterSet *set, const char *host, size_t length)
{
    length = without_dot(host, length);
    Result rc = set->n == set->capacity ? filter_set_grow(set) : RESULT_OK;
    if (rc != RESULT_OK) {
        return rc;
    }
    uint32_t *slot = filter_set_find_slot(set, host, length);
    if (*slot != 0) {
        return RESULT_OK;
    }
    size_t offset = set->names.length;
    rc = buffer_append(&set->names, host, length);
    if (rc == RESULT_OK) {
        set->entries[set->n] = (Entry){.offset = (uint32_t)offset, .length = (uint32_t)length};
        set->n++;
        *slot = (uint32_t)set->n;
    }
    return rc;
}

/* Adds a line that is not blank. The URL parser brings the host into its form. */
static Result filter_set_add_line(FilterSet *set, const char *line, size_t length, Url *url,
                                  Buffer *text)
{
    buffer_reset(text);
    bool is_url = memmem(line, length, "://", 3) != NULL;
    if (!is_url && memchr(line, '/', length) != NULL) {
        return RESULT_INVALID;
    }
    Result rc = is_url ? RESULT_OK : buffer_append_string(text, "http://");
    if (rc == RESULT_OK) {
        rc = buffer_append(text, line, length);
    }
    if (rc == RESULT_OK) {
        rc = url_parse(url, NULL, text->data, text->length);
    }
    if (rc == RESULT_OK && !is_url && url->path_start != url->host_end) {
        rc = RESULT_INVALID;
    }
    return rc == RESULT_OK
               ? filter_set_add(set, url->href + url->host_start, url->host_end - url->host_start)
               : rc;
}

static Result add_lines(FilterSet *set, const char *text, size_t length, size_t *line)
{
    const char *p = text;
    const char *end = text + length;
    Url url = {.href = NULL};
    Buffer scratch = {.limit = URL_MAX_BYTES};
    Result rc = RESULT_OK;
    *line = 0;
    while (p < end && rc == RESULT_OK) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *stop = newline != NULL ? newline : end;
        const char *last = stop;
        while (p < last && (unsigned char)*p <= ' ') {
            p++;
        }
        while (p < last && (unsigned char)last[-1] <= ' ') {
            last--;
        }
        *line += 1;
        if (p < last && *p != '#') {
            rc = filter_set_add_line(set, p, (size_t)(last - p), &url, &scratch);
        }
        p = newline != NULL ? newline + 1 : end;
    }
    *line = rc == RESULT_OK ? 0 : *line;
    buffer_destroy(&scratch);
    url_destroy(&url);
    return rc;
}

Result filter_set_new(FilterSet **set, const char *text, size_t length, size_t *line)
{
    *set = NULL;
    *line = 0;
    FilterSet *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return RESULT_MEMORY;
    }
    buffer_init(&made->names, SET_MAX_BYTES);
    Result rc = filter_set_grow(made);
    if (rc == RESULT_OK) {
        rc = add_lines(made, text, length, line);
    }
    if (rc != RESULT_OK) {
        filter_set_delete(made);
        return rc;
    }
    *set = made;
    return RESULT_OK;
}

void filter_set_delete(FilterSet *set)
{
    if (set == NULL) {
        return;
    }
    buffer_destroy(&set->names);
    free(set->entries);
    free(set->slots);
    free(set);
}

bool filter_set_contains(const FilterSet *set, const char *host, size_t length)
{
    length = without_dot(host, length);
    return set->n > 0 && *filter_set_find_slot(set, host, length) != 0;
}

bool filter_set_contains_domain(const FilterSet *set, const char *host, size_t length)
{
    length = without_dot(host, length);
    const char *end = host + length;
    while (host < end) {
        if (filter_set_contains(set, host, (size_t)(end - host))) {
            return true;
        }
        const char *dot = memchr(host, '.', (size_t)(end - host));
        host = dot != NULL ? dot + 1 : end;
    }
    return false;
}
