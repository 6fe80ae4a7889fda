/* Entries that are added, removed or moved, and what of it the table of hosts has to know. */
#include "store/schedule/schedule_parking.h"
#include "store/schedule/schedule_table.h"

#include <string.h>

/* *change = entries that this has added. */
static int put_at(Schedule *schedule, MDB_cursor *cursor, uint32_t host, unsigned level,
                  uint64_t index, int64_t *change)
{
    ScheduleRecord record;
    schedule_record_set(&record, host, level, index);
    MDB_val key = {SCHEDULE_KEY_BYTES, record.key};
    MDB_val last;
    int rc = mdb_cursor_get(cursor, &key, &last, MDB_SET_KEY);
    bool is_new_key = rc == MDB_NOTFOUND;
    unsigned best = SCHEDULE_NO_LEVEL;
    unsigned flags = MDB_NODUPDATA;
    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_get(cursor, &key, &last, MDB_LAST_DUP);
        if (rc == MDB_SUCCESS && memcmp(record.index, last.mv_data, SCHEDULE_INDEX_BYTES) > 0) {
            flags = MDB_APPENDDUP; /* fills pages whole instead of splitting them in halves */
        }
    } else if (is_new_key) {
        rc = schedule_find_level(cursor, host, 0, &best);
    }
    if (rc == MDB_SUCCESS) {
        key = (MDB_val){SCHEDULE_KEY_BYTES, record.key};
        MDB_val data = {SCHEDULE_INDEX_BYTES, record.index};
        rc = mdb_cursor_put(cursor, &key, &data, flags);
    }
    if (rc == MDB_KEYEXIST) {
        return MDB_SUCCESS;
    }
    *change += rc == MDB_SUCCESS ? 1 : 0;
    if (rc == MDB_SUCCESS && is_new_key && level < best) {
        rc = schedule_note_best(schedule, mdb_cursor_txn(cursor), host, best, level);
    }
    return rc;
}

static int remove_at(Schedule *schedule, MDB_cursor *cursor, uint32_t host, unsigned level,
                     uint64_t index, int64_t *change)
{
    ScheduleRecord record;
    schedule_record_set(&record, host, level, index);
    MDB_val key = {SCHEDULE_KEY_BYTES, record.key};
    MDB_val data = {SCHEDULE_INDEX_BYTES, record.index};
    int rc = mdb_cursor_get(cursor, &key, &data, MDB_GET_BOTH);
    if (rc == MDB_NOTFOUND) {
        return MDB_SUCCESS;
    }
    size_t of_level = 0;
    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_count(cursor, &of_level);
    }
    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_del(cursor, 0);
    }
    *change -= rc == MDB_SUCCESS ? 1 : 0;
    if (rc != MDB_SUCCESS || of_level > 1) {
        return rc;
    }
    unsigned best = SCHEDULE_NO_LEVEL;
    rc = schedule_find_level(cursor, host, 0, &best);
    if (rc == MDB_SUCCESS && best > level) {
        rc = schedule_note_best(schedule, mdb_cursor_txn(cursor), host, level, best);
    }
    return rc;
}

static bool is_valid(unsigned level, uint64_t index)
{
    return level < SCHEDULE_MAX_LEVELS && index <= SCHEDULE_MAX_INDEX;
}

Result schedule_put(Schedule *schedule, MDB_txn *txn, uint32_t host, unsigned level, uint64_t index)
{
    ScheduleChange change = {
        .host = host, .to = (uint8_t)level, .from = SCHEDULE_NO_LEVEL, .index = index};
    return level < SCHEDULE_MAX_LEVELS ? schedule_change(schedule, txn, &change, 1)
                                       : RESULT_INVALID;
}

Result schedule_remove(Schedule *schedule, MDB_txn *txn, uint32_t host, unsigned level,
                       uint64_t index)
{
    ScheduleChange change = {
        .host = host, .from = (uint8_t)level, .to = SCHEDULE_NO_LEVEL, .index = index};
    return level < SCHEDULE_MAX_LEVELS ? schedule_change(schedule, txn, &change, 1)
                                       : RESULT_INVALID;
}

/* Changes of parked hosts, added up; changes of one host come one after the other. */
typedef struct ParkedCount {
    bool any;   /* host is parked at all */
    bool known; /* host was asked about */
    uint32_t host;
    bool parked; /* it is */
    int64_t change;
} ParkedCount;

static int count_parked(Schedule *schedule, MDB_txn *txn, ParkedCount *count, uint32_t host,
                        int64_t change)
{
    int rc = MDB_SUCCESS;
    if (!count->known || count->host != host) {
        Result result = schedule_is_parked(schedule, txn, host, &count->parked);
        count->known = true;
        count->host = host;
        rc = result == RESULT_OK ? MDB_SUCCESS : MDB_CORRUPTED;
    }
    count->change += count->parked ? change : 0;
    return rc;
}

Result schedule_change(Schedule *schedule, MDB_txn *txn, const ScheduleChange *changes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const ScheduleChange *c = &changes[i];
        if ((c->from != SCHEDULE_NO_LEVEL && !is_valid(c->from, c->index)) ||
            (c->to != SCHEDULE_NO_LEVEL && !is_valid(c->to, c->index))) {
            return RESULT_INVALID;
        }
    }
    MDB_cursor *cursor = NULL;
    ParkedCount parked = {.known = false};
    int rc = schedule_any_parked(schedule, txn, &parked.any);
    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_open(txn, schedule->entries, &cursor);
    }
    for (size_t i = 0; rc == MDB_SUCCESS && i < n; i++) {
        const ScheduleChange *c = &changes[i];
        int64_t change = 0;
        if (c->from == c->to) {
            continue;
        }
        if (c->from != SCHEDULE_NO_LEVEL) {
            rc = remove_at(schedule, cursor, c->host, c->from, c->index, &change);
        }
        if (rc == MDB_SUCCESS && c->to != SCHEDULE_NO_LEVEL) {
            rc = put_at(schedule, cursor, c->host, c->to, c->index, &change);
        }
        if (rc == MDB_SUCCESS && change != 0 && parked.any) {
            rc = count_parked(schedule, txn, &parked, c->host, change);
        }
    }
    if (cursor != NULL) {
        mdb_cursor_close(cursor);
    }
    if (rc == MDB_SUCCESS && parked.change != 0) {
        rc = schedule_note_parked(schedule, txn, parked.change);
    }
    return schedule_result(rc);
}

Result schedule_clear_host(Schedule *schedule, MDB_txn *txn, uint32_t host, uint64_t *removed)
{
    MDB_cursor *cursor = NULL;
    *removed = 0;
    int rc = mdb_cursor_open(txn, schedule->entries, &cursor);
    unsigned best = SCHEDULE_NO_LEVEL;
    if (rc == MDB_SUCCESS) {
        rc = schedule_find_level(cursor, host, 0, &best);
    }
    unsigned level = best;
    while (rc == MDB_SUCCESS && level != SCHEDULE_NO_LEVEL) {
        size_t of_level = 0;
        rc = mdb_cursor_count(cursor, &of_level);
        if (rc == MDB_SUCCESS) {
            rc = mdb_cursor_del(cursor, MDB_NODUPDATA);
        }
        if (rc == MDB_SUCCESS) {
            *removed += of_level;
            rc = schedule_find_level(cursor, host, level, &level);
        }
    }
    if (rc == MDB_SUCCESS && best != SCHEDULE_NO_LEVEL) {
        rc = schedule_note_best(schedule, txn, host, best, SCHEDULE_NO_LEVEL);
    }
    if (rc == MDB_SUCCESS) {
        rc = schedule_forget_parked(schedule, txn, host, *removed);
    }
    if (cursor != NULL) {
        mdb_cursor_close(cursor);
    }
    return schedule_result(rc);
}
