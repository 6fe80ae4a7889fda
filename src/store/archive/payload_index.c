#include "store/archive/payload_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/thread/log.h"
#include "store/lmdb/lmdb_result.h"

#define COMPONENT  "payloads"
#define TABLE      "payloads"
#define HEAD_BYTES (sizeof(int64_t) + sizeof(WarcId))
#define URI_LIMIT  ((size_t)64 << 10)

struct PayloadIndex {
    MDB_dbi dbi;
};

Result payload_index_open(PayloadIndex **index, MDB_txn *txn, bool create)
{
    *index = NULL;
    PayloadIndex *opened = calloc(1, sizeof *opened);
    if (opened == NULL) {
        return RESULT_MEMORY;
    }
    int rc = mdb_dbi_open(txn, TABLE, create ? MDB_CREATE : 0, &opened->dbi);
    if (rc != MDB_SUCCESS) {
        free(opened);
        return lmdb_result(rc, "payloads: mdb_dbi_open");
    }
    *index = opened;
    return RESULT_OK;
}

void payload_index_close(PayloadIndex *index)
{
    free(index); /* the handle lives as long as the environment */
}

/* LMDB wants keys it will not change as pointers it could. */
static MDB_val payload_index_key_of(const WarcDigest *payload, WarcDigest *copy)
{
    *copy = *payload;
    return (MDB_val){.mv_size = sizeof copy->bytes, .mv_data = copy->bytes};
}

Result payload_index_get(PayloadIndex *index, MDB_txn *txn, const WarcDigest *payload,
                         WarcOriginal *original)
{
    WarcDigest copy;
    MDB_val key = payload_index_key_of(payload, &copy);
    MDB_val value;
    int rc = mdb_get(txn, index->dbi, &key, &value);
    if (rc != MDB_SUCCESS) {
        return lmdb_result(rc, "payloads: mdb_get");
    }
    if (value.mv_size < HEAD_BYTES) {
        LOG_ERROR(COMPONENT, "table is damaged", "bytes=%zu", value.mv_size);
        return RESULT_DAMAGED;
    }
    const char *bytes = value.mv_data;
    memcpy(&original->date.us, bytes, sizeof original->date.us);
    memcpy(&original->id, bytes + sizeof original->date.us, sizeof original->id);
    buffer_reset(&original->uri);
    return buffer_append(&original->uri, bytes + HEAD_BYTES, value.mv_size - HEAD_BYTES);
}

Result payload_index_put(PayloadIndex *index, MDB_txn *txn, const WarcDigest *payload,
                         WallTime date, const WarcId *id, WarcBytes uri)
{
    WarcDigest copy;
    MDB_val key = payload_index_key_of(payload, &copy);
    if (uri.length > URI_LIMIT) {
        return RESULT_LIMIT;
    }
    MDB_val value = {.mv_size = HEAD_BYTES + uri.length, .mv_data = NULL};
    int rc = mdb_put(txn, index->dbi, &key, &value, MDB_RESERVE | MDB_NOOVERWRITE);
    if (rc == MDB_SUCCESS) {
        char *bytes = value.mv_data;
        memcpy(bytes, &date.us, sizeof date.us);
        memcpy(bytes + sizeof date.us, id, sizeof *id);
        memcpy(bytes + HEAD_BYTES, uri.bytes, uri.length);
    }
    return rc == MDB_KEYEXIST ? RESULT_EXISTS : lmdb_result(rc, "payloads: mdb_put");
}

Result payload_index_put_group(PayloadIndex *index, MDB_txn *txn, const WarcGroup *group,
                               WarcBytes uri)
{
    if (group->type != WARC_RESPONSE || !group->has_payload || !group->whole) {
        return RESULT_OK;
    }
    Result rc = payload_index_put(index, txn, &group->payload, group->date, &group->id, uri);
    return rc == RESULT_EXISTS || rc == RESULT_LIMIT ? RESULT_OK : rc;
}

Result payload_index_clear(PayloadIndex *index, MDB_txn *txn)
{
    return lmdb_result(mdb_drop(txn, index->dbi, 0), "payloads: mdb_drop");
}

Result payload_index_find(void *context, const WarcDigest *payload, WarcOriginal *original)
{
    PayloadReader *reader = context;
    MDB_txn *txn = reader->begin(reader->context);
    if (txn == NULL) {
        return RESULT_NOT_FOUND;
    }
    Result rc = payload_index_get(reader->index, txn, payload, original);
    reader->end(reader->context, txn);
    return rc;
}
