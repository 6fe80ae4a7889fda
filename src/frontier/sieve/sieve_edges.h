/* Sieve edges: the links of a merge, gathered bucket by bucket and given back page by page.
 *
 *   collecting --sieve_sort_begin, sieve_sort_step until it is done--> sorted --sieve_edges_next-->
 *
 * What: an edge is sixteen bytes: page, number of the page's crawl, whether the link leaves the
 * domain, target, kind. For each crawl of a page one edge more says how many links it had, so that
 * a crawl of which some links were lost is recognised. A few edges are kept in memory, many in
 * files without a name in the directory of the bucket files. Eight million edges take half a second
 * to sort, so a step of the sort ends when its time is over.
 *
 * Owns: the edges and their file.
 * Threads: one. */
#pragma once

#include "base/core/clock.h"

#define SIEVE_MAX_NUMBER ((UINT32_C(1) << 23) - 1) /* of a crawl */
#define SIEVE_MAX_LINKS  ((size_t)1 << 24)         /* of a page */

typedef struct SieveEdge {
    uint64_t from;   /* page 48, number 16 (upper) */
    uint64_t target; /* number 7 (lower), same domain 1, target 48, kind 8 */
} SieveEdge;

typedef struct SieveEdges {
    const char *directory; /* of the files; borrowed */
    SieveEdge *edges;
    size_t n;
    size_t capacity;
    int fd; /* of the file that edges is mapped from, or -1: from malloc */
} SieveEdges;

void sieve_edges_init(SieveEdges *edges, const char *directory);
void sieve_edges_destroy(SieveEdges *edges);

/* RESULT_MEMORY, RESULT_FULL, RESULT_IO. */
Result sieve_edges_add(SieveEdges *edges, uint64_t page, uint32_t number, bool cross,
                       uint64_t target, uint8_t kind);
Result sieve_edges_add_count(SieveEdges *edges, uint64_t page, uint32_t number, size_t n_links);

#define SIEVE_SORT_DIGITS 8u
#define SIEVE_SORT_VALUES 256u

/* A sort under way. */
typedef struct SieveSort {
    SieveEdges scratch;
    unsigned digit;  /* 0: they are counted; d + 1: moved by digit d; the last: lists are sorted */
    size_t position; /* of the pass */
    size_t longest;  /* list, in edges: known when all is done */
    size_t of_page;  /* edges of the page before position */
    size_t counts[SIEVE_SORT_DIGITS][SIEVE_SORT_VALUES];
} SieveSort;

/* Begins a sort; allocates as much memory as the edges take. Errors as sieve_edges_add; the edges
 * are unchanged, and the call can be repeated. */
Result sieve_sort_begin(SieveSort *sort, const SieveEdges *edges);
/* Continues the sort until soon after `until`. True when the sort is done; its memory is then free.
 * No edges may be added during a sort. */
bool sieve_sort_step(SieveSort *sort, SieveEdges *edges, MonoTime until);
/* Ends a sort in any state, also one that never began (all zeroes) or is done. */
void sieve_sort_end(SieveSort *sort);

typedef struct SieveList {
    uint64_t page;
    uint64_t *targets; /* the caller's room for SieveSort.longest; cross-domain ones come first;
                          with kinds as page_links_encode wants them */
    size_t n;
    size_t n_diff;
    bool kinds; /* some are not 0 */
    bool whole; /* none of its links was lost */
} SieveList;

/* The list of links of the page whose edges begin at *position, as of its last crawl. Moves
 * *position to the next page. False at the end. */
bool sieve_edges_next(const SieveEdges *edges, size_t *position, SieveList *list);
