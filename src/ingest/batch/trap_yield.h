/* Trap yield: which patterns of URLs bring nothing new.
 *
 *   free --(half of enough fetches, too little new)--> throttled --(enough fetches)--> parked
 *     ^                                                    |
 *     '---------------(a fetch brings new content)---------'
 *
 * What: counts, per host and pattern (parse/trap/trap.h), how many pages were fetched and how many
 * of them had content that was not there before. Links of a throttled pattern are scheduled at the
 * last level, behind everything else of the host. Links of a parked pattern are refused (-10006),
 * and so are its URLs that are scheduled already, when their turn comes
 * (fetch/transfer/fetch_step.h reads the set of parked patterns). `ragno schedule DIR refused`
 * takes them back.
 *
 * The table is bounded: in a full set the pattern with the fewest fetches makes room, parked ones
 * last. It lives in memory only: a restart gives every pattern a new chance. What the fetching
 * threads refuse stays refused even when the table forgets its pattern.
 *
 * Threads: ingest. It is told after a commit, so that a batch that is tried again counts once. */
#pragma once

#include "base/core/hash.h"
#include "base/thread/shared.h"

typedef struct TrapYield TrapYield;

typedef struct TrapYieldOptions {
    uint32_t fetches; /* of a pattern before it is judged */
    double yield;     /* the least share of new content */
    size_t patterns;  /* remembered at most */
    Shared *parked;   /* gets a TrapSet of the parked ones; NULL = nobody asks; borrowed */
} TrapYieldOptions;

/* RESULT_MEMORY. */
Result trap_yield_new(TrapYield **table, const TrapYieldOptions *options);
void trap_yield_delete(TrapYield *table);
typedef enum TrapState { TRAP_FREE, TRAP_THROTTLED, TRAP_PARKED } TrapState;

/* A page that was fetched. */
typedef struct TrapVisit {
    const char *url;
    Hash128 pattern;  /* of its URL: trap_pattern_key */
    bool is_new;      /* its bytes were not stored before */
    uint64_t content; /* its trap_content_hash, or 0 */
} TrapVisit;

/* Notes a page. One whose content hash is among the last sixty or so of its pattern does not count
 * as new either: with a session id in every link, no two pages have the same bytes. True when the
 * pattern has just changed to *state; pattern (size bytes) then holds its text, cut to fit. */
bool trap_yield_note(TrapYield *table, const TrapVisit *visit, TrapState *state, char *pattern,
                     size_t size);
/* The state of the URL's pattern. */
TrapState trap_yield_state(TrapYield *table, const char *url, size_t length);
