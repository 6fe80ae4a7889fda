/* Host parking: a host that is set aside keeps its URLs, and can be brought back with all of them.
 *
 * What: a host is dropped when the network says that there is nobody (no such name, refused again
 * and again), and parked when it answers, but has failed for too long. In both cases its record
 * says so and its schedule is parked (store/schedule/schedule.h): nothing of it is fetched,
 * and nothing is lost. What is found for it meanwhile is scheduled behind the others. Brought back,
 * it is as if it had never failed.
 *
 *   ACTIVE --host_parking_set_aside--> DROPPED or PARKED --host_parking_bring_back--> ACTIVE
 *
 * Owns: nothing. The record is the caller's, who writes it into the host table in the same
 * transaction.
 * Threads: the one that owns the write transaction.
 * Errors: RESULT_FULL, RESULT_IO, RESULT_DAMAGED as the schedule's. */
#ifndef STORE_TABLES_HOST_PARKING_H
#define STORE_TABLES_HOST_PARKING_H

#include "store/schedule/schedule.h"
#include "store/tables/host_table.h"

/* Whether the host is dropped or parked. */
static inline bool host_is_aside(const HostRecord *record)
{
    return record->state == HOST_DROPPED || record->state == HOST_PARKED;
}

/* Whether nothing of the host is fetched and its URLs are kept: it is set aside, or denied, or on
 * its way to another agent. */
static inline bool host_is_closed(const HostRecord *record)
{
    return host_is_aside(record) || record->state == HOST_DENIED || record->state == HOST_MOVED;
}

/* state: HOST_DROPPED or HOST_PARKED; why: FetchClass of the last failure; now_ms: wall time;
 * *urls = how many are kept. */
Result host_parking_set_aside(Schedule *schedule, MDB_txn *txn, uint32_t host, HostRecord *record,
                              HostState state, uint8_t why, int64_t now_ms, uint64_t *urls);
/* *urls is the number of URLs that came back, *level the level of the best one (SCHEDULE_NO_LEVEL
 * when there is none). A host that is not set aside stays as it is, and *urls is 0. */
Result host_parking_bring_back(Schedule *schedule, MDB_txn *txn, uint32_t host, HostRecord *record,
                               uint64_t *urls, unsigned *level);

/* The host is as well as if it had never failed; its state stays. */
void host_parking_cure(HostRecord *record);

#endif
