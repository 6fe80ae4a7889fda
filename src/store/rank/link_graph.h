/* The link graph as PageRank and HITS want it: read once from a link stream, then swept many times.
 *
 *   link stream --build--> LinkGraph --sweeps of page_rank, hits--> scores
 *
 * What: only pages that link (crawled ones) are *sources*. They are numbered densely in the order
 * of their first link, so that the values gathered along links fit the cache of a processor even
 * when most pages are uncrawled. Every page has a *position*: pages are ordered by the number of
 * their incoming links, so that a sweep runs through whole *classes* of pages with the same number.
 * Its inner loop has a constant length, and everything but the gathered value is read in sequence.
 *
 * Memory: 4 bytes for each link (8 while building), 4 for each page, 12 for each source. Page
 * indices and sources are below 2^32 - 1; links are not limited.
 *
 * Owns: its arrays.
 * Threads: immutable after build; any number of threads reads.
 * Invariants:
 * 1. in[] holds the sources of the links to the page at position 0, then 1, and so on.
 * 2. The classes partition the positions in ascending order of degree.
 * 3. Slices partition the classes, and none costs much more than LINK_GRAPH_SLICE.
 * 4. A link that appears twice in the stream counts twice here as well; so do links from a page to
 *    itself.
 * Errors: RESULT_MEMORY, RESULT_LIMIT, RESULT_CLOSED when it was stopped, and those of the
 * stream. */
#ifndef STORE_RANK_LINK_GRAPH_H
#define STORE_RANK_LINK_GRAPH_H

#include <stdatomic.h>
#include <stdbool.h>

#include "store/lmdb/mmap_array.h"
#include "store/records/link_stream.h"

#ifndef __cplusplus /* the library's own; C++ has other atomic calls */
static inline bool rank_is_stopped(const atomic_bool *stop)
{
    return stop != NULL && atomic_load_explicit(stop, memory_order_relaxed);
}
#endif

/* Links and pages between two looks at the stop flag: a millisecond when each misses the caches. */
#define LINK_GRAPH_SLICE 16384u

/* n pages at successive positions with degree incoming links each. */
typedef struct LinkSlice {
    uint64_t first_link; /* of the first page, in in[] */
    uint32_t first;      /* position */
    uint32_t n;
    uint32_t degree;
} LinkSlice;

typedef struct LinkGraph {
    uint64_t n_links;
    uint32_t n_pages;
    uint32_t n_sources;
    uint32_t n_targets;        /* pages with an incoming link: the last positions */
    uint32_t *in;              /* [n_links] sources */
    uint32_t *page_at;         /* [n_pages] the page at a position */
    uint32_t *source_page;     /* [n_sources] */
    uint32_t *source_position; /* [n_sources] */
    uint32_t *source_degree;   /* [n_sources] outgoing links, at least 1 */
    size_t n_slices;
    LinkSlice *slices;
} LinkGraph;

/* Reads the stream to its end (it is reset first). The graph has at least n_pages pages, more when
 * a link names a higher index. stop (NULL is allowed) is looked at all the while. RESULT_MEMORY;
 * RESULT_LIMIT: an index that is negative or too high; RESULT_IO: the stream ended with an error;
 * *graph is NULL then. RESULT_CLOSED: stopped; *graph is unfinished and only fit for
 * link_graph_delete, which may be put off (link_graph.h). */
Result link_graph_build(LinkGraph **graph, size_t n_pages, void *stream, LinkStreamNextFunc *next,
                        LinkStreamResetFunc *reset, const atomic_bool *stop);
/* NULL is allowed. */
void link_graph_delete(LinkGraph *graph);

/* The sum of value[] over the sources of one page. Four sums, so that a page with many links is not
 * bound by the latency of additions. */
static inline double link_graph_gather(const double *value, const uint32_t *in, uint32_t degree)
{
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    uint32_t k = 0;
    for (; k + 4 <= degree; k += 4) {
        sum[0] += value[in[k]];
        sum[1] += value[in[k + 1]];
        sum[2] += value[in[k + 2]];
        sum[3] += value[in[k + 3]];
    }
    for (; k < degree; k++) {
        sum[0] += value[in[k]];
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

#endif
