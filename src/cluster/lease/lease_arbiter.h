/* Lease arbiter: the arbiter's side of leases (lease.h): which agent may use an address now, and
 * which is next.
 *
 *              want, free                       release, or lease_busy_ms have passed
 *   free -----------------------> held by one -------------------------------------> resting
 *    ^  '-- want, not yet free --> waiters, first come first served                     |
 *    |                               | its rest is over                                 |
 *    '---- nobody waits ------------ offered to the first, OFFER_MS; then the next <----'
 *
 * What: everything is in memory only. After a start the arbiter rests instead (lease.h, invariant
 * 3). At most `most` addresses are known; a want for one more is answered LEASE_WAIT and forgotten,
 * and its holder asks again. A waiter that has sent nothing for LEASE_WAITER_MS is dropped.
 *
 * Owns: the addresses that it knows. Time is a parameter and never goes back.
 * Threads: none of its own; one at a time. */
#ifndef CLUSTER_LEASE_LEASE_ARBITER_H
#define CLUSTER_LEASE_LEASE_ARBITER_H

#include "base/core/result.h"
#include "cluster/lease/lease.h"
#include "cluster/table/cluster_table.h"

/* Lease floor: what an arbiter may grant at all. A part of lease_arbiter.h.
 *
 * What: an arbiter grants only addresses that are its own, only while it knows that its cluster
 * table is the newest, and no address for which another arbiter, or a former process of this one,
 * may have granted a lease that is still in use (lease.h, invariant 3).
 * Owns: the arbiters of this table and of former ones. Time is a parameter.
 * Threads: one at a time. */

#define LEASE_FLOOR_TABLES 64u /* changes of arbiters within one rest; beyond, everything rests */

/* How long a grant without a release keeps the address from others. */
int64_t lease_busy_ms(const LeaseRules *rules);
/* How long an arbiter that knows of no grants grants none. */
int64_t lease_rest_ms(const LeaseRules *rules);

/* Arbiters until some moment. */
typedef struct LeaseFormer {
    Arbiters arbiters;
    MonoTime until;
} LeaseFormer;

typedef struct LeaseFloor {
    int64_t rest_ms;
    int64_t confirm_ms;
    uint16_t self;
    bool closed;              /* nothing is granted any more */
    MonoTime floor;           /* nothing is granted before */
    MonoTime confirmed_until; /* nor after */
    uint64_t epoch;
    Arbiters arbiters;
    LeaseFormer formers[LEASE_FLOOR_TABLES];
    size_t n_formers;
} LeaseFloor;

/* Begins at now: it knows of no table. */
void lease_floor_init(LeaseFloor *floor, const LeaseRules *rules, uint16_t self, MonoTime now);
void lease_floor_destroy(LeaseFloor *floor);

typedef enum LeaseFloorChange {
    LEASE_FLOOR_SAME,
    LEASE_FLOOR_MOVED, /* some addresses have another arbiter */
    LEASE_FLOOR_RAISED /* the same, and nothing is granted before floor->floor */
} LeaseFloorChange;
/* The arbiters by the table of an epoch, taken over (moved from). */
LeaseFloorChange lease_floor_set(LeaseFloor *floor, Arbiters *arbiters, uint64_t epoch,
                                 MonoTime now);
/* That table was the newest when it was looked at, which was begun at `asked`. */
void lease_floor_confirm(LeaseFloor *floor, MonoTime asked);
void lease_floor_lapse(LeaseFloor *floor, MonoTime now);

static inline bool lease_floor_may_grant(const LeaseFloor *floor, MonoTime now)
{
    return !floor->closed && mono_before(now, floor->confirmed_until);
}
static inline bool lease_floor_is_mine(const LeaseFloor *floor, const IpAddress *address)
{
    return arbiters_find(&floor->arbiters, address) == floor->self;
}
/* When all that may have been granted before is over. */
MonoTime lease_floor_end(const LeaseFloor *floor);
/* When an address may be granted first. */
MonoTime lease_floor_of(const LeaseFloor *floor, const IpAddress *address);

#define LEASE_OFFER_MS  3000
#define LEASE_WAITER_MS 150000

typedef struct LeaseArbiter LeaseArbiter;

/* Of agent `self`, beginning at now: it knows of no grants, and no table yet. RESULT_MEMORY. */
Result lease_arbiter_new(LeaseArbiter **arbiter, const LeaseRules *rules, uint16_t self,
                         size_t most, MonoTime now);
void lease_arbiter_delete(LeaseArbiter *arbiter); /* NULL is allowed */

/* What it may grant at all. */
LeaseFloor *lease_arbiter_floor(LeaseArbiter *arbiter);
/* Who arbitrates by the table of an epoch, taken over (moved from). Addresses that were another's
 * rest; all do when the last confirmation is too old to know what tables there were in between. */
LeaseFloorChange lease_arbiter_set(LeaseArbiter *arbiter, Arbiters *arbiters, uint64_t epoch,
                                   MonoTime now);
/* That table was seen to be the newest, by a look that began at `asked`. */
static inline void lease_arbiter_confirm(LeaseArbiter *arbiter, MonoTime asked)
{
    lease_floor_confirm(lease_arbiter_floor(arbiter), asked);
}
/* The last confirmation is worth nothing: time may have passed that the clock did not count. */
static inline void lease_arbiter_lapse(LeaseArbiter *arbiter, MonoTime now)
{
    lease_floor_lapse(lease_arbiter_floor(arbiter), now);
}
/* Of a former process of this arbiter, or of another one under a former table: a client holds the
 * address. RESULT_LIMIT, RESULT_MEMORY: nothing is to be known then. */
Result lease_arbiter_learn(LeaseArbiter *arbiter, LeaseClient client, const LeaseHeld *held,
                           MonoTime now);
/* All that is held was learnt: from now on an address rests for the delay alone. */
void lease_arbiter_know(LeaseArbiter *arbiter, MonoTime now);
/* Nothing is granted any more; releases are still heard. */
static inline void lease_arbiter_close(LeaseArbiter *arbiter)
{
    lease_arbiter_floor(arbiter)->closed = true;
}
/* A message of a client begins: false when it is older than one that was read, and must be dropped.
 * number: counted up by the client. All sessions of the agent below dead_below are known to have
 * ended: what they held rests for the delay alone. */
bool lease_arbiter_hear(LeaseArbiter *arbiter, LeaseClient client, uint64_t number,
                        uint64_t dead_below, MonoTime now);
/* One line of it. */
LeaseAnswer lease_arbiter_ask(LeaseArbiter *arbiter, LeaseClient client, const LeaseItem *item,
                              MonoTime now);

/* The next hint that is to be sent now; false: none. Call it until then after everything above. */
bool lease_arbiter_hint(LeaseArbiter *arbiter, MonoTime now, LeaseHint *hint);
/* When lease_arbiter_hint wants to be called next. */
MonoTime lease_arbiter_next(const LeaseArbiter *arbiter);

typedef struct LeaseArbiterStats {
    size_t addresses; /* known */
    size_t held;
    size_t bytes;
    uint64_t turned_away; /* wants beyond the bound */
} LeaseArbiterStats;
void lease_arbiter_stats(const LeaseArbiter *arbiter, LeaseArbiterStats *stats);

#endif
