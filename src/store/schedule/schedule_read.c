#include "store/schedule/schedule_read.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory/array.h"
#include "store/lmdb/lmdb_result.h"
#include "store/page_tables/page_key.h"
#include "store/schedule/schedule_gone.h"

/* Reading the schedule: the head of a host, sweeps, counts. */

/* Positions cursor on the first entry of host behind *after (NULL: on the first of all). */
static int seek_entry(MDB_cursor *cursor, uint32_t host, const ScheduleItem *after, MDB_val *key,
                      MDB_val *data)
{
    ScheduleRecord record;
    if (after == NULL) {
        schedule_record_set(&record, host, 0, 0);
        *key = (MDB_val){SCHEDULE_KEY_BYTES, record.key};
        return mdb_cursor_get(cursor, key, data, MDB_SET_RANGE);
    }
    int rc = MDB_NOTFOUND;
    if (after->index < SCHEDULE_MAX_INDEX) {
        schedule_record_set(&record, host, after->level, after->index + 1);
        *key = (MDB_val){SCHEDULE_KEY_BYTES, record.key};
        *data = (MDB_val){SCHEDULE_INDEX_BYTES, record.index};
        rc = mdb_cursor_get(cursor, key, data, MDB_GET_BOTH_RANGE);
        if (rc == MDB_SUCCESS) { /* this operation leaves the key as it was given */
            rc = mdb_cursor_get(cursor, key, data, MDB_GET_CURRENT);
        }
    }
    if (rc == MDB_NOTFOUND) {
        schedule_record_set(&record, host, after->level + 1, 0);
        *key = (MDB_val){SCHEDULE_KEY_BYTES, record.key};
        rc = mdb_cursor_get(cursor, key, data, MDB_SET_RANGE);
    }
    return rc;
}

Result schedule_head(Schedule *schedule, MDB_txn *txn, uint32_t host, const ScheduleItem *after,
                     ScheduleItem *items, size_t max, size_t *n)
{
    *n = 0;
    if (after != NULL && after->level >= SCHEDULE_MAX_LEVELS) {
        return RESULT_INVALID;
    }
    MDB_cursor *cursor = NULL;
    int rc = mdb_cursor_open(txn, schedule->entries, &cursor);
    if (rc != MDB_SUCCESS) {
        return lmdb_code(rc);
    }
    MDB_val key;
    MDB_val data;
    ScheduleGone gone;
    rc = schedule_gone_read(schedule, txn, host, &gone);
    if (rc == MDB_SUCCESS) {
        rc = max == 0 ? MDB_NOTFOUND : seek_entry(cursor, host, after, &key, &data);
    }
    while (rc == MDB_SUCCESS && *n < max && schedule_key_host(&key) == host) {
        items[*n].level = schedule_key_level(&key);
        items[*n].index = schedule_load_bytes(data.mv_data, SCHEDULE_INDEX_BYTES);
        *n += !schedule_gone_has(&gone, items[*n].level, items[*n].index);
        if (*n < max) {
            rc = mdb_cursor_get(cursor, &key, &data, MDB_NEXT);
        }
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? RESULT_OK : lmdb_code(rc);
}

Result schedule_scan(Schedule *schedule, MDB_txn *txn, ScheduleScan *position,
                     ScheduleEntry *entries, size_t max, size_t *n)
{
    *n = 0;
    MDB_cursor *cursor = NULL;
    int rc = mdb_cursor_open(txn, schedule->entries, &cursor);
    if (rc != MDB_SUCCESS) {
        return lmdb_code(rc);
    }
    MDB_val key;
    MDB_val data;
    ScheduleItem last = {.index = position->last.index, .level = position->last.level};
    uint32_t host = position->started ? position->last.host : 0;
    rc = MDB_NOTFOUND;
    if (max > 0) {
        rc = seek_entry(cursor, host, position->started ? &last : NULL, &key, &data);
    }
    ScheduleGone gone = {.n = 0};
    bool known = false; /* gone is of the host of the last entry */
    while (rc == MDB_SUCCESS && *n < max) {
        ScheduleEntry entry = {.index = schedule_load_bytes(data.mv_data, SCHEDULE_INDEX_BYTES),
                               .host = schedule_key_host(&key),
                               .level = schedule_key_level(&key)};
        if (!known || entry.host != position->last.host) {
            rc = schedule_gone_read(schedule, txn, entry.host, &gone);
            known = true;
        }
        *position = (ScheduleScan){true, entry};
        entries[*n] = entry;
        *n += !schedule_gone_has(&gone, entry.level, entry.index);
        if (rc != MDB_SUCCESS) {
            break;
        }
        if (*n < max) {
            rc = mdb_cursor_get(cursor, &key, &data, MDB_NEXT);
        }
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? RESULT_OK : lmdb_code(rc);
}

/* Positions on the first host behind *position, inside its level or in a later one. */
static int seek_host(MDB_cursor *cursor, const ScheduleHostCursor *position, MDB_val *key,
                     MDB_val *data)
{
    unsigned char level = (unsigned char)position->level;
    unsigned char id[SCHEDULE_HOST_BYTES];
    MDB_val wanted = {1, &level}; /* until the cursor stands: then the database's own */
    int rc = MDB_NOTFOUND;
    if (!position->started) {
        rc = mdb_cursor_get(cursor, &wanted, data, MDB_SET_RANGE);
    } else if (position->host != UINT32_MAX) {
        schedule_store_bytes(id, position->host + 1, SCHEDULE_HOST_BYTES);
        *data = (MDB_val){SCHEDULE_HOST_BYTES, id};
        rc = mdb_cursor_get(cursor, &wanted, data, MDB_GET_BOTH_RANGE);
        if (rc == MDB_SUCCESS) {
            rc = mdb_cursor_get(cursor, &wanted, data, MDB_GET_CURRENT);
        }
    }
    if (rc == MDB_NOTFOUND && position->started) {
        level++;
        wanted = (MDB_val){1, &level};
        rc = mdb_cursor_get(cursor, &wanted, data, MDB_SET_RANGE);
    }
    *key = wanted;
    return rc;
}

Result schedule_hosts(Schedule *schedule, MDB_txn *txn, ScheduleHostCursor *position,
                      uint32_t *hosts, uint8_t *levels, size_t max, size_t *n)
{
    *n = 0;
    if (position->level >= SCHEDULE_END_OF_LEVELS) {
        return RESULT_OK;
    }
    MDB_cursor *cursor = NULL;
    int rc = mdb_cursor_open(txn, schedule->hosts, &cursor);
    if (rc != MDB_SUCCESS) {
        return lmdb_code(rc);
    }
    MDB_val key;
    MDB_val data;
    rc = max == 0 ? MDB_NOTFOUND : seek_host(cursor, position, &key, &data);
    while (rc == MDB_SUCCESS && *n < max) {
        unsigned level = *(const unsigned char *)key.mv_data;
        if (level >= SCHEDULE_END_OF_LEVELS) {
            break;
        }
        hosts[*n] = (uint32_t)schedule_load_bytes(data.mv_data, SCHEDULE_HOST_BYTES);
        if (levels != NULL) {
            levels[*n] = (uint8_t)level;
        }
        *position = (ScheduleHostCursor){true, level, hosts[*n]};
        *n += 1;
        if (*n < max) {
            rc = mdb_cursor_get(cursor, &key, &data, MDB_NEXT);
        }
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? RESULT_OK : lmdb_code(rc);
}

Result schedule_level_count(Schedule *schedule, MDB_txn *txn, uint32_t host, unsigned level,
                            uint64_t *entries)
{
    MDB_cursor *cursor = NULL;
    ScheduleRecord record;
    schedule_record_set(&record, host, level, 0);
    MDB_val key = {SCHEDULE_KEY_BYTES, record.key};
    MDB_val data;
    size_t of_level = 0;
    int rc = mdb_cursor_open(txn, schedule->entries, &cursor);
    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_get(cursor, &key, &data, MDB_SET);
    }
    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_count(cursor, &of_level);
    }
    mdb_cursor_close(cursor);
    ScheduleGone gone = {.n = 0};
    int read = schedule_gone_read(schedule, txn, host, &gone);
    *entries = of_level - schedule_gone_of_level(&gone, level);
    rc = read == MDB_SUCCESS ? rc : read;
    return rc == MDB_NOTFOUND ? RESULT_OK : lmdb_code(rc);
}

Result schedule_host_counts(Schedule *schedule, MDB_txn *txn, uint64_t *from, uint32_t *hosts,
                            uint64_t *entries, size_t max, size_t *n)
{
    MDB_cursor *cursor = NULL;
    MDB_val key;
    MDB_val data;
    *n = 0;
    if (max == 0 || *from > UINT32_MAX) {
        return RESULT_OK;
    }
    int rc = mdb_cursor_open(txn, schedule->entries, &cursor);
    if (rc != MDB_SUCCESS) {
        return lmdb_code(rc);
    }
    rc = seek_entry(cursor, (uint32_t)*from, NULL, &key, &data);
    while (rc == MDB_SUCCESS) {
        uint32_t host = schedule_key_host(&key);
        size_t of_level = 0;
        if (*n == 0 || hosts[*n - 1] != host) {
            *n -= *n > 0 && entries[*n - 1] == 0; /* nothing is left of the last one */
            if (*n == max) {
                break;
            }
            ScheduleGone gone;
            rc = schedule_gone_read(schedule, txn, host, &gone);
            if (rc != MDB_SUCCESS) {
                break;
            }
            hosts[*n] = host;
            entries[*n] = UINT64_C(0) - gone.n; /* the table has them */
            *n += 1;
        }
        rc = mdb_cursor_count(cursor, &of_level);
        entries[*n - 1] += of_level;
        if (rc == MDB_SUCCESS) {
            rc = mdb_cursor_get(cursor, &key, &data, MDB_NEXT_NODUP);
        }
    }
    mdb_cursor_close(cursor);
    *n -= *n > 0 && entries[*n - 1] == 0;
    *from = *n == 0 ? (uint64_t)UINT32_MAX + 1 : (uint64_t)hosts[*n - 1] + 1;
    return rc == MDB_NOTFOUND ? RESULT_OK : lmdb_code(rc);
}

/* ---- Page levels ---- */

#define PAGE_LEVELS_LAST ((UINT64_C(1) << PAGE_INDEX_BITS) - 1)

/* Whether the schedule has the entry. A host that was given up has lost its entries, and its pages'
 * records do not know. */
static Result is_scheduled(Schedule *schedule, MDB_txn *txn, const ScheduleChange *move, bool *is)
{
    ScheduleItem before = {.index = move->index - 1, .level = move->from};
    ScheduleItem item = {.index = 0, .level = SCHEDULE_NO_LEVEL};
    size_t n = 0;
    if (move->index == 0) { /* what precedes it is the end of the level before */
        before = (ScheduleItem){.index = PAGE_LEVELS_LAST, .level = move->from - 1u};
    }
    bool at_head = move->index == 0 && move->from == 0;
    Result rc = schedule_head(schedule, txn, move->host, at_head ? NULL : &before, &item, 1, &n);
    *is = rc == RESULT_OK && n == 1 && item.index == move->index && item.level == move->from;
    return rc;
}

int page_level_read(PagePackEditor *infos, uint64_t index, MDB_val *value, PageRecord *record)
{
    int rc = page_pack_editor_get(infos, index, value);
    if (rc == 0 && !page_record_read(value->mv_data, value->mv_size, index, 0, record)) {
        rc = MDB_CORRUPTED;
    }
    return rc;
}

int page_level_write(PagePackEditor *infos, uint64_t index, const MDB_val *value,
                     PageRecord *record, uint8_t level, Buffer *copy)
{
    buffer_reset(copy);
    if (buffer_append(copy, value->mv_data, value->mv_size) != RESULT_OK) {
        return ENOMEM;
    }
    record->level = level;
    page_record_write_head(record, (uint8_t *)copy->data);
    MDB_val changed = {copy->length, copy->data};
    return page_pack_editor_set(infos, index, &changed);
}

/* Rewrites one record if the page is where the move says. */
static int page_levels_move_record(PagePackEditor *infos, Buffer *copy, const ScheduleChange *move,
                                   bool *holds)
{
    MDB_val value;
    PageRecord record;
    *holds = false;
    int rc = page_level_read(infos, move->index, &value, &record);
    if (rc != 0) {
        return rc == MDB_NOTFOUND ? 0 : rc;
    }
    if (record.level != move->from || record.host != move->host) {
        return 0;
    }
    rc = page_level_write(infos, move->index, &value, &record, move->to, copy);
    *holds = rc == 0;
    return rc;
}

Result page_levels_move(PageDB *db, Schedule *schedule, MDB_txn *txn, ScheduleChange *moves,
                        size_t n, size_t *n_moved)
{
    PagePackEditor infos;
    Buffer copy = {.limit = BUFFER_NO_LIMIT};
    size_t kept = 0;
    int rc = page_pack_editor_begin(&infos, txn, db->store->tables.idx2info, db->store->journal);
    Result result = RESULT_OK;
    for (size_t i = 0; rc == 0 && result == RESULT_OK && i < n; i++) {
        bool holds = false;
        result = is_scheduled(schedule, txn, &moves[i], &holds);
        if (holds) {
            rc = page_levels_move_record(&infos, &copy, &moves[i], &holds);
        }
        if (holds) {
            moves[kept++] = moves[i];
        }
    }
    rc = page_pack_editor_end(&infos, rc);
    buffer_destroy(&copy);
    *n_moved = kept;
    if (result != RESULT_OK) {
        return result;
    }
    if (rc != 0) {
        return rc == ENOMEM ? RESULT_MEMORY : lmdb_result(rc, "move pages between levels");
    }
    array_sort(moves, kept, sizeof *moves, ARRAY_KEY(ScheduleChange, host),
               ARRAY_KEY(ScheduleChange, index));
    return schedule_change(schedule, txn, moves, kept);
}
