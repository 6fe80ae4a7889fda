/* Schedule parking: hosts that are set aside with all they have scheduled, and brought back.
 *
 * What: the entries of a parked host stay in the table. More may be added, and they may be moved
 * and removed. But the list of hosts with work (schedule_hosts) does not name the host, and
 * schedule_counts does not count its entries. Parking and unparking cost the same whether a host
 * has one entry or a million.
 *
 *   table of hosts:  level -> hosts with work;  PARKED -> parked hosts;  PARKED_ENTRIES -> how many
 *                    entries these have
 *
 * Threads: as schedule.h.
 * Invariant: a host is in at most one of these lists. It is parked whether it has entries or not.
 */
#ifndef STORE_SCHEDULE_SCHEDULE_PARKING_H
#define STORE_SCHEDULE_SCHEDULE_PARKING_H

#include "store/schedule/schedule.h"

/* Parks a host; *entries is the number of its entries. Parking a parked host changes nothing. After
 * the first call, older versions of the program refuse the schedule (RESULT_VERSION). RESULT_FULL
 * as schedule_put. */
Result schedule_park(Schedule *schedule, MDB_txn *txn, uint32_t host, uint64_t *entries);
/* Unparks a host; *entries is the number of its entries, *level the level of the best one
 * (SCHEDULE_NO_LEVEL when it has none). A host that is not parked stays as it is. */
Result schedule_unpark(Schedule *schedule, MDB_txn *txn, uint32_t host, uint64_t *entries,
                       unsigned *level);
Result schedule_is_parked(Schedule *schedule, MDB_txn *txn, uint32_t host, bool *parked);
/* Entries of parked hosts, and how many hosts these are. O(1). */
Result schedule_parked_counts(Schedule *schedule, MDB_txn *txn, uint64_t *entries, uint64_t *hosts);
/* Up to max parked hosts, ids ascending, from *next on, which moves on; start with 0. *n = how
 * many, 0 at the end. */
Result schedule_parked_hosts(Schedule *schedule, MDB_txn *txn, uint64_t *next, uint32_t *hosts,
                             size_t max, size_t *n);

/* ---- for the other files of this room ---- */

/* The host's best level changes from one to another; SCHEDULE_NO_LEVEL: it had or has none. An
 * LMDB code. */
int schedule_note_best(Schedule *schedule, MDB_txn *txn, uint32_t host, unsigned from, unsigned to);
/* Counts entries that were added to (negative: removed from) parked hosts. An LMDB code. */
int schedule_note_parked(Schedule *schedule, MDB_txn *txn, int64_t change);
/* Whether any host is parked. */
int schedule_any_parked(Schedule *schedule, MDB_txn *txn, bool *any);
/* A parked host that was emptied is not parked any more. */
int schedule_forget_parked(Schedule *schedule, MDB_txn *txn, uint32_t host, uint64_t removed);

#endif
