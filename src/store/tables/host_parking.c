#include "store/tables/host_parking.h"

#include "store/schedule/schedule.h"

Result host_parking_set_aside(Schedule *schedule, MDB_txn *txn, uint32_t host, HostRecord *record,
                              HostState state, uint8_t why, int64_t now_ms, uint64_t *urls)
{
    record->state = (uint8_t)state;
    record->drop_class = why;
    record->parked_ms = now_ms;
    return schedule_park(schedule, txn, host, urls);
}

void host_parking_cure(HostRecord *record)
{
    record->drop_class = 0;
    record->failures = 0;
    record->last_failure = 0;
    record->wall_mark = 0;
    record->rests = 0;
    record->not_before_ms = 0;
    record->parked_ms = 0;
    record->noted_ms = 0;
    record->rested_ms = 0;
    record->extra_ms = 0;
    record->recheck_ms = 0;
}

Result host_parking_bring_back(Schedule *schedule, MDB_txn *txn, uint32_t host, HostRecord *record,
                               uint64_t *urls, unsigned *level)
{
    *urls = 0;
    *level = SCHEDULE_NO_LEVEL;
    if (!host_is_aside(record)) {
        return RESULT_OK;
    }
    record->state = HOST_ACTIVE;
    host_parking_cure(record);
    return schedule_unpark(schedule, txn, host, urls, level);
}
