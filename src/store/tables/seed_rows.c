#include "store/tables/seed_rows.h"

#include <stdlib.h>
#include <string.h>

#include "store/lmdb/lmdb_result.h"

struct SeedRows {
    MDB_dbi dbi;
};

Result seed_rows_open(SeedRows **out, MDB_txn *txn)
{
    Result rc;
    *out = lmdb_table_new(txn, "seeds", MDB_CREATE | MDB_INTEGERKEY, sizeof **out, &rc);
    return rc;
}

void seed_rows_close(SeedRows *table)
{
    free(table);
}

Result seed_rows_put(SeedRows *table, MDB_txn *txn, uint64_t index, const char *tag)
{
    size_t length = tag == NULL ? 0 : strnlen(tag, SEED_TAG_BYTES);
    char copy[SEED_TAG_BYTES + 1] = "";
    MDB_val key = {sizeof index, &index};
    MDB_val value = {length, copy};
    if (length > 0) {
        memcpy(copy, tag, length);
    }
    int rc = mdb_put(txn, table->dbi, &key, &value, length == 0 ? MDB_NOOVERWRITE : 0);
    return rc == MDB_KEYEXIST ? RESULT_OK : lmdb_result(rc, "put seed");
}

static Result seed_rows_take(const MDB_val *key, const MDB_val *value, SeedEntry *entry)
{
    if (key->mv_size != sizeof entry->index || value->mv_size > SEED_TAG_BYTES) {
        return RESULT_DAMAGED;
    }
    memcpy(&entry->index, key->mv_data, sizeof entry->index);
    if (value->mv_size > 0) {
        memcpy(entry->tag, value->mv_data, value->mv_size);
    }
    entry->tag[value->mv_size] = '\0';
    return RESULT_OK;
}

Result seed_rows_get(SeedRows *table, MDB_txn *txn, uint64_t index, SeedEntry *entry)
{
    MDB_val key = {sizeof index, &index};
    MDB_val value;
    int rc = mdb_get(txn, table->dbi, &key, &value);
    return rc == MDB_SUCCESS ? seed_rows_take(&key, &value, entry) : lmdb_result(rc, "get seed");
}

Result seed_rows_read(SeedRows *table, MDB_txn *txn, uint64_t first, SeedEntry *entries, size_t max,
                      size_t *n)
{
    MDB_val key = {sizeof first, &first};
    MDB_val value;
    MDB_cursor *cursor = NULL;
    Result result = RESULT_OK;
    *n = 0;
    int rc = mdb_cursor_open(txn, table->dbi, &cursor);
    if (rc == MDB_SUCCESS) {
        rc = max == 0 ? MDB_NOTFOUND : mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    }
    while (rc == MDB_SUCCESS && result == RESULT_OK && *n < max) {
        result = seed_rows_take(&key, &value, &entries[*n]);
        *n += result == RESULT_OK;
        rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    if (cursor != NULL) {
        mdb_cursor_close(cursor);
    }
    return result != RESULT_OK || rc == MDB_NOTFOUND ? result : lmdb_result(rc, "read seeds");
}
