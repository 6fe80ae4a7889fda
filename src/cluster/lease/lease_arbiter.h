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
 * 3), and what it may grant at all is its floor: only addresses that are its own, only while it
 * knows that its cluster table is the newest, and no address for which another arbiter, or a former
 * process of this one, may have granted a lease that is still in use. At most `most` addresses are
 * known; a want for one more is answered LEASE_WAIT and forgotten, and its holder asks again. A
 * waiter that has sent nothing for LEASE_WAITER_MS is dropped.
 *
 * Owns: the addresses that it knows, the arbiters of this table and of former ones. Time is a
 * parameter and never goes back.
 * Threads: none of its own; one at a time. */
#pragma once

#include "cluster/lease/lease.h"
#include "cluster/table/cluster_table.h"

/* How long a grant without a release keeps the address from others. */
int64_t lease_busy_ms(const LeaseRules *rules);
/* How long an arbiter that knows of no grants grants none. */
int64_t lease_rest_ms(const LeaseRules *rules);

#define LEASE_OFFER_MS  3000
#define LEASE_WAITER_MS 150000

typedef struct LeaseArbiter LeaseArbiter;

/* Of agent `self`, beginning at now: it knows of no grants, and no table yet. RESULT_MEMORY. */
Result lease_arbiter_new(LeaseArbiter **arbiter, const LeaseRules *rules, uint16_t self,
                         size_t most, MonoTime now);
void lease_arbiter_delete(LeaseArbiter *arbiter); /* NULL is allowed */

/* Who arbitrates by the table of an epoch, taken over (moved from). Addresses that were another's
 * rest; all do when the last confirmation is too old to know what tables there were in between.
 * False: nothing has changed. */
bool lease_arbiter_set(LeaseArbiter *arbiter, Arbiters *arbiters, uint64_t epoch, MonoTime now);
/* That table was seen to be the newest, by a look that began at `asked`. */
void lease_arbiter_confirm(LeaseArbiter *arbiter, MonoTime asked);
/* The last confirmation is worth nothing: time may have passed that the clock did not count. */
void lease_arbiter_lapse(LeaseArbiter *arbiter, MonoTime now);
/* When all that others may have granted before is over. */
MonoTime lease_arbiter_rested(const LeaseArbiter *arbiter);
/* Of a former process of this arbiter, or of another one under a former table: a client holds the
 * address. RESULT_LIMIT, RESULT_MEMORY: nothing is to be known then. */
Result lease_arbiter_learn(LeaseArbiter *arbiter, LeaseClient client, const LeaseHeld *held,
                           MonoTime now);
/* All that is held was learnt: from now on an address rests for the delay alone. */
void lease_arbiter_know(LeaseArbiter *arbiter, MonoTime now);
/* Nothing is granted any more; releases are still heard. */
void lease_arbiter_close(LeaseArbiter *arbiter);
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

/* Of memory, for what it knows. */
size_t lease_arbiter_bytes(const LeaseArbiter *arbiter);
