#include "store/archive/capture_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/thread/log.h"
#include "store/lmdb/lmdb_result.h"

#define COMPONENT   "captures"
#define TABLE       "captures"
#define DATE_BYTES  sizeof(int64_t)
#define VALUE_BYTES (DATE_BYTES + WARC_DIGEST_BYTES)

struct CaptureIndex {
    MDB_dbi dbi;
};

Result capture_index_open(CaptureIndex **index, MDB_txn *txn, bool create)
{
    Result rc;
    unsigned flags = MDB_INTEGERKEY | (create ? MDB_CREATE : 0u);
    *index = lmdb_table_new(txn, TABLE, flags, sizeof **index, &rc);
    return rc;
}

void capture_index_close(CaptureIndex *index)
{
    free(index); /* the handle lives as long as the environment */
}

static MDB_val capture_index_key_of(uint64_t *page)
{
    return (MDB_val){.mv_size = sizeof *page, .mv_data = page};
}

static MDB_val encode(const Capture *capture, uint8_t bytes[VALUE_BYTES])
{
    memcpy(bytes, &capture->newest.us, DATE_BYTES);
    memcpy(bytes + DATE_BYTES, capture->payload.bytes, WARC_DIGEST_BYTES);
    return (MDB_val){.mv_size = capture->has_payload ? VALUE_BYTES : DATE_BYTES, .mv_data = bytes};
}

static Result capture_index_decode(const MDB_val *value, Capture *capture)
{
    const uint8_t *bytes = value->mv_data;
    if (value->mv_size != DATE_BYTES && value->mv_size != VALUE_BYTES) {
        LOG_ERROR(COMPONENT, "table is damaged", "bytes=%zu", value->mv_size);
        return RESULT_DAMAGED;
    }
    *capture = (Capture){.has_payload = value->mv_size == VALUE_BYTES};
    memcpy(&capture->newest.us, bytes, DATE_BYTES);
    if (capture->has_payload) {
        memcpy(capture->payload.bytes, bytes + DATE_BYTES, WARC_DIGEST_BYTES);
    }
    return RESULT_OK;
}

Result capture_index_get(CaptureIndex *index, MDB_txn *txn, uint64_t page, Capture *capture)
{
    MDB_val key = capture_index_key_of(&page);
    MDB_val value;
    int rc = mdb_get(txn, index->dbi, &key, &value);
    return rc == MDB_SUCCESS ? capture_index_decode(&value, capture)
                             : lmdb_result(rc, "captures: mdb_get");
}

/* Sets what is stored of a page, replacing what was known. RESULT_FULL. */
static Result capture_index_put(CaptureIndex *index, MDB_txn *txn, uint64_t page,
                                const Capture *capture)
{
    uint8_t bytes[VALUE_BYTES];
    MDB_val key = capture_index_key_of(&page);
    MDB_val value = encode(capture, bytes);
    return lmdb_result(mdb_put(txn, index->dbi, &key, &value, 0), "captures: mdb_put");
}

/* Whether a 304 may confirm it: the whole of what the server has, here or in an earlier record. */
static bool has_representation(int status, const WarcGroup *group)
{
    return status == 200 && group->has_payload && group->whole &&
           (group->type == WARC_RESPONSE || group->type == WARC_REVISIT);
}

Result capture_index_put_group(CaptureIndex *index, MDB_txn *txn, uint64_t page, int status,
                               const WarcGroup *group)
{
    uint8_t bytes[VALUE_BYTES];
    Capture capture = {.newest = group->date,
                       .has_payload = has_representation(status, group),
                       .payload = group->payload};
    MDB_val key = capture_index_key_of(&page);
    MDB_val value = encode(&capture, bytes);
    /* Most pages are stored for the first time, or anew. */
    int rc = mdb_put(txn, index->dbi, &key, &value, capture.has_payload ? 0 : MDB_NOOVERWRITE);
    if (rc == MDB_KEYEXIST) {
        Result decoded = capture_index_decode(&value, &capture);
        if (decoded != RESULT_OK) {
            return decoded;
        }
        capture.newest = group->date;
        return capture_index_put(index, txn, page, &capture);
    }
    return lmdb_result(rc, "captures: mdb_put");
}

Result capture_index_lost(CaptureIndex *index, MDB_txn *txn, uint64_t page)
{
    Capture capture = {.has_payload = false};
    Result rc = capture_index_get(index, txn, page, &capture);
    if (rc != RESULT_OK || !capture.has_payload) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    capture.has_payload = false;
    return capture_index_put(index, txn, page, &capture);
}

Result capture_index_remove(CaptureIndex *index, MDB_txn *txn, uint64_t page)
{
    MDB_val key = capture_index_key_of(&page);
    int rc = mdb_del(txn, index->dbi, &key, NULL);
    return rc == MDB_NOTFOUND ? RESULT_OK : lmdb_result(rc, "captures: mdb_del");
}

/* ---- Payload index ---- */

#define HEAD_BYTES (sizeof(int64_t) + sizeof(WarcId))
#define URI_LIMIT  ((size_t)64 << 10)

struct PayloadIndex {
    MDB_dbi dbi;
};

Result payload_index_open(PayloadIndex **index, MDB_txn *txn, bool create)
{
    Result rc;
    *index = lmdb_table_new(txn, "payloads", create ? MDB_CREATE : 0, sizeof **index, &rc);
    return rc;
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
        LOG_ERROR("payloads", "table is damaged", "bytes=%zu", value.mv_size);
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
