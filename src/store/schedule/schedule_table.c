#include "store/schedule/schedule_table.h"

Result schedule_result(int rc)
{
    switch (rc) {
    case MDB_SUCCESS:
        return RESULT_OK;
    case MDB_NOTFOUND:
        return RESULT_NOT_FOUND;
    case MDB_MAP_FULL:
        return RESULT_FULL;
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
        return RESULT_DAMAGED;
    case MDB_INCOMPATIBLE:
    case MDB_VERSION_MISMATCH:
        return RESULT_VERSION;
    default:
        return rc > 0 ? result_of_errno(rc) : RESULT_INTERNAL;
    }
}

int schedule_find_level(MDB_cursor *cursor, uint32_t host, unsigned level, unsigned *found)
{
    ScheduleRecord record;
    schedule_record_set(&record, host, level, 0);
    MDB_val key = {SCHEDULE_KEY_BYTES, record.key};
    MDB_val data;
    *found = SCHEDULE_NO_LEVEL;
    int rc = mdb_cursor_get(cursor, &key, &data, MDB_SET_RANGE);
    if (rc == MDB_NOTFOUND) {
        return MDB_SUCCESS;
    }
    if (rc == MDB_SUCCESS && schedule_key_host(&key) == host) {
        *found = schedule_key_level(&key);
    }
    return rc;
}
