/* Which kinds of URLs bring nothing new: per host and pattern (parse/trap/trap.h) how many pages
 * were fetched and how many of them had content that was not there before. A pattern with half of
 * enough fetches and too little that is new is throttled: ingest schedules further links of it at
 * the last level, behind all else of the host. With enough of them it is parked: links of it are
 * refused
 * (-10006), and so are URLs of it that are scheduled already, when their turn comes (fetch_step.h
 * reads the set of parked patterns). `ragno schedule DIR refused` takes them back. Throttled
 * patterns are judged by each further fetch: one that brings new content again is free again.
 *
 * The table is bounded: sets of few places, and in a full set the pattern with the fewest fetches
 * makes room, parked ones last. It lives in memory only: a restart gives every pattern a new
 * chance. What the fetching threads refuse stays refused even when the table forgets its pattern.
 * Belongs to the ingest thread; told after a commit, so that a batch tried again counts once. */
#ifndef INGEST_BATCH_TRAP_YIELD_H
#define INGEST_BATCH_TRAP_YIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"
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

/* A page was fetched; is_new: its bytes were not there before. content: trap_content_hash of it, or
 * 0. One that is among the last sixty or so of its pattern is nothing new either: with a session id
 * in every link no bytes are ever the same. True when its pattern has just changed to *state; then
 * pattern (size bytes) holds it, cut if need be. */
bool trap_yield_note(TrapYield *table, const char *url, size_t length, bool is_new,
                     uint64_t content, TrapState *state, char *pattern, size_t size);
/* How the URL's pattern stands. */
TrapState trap_yield_state(TrapYield *table, const char *url, size_t length);

#endif
