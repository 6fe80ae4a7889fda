#include "store/schedule/schedule_read.h"

#include <errno.h>
#include <stdlib.h>

#include "store/page_tables/page_key.h"
#include "store/schedule/schedule_gone.h"

/* Reading the schedule: the head of a host, sweeps, counts. */

/* Goes to the first entry of host behind *after (NULL: to the first of all), or of a later host. */
static bool seek_entry(ScheduleWork *work, uint32_t host, const ScheduleItem *after)
{
    if (after == NULL) {
        return schedule_work_find(work, host, 0, 0, MDB_SET_RANGE);
    }
    if (after->index < SCHEDULE_MAX_INDEX &&
        schedule_work_find(work, host, after->level, after->index + 1, MDB_GET_BOTH_RANGE)) {
        /* this operation leaves the key as it was given */
        return lmdb_rows_get(&work->rows, MDB_GET_CURRENT);
    }
    return schedule_work_find(work, host, after->level + 1, 0, MDB_SET_RANGE);
}

static ScheduleEntry entry_at(const ScheduleWork *work)
{
    return (ScheduleEntry){.index =
                               schedule_load_bytes(work->rows.value.mv_data, SCHEDULE_INDEX_BYTES),
                           .host = schedule_key_host(&work->rows.key),
                           .level = schedule_key_level(&work->rows.key)};
}

Result schedule_head(Schedule *schedule, MDB_txn *txn, uint32_t host, const ScheduleItem *after,
                     ScheduleItem *items, size_t max, size_t *n)
{
    ScheduleWork work;
    ScheduleGone gone;
    *n = 0;
    if (after != NULL && after->level >= SCHEDULE_MAX_LEVELS) {
        return RESULT_INVALID;
    }
    schedule_work_begin(&work, schedule, txn, schedule->entries);
    schedule_gone_read(&work, host, &gone);
    bool is_there = max > 0 && seek_entry(&work, host, after);
    while (is_there && schedule_key_host(&work.rows.key) == host) {
        ScheduleEntry entry = entry_at(&work);
        items[*n] = (ScheduleItem){.index = entry.index, .level = entry.level};
        *n += !schedule_gone_has(&gone, entry.level, entry.index);
        is_there = *n < max && lmdb_rows_get(&work.rows, MDB_NEXT);
    }
    return schedule_work_end(&work);
}

Result schedule_scan(Schedule *schedule, MDB_txn *txn, ScheduleScan *position,
                     ScheduleEntry *entries, size_t max, size_t *n)
{
    ScheduleWork work;
    ScheduleGone gone = {.n = 0};
    ScheduleItem last = {.index = position->last.index, .level = position->last.level};
    uint32_t host = position->started ? position->last.host : 0;
    bool known = false; /* gone is of the host of the last entry */
    *n = 0;
    schedule_work_begin(&work, schedule, txn, schedule->entries);
    bool is_there = max > 0 && seek_entry(&work, host, position->started ? &last : NULL);
    while (is_there) {
        ScheduleEntry entry = entry_at(&work);
        if (!known || entry.host != position->last.host) {
            schedule_gone_read(&work, entry.host, &gone);
            known = true;
        }
        *position = (ScheduleScan){true, entry};
        entries[*n] = entry;
        *n += !schedule_gone_has(&gone, entry.level, entry.index);
        is_there = *n < max && lmdb_rows_get(&work.rows, MDB_NEXT);
    }
    return schedule_work_end(&work);
}

/* Goes to the first host behind *position, inside its level or in a later one. */
static bool seek_host(ScheduleWork *work, const ScheduleHostCursor *position)
{
    if (!position->started) {
        return schedule_work_find_host(work, position->level, 0, MDB_SET_RANGE);
    }
    if (position->host != UINT32_MAX &&
        schedule_work_find_host(work, position->level, position->host + 1, MDB_GET_BOTH_RANGE)) {
        return lmdb_rows_get(&work->rows, MDB_GET_CURRENT);
    }
    return schedule_work_find_host(work, position->level + 1, 0, MDB_SET_RANGE);
}

Result schedule_hosts(Schedule *schedule, MDB_txn *txn, ScheduleHostCursor *position,
                      uint32_t *hosts, uint8_t *levels, size_t max, size_t *n)
{
    ScheduleWork work;
    *n = 0;
    if (position->level >= SCHEDULE_END_OF_LEVELS) {
        return RESULT_OK;
    }
    schedule_work_begin(&work, schedule, txn, schedule->hosts);
    bool is_there = max > 0 && seek_host(&work, position);
    while (is_there) {
        unsigned level = *(const unsigned char *)work.rows.key.mv_data;
        if (level >= SCHEDULE_END_OF_LEVELS) {
            break;
        }
        hosts[*n] = (uint32_t)schedule_load_bytes(work.rows.value.mv_data, SCHEDULE_HOST_BYTES);
        if (levels != NULL) {
            levels[*n] = (uint8_t)level;
        }
        *position = (ScheduleHostCursor){true, level, hosts[*n]};
        *n += 1;
        is_there = *n < max && lmdb_rows_get(&work.rows, MDB_NEXT);
    }
    return schedule_work_end(&work);
}

Result schedule_level_count(Schedule *schedule, MDB_txn *txn, uint32_t host, unsigned level,
                            uint64_t *entries)
{
    ScheduleWork work;
    ScheduleGone gone;
    schedule_work_begin(&work, schedule, txn, schedule->entries);
    *entries = schedule_work_find(&work, host, level, 0, MDB_SET) ? lmdb_rows_count(&work.rows) : 0;
    schedule_gone_read(&work, host, &gone);
    *entries -= schedule_gone_of_level(&gone, level);
    return schedule_work_end(&work);
}

Result schedule_host_counts(Schedule *schedule, MDB_txn *txn, uint64_t *from, uint32_t *hosts,
                            uint64_t *entries, size_t max, size_t *n)
{
    ScheduleWork work;
    *n = 0;
    if (max == 0 || *from > UINT32_MAX) {
        return RESULT_OK;
    }
    schedule_work_begin(&work, schedule, txn, schedule->entries);
    bool is_there = seek_entry(&work, (uint32_t)*from, NULL);
    while (is_there) {
        uint32_t host = schedule_key_host(&work.rows.key);
        if (*n == 0 || hosts[*n - 1] != host) {
            ScheduleGone gone;
            *n -= *n > 0 && entries[*n - 1] == 0; /* nothing is left of the last one */
            if (*n == max) {
                break;
            }
            schedule_gone_read(&work, host, &gone);
            hosts[*n] = host;
            entries[*n] = UINT64_C(0) - gone.n; /* the table has them */
            *n += 1;
        }
        entries[*n - 1] += lmdb_rows_count(&work.rows);
        is_there = lmdb_rows_get(&work.rows, MDB_NEXT_NODUP);
    }
    *n -= *n > 0 && entries[*n - 1] == 0;
    *from = *n == 0 ? (uint64_t)UINT32_MAX + 1 : (uint64_t)hosts[*n - 1] + 1;
    return schedule_work_end(&work);
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

/* Rewrites one record if the page is where the move says. */
static bool page_levels_move_record(PagePackEditor *infos, const ScheduleChange *move)
{
    MDB_val value;
    PageRecord record;
    if (!page_pack_editor_read(infos, move->index, 0, &value, &record) ||
        record.level != move->from || record.host != move->host) {
        return false;
    }
    record.level = move->to;
    page_pack_editor_set_head(infos, move->index, &value, &record);
    return true;
}

Result page_levels_move(PageDB *db, Schedule *schedule, MDB_txn *txn, ScheduleChange *moves,
                        size_t n, size_t *n_moved)
{
    PagePackEditor infos;
    size_t kept = 0;
    page_pack_editor_begin(&infos, txn, db->store->tables.idx2info, db->store->journal);
    Result result = RESULT_OK;
    for (size_t i = 0; result == RESULT_OK && i < n; i++) {
        bool holds = false;
        result = is_scheduled(schedule, txn, &moves[i], &holds);
        if (holds && page_levels_move_record(&infos, &moves[i])) {
            moves[kept++] = moves[i];
        }
    }
    int rc = page_pack_editor_end(&infos, 0);
    *n_moved = kept;
    if (result != RESULT_OK) {
        return result;
    }
    if (rc != 0) {
        return rc == ENOMEM ? RESULT_MEMORY : lmdb_result(rc, "move pages between levels");
    }
    return schedule_change_all(schedule, txn, moves, kept);
}
