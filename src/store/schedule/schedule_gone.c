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

int schedule_gone_read(const Schedule *schedule, MDB_txn *txn, uint32_t host, ScheduleGone *gone)
{
    MDB_val row;
    gone->n = 0;
    int rc = journal_get(schedule->journal, txn, JOURNAL_SCHEDULE, host, &row);
    if (rc == 0) {
        return schedule_gone_decode(&row, gone);
    }
    return rc == MDB_NOTFOUND ? 0 : rc;
}

int schedule_number_read(const Schedule *schedule, MDB_txn *txn, unsigned list, uint64_t *n,
                         bool *any)
{
    unsigned char level = (unsigned char)list;
    MDB_val key = {1, &level};
    MDB_val data;
    *n = 0;
    int rc = mdb_get(txn, schedule->hosts, &key, &data);
    *any = rc == 0;
    if (rc == 0) {
        *n = schedule_load_bytes(data.mv_data, (unsigned)data.mv_size);
    }
    return rc == MDB_NOTFOUND ? 0 : rc;
}

int schedule_number_write(Schedule *schedule, MDB_txn *txn, unsigned list, uint64_t n,
                          unsigned bytes)
{
    unsigned char level = (unsigned char)list;
    unsigned char number[SCHEDULE_NUMBER_BYTES];
    MDB_val key = {1, &level};
    MDB_val data = {bytes, number};
    int rc = mdb_del(txn, schedule->hosts, &key, NULL);
    schedule_store_bytes(number, n, bytes);
    if (bytes == 0) {
        return rc == MDB_NOTFOUND ? 0 : rc;
    }
    return rc == 0 || rc == MDB_NOTFOUND ? mdb_put(txn, schedule->hosts, &key, &data, 0) : rc;
}

/* Zero is not kept: a schedule without lists is as if there never were any. */
static int schedule_gone_note(Schedule *schedule, MDB_txn *txn, size_t more, size_t less)
{
    uint64_t n = 0;
    bool any = false;
    if (more == less) {
        return 0;
    }
    int rc = schedule_number_read(schedule, txn, SCHEDULE_GONE_ENTRIES, &n, &any);
    if (rc != 0) {
        return rc;
    }
    n = n + more > less ? n + more - less : 0;
    return schedule_number_write(schedule, txn, SCHEDULE_GONE_ENTRIES, n,
                                 n > 0 ? SCHEDULE_NUMBER_BYTES : 0);
}

int schedule_gone_write(Schedule *schedule, MDB_txn *txn, uint32_t host, const ScheduleGone *gone,
                        size_t before)
{
    unsigned char bytes[SCHEDULE_GONE_MAX * ITEM_BYTES];
    unsigned char *at = bytes;
    for (size_t i = 0; i < gone->n; i++, at += ITEM_BYTES) {
        at[0] = (unsigned char)gone->items[i].level;
        schedule_store_bytes(at + 1, gone->items[i].index, SCHEDULE_INDEX_BYTES);
    }
    MDB_val row = {gone->n * ITEM_BYTES, bytes};
    int rc = journal_put(schedule->journal, txn, JOURNAL_SCHEDULE, host, &row);
    return rc == 0 ? schedule_gone_note(schedule, txn, gone->n, before) : rc;
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
