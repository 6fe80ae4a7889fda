/* Schedule, reading: walks in order of host and level.
 *
 * What: reads hosts and their URLs in windows, as of one transaction.
 * Owns: nothing.
 * Threads: any, with a read transaction of their own. */
#pragma once

#include "store/schedule/schedule.h"
#include "store/pages/page_db.h"
#include "store/format/page_packs.h"

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

/* Moving scheduled pages between priority levels, many at a time.
 *
 * What: the level of a page stands in two places that must agree: its entry in the schedule, which
 * orders the crawl, and its record in PageDB, which tells whoever removes the entry where it is.
 * Both change here, in one transaction. Records are rewritten in order of index, sixteen neighbours
 * at once; entries of the schedule in order of host. Moves are found by looking at a snapshot and
 * are applied later, so each is checked: a page that has left the schedule, or has changed its
 * level since, is left alone.
 * Owns: nothing.
 * Threads: the one with the write transaction.
 * Errors: RESULT_FULL, RESULT_MEMORY, RESULT_DAMAGED, RESULT_IO; the transaction must be
 * aborted. */

/* Applies n moves, which are in ascending order of index and lead from level to level. Those that
 * held (the page is scheduled at `from`) are the first *n_moved of the array afterwards, in another
 * order. RESULT_FULL, RESULT_MEMORY, RESULT_DAMAGED, RESULT_IO: the transaction must be aborted. */
Result page_levels_move(PageDB *db, Schedule *schedule, MDB_txn *txn, ScheduleChange *moves,
                        size_t n, size_t *n_moved);
