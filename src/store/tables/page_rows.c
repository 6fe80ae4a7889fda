#include "store/tables/page_rows.h"

#include <string.h>
#include <zstd.h>

#include "store/lmdb/lmdb_result.h"

/* ---- Held table ---- */

/* What stands behind an index, in the machine's byte order as the rest of the database. */
typedef struct HeldValue {
    int32_t status;
    uint8_t level;
    uint8_t reserved[3];
} HeldValue;

Result held_rows_put(HeldRows table, MDB_txn *txn, const HeldUrl *url)
{
    HeldValue held = {.status = url->status, .level = url->level};
    return lmdb_put(txn, table, lmdb_bytes(&url->index, sizeof url->index),
                    lmdb_bytes(&held, sizeof held), "put held");
}

Result held_rows_remove(HeldRows table, MDB_txn *txn, uint64_t index)
{
    return lmdb_remove(txn, table, lmdb_bytes(&index, sizeof index), "remove held");
}

Result held_rows_get(HeldRows table, MDB_txn *txn, uint64_t index, HeldUrl *url)
{
    HeldValue held = {.status = 0};
    Result rc = lmdb_get_struct(txn, table, lmdb_bytes(&index, sizeof index), &held, sizeof held,
                                "get held");
    *url = (HeldUrl){.index = index, .status = held.status, .level = held.level};
    return rc;
}

Result held_rows_read(HeldRows table, MDB_txn *txn, uint64_t first, HeldUrl *urls, size_t max,
                      size_t *n)
{
    LmdbRows rows;
    Result rc = RESULT_OK;
    *n = 0;
    lmdb_rows_begin(&rows, txn, table, lmdb_bytes(&first, sizeof first));
    while (*n < max && lmdb_rows_next(&rows)) {
        HeldValue held;
        if (rows.key.mv_size != sizeof first || rows.value.mv_size != sizeof held) {
            rc = RESULT_DAMAGED;
            break;
        }
        memcpy(&held, rows.value.mv_data, sizeof held);
        memcpy(&urls[*n].index, rows.key.mv_data, sizeof first);
        urls[*n].status = held.status;
        urls[*n].level = held.level;
        *n += 1;
    }
    return lmdb_rows_end(&rows, rc, "read held");
}

/* ---- Seed table ---- */

Result seed_rows_put(SeedRows table, MDB_txn *txn, uint64_t index, const char *tag)
{
    const char *text = tag == NULL ? "" : tag;
    MDB_val key = lmdb_bytes(&index, sizeof index);
    MDB_val value = lmdb_bytes(text, strnlen(text, SEED_TAG_BYTES));
    int rc = mdb_put(txn, table, &key, &value, value.mv_size == 0 ? MDB_NOOVERWRITE : 0);
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

Result seed_rows_get(SeedRows table, MDB_txn *txn, uint64_t index, SeedEntry *entry)
{
    MDB_val key = lmdb_bytes(&index, sizeof index);
    MDB_val value;
    Result rc = lmdb_get(txn, table, key, &value, "get seed");
    return rc == RESULT_OK ? seed_rows_take(&key, &value, entry) : rc;
}

Result seed_rows_each(SeedRows table, MDB_txn *txn, SeedCall *call, void *context)
{
    LmdbRows rows;
    Result rc = RESULT_OK;
    lmdb_rows_begin(&rows, txn, table, (MDB_val){0});
    while (rc == RESULT_OK && lmdb_rows_next(&rows)) {
        SeedEntry entry;
        rc = seed_rows_take(&rows.key, &rows.value, &entry);
        if (rc == RESULT_OK) {
            rc = call(context, &entry);
        }
    }
    return lmdb_rows_end(&rows, rc, "read seeds");
}

/* ---- External table ---- */

#define EXTERNAL_LEVEL 1
#define EXTERNAL_MOST  ((unsigned long long)1 << 30) /* bytes of a list */

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

Result external_rows_put(ExternalRows table, MDB_txn *txn, uint64_t index, const char *list,
                         size_t length)
{
    MDB_val key = lmdb_bytes(&index, sizeof index);
    if (length == 0) {
        return lmdb_remove(txn, table, key, "drop links out of scope");
    }
    Buffer packed = {.limit = BUFFER_NO_LIMIT};
    Result rc = external_rows_pack(list, length, &packed);
    if (rc == RESULT_OK) {
        rc = lmdb_put(txn, table, key, lmdb_bytes(packed.data, packed.length),
                      "put links out of scope");
    }
    buffer_destroy(&packed);
    return rc;
}

Result external_rows_read(MDB_txn *txn, uint64_t index, Buffer *list)
{
    ExternalRows table = 0;
    MDB_val value = {0};
    Result rc = lmdb_table_open(&table, txn, EXTERNAL_TABLE, MDB_INTEGERKEY);
    if (rc == RESULT_OK) {
        rc = lmdb_get(txn, table, lmdb_bytes(&index, sizeof index), &value,
                      "read links out of scope");
    }
    if (rc == RESULT_OK) {
        rc = external_rows_unpack(&value, list);
    }
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}
