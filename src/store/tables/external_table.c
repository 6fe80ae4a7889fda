#include "store/tables/external_table.h"

#include <stdlib.h>

#include "store/lmdb/lmdb_result.h"

struct ExternalTable {
    MDB_dbi dbi;
};

Result external_table_open(ExternalTable **out, MDB_txn *txn)
{
    ExternalTable *table = calloc(1, sizeof *table);
    *out = NULL;
    if (table == NULL) {
        return RESULT_MEMORY;
    }
    int rc = mdb_dbi_open(txn, "external", MDB_CREATE | MDB_INTEGERKEY, &table->dbi);
    if (rc != MDB_SUCCESS) {
        free(table);
        return lmdb_result(rc, "open external");
    }
    *out = table;
    return RESULT_OK;
}

void external_table_close(ExternalTable *table)
{
    free(table);
}

Result external_table_put(ExternalTable *table, MDB_txn *txn, uint64_t index, const char *list,
                          size_t length)
{
    MDB_val key = {sizeof index, &index};
    MDB_val value = {length, (void *)(uintptr_t)list};
    if (length > 0) {
        return lmdb_result(mdb_put(txn, table->dbi, &key, &value, 0), "put external");
    }
    int rc = mdb_del(txn, table->dbi, &key, NULL);
    return rc == MDB_NOTFOUND ? RESULT_OK : lmdb_result(rc, "remove external");
}

Result external_table_read(MDB_txn *txn, uint64_t index, Buffer *list)
{
    MDB_dbi dbi = 0;
    MDB_val key = {sizeof index, &index};
    MDB_val value;
    int rc = mdb_dbi_open(txn, "external", MDB_INTEGERKEY, &dbi);
    rc = rc == MDB_SUCCESS ? mdb_get(txn, dbi, &key, &value) : rc;
    if (rc == MDB_NOTFOUND) {
        return RESULT_OK;
    }
    return rc == MDB_SUCCESS ? buffer_append(list, value.mv_data, value.mv_size)
                             : lmdb_result(rc, "get external");
}
