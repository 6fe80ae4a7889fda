/* A link stream over an array, for tests; and random graphs to fill it. */
#ifndef TESTS_UNIT_LINK_LIST_H
#define TESTS_UNIT_LINK_LIST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/core/hash.h"
#include "store/records/link_stream.h"

typedef struct LinkList {
    Link *links;
    size_t n;
    size_t capacity;
    size_t at;
    size_t fails_at; /* next answers with an error there; 0: never */
    size_t stops_at; /* next sets *stop there; 0: never */
    atomic_bool *stop;
} LinkList;

static inline void link_list_add(LinkList *list, int64_t from, int64_t to)
{
    if (list->n == list->capacity) {
        list->capacity = list->capacity == 0 ? 1024 : list->capacity * 2;
        list->links = realloc(list->links, list->capacity * sizeof *list->links);
        if (list->links == NULL) {
            abort();
        }
    }
    list->links[list->n++] = (Link){from, to};
}

static inline StreamState link_list_next(void *state, Link *link)
{
    LinkList *list = state;
    if (list->fails_at != 0 && list->at == list->fails_at) {
        return stream_state_error;
    }
    if (list->at == list->n) {
        return stream_state_end;
    }
    *link = list->links[list->at++];
    if (list->stops_at != 0 && list->at == list->stops_at) {
        atomic_store(list->stop, true);
    }
    return stream_state_next;
}

static inline StreamState link_list_reset(void *state)
{
    ((LinkList *)state)->at = 0;
    return stream_state_init;
}

static inline uint64_t link_list_draw(uint64_t *seed, uint64_t below)
{
    *seed += UINT64_C(0x9E3779B97F4A7C15);
    return hash_mix(*seed) % below;
}

/* Two thirds of the pages are dangling; targets are skewed to low indices; duplicates and links of
 * a page to itself happen. The order of the sources is scattered when is_scattered. */
static inline void link_list_random(LinkList *list, size_t n_pages, uint64_t seed, int is_scattered)
{
    for (size_t i = 0; i < n_pages / 3; i++) {
        size_t from = is_scattered ? link_list_draw(&seed, n_pages) : i;
        size_t degree = 1 + link_list_draw(&seed, 1 + link_list_draw(&seed, 40));
        for (size_t k = 0; k < degree; k++) {
            size_t to = link_list_draw(&seed, 1 + link_list_draw(&seed, n_pages));
            link_list_add(list, (int64_t)from, (int64_t)to);
        }
    }
}

#endif
