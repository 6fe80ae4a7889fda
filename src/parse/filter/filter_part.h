/* The parts of a URL or answer that atoms look at, and how a part is compared with an argument.
 *
 * What: everything the tests (filter_tests.h) have in common.
 * Owns: nothing; a part points into what is asked about.
 * Threads: pure functions, inline since a filter runs for every link. */
#ifndef PARSE_FILTER_FILTER_PART_H
#define PARSE_FILTER_FILTER_PART_H

#include <string.h>
#include <strings.h>

#include "parse/filter/filter_atom.h"

typedef struct FilterPart {
    const char *text;
    size_t length;
} FilterPart;

static inline FilterPart filter_part_host(const Url *url)
{
    return (FilterPart){url->href + url->host_start, url->host_end - url->host_start};
}

static inline FilterPart filter_part_path(const Url *url)
{
    return (FilterPart){url->href + url->path_start, url->query_start - url->path_start};
}

/* Without the "?". */
static inline FilterPart filter_part_query(const Url *url)
{
    uint32_t start = url->query_start < url->length ? url->query_start + 1 : url->length;
    return (FilterPart){url->href + start, url->length - start};
}

/* What follows the last dot of the last segment; empty when there is none. */
static inline FilterPart filter_part_extension(const Url *url)
{
    FilterPart path = filter_part_path(url);
    size_t n = 0;
    while (n < path.length && path.text[path.length - 1 - n] != '/') {
        if (path.text[path.length - 1 - n] == '.') {
            return (FilterPart){path.text + path.length - n, n};
        }
        n++;
    }
    return (FilterPart){path.text, 0};
}

/* "text/html" of "text/html; charset=utf-8". */
static inline FilterPart filter_part_mime(const char *content_type)
{
    content_type += strspn(content_type, " \t");
    return (FilterPart){content_type, strcspn(content_type, "; \t,")};
}

static inline bool filter_part_equals(FilterPart part, const FilterItem *item)
{
    return part.length == item->length && memcmp(part.text, item->text, part.length) == 0;
}

static inline bool filter_part_equals_without_case(FilterPart part, const FilterItem *item)
{
    return part.length == item->length && strncasecmp(part.text, item->text, part.length) == 0;
}

static inline bool filter_part_starts_with(FilterPart part, const FilterItem *item)
{
    return part.length >= item->length && memcmp(part.text, item->text, item->length) == 0;
}

static inline bool filter_part_ends_with(FilterPart part, const FilterItem *item)
{
    return part.length >= item->length &&
           memcmp(part.text + part.length - item->length, item->text, item->length) == 0;
}

static inline bool filter_part_ends_with_without_case(FilterPart part, const FilterItem *item)
{
    return part.length >= item->length &&
           strncasecmp(part.text + part.length - item->length, item->text, item->length) == 0;
}

static inline bool filter_part_contains(FilterPart part, const FilterItem *item)
{
    return memmem(part.text, part.length, item->text, item->length) != NULL;
}

/* Whether a part passes the test with one of the arguments. */
static inline bool filter_part_any(const FilterAtom *atom, FilterPart part,
                                   bool (*test)(FilterPart part, const FilterItem *item))
{
    for (size_t i = 0; i < atom->n_items; i++) {
        if (test(part, &atom->items[i])) {
            return true;
        }
    }
    return false;
}

/* Whether a number lies in one of the ranges. */
static inline bool filter_any_range(const FilterAtom *atom, uint64_t value)
{
    for (size_t i = 0; i < atom->n_items; i++) {
        if (value >= atom->items[i].low && value <= atom->items[i].high) {
            return true;
        }
    }
    return false;
}

#endif
