/* Sieve merge: looks up the links of one generation, in pieces.
 *
 *   sieve_merge_begin --> sieve_merge_step, commit, sieve_merge_settle, again and again --> ended
 *
 * What: first the buckets, one after the other: each link becomes a new page, a better path or
 * nothing (page_merge.h), and an edge. Then the edges are sorted (sieve_edges.h), and page after
 * page gets its list of links. What was gathered of buckets that an earlier run merged is gathered
 * again, by look-ups.
 *
 * Owns: the edges. Drum, PageMerge, directory and state are the sieve's.
 * Threads: ingest. sieve_merge_step between page_merge_begin and page_merge_end.
 *
 * Invariants:
 *  1. Progress is committed by the transaction that holds what was written: after an aborted one
 *     the merge stands where it was (sieve_merge_settle).
 *  2. A page gets a list only when all of its links are there. */
#ifndef FRONTIER_SIEVE_SIEVE_MERGE_H
#define FRONTIER_SIEVE_SIEVE_MERGE_H

#include "base/core/clock.h"
#include "frontier/sieve/page_merge.h"
#include "frontier/sieve/sieve_edges.h"
#include "frontier/sieve/sieve_state.h"

/* The page whose link led to the URL that the sink is being told of. */
typedef struct SieveSource {
    size_t n_links;
    float score;
} SieveSource;

typedef struct SieveMerge {
    Drum *drum; /* borrowed, as what follows */
    PageMerge *pages;
    const char *directory;
    SieveState *state;
    DrumMerge *drum_merge; /* NULL: none is under way */
    SieveEdges edges;
    size_t n_edges;        /* committed */
    uint32_t edge_buckets; /* whose edges are there */
    uint32_t edge_buckets_committed;
    bool sorting;
    bool sorted;
    SieveSort sort;
    uint64_t *targets;
    size_t position; /* of the next list */
    size_t position_committed;
    bool finished; /* everything is written: waits for its commit */
    bool replaying;
    SieveSource source;
    uint64_t lost; /* links */
} SieveMerge;

/* The functions that the drum calls during this merge. The merge must not be moved in memory. */
DrumDispatcher sieve_merge_dispatcher(SieveMerge *merge);
/* Begins with the oldest sealed generation. RESULT_NOT_FOUND: there is none. */
Result sieve_merge_begin(SieveMerge *merge);
/* Does the next piece, until soon after `until`. */
Result sieve_merge_step(SieveMerge *merge, MonoTime until);
/* Says whether the transaction of the last step was committed or aborted. */
void sieve_merge_settle(SieveMerge *merge, bool committed);
/* Frees what the merge holds. The next merge continues where this one was last committed. */
void sieve_merge_end(SieveMerge *merge);

#endif
