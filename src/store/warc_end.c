#include "store/warc_end.h"

#include <stdint.h>

#include "base/log.h"
#include "store/lmdb_result.h"

#define TABLE     "warc"
#define END_BYTES 12u

Result warc_end_put(MDB_txn *txn, const WarcPosition *end)
{
    uint8_t bytes[END_BYTES];
    MDB_dbi dbi = 0;
    for (unsigned i = 0; i < 4; i++) {
        bytes[i] = (uint8_t)(end->file >> (24 - 8 * i));
    }
    for (unsigned i = 0; i < 8; i++) {
        bytes[4 + i] = (uint8_t)(end->offset >> (56 - 8 * i));
    }
    char name[] = "end"; /* LMDB wants keys it will not change as pointers it could */
    MDB_val key = {.mv_size = sizeof name - 1, .mv_data = name};
    MDB_val value = {.mv_size = sizeof bytes, .mv_data = bytes};
    Result rc = lmdb_result(mdb_dbi_open(txn, TABLE, MDB_CREATE, &dbi), "warc: mdb_dbi_open");
    return rc == RESULT_OK ? lmdb_result(mdb_put(txn, dbi, &key, &value, 0), "warc: mdb_put") : rc;
}

Result warc_end_get(MDB_txn *txn, WarcPosition *end)
{
    MDB_dbi dbi = 0;
    char name[] = "end"; /* LMDB wants keys it will not change as pointers it could */
    MDB_val key = {.mv_size = sizeof name - 1, .mv_data = name};
    MDB_val value;
    *end = (WarcPosition){.file = 0};
    Result rc = lmdb_result(mdb_dbi_open(txn, TABLE, 0, &dbi), "warc: mdb_dbi_open");
    if (rc == RESULT_OK) {
        rc = lmdb_result(mdb_get(txn, dbi, &key, &value), "warc: mdb_get");
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    if (value.mv_size != END_BYTES) {
        LOG_ERROR("warc", "committed end is damaged", "bytes=%zu", value.mv_size);
        return RESULT_DAMAGED;
    }
    const uint8_t *bytes = value.mv_data;
    for (unsigned i = 0; i < 4; i++) {
        end->file = end->file << 8 | bytes[i];
    }
    for (unsigned i = 4; i < END_BYTES; i++) {
        end->offset = end->offset << 8 | bytes[i];
    }
    return RESULT_OK;
}
