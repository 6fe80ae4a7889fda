/* Entries of a host that were removed, and are still in the table.
 *
 * What: the result of a page removes one entry, and its host has the next result seconds later: a
 * page of the tree for each. So such removals are kept in a list of the host, a row of the journal
 * (JOURNAL_SCHEDULE, by host), and are done together: when the list is full, before a change of the
 * host's entries to which they matter, and at the latest by the journal's sweep. Whoever reads a
 * host's entries leaves out those of its list. How many there are in all lists is a number of the
 * table of hosts.
 * Owns: nothing.
 * Threads: as schedule.h.
 * Invariants: 1. What is in a list is in the table. 2. The level of a host in the table of hosts is
 * that of its first entry that is left; a host without any is not there.
 * Errors: LMDB codes. */
#ifndef STORE_SCHEDULE_SCHEDULE_GONE_H
#define STORE_SCHEDULE_SCHEDULE_GONE_H

#include "store/schedule/schedule_types.h"

#define SCHEDULE_GONE_MAX 32u

typedef struct ScheduleGone {
    size_t n;
    ScheduleItem items[SCHEDULE_GONE_MAX];
} ScheduleGone;

/* The list of a host; empty: it has none. */
int schedule_gone_read(const Schedule *schedule, MDB_txn *txn, uint32_t host, ScheduleGone *gone);
/* Decodes a row of the journal. */
int schedule_gone_decode(const MDB_val *row, ScheduleGone *gone);
/* Replaces a list that has `before` items, and counts. */
int schedule_gone_write(Schedule *schedule, MDB_txn *txn, uint32_t host, const ScheduleGone *gone,
                        size_t before);
bool schedule_gone_has(const ScheduleGone *gone, unsigned level, uint64_t index);
/* How many of a level. */
size_t schedule_gone_of_level(const ScheduleGone *gone, unsigned level);
/* The number at a key of the table of hosts that is no level; *any: there is one, else it is 0. */
int schedule_number_read(const Schedule *schedule, MDB_txn *txn, unsigned list, uint64_t *n,
                         bool *any);
/* Replaces it by n, written in `bytes` bytes, at most SCHEDULE_NUMBER_BYTES; 0: removes it. */
#define SCHEDULE_NUMBER_BYTES 8u
int schedule_number_write(Schedule *schedule, MDB_txn *txn, unsigned list, uint64_t n,
                          unsigned bytes);

#endif
