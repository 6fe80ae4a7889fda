/* Standing: what a host has shown so far, which decides on how many connections it competes for.
 *
 * What: a connection to a silent server is taken until its time-out. When all hosts competed for
 * the same connections, some hundred silent ones would take them all, and those that answer would
 * wait. So each standing has a share of fetch.connections that it cannot exceed:
 *
 *   NEW     no page has come from it in time yet               fetch.new_share (50 %)
 *   ILL     it fails, or answers slowly                        fetch.slow_share (25 %)
 *   PROVEN  it has sent a page in time, and well the last time all that the others do not have
 *
 *     NEW --a page, in time--> PROVEN --(time-out, reset, slow ...)--> ILL
 *      '-----------------(time-out, reset, slow ...)-------------------^ |
 *                               PROVEN <----------answered, in time-----'
 *
 * New hosts do not wait for those that fail, and proven ones for neither. A share is at least one
 * connection. 429, 503 and other errors of a server that come at once hold up nobody: such a host
 * is PROVEN, and politeness slows it down. A robots.txt proves nothing: a host that sends it at
 * once may send every page a byte at a time.
 *
 * Whoever turns slow in flight gives up its place: it counts among the ILL from then on, as far as
 * they have room, and the place is free for another one of its kind. Without room it stays where it
 * is, and is broken off when others wait (fetch/transfer/crowding.h).
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
    size_t slowed[STANDINGS]; /* in flight: acquired as such, and slow since */
} StandingShares;

/* As operators have set them: they may change while the crawl runs. */
typedef struct LiveShares {
    atomic_uint new_percent; /* fetch.new_share */
    atomic_uint slow_percent;
    _Atomic int64_t new_patience_ms; /* fetch/transfer/crowding.h */
    atomic_size_t slowed[STANDINGS]; /* as in StandingShares; fetching threads count */
} LiveShares;

/* What is remembered of a host, besides its health. */
typedef struct StandingRecord {
    bool has_answered; /* anything */
    bool is_proven;    /* a page has come in time */
    bool is_slow;      /* its last answer was */
} StandingRecord;

/* An answer that takes longer than this at a lower rate is slow. */
#define STANDING_SLOW_MS    INT64_C(5000)
#define STANDING_SLOW_BYTES INT64_C(65536) /* a second */
/* A body that is not whole so long behind its first byte, and came at a lower rate, drips: a server
 * that means well has sent more at once. */
#define STANDING_DRIP_MS    INT64_C(1000)
#define STANDING_DRIP_BYTES INT64_C(8192) /* a second */

/* most_bytes_s: what the operator lets it send at most, 0 = no matter: obeying that is not slow. */
bool standing_is_slow(int64_t took_ms, uint64_t bytes, int64_t most_bytes_s);
/* The same of a body that is still coming, since its first byte. */
bool standing_drips(int64_t took_ms, uint64_t bytes, int64_t most_bytes_s);
Standing standing_of(const StandingRecord *record, const HostHealth *health);
/* The shares as they are now; NULL: none has a bound. */
StandingShares standing_shares(const LiveShares *live);
/* How many of all connections, or bytes, hosts of this standing may have. */
size_t standing_most(const StandingShares *shares, Standing standing, size_t all);
/* How many count as of this standing when so many were acquired of each, and `slowed` of them have
 * turned slow since: those count as ILL, as far as there are fewer than most_ill. */
size_t standing_counted(const size_t acquired[STANDINGS], const size_t slowed[STANDINGS],
                        size_t most_ill, Standing standing);

#endif
