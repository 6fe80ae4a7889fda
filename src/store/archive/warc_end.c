#include "store/archive/warc_end.h"

#include <stdint.h>

#include "base/thread/log.h"
#include "store/lmdb/lmdb_result.h"
#include "store/archive/warc.h"

#define TABLE     "warc"
#define END_BYTES 12u

uint64_t warc_end_of(const WarcEnd *end, uint32_t file)
{
    if (end->file == file) {
        return end->offset;
    }
    return file < end->file ? UINT64_MAX : 0;
}

static void warc_end_put_number(uint8_t *bytes, unsigned n, uint64_t number)
{
    for (unsigned i = 0; i < n; i++) {
        bytes[i] = (uint8_t)(number >> (8 * (n - 1 - i)));
    }
}

static uint64_t get_number(const uint8_t *bytes, unsigned n)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < n; i++) {
        number = number << 8 | bytes[i];
    }
    return number;
}

Result warc_end_put(MDB_txn *txn, const WarcEnd *end)
{
    uint8_t bytes[END_BYTES];
    MDB_dbi dbi = 0;
    warc_end_put_number(bytes, 4, end->file);
    warc_end_put_number(bytes + 4, 8, end->offset);
    char name[] = "end"; /* LMDB wants keys it will not change as pointers it could */
    MDB_val key = {.mv_size = sizeof name - 1, .mv_data = name};
    MDB_val value = {.mv_size = sizeof bytes, .mv_data = bytes};
    Result rc = lmdb_result(mdb_dbi_open(txn, TABLE, MDB_CREATE, &dbi), "warc: mdb_dbi_open");
    return rc == RESULT_OK ? lmdb_result(mdb_put(txn, dbi, &key, &value, 0), "warc: mdb_put") : rc;
}

Result warc_end_get(MDB_txn *txn, WarcEnd *end)
{
    MDB_dbi dbi = 0;
    char name[] = "end"; /* LMDB wants keys it will not change as pointers it could */
    MDB_val key = {.mv_size = sizeof name - 1, .mv_data = name};
    MDB_val value;
    *end = (WarcEnd){.file = 0};
    Result rc = lmdb_result(mdb_dbi_open(txn, TABLE, 0, &dbi), "warc: mdb_dbi_open");
    if (rc == RESULT_OK) {
        rc = lmdb_result(mdb_get(txn, dbi, &key, &value), "warc: mdb_get");
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    if (value.mv_size == 0 || value.mv_size % END_BYTES != 0) {
        LOG_ERROR("warc", "committed end is damaged", "bytes=%zu", value.mv_size);
        return RESULT_DAMAGED;
    }
    const uint8_t *bytes = value.mv_data;
    for (size_t i = 0; i < value.mv_size; i += END_BYTES) { /* warc.files wrote several, once */
        uint32_t file = (uint32_t)get_number(bytes + i, 4);
        if (file > end->file) {
            *end = (WarcEnd){.file = file, .offset = get_number(bytes + i + 4, 8)};
        }
    }
    return RESULT_OK;
}
