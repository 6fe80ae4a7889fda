#include "store/schedule/schedule_gone.h"

#define ITEM_BYTES 7u /* level, index */

int schedule_gone_decode(const MDB_val *row, ScheduleGone *gone)
{
    const unsigned char *bytes = row->mv_data;
    gone->n = row->mv_size / ITEM_BYTES;
    if (row->mv_size % ITEM_BYTES != 0 || gone->n > SCHEDULE_GONE_MAX) {
        gone->n = 0;
        return MDB_CORRUPTED;
    }
    for (size_t i = 0; i < gone->n; i++, bytes += ITEM_BYTES) {
        gone->items[i] = (ScheduleItem){
            .level = bytes[0], .index = schedule_load_bytes(bytes + 1, SCHEDULE_INDEX_BYTES)};
    }
    return 0;
}

void schedule_gone_read(ScheduleWork *work, uint32_t host, ScheduleGone *gone)
{
    MDB_val row;
    gone->n = 0;
    int rc = journal_get(work->schedule->journal, work->txn, JOURNAL_SCHEDULE, host, &row);
    if (lmdb_rows_note(&work->rows, rc)) {
        (void)lmdb_rows_note(&work->rows, schedule_gone_decode(&row, gone));
    }
}

uint64_t schedule_number_read(ScheduleWork *work, unsigned list, bool *any)
{
    unsigned char level = (unsigned char)list;
    MDB_val key = {1, &level};
    MDB_val data;
    *any = lmdb_rows_note(&work->rows, mdb_get(work->txn, work->schedule->hosts, &key, &data));
    return *any ? schedule_load_bytes(data.mv_data, (unsigned)data.mv_size) : 0;
}

void schedule_number_write(ScheduleWork *work, unsigned list, uint64_t n, unsigned bytes)
{
    unsigned char level = (unsigned char)list;
    unsigned char number[SCHEDULE_NUMBER_BYTES];
    MDB_val key = {1, &level};
    MDB_val data = {bytes, number};
    LmdbRows rows;
    schedule_store_bytes(number, n, bytes);
    if (work->rows.code != 0) {
        return;
    }
    lmdb_rows_open(&rows, work->txn, work->schedule->hosts);
    rows.key = key;
    bool any = lmdb_rows_get(&rows, MDB_SET);
    bool fits = any && rows.value.mv_size == bytes; /* it is written where the former one stands */
    if (any && !fits) {
        lmdb_rows_delete(&rows, 0);
    }
    rows.key = key;
    rows.value = data;
    if (bytes > 0) {
        (void)lmdb_rows_put(&rows, fits ? MDB_CURRENT : 0);
    }
    (void)lmdb_rows_note(&work->rows, lmdb_rows_close(&rows, 0));
}

void schedule_gone_write(ScheduleWork *work, uint32_t host, const ScheduleGone *gone, size_t before)
{
    unsigned char bytes[SCHEDULE_GONE_MAX * ITEM_BYTES];
    unsigned char *at = bytes;
    for (size_t i = 0; i < gone->n; i++, at += ITEM_BYTES) {
        at[0] = (unsigned char)gone->items[i].level;
        schedule_store_bytes(at + 1, gone->items[i].index, SCHEDULE_INDEX_BYTES);
    }
    MDB_val row = {gone->n * ITEM_BYTES, bytes};
    if (work->rows.code == 0 &&
        lmdb_rows_note(&work->rows, journal_put(work->schedule->journal, work->txn,
                                                JOURNAL_SCHEDULE, host, &row))) {
        work->gone += (int64_t)gone->n - (int64_t)before;
    }
}

void schedule_gone_settle(ScheduleWork *work)
{
    bool any = false;
    if (work->gone == 0) {
        return;
    }
    /* Zero is not kept: a schedule without lists is as if there never were any. */
    int64_t n = work->gone + (int64_t)schedule_number_read(work, SCHEDULE_GONE_ENTRIES, &any);
    n = n > 0 ? n : 0;
    schedule_number_write(work, SCHEDULE_GONE_ENTRIES, (uint64_t)n,
                          n > 0 ? SCHEDULE_NUMBER_BYTES : 0);
}

bool schedule_gone_has(const ScheduleGone *gone, unsigned level, uint64_t index)
{
    for (size_t i = 0; i < gone->n; i++) {
        if (gone->items[i].index == index && gone->items[i].level == level) {
            return true;
        }
    }
    return false;
}

size_t schedule_gone_of_level(const ScheduleGone *gone, unsigned level)
{
    size_t n = 0;
    for (size_t i = 0; i < gone->n; i++) {
        n += gone->items[i].level == level;
    }
    return n;
}
