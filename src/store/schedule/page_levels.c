#include "store/schedule/page_levels.h"

#include <errno.h>
#include <stdlib.h>

#include "store/schedule/schedule_read.h"
#include "store/lmdb/lmdb_result.h"
#include "store/page_tables/page_key.h"

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

static int page_levels_by_host(const void *a, const void *b)
{
    const ScheduleChange *x = a;
    const ScheduleChange *y = b;
    if (x->host != y->host) {
        return x->host < y->host ? -1 : 1;
    }
    return (x->index > y->index) - (x->index < y->index);
}

Result page_levels_move(PageDB *db, Schedule *schedule, MDB_txn *txn, ScheduleChange *moves,
                        size_t n, size_t *n_moved)
{
    PagePackEditor infos;
    Buffer copy;
    size_t kept = 0;
    buffer_init(&copy, BUFFER_NO_LIMIT);
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
    qsort(moves, kept, sizeof *moves, page_levels_by_host);
    return schedule_change(schedule, txn, moves, kept);
}
