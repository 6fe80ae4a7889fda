#include "store/tables/page_rows.h"

#include <stdlib.h>
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

/* ---- Seed table ---- */

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

/* ---- External table ---- */

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
