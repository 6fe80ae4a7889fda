/* Schedule, reading: walks in order of host and level.
 *
 * What: reads hosts and their URLs in windows, as of one transaction.
 * Owns: nothing.
 * Threads: any, with a read transaction of their own. */
#ifndef STORE_SCHEDULE_SCHEDULE_READ_H
#define STORE_SCHEDULE_SCHEDULE_READ_H

#include "store/schedule/schedule.h"

/* Reads up to max entries of a host in order of fetching, starting behind *after (NULL = the head).
 * *n = how many; fewer than max means the end. O(log N + n). */
Result schedule_head(Schedule *schedule, MDB_txn *txn, uint32_t host, const ScheduleItem *after,
                     ScheduleItem *items, size_t max, size_t *n);
Result schedule_hosts(Schedule *schedule, MDB_txn *txn, ScheduleHostCursor *position,
                      uint32_t *hosts, uint8_t *levels, size_t max, size_t *n);
Result schedule_scan(Schedule *schedule, MDB_txn *txn, ScheduleScan *position,
                     ScheduleEntry *entries, size_t max, size_t *n);
/* Entries of one host at one level. O(log N). */
Result schedule_level_count(Schedule *schedule, MDB_txn *txn, uint32_t host, unsigned level,
                            uint64_t *entries);
/* Reads up to max hosts that have entries, ids ascending from *from on, with how many entries each
 * has; *from moves on behind the last one. *n = how many; fewer than max means the end. O(log N +
 * levels of those hosts). */
Result schedule_host_counts(Schedule *schedule, MDB_txn *txn, uint64_t *from, uint32_t *hosts,
                            uint64_t *entries, size_t max, size_t *n);
/* Entries of one host. O(levels). */
Result schedule_host_count(Schedule *schedule, MDB_txn *txn, uint32_t host, uint64_t *entries);

#endif
