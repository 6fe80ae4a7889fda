/* The links that a merge of the sieve has looked up, gathered bucket by bucket, given back page by
 * page: a list of sixteen-byte edges, sorted once.
 *
 * An edge is (page, number of its crawl, leaves the domain or not, target, kind). For each crawl
 * one edge more says how many links there are, so that a crawl of which some were lost is
 * recognised. Many edges lie in files without name, in the bucket files' directory; few in memory.
 *
 * States: collecting -- sieve_edges_sort --> sorted. Threads: one. */
#ifndef FRONTIER_SIEVE_EDGES_H
#define FRONTIER_SIEVE_EDGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"

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

/* The same errors; nothing is lost, try again. */
Result sieve_edges_sort(SieveEdges *edges);

typedef struct SieveList {
    uint64_t page;
    uint64_t *targets; /* the caller's room for sieve_edges_longest; cross-domain ones come first;
                          with kinds as page_links_encode_kinds wants them */
    size_t n;
    size_t n_diff;
    bool kinds; /* some are not 0 */
    bool whole; /* none of its links was lost */
} SieveList;

/* The list of the page whose edges begin at position: of its last crawl. Moves position behind
 * them; false at the end. */
bool sieve_edges_next(const SieveEdges *edges, size_t *position, SieveList *list);
/* The longest list, in edges. */
size_t sieve_edges_longest(const SieveEdges *edges);

#endif
