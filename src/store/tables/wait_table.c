#include "store/tables/wait_table.h"

#include <errno.h>
#include <stdlib.h>

#include "store/lmdb/lmdb_result.h"

#define KEY_BYTES   12u /* time and host, big-endian: in order of time */
#define VALUE_BYTES 2u  /* class, failures */

struct WaitTable {
    MDB_dbi dbi;
};

Result wait_table_open(WaitTable **out, MDB_txn *txn)
{
    WaitTable *table = calloc(1, sizeof *table);
    *out = NULL;
    if (table == NULL) {
        return RESULT_MEMORY;
    }
    int rc = mdb_dbi_open(txn, "waits", MDB_CREATE, &table->dbi);
    if (rc != MDB_SUCCESS) {
        free(table);
        return rc == EACCES ? RESULT_NOT_FOUND : lmdb_result(rc, "open waits");
    }
    *out = table;
    return RESULT_OK;
}

void wait_table_close(WaitTable *table)
{
    free(table);
}

static void write_key(unsigned char key[KEY_BYTES], int64_t until_ms, uint32_t host)
{
    uint64_t time = (uint64_t)until_ms;
    for (unsigned i = 0; i < 8; i++) {
        key[i] = (unsigned char)(time >> (8 * (7 - i)));
    }
    for (unsigned i = 0; i < 4; i++) {
        key[8 + i] = (unsigned char)(host >> (8 * (3 - i)));
    }
}

static WaitEntry read_entry(const MDB_val *key, const MDB_val *value)
{
    const unsigned char *k = key->mv_data;
    const unsigned char *v = value->mv_data;
    uint64_t time = 0;
    uint32_t host = 0;
    for (unsigned i = 0; i < 8; i++) {
        time = time << 8 | k[i];
    }
    for (unsigned i = 8; i < KEY_BYTES; i++) {
        host = host << 8 | k[i];
    }
    return (WaitEntry){.until_ms = (int64_t)time, .host = host, .class = v[0], .failures = v[1]};
}

bool wait_table_entry(uint32_t host, const HostRecord *record, WaitEntry *entry)
{
    *entry = (WaitEntry){.until_ms = record->not_before_ms,
                         .host = host,
                         .class = record->last_failure,
                         .failures = record->failures};
    return record->state == HOST_ACTIVE && record->failures > 0 && record->not_before_ms > 0 &&
           !record->idle;
}

Result wait_table_follow(WaitTable *table, MDB_txn *txn, uint32_t host, int64_t from_ms,
                         const HostRecord *record)
{
    unsigned char key_bytes[KEY_BYTES];
    MDB_val key = {KEY_BYTES, key_bytes};
    WaitEntry entry;
    int rc = MDB_SUCCESS;
    bool waits = wait_table_entry(host, record, &entry);
    if (from_ms != 0 && (!waits || entry.until_ms != from_ms)) {
        write_key(key_bytes, from_ms, host);
        rc = mdb_del(txn, table->dbi, &key, NULL);
        rc = rc == MDB_NOTFOUND ? MDB_SUCCESS : rc; /* of before this table existed */
    }
    if (rc == MDB_SUCCESS && waits) {
        unsigned char value_bytes[VALUE_BYTES] = {entry.class, entry.failures};
        MDB_val value = {VALUE_BYTES, value_bytes};
        write_key(key_bytes, entry.until_ms, host);
        rc = mdb_put(txn, table->dbi, &key, &value, 0);
    }
    return lmdb_result(rc, "follow waits");
}

Result wait_table_count(WaitTable *table, MDB_txn *txn, uint64_t *n)
{
    MDB_stat stat = {.ms_entries = 0};
    int rc = mdb_stat(txn, table->dbi, &stat);
    *n = stat.ms_entries;
    return lmdb_result(rc, "count waits");
}

Result wait_table_read(WaitTable *table, MDB_txn *txn, const WaitEntry *after, WaitEntry *entries,
                       size_t max, size_t *n)
{
    unsigned char key_bytes[KEY_BYTES] = {0};
    MDB_val key = {KEY_BYTES, key_bytes};
    MDB_val value;
    MDB_cursor *cursor = NULL;
    *n = 0;
    int rc = mdb_cursor_open(txn, table->dbi, &cursor);
    if (rc != MDB_SUCCESS) {
        return lmdb_result(rc, "read waits");
    }
    if (after != NULL) {
        uint32_t host = after->host + 1;
        write_key(key_bytes, after->until_ms + (host == 0), host);
    }
    rc = max == 0 ? MDB_NOTFOUND : mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    while (rc == MDB_SUCCESS && *n < max) {
        if (key.mv_size != KEY_BYTES || value.mv_size < VALUE_BYTES) {
            rc = MDB_CORRUPTED;
            break;
        }
        entries[(*n)++] = read_entry(&key, &value);
        rc = *n < max ? mdb_cursor_get(cursor, &key, &value, MDB_NEXT) : rc;
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? RESULT_OK : lmdb_result(rc, "read waits");
}
