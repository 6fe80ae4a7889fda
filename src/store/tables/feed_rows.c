#include "store/tables/feed_rows.h"

#include <stdlib.h>
#include <string.h>

#include "store/lmdb/lmdb_result.h"

struct FeedRows {
    MDB_dbi dbi;
};

Result feed_rows_open(FeedRows **out, MDB_txn *txn)
{
    Result rc;
    *out = lmdb_table_new(txn, "feeds", MDB_CREATE | MDB_INTEGERKEY, sizeof **out, &rc);
    return rc;
}

void feed_rows_close(FeedRows *table)
{
    free(table);
}

Result feed_rows_admit(FeedRows *table, MDB_txn *txn, uint32_t host, uint64_t feed, size_t most,
                       bool *admitted)
{
    uint64_t feeds[FEED_ROWS_MOST];
    size_t n = 0;
    MDB_val key = {.mv_size = sizeof host, .mv_data = &host};
    MDB_val value = {.mv_size = 0, .mv_data = NULL};
    *admitted = false;
    int rc = mdb_get(txn, table->dbi, &key, &value);
    if (rc != MDB_SUCCESS && rc != MDB_NOTFOUND) {
        return lmdb_result(rc, "get feeds");
    }
    if (value.mv_size % sizeof *feeds != 0 || value.mv_size > sizeof feeds) {
        return RESULT_DAMAGED;
    }
    n = value.mv_size / sizeof *feeds;
    if (n > 0) {
        memcpy(feeds, value.mv_data, value.mv_size);
    }
    for (size_t i = 0; i < n && !*admitted; i++) {
        *admitted = feeds[i] == feed;
    }
    if (*admitted || n >= most || n >= FEED_ROWS_MOST) {
        return RESULT_OK;
    }
    *admitted = true;
    feeds[n++] = feed;
    value = (MDB_val){.mv_size = n * sizeof *feeds, .mv_data = feeds};
    return lmdb_result(mdb_put(txn, table->dbi, &key, &value, 0), "put feeds");
}
