/* Standing: what a host has shown so far, which decides on how many connections it competes for.
 *
 * What: a connection to a silent server is taken until its time-out. When all hosts competed for
 * the same connections, some hundred silent ones would take them all, and those that answer would
 * wait. So each standing has a share of fetch.connections that it cannot exceed:
 *
 *   NEW     nothing has come from it yet                       fetch.new_share (50 %)
 *   ILL     it fails, or answers slowly                        fetch.slow_share (25 %)
 *   PROVEN  it has answered, and well the last time            all that the others do not have
 *
 *     NEW --answered--> PROVEN --(time-out, reset, slow ...)--> ILL
 *      '-------------(time-out, reset, slow ...)----------------^ |
 *                          PROVEN <---------answered, in time-----'
 *
 * New hosts do not wait for those that fail, and proven ones for neither. A share is at least one
 * connection. 429, 503 and other errors of a server that come at once hold up nobody: such a host
 * stays PROVEN, and politeness slows it down.
 *
 * Owns: nothing.
 * Threads: any; pure, and LiveShares are atomic. */
#ifndef FRONTIER_VISIT_STANDING_H
#define FRONTIER_VISIT_STANDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frontier/visit/politeness.h"

typedef enum Standing { STANDING_PROVEN, STANDING_NEW, STANDING_ILL, STANDINGS } Standing;

typedef struct StandingShares {
    unsigned new_percent; /* of all connections; 0: no bound, like PROVEN */
    unsigned slow_percent;
} StandingShares;

/* As operators have set them: they may change while the crawl runs. */
typedef struct LiveShares {
    atomic_uint new_percent; /* fetch.new_share */
    atomic_uint slow_percent;
    _Atomic int64_t new_patience_ms; /* fetch/transfer/crowding.h */
} LiveShares;

/* What is remembered of a host, besides its health. */
typedef struct StandingRecord {
    bool has_answered;
    bool is_slow; /* its last answer was */
} StandingRecord;

/* An answer that takes longer than this at a lower rate is slow. */
#define STANDING_SLOW_MS    INT64_C(5000)
#define STANDING_SLOW_BYTES INT64_C(32768) /* a second */

/* most_bytes_s: what the operator lets it send at most, 0 = no matter: obeying that is not slow. */
bool standing_is_slow(int64_t took_ms, uint64_t bytes, int64_t most_bytes_s);
Standing standing_of(const StandingRecord *record, const HostHealth *health);
/* The shares as they are now; NULL: none has a bound. */
StandingShares standing_shares(const LiveShares *live);
/* How many of all connections hosts of this standing may have. */
size_t standing_most(const StandingShares *shares, Standing standing, size_t connections);

#endif
