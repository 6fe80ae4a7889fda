#include "store/tables/held_rows.h"

#include <stdlib.h>
#include <string.h>

#include "store/lmdb/lmdb_result.h"

/* What stands behind an index, in the machine's byte order as the rest of the database. */
typedef struct HeldValue {
    int32_t status;
    uint8_t level;
    uint8_t reserved[3];
} HeldValue;

struct HeldRows {
    MDB_dbi dbi;
};

Result held_rows_open(HeldRows **out, MDB_txn *txn)
{
    Result rc;
    *out = lmdb_table_new(txn, "held", MDB_CREATE | MDB_INTEGERKEY, sizeof **out, &rc);
    return rc;
}

void held_rows_close(HeldRows *table)
{
    free(table);
}

Result held_rows_put(HeldRows *table, MDB_txn *txn, const HeldUrl *url)
{
    uint64_t index = url->index;
    HeldValue held = {.status = url->status, .level = url->level};
    MDB_val key = {sizeof index, &index};
    MDB_val value = {sizeof held, &held};
    return lmdb_result(mdb_put(txn, table->dbi, &key, &value, 0), "put held");
}

Result held_rows_remove(HeldRows *table, MDB_txn *txn, uint64_t index)
{
    MDB_val key = {sizeof index, &index};
    int rc = mdb_del(txn, table->dbi, &key, NULL);
    return rc == MDB_NOTFOUND ? RESULT_OK : lmdb_result(rc, "remove held");
}

static Result held_rows_take(const MDB_val *key, const MDB_val *value, HeldUrl *url)
{
    HeldValue held;
    if (key->mv_size != sizeof url->index || value->mv_size != sizeof held) {
        return RESULT_DAMAGED;
    }
    memcpy(&held, value->mv_data, sizeof held);
    memcpy(&url->index, key->mv_data, sizeof url->index);
    url->status = held.status;
    url->level = held.level;
    return RESULT_OK;
}

Result held_rows_get(HeldRows *table, MDB_txn *txn, uint64_t index, HeldUrl *url)
{
    MDB_val key = {sizeof index, &index};
    MDB_val value;
    int rc = mdb_get(txn, table->dbi, &key, &value);
    return rc == MDB_SUCCESS ? held_rows_take(&key, &value, url) : lmdb_result(rc, "get held");
}

Result held_rows_read(HeldRows *table, MDB_txn *txn, uint64_t first, HeldUrl *urls, size_t max,
                      size_t *n)
{
    MDB_val key = {sizeof first, &first};
    MDB_val value;
    MDB_cursor *cursor = NULL;
    *n = 0;
    int rc = mdb_cursor_open(txn, table->dbi, &cursor);
    Result result = RESULT_OK;
    if (rc == MDB_SUCCESS) {
        rc = max == 0 ? MDB_NOTFOUND : mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    }
    while (rc == MDB_SUCCESS && result == RESULT_OK && *n < max) {
        result = held_rows_take(&key, &value, &urls[*n]);
        *n += result == RESULT_OK;
        rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    if (cursor != NULL) {
        mdb_cursor_close(cursor);
    }
    return result != RESULT_OK || rc == MDB_NOTFOUND ? result : lmdb_result(rc, "read held");
}

Result held_rows_count(HeldRows *table, MDB_txn *txn, uint64_t *n)
{
    MDB_stat stat = {.ms_entries = 0};
    int rc = mdb_stat(txn, table->dbi, &stat);
    *n = stat.ms_entries;
    return lmdb_result(rc, "count held");
}
