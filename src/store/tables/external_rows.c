#include "store/tables/external_rows.h"

#include <stdlib.h>
#include <zstd.h>

#include "store/lmdb/lmdb_result.h"

#define EXTERNAL_LEVEL 1
#define EXTERNAL_MOST  ((unsigned long long)1 << 30) /* bytes of a list */

struct ExternalRows {
    MDB_dbi dbi;
};

Result external_rows_open(ExternalRows **table, MDB_txn *txn)
{
    Result rc;
    *table = lmdb_table_new(txn, "external", MDB_CREATE | MDB_INTEGERKEY, sizeof **table, &rc);
    return rc;
}

void external_rows_close(ExternalRows *table)
{
    free(table);
}

Result external_rows_pack(const char *list, size_t length, Buffer *out)
{
    size_t bound = ZSTD_compressBound(length);
    Result rc = buffer_reserve(out, bound);
    if (rc != RESULT_OK) {
        return rc;
    }
    size_t n = ZSTD_compress(out->data + out->length, bound, list, length, EXTERNAL_LEVEL);
    if (ZSTD_isError(n)) {
        return RESULT_MEMORY;
    }
    out->length += n;
    return RESULT_OK;
}

Result external_rows_unpack(const MDB_val *value, Buffer *out)
{
    unsigned long long length = ZSTD_getFrameContentSize(value->mv_data, value->mv_size);
    if (length > EXTERNAL_MOST) { /* also when the frame does not say it */
        return RESULT_DAMAGED;
    }
    Result rc = buffer_reserve(out, (size_t)length);
    if (rc != RESULT_OK) {
        return rc;
    }
    char *to = out->data + out->length;
    size_t n = ZSTD_decompress(to, (size_t)length, value->mv_data, value->mv_size);
    if (ZSTD_isError(n) || n != length || n == 0 || to[n - 1] != '\0') {
        return RESULT_DAMAGED;
    }
    out->length += n;
    return RESULT_OK;
}

Result external_rows_put(ExternalRows *table, MDB_txn *txn, uint64_t index, const char *list,
                         size_t length)
{
    MDB_val key = {sizeof index, &index};
    if (length == 0) {
        Result gone = lmdb_result(mdb_del(txn, table->dbi, &key, NULL), "drop links out of scope");
        return gone == RESULT_NOT_FOUND ? RESULT_OK : gone;
    }
    Buffer packed;
    buffer_init(&packed, BUFFER_NO_LIMIT);
    Result rc = external_rows_pack(list, length, &packed);
    if (rc == RESULT_OK) {
        MDB_val value = {packed.length, packed.data};
        rc = lmdb_result(mdb_put(txn, table->dbi, &key, &value, 0), "put links out of scope");
    }
    buffer_destroy(&packed);
    return rc;
}

Result external_rows_read(MDB_txn *txn, uint64_t index, Buffer *list)
{
    MDB_dbi dbi = 0;
    MDB_val key = {sizeof index, &index};
    MDB_val value = {0};
    int code = mdb_dbi_open(txn, "external", MDB_INTEGERKEY, &dbi);
    if (code == 0) {
        code = mdb_get(txn, dbi, &key, &value);
    }
    Result rc = lmdb_result(code, "read links out of scope");
    if (rc == RESULT_OK) {
        rc = external_rows_unpack(&value, list);
    }
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}
