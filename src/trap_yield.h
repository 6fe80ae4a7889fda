/* Which kinds of URLs bring nothing new: per host and pattern (parse/trap.h) how many pages were
 * fetched and how many of them had content that was not there before. A pattern with enough fetches
 * and too little that is new is parked: ingest refuses further links of it (-10006).
 *
 * The table is bounded: sets of few places, and in a full set the pattern with the fewest fetches
 * makes room, parked ones last. It lives in memory only: a restart gives every pattern a new
 * chance. Belongs to the ingest thread; told after a commit, so that a batch tried again counts
 * once. */
#ifndef TRAP_YIELD_H
#define TRAP_YIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"

typedef struct TrapYield TrapYield;

typedef struct TrapYieldOptions {
    uint32_t fetches; /* of a pattern before it is judged */
    double yield;     /* the least share of new content */
    size_t patterns;  /* remembered at most */
} TrapYieldOptions;

/* RESULT_MEMORY. */
Result trap_yield_new(TrapYield **table, const TrapYieldOptions *options);
void trap_yield_delete(TrapYield *table);
/* A page was fetched. True when its pattern has just been parked; then pattern (size bytes) holds
 * it, cut if need be. */
bool trap_yield_note(TrapYield *table, const char *url, size_t length, bool is_new, char *pattern,
                     size_t size);
/* Whether the URL's pattern is parked. */
bool trap_yield_is_parked(TrapYield *table, const char *url, size_t length);

#endif
