#include "store/tables/host_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "store/lmdb/lmdb_result.h"

#define HOST_FORMAT 3u
/* Records of earlier formats end before these fields; what they lack is 0. */
#define HOST_RECORD_BYTES_1 offsetof(HostRecord, parked_ms)
#define HOST_RECORD_BYTES_2 offsetof(HostRecord, domain)

struct HostTable {
    MDB_dbi records;
    MDB_dbi robots;
    MDB_dbi history; /* host * 2^32 + version -> an earlier content */
    MDB_dbi usage_files;
    bool has_history;
    bool has_usage_files;
};

typedef struct StoredRecord {
    uint64_t format;
    HostRecord record;
} StoredRecord;

/* What a read transaction cannot create is not there. */
static int open_table(MDB_txn *txn, const char *name, MDB_dbi *dbi)
{
    int rc = mdb_dbi_open(txn, name, MDB_CREATE | MDB_INTEGERKEY, dbi);
    return rc == EACCES ? MDB_NOTFOUND : rc;
}

Result host_table_open(HostTable **out, MDB_txn *txn)
{
    HostTable *table = calloc(1, sizeof *table);
    if (table == NULL) {
        return RESULT_MEMORY;
    }
    int rc = open_table(txn, "hosts", &table->records);
    if (rc == MDB_SUCCESS) {
        rc = open_table(txn, "robots", &table->robots);
    }
    if (rc == MDB_SUCCESS) {
        rc = open_table(txn, "robots_history", &table->history);
        table->has_history = rc == MDB_SUCCESS;
        rc = rc == MDB_NOTFOUND ? MDB_SUCCESS : rc;
    }
    if (rc == MDB_SUCCESS) {
        rc = open_table(txn, "usage_files", &table->usage_files);
        table->has_usage_files = rc == MDB_SUCCESS;
        rc = rc == MDB_NOTFOUND ? MDB_SUCCESS : rc;
    }
    if (rc != MDB_SUCCESS) {
        free(table);
        return lmdb_result(rc, "open hosts");
    }
    *out = table;
    return RESULT_OK;
}

void host_table_close(HostTable *table)
{
    free(table);
}

static Result decode(const MDB_val *value, HostRecord *record)
{
    StoredRecord stored = {.record = {.state = HOST_ACTIVE}};
    static const size_t bytes[HOST_FORMAT] = {offsetof(StoredRecord, record) + HOST_RECORD_BYTES_1,
                                              offsetof(StoredRecord, record) + HOST_RECORD_BYTES_2,
                                              sizeof stored};
    if (value->mv_size > sizeof stored || value->mv_size < bytes[0]) {
        return RESULT_VERSION;
    }
    memcpy(&stored, value->mv_data, value->mv_size);
    *record = stored.record;
    return stored.format >= 1 && stored.format <= HOST_FORMAT &&
                   bytes[stored.format - 1] == value->mv_size
               ? RESULT_OK
               : RESULT_VERSION;
}

Result host_table_get(HostTable *table, MDB_txn *txn, uint32_t host, HostRecord *record)
{
    MDB_val key = {.mv_size = sizeof host, .mv_data = &host};
    MDB_val value = {.mv_size = 0, .mv_data = NULL};
    int rc = mdb_get(txn, table->records, &key, &value);
    *record = (HostRecord){.state = HOST_ACTIVE};
    if (rc == MDB_NOTFOUND) {
        return RESULT_OK;
    }
    return rc == MDB_SUCCESS ? decode(&value, record) : lmdb_result(rc, "get host");
}

Result host_table_put(HostTable *table, MDB_txn *txn, uint32_t host, const HostRecord *record)
{
    StoredRecord stored = {.format = HOST_FORMAT, .record = *record};
    MDB_val key = {.mv_size = sizeof host, .mv_data = &host};
    MDB_val value = {.mv_size = sizeof stored, .mv_data = &stored};
    return lmdb_result(mdb_put(txn, table->records, &key, &value, 0), "put host");
}

static Result get_file(MDB_dbi files, MDB_txn *txn, uint32_t host, const char **body,
                       size_t *length)
{
    MDB_val key = {.mv_size = sizeof host, .mv_data = &host};
    MDB_val value = {.mv_size = 0, .mv_data = NULL};
    int rc = mdb_get(txn, files, &key, &value);
    if (rc != MDB_SUCCESS) {
        return lmdb_result(rc, "get file");
    }
    *body = value.mv_data;
    *length = value.mv_size;
    return RESULT_OK;
}

static Result put_file(MDB_dbi files, MDB_txn *txn, uint32_t host, const char *body, size_t length)
{
    static char nothing[1];
    MDB_val key = {.mv_size = sizeof host, .mv_data = &host};
    MDB_val value = {.mv_size = length, .mv_data = nothing};
    if (length > 0) {
        /* LMDB takes a pointer to non-const but only reads it. */
        memcpy(&value.mv_data, &body, sizeof body);
    }
    return lmdb_result(mdb_put(txn, files, &key, &value, 0), "put file");
}

Result host_table_get_robots(HostTable *table, MDB_txn *txn, uint32_t host, const char **body,
                             size_t *length)
{
    return get_file(table->robots, txn, host, body, length);
}

Result host_table_put_robots(HostTable *table, MDB_txn *txn, uint32_t host, const char *body,
                             size_t length)
{
    return put_file(table->robots, txn, host, body, length);
}

Result host_table_get_usage_file(HostTable *table, MDB_txn *txn, uint32_t host, const char **body,
                                 size_t *length)
{
    return table->has_usage_files ? get_file(table->usage_files, txn, host, body, length)
                                  : RESULT_NOT_FOUND;
}

/* Nothing is not kept. */
Result host_table_put_usage_file(HostTable *table, MDB_txn *txn, uint32_t host, const char *body,
                                 size_t length)
{
    MDB_val key = {.mv_size = sizeof host, .mv_data = &host};
    if (length > 0) {
        return put_file(table->usage_files, txn, host, body, length);
    }
    int rc = mdb_del(txn, table->usage_files, &key, NULL);
    return lmdb_result(rc == MDB_NOTFOUND ? MDB_SUCCESS : rc, "remove file");
}

static uint64_t history_key(uint32_t host, uint32_t version)
{
    return (uint64_t)host << 32 | version;
}

Result host_table_keep_robots(HostTable *table, MDB_txn *txn, uint32_t host, uint32_t version)
{
    uint64_t id = history_key(host, version);
    MDB_val key = {.mv_size = sizeof host, .mv_data = &host};
    MDB_val value = {.mv_size = 0, .mv_data = NULL};
    int rc = table->has_history ? mdb_get(txn, table->robots, &key, &value) : MDB_NOTFOUND;
    if (rc == MDB_NOTFOUND) {
        return RESULT_OK;
    }
    char *copy = rc == MDB_SUCCESS ? malloc(value.mv_size + 1) : NULL;
    if (rc != MDB_SUCCESS || copy == NULL) {
        return rc == MDB_SUCCESS ? RESULT_MEMORY : lmdb_result(rc, "get robots");
    }
    /* LMDB may move what it has just handed out while it writes. */
    memcpy(copy, value.mv_data, value.mv_size);
    value.mv_data = copy;
    key = (MDB_val){.mv_size = sizeof id, .mv_data = &id};
    rc = mdb_put(txn, table->history, &key, &value, 0);
    free(copy);
    if (rc == MDB_SUCCESS && version > HOST_TABLE_ROBOTS_KEPT) {
        id = history_key(host, version - HOST_TABLE_ROBOTS_KEPT);
        rc = mdb_del(txn, table->history, &key, NULL);
        rc = rc == MDB_NOTFOUND ? MDB_SUCCESS : rc;
    }
    return lmdb_result(rc, "keep robots");
}

Result host_table_get_robots_version(HostTable *table, MDB_txn *txn, uint32_t host,
                                     uint32_t version, const char **body, size_t *length)
{
    HostRecord record;
    Result result = host_table_get(table, txn, host, &record);
    if (result == RESULT_OK && record.robots_version == version) {
        return host_table_get_robots(table, txn, host, body, length);
    }
    uint64_t id = history_key(host, version);
    MDB_val key = {.mv_size = sizeof id, .mv_data = &id};
    MDB_val value = {.mv_size = 0, .mv_data = NULL};
    if (result == RESULT_OK) {
        int rc = table->has_history ? mdb_get(txn, table->history, &key, &value) : MDB_NOTFOUND;
        result = lmdb_result(rc, "get robots");
        *body = value.mv_data;
        *length = value.mv_size;
    }
    return result;
}

Result host_table_read(HostTable *table, MDB_txn *txn, uint64_t *from, uint32_t *hosts,
                       HostRecord *records, size_t max, size_t *n)
{
    MDB_cursor *cursor = NULL;
    uint32_t first = (uint32_t)*from;
    MDB_val key = {.mv_size = sizeof first, .mv_data = &first};
    MDB_val value = {.mv_size = 0, .mv_data = NULL};
    *n = 0;
    if (max == 0 || *from > UINT32_MAX) {
        return RESULT_OK;
    }
    int rc = mdb_cursor_open(txn, table->records, &cursor);
    if (rc != MDB_SUCCESS) {
        return lmdb_result(rc, "read hosts");
    }
    Result result = RESULT_OK;
    rc = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    while (rc == MDB_SUCCESS && result == RESULT_OK && *n < max) {
        memcpy(&hosts[*n], key.mv_data, sizeof *hosts);
        result = decode(&value, &records[*n]);
        *n += result == RESULT_OK;
        rc = *n < max ? mdb_cursor_get(cursor, &key, &value, MDB_NEXT) : rc;
    }
    mdb_cursor_close(cursor);
    *from = *n == 0 ? (uint64_t)UINT32_MAX + 1 : (uint64_t)hosts[*n - 1] + 1;
    return result != RESULT_OK || rc == MDB_SUCCESS || rc == MDB_NOTFOUND
               ? result
               : lmdb_result(rc, "read hosts");
}

Result host_table_walk(HostTable *table, MDB_txn *txn,
                       Result (*visit)(void *context, uint32_t host, const HostRecord *record),
                       void *context)
{
    MDB_cursor *cursor = NULL;
    int rc = mdb_cursor_open(txn, table->records, &cursor);
    Result result = lmdb_result(rc, "walk hosts");
    MDB_val key = {.mv_size = 0, .mv_data = NULL};
    MDB_val value = {.mv_size = 0, .mv_data = NULL};
    while (result == RESULT_OK) {
        rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
        if (rc == MDB_NOTFOUND) {
            break;
        }
        result = lmdb_result(rc, "walk hosts");
        HostRecord record;
        uint32_t host = 0;
        if (result == RESULT_OK) {
            memcpy(&host, key.mv_data, sizeof host);
            result = decode(&value, &record);
        }
        if (result == RESULT_OK) {
            result = visit(context, host, &record);
        }
    }
    if (cursor != NULL) {
        mdb_cursor_close(cursor);
    }
    return result;
}
