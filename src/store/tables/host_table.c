#include "store/tables/host_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "store/lmdb/lmdb_result.h"
#include "store/tables/robots_table.h"

#define HOST_FORMAT 3u
/* Records of earlier formats end before these fields; what they lack is 0. */
#define HOST_RECORD_BYTES_1 offsetof(HostRecord, parked_ms)
#define HOST_RECORD_BYTES_2 offsetof(HostRecord, domain)

struct HostTable {
    MDB_dbi records;
    RobotsTable *robots;
    MDB_dbi usage_files;
    bool has_usage_files;
};

typedef struct StoredRecord {
    uint64_t format;
    HostRecord record;
} StoredRecord;

/* What a read transaction cannot create is not there. */
static int host_table_open_table(MDB_txn *txn, const char *name, MDB_dbi *dbi)
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
    int rc = host_table_open_table(txn, "hosts", &table->records);
    if (rc == MDB_SUCCESS) {
        rc = host_table_open_table(txn, "usage_files", &table->usage_files);
        table->has_usage_files = rc == MDB_SUCCESS;
        rc = rc == MDB_NOTFOUND ? MDB_SUCCESS : rc;
    }
    Result result =
        rc == MDB_SUCCESS ? robots_table_open(&table->robots, txn) : lmdb_result(rc, "open hosts");
    if (result != RESULT_OK) {
        free(table);
        return result;
    }
    *out = table;
    return RESULT_OK;
}

void host_table_close(HostTable *table)
{
    if (table != NULL) {
        robots_table_close(table->robots);
    }
    free(table);
}

static Result host_table_decode(const MDB_val *value, HostRecord *record)
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
    return rc == MDB_SUCCESS ? host_table_decode(&value, record) : lmdb_result(rc, "get host");
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

Result host_table_get_robots(HostTable *table, MDB_txn *txn, uint32_t host, Buffer *body)
{
    return robots_table_get(table->robots, txn, host, body);
}

Result host_table_put_robots(HostTable *table, MDB_txn *txn, uint32_t host, const char *body,
                             size_t length, uint64_t hash)
{
    return robots_table_put(table->robots, txn, host, body, length, hash);
}

Result host_table_keep_robots(HostTable *table, MDB_txn *txn, uint32_t host, uint32_t version)
{
    return robots_table_keep(table->robots, txn, host, version);
}

Result host_table_get_robots_version(HostTable *table, MDB_txn *txn, uint32_t host,
                                     uint32_t version, Buffer *body)
{
    HostRecord record;
    Result rc = host_table_get(table, txn, host, &record);
    if (rc != RESULT_OK) {
        return rc;
    }
    return record.robots_version == version
               ? robots_table_get(table->robots, txn, host, body)
               : robots_table_get_version(table->robots, txn, host, version, body);
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
        result = host_table_decode(&value, &records[*n]);
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
            result = host_table_decode(&value, &record);
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
