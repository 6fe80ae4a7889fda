/* Lease floor: what an arbiter may grant at all. A part of lease_arbiter.h.
 *
 * What: an arbiter grants only addresses that are its own, only while it knows that its cluster
 * table is the newest, and no address for which another arbiter, or a former process of this one,
 * may have granted a lease that is still in use (lease.h, invariant 3).
 * Owns: the arbiters of this table and of former ones. Time is a parameter.
 * Threads: one at a time. */
#ifndef CLUSTER_LEASE_LEASE_FLOOR_H
#define CLUSTER_LEASE_LEASE_FLOOR_H

#include "cluster/lease/lease.h"
#include "cluster/table/arbiters.h"

#define LEASE_FLOOR_TABLES 64u /* changes of arbiters within one rest; beyond, everything rests */

/* Arbiters until some moment. */
typedef struct LeaseFormer {
    Arbiters arbiters;
    MonoTime until;
} LeaseFormer;

typedef struct LeaseFloor {
    int64_t rest_ms;
    int64_t confirm_ms;
    uint16_t self;
    bool first;               /* no former process of this agent has granted anything */
    bool original;            /* the next table is as the cluster was made: nobody has moved */
    LeaseKept kept;           /* of the former process */
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

/* What it need not fear of the table that is set next: lease_arbiter_trust. */
static inline void lease_floor_trust(LeaseFloor *floor, bool first, bool original,
                                     const LeaseKept *kept)
{
    floor->kept = *kept;
    floor->first = first;
    floor->original = original;
}

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

#endif
