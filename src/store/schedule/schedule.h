/* Schedule: what is to be fetched, the on-disk half of every visit state's queue.
 *
 * What: one LMDB table of duplicates. Key: number of the host (32 bits, big-endian) and priority
 * level (8 bits, 0 is best). Values: page indices in order (48 bits, big-endian). So the best URLs
 * of a host are one range read, however many URLs are queued. Taking a URL writes nothing; its
 * entry leaves with the transaction that commits the result of its page. A second table lists, for
 * each level, the hosts whose best URL has that level, so that hosts with work are found without
 * looking at URLs.
 * Owns: a Schedule object; the tables are the environment's.
 * Threads: one writer, the thread with the write transaction. Readers: any thread with a read
 * transaction of its own.
 * Errors: RESULT_FULL (the map must grow; abort and try again), RESULT_INVALID, RESULT_DAMAGED,
 * RESULT_VERSION, RESULT_IO, RESULT_MEMORY.
 * Source: seed 002 (front queues), DESIGN section 3. */
#pragma once

#include <lmdb.h>

#include "base/core/result.h"
#include "store/schedule/schedule_types.h"

/* Opens (creates) the tables "schedule" and "schedule_hosts" inside a write transaction of env; the
 * handles are usable by other transactions once it has been committed, and void if it is aborted.
 * options NULL: the defaults. The environment needs room for two named tables more. Options may
 * differ from those of an earlier run: entries keep the level they were given.
 * The journal keeps removals back (schedule_gone.h); it is borrowed; NULL: there is none.
 * RESULT_INVALID: an option is out of range. RESULT_VERSION: written by another format. */
Result schedule_open(Schedule **schedule, MDB_txn *txn, const ScheduleOptions *options,
                     Journal *journal);
/* The same, without a journal, with tables "NAME" and "NAME_hosts" (name at most
 * SCHEDULE_NAME_BYTES): several schedules may live in one environment. */
#define SCHEDULE_NAME_BYTES 32
Result schedule_open_named(Schedule **schedule, MDB_txn *txn, const char *name,
                           const ScheduleOptions *options);
/* Frees the object; the tables stay open as long as their environment. NULL is allowed. */
void schedule_close(Schedule *schedule);

/* The level of a score: logarithmic; not-a-number and negative scores are the last level. */
unsigned schedule_level(const Schedule *schedule, float score);

/* Whether a level is the one that scores do not lead to (ScheduleOptions.has_express). */
bool schedule_is_express(const Schedule *schedule, unsigned level);

/* The scores of a level: [*least, *below). Level 0 has no end (*below is infinite), the last level
 * no beginning (*least is 0; it also has what is below 0). */
void schedule_level_range(const Schedule *schedule, unsigned level, float *least, float *below);

/* Adds or removes one entry. RESULT_OK, and no change, when the entry to be added is there or the
 * entry to be removed is not. RESULT_FULL: abort the transaction, let the map grow, and try again.
 * RESULT_INVALID: level >= SCHEDULE_MAX_LEVELS, or an index of 2^48 or more; nothing was changed.
 */
Result schedule_put(Schedule *schedule, MDB_txn *txn, uint32_t host, unsigned level,
                    uint64_t index);
Result schedule_remove(Schedule *schedule, MDB_txn *txn, uint32_t host, unsigned level,
                       uint64_t index);
/* Many of them at once, or moves, in the given order. */
typedef struct ScheduleChange {
    uint64_t index;
    uint32_t host;
    uint8_t from; /* its level now, SCHEDULE_NO_LEVEL: it is not scheduled */
    uint8_t to;   /* its level then, SCHEDULE_NO_LEVEL: to be removed */
} ScheduleChange;
static inline ScheduleChange schedule_move(uint32_t host, unsigned from, unsigned to,
                                           uint64_t index)
{
    return (ScheduleChange){.index = index, .host = host, .from = (uint8_t)from, .to = (uint8_t)to};
}
Result schedule_change(Schedule *schedule, MDB_txn *txn, const ScheduleChange *changes, size_t n);
/* The same in the order of the table, which they are brought into: cheaper by far, since those of a
 * host are made together. An entry that is both added and removed is added first. */
Result schedule_change_all(Schedule *schedule, MDB_txn *txn, ScheduleChange *changes, size_t n);

/* Removes everything of a host; *removed = how many. */
Result schedule_clear_host(Schedule *schedule, MDB_txn *txn, uint32_t host, uint64_t *removed);

/* Reads up to max hosts that have entries and are not parked, best level first, host id ascending
 * inside a level, behind *position, which moves on; start with *started = false. *n = how many;
 * levels (NULL: not wanted) gets the best level of each. */
typedef struct ScheduleHostCursor {
    bool started;
    unsigned level;
    uint32_t host;
} ScheduleHostCursor;

/* Reads up to max entries of all hosts, parked ones included, in order of (host, level, index),
 * behind *position, which moves on; start with *started = false. For sweeps in short transactions:
 * what is added or removed meanwhile may be seen or not. */
typedef struct ScheduleEntry {
    uint64_t index;
    uint32_t host;
    uint32_t level;
} ScheduleEntry;
typedef struct ScheduleScan {
    bool started;
    ScheduleEntry last;
} ScheduleScan;

/* Removes everything. */
Result schedule_clear(Schedule *schedule, MDB_txn *txn);

/* Entries in all, and hosts that have any; parked hosts (schedule.h) do not count. O(1). */
Result schedule_counts(Schedule *schedule, MDB_txn *txn, uint64_t *entries, uint64_t *hosts);

/* Entries of one host. O(levels). */
Result schedule_host_count(Schedule *schedule, MDB_txn *txn, uint32_t host, uint64_t *entries);

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
