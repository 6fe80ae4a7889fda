#include "store/archive/capture_index.h"

#include <string.h>

#include "base/core/varint.h"
#include "base/thread/log.h"
#include "store/lmdb/lmdb_result.h"

#define COMPONENT   "captures"
#define TABLE       "captures"
#define DATE_BYTES  sizeof(int64_t)
#define VALUE_BYTES (DATE_BYTES + WARC_DIGEST_BYTES)

Result capture_index_open(CaptureIndex *index, MDB_txn *txn, bool create)
{
    return lmdb_table_open(index, txn, TABLE, MDB_INTEGERKEY | (create ? MDB_CREATE : 0u));
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

Result capture_index_get(CaptureIndex index, MDB_txn *txn, uint64_t page, Capture *capture)
{
    MDB_val value;
    Result rc = lmdb_get(txn, index, lmdb_bytes(&page, sizeof page), &value, "captures: mdb_get");
    return rc == RESULT_OK ? capture_index_decode(&value, capture) : rc;
}

/* Sets what is stored of a page, replacing what was known. RESULT_FULL. */
static Result capture_index_put(CaptureIndex index, MDB_txn *txn, uint64_t page,
                                const Capture *capture)
{
    uint8_t bytes[VALUE_BYTES];
    return lmdb_put(txn, index, lmdb_bytes(&page, sizeof page), encode(capture, bytes),
                    "captures: mdb_put");
}

/* Whether a 304 may confirm it: the whole of what the server has, here or in an earlier record. */
static bool has_representation(int status, const WarcGroup *group)
{
    return status == 200 && group->has_payload && group->whole &&
           (group->type == WARC_RESPONSE || group->type == WARC_REVISIT);
}

Result capture_index_put_group(CaptureIndex index, MDB_txn *txn, uint64_t page, int status,
                               const WarcGroup *group)
{
    uint8_t bytes[VALUE_BYTES];
    Capture capture = {.newest = group->date,
                       .has_payload = has_representation(status, group),
                       .payload = group->payload};
    MDB_val key = lmdb_bytes(&page, sizeof page);
    MDB_val value = encode(&capture, bytes);
    /* Most pages are stored for the first time, or anew. */
    int rc = mdb_put(txn, index, &key, &value, capture.has_payload ? 0 : MDB_NOOVERWRITE);
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

Result capture_index_lost(CaptureIndex index, MDB_txn *txn, uint64_t page)
{
    Capture capture = {.has_payload = false};
    Result rc = capture_index_get(index, txn, page, &capture);
    if (rc != RESULT_OK || !capture.has_payload) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    capture.has_payload = false;
    return capture_index_put(index, txn, page, &capture);
}

Result capture_index_remove(CaptureIndex index, MDB_txn *txn, uint64_t page)
{
    return lmdb_remove(txn, index, lmdb_bytes(&page, sizeof page), "captures: mdb_del");
}

/* ---- Payload index ---- */

#define HEAD_BYTES (sizeof(int64_t) + sizeof(WarcId))
#define URI_LIMIT  ((size_t)64 << 10)

Result payload_index_open(PayloadIndex *index, MDB_txn *txn, bool create)
{
    return lmdb_table_open(index, txn, "payloads", create ? MDB_CREATE : 0);
}

Result payload_row_read(const MDB_val *value, PayloadRow *row)
{
    const char *bytes = value->mv_data;
    const char *end = bytes + value->mv_size;
    *row = (PayloadRow){.page = PAGE_DB_NO_INDEX};
    if (value->mv_size < HEAD_BYTES) {
        return RESULT_DAMAGED;
    }
    memcpy(&row->date.us, bytes, sizeof row->date.us);
    memcpy(&row->id, bytes + sizeof row->date.us, sizeof row->id);
    bytes += HEAD_BYTES;
    if (bytes == end || *bytes != '\0') {
        row->uri = warc_bytes(bytes, (size_t)(end - bytes));
        return RESULT_OK;
    }
    bool is_read =
        varint_read((const uint8_t *)bytes + 1, (const uint8_t *)end, &row->page) != NULL;
    return is_read ? RESULT_OK : RESULT_DAMAGED;
}

Result payload_index_get(PayloadIndex index, PageDB *db, MDB_txn *txn, const WarcDigest *payload,
                         WarcOriginal *original)
{
    MDB_val value;
    PayloadRow row;
    PageRef page;
    Result rc = lmdb_get(txn, index, lmdb_bytes(payload->bytes, sizeof payload->bytes), &value,
                         "payloads: mdb_get");
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = payload_row_read(&value, &row);
    if (rc == RESULT_OK && row.page != PAGE_DB_NO_INDEX) {
        int code = page_db_get(db, txn, row.page, &page, &original->uri);
        if (code != page_db_error_ok) {
            return code == page_db_error_no_page ? RESULT_NOT_FOUND : RESULT_DAMAGED;
        }
    } else if (rc == RESULT_OK) {
        buffer_reset(&original->uri);
        rc = buffer_append(&original->uri, row.uri.bytes, row.uri.length);
    }
    if (rc == RESULT_DAMAGED) {
        LOG_ERROR("payloads", "table is damaged", "bytes=%zu", value.mv_size);
    }
    original->date = row.date;
    original->id = row.id;
    return rc;
}

Result payload_index_put(PayloadIndex index, MDB_txn *txn, const WarcDigest *payload,
                         const PayloadRow *row)
{
    uint8_t number[1 + MAX_VARINT_SIZE] = {0};
    MDB_val key = lmdb_bytes(payload->bytes, sizeof payload->bytes);
    WarcBytes name = row->uri;
    if (row->page != PAGE_DB_NO_INDEX) {
        const uint8_t *end = varint_encode_uint64(row->page, number + 1);
        name = warc_bytes((const char *)number, (size_t)(end - number));
    }
    if (name.length > URI_LIMIT) {
        return RESULT_LIMIT;
    }
    MDB_val value = {.mv_size = HEAD_BYTES + name.length, .mv_data = NULL};
    int rc = mdb_put(txn, index, &key, &value, MDB_RESERVE | MDB_NOOVERWRITE);
    if (rc == MDB_SUCCESS) {
        char *bytes = value.mv_data;
        memcpy(bytes, &row->date.us, sizeof row->date.us);
        memcpy(bytes + sizeof row->date.us, &row->id, sizeof row->id);
        memcpy(bytes + HEAD_BYTES, name.bytes, name.length);
    }
    return rc == MDB_KEYEXIST ? RESULT_EXISTS : lmdb_result(rc, "payloads: mdb_put");
}

Result payload_index_put_group(PayloadIndex index, MDB_txn *txn, const WarcGroup *group,
                               uint64_t page, WarcBytes uri)
{
    PayloadRow row = {.date = group->date, .id = group->id, .page = page, .uri = uri};
    if (group->type != WARC_RESPONSE || !group->has_payload || !group->whole) {
        return RESULT_OK;
    }
    Result rc = payload_index_put(index, txn, &group->payload, &row);
    return rc == RESULT_EXISTS || rc == RESULT_LIMIT ? RESULT_OK : rc;
}

Result payload_index_clear(PayloadIndex index, MDB_txn *txn)
{
    return lmdb_result(mdb_drop(txn, index, 0), "payloads: mdb_drop");
}

Result payload_index_find(void *context, const WarcDigest *payload, WarcOriginal *original)
{
    PayloadReader *reader = context;
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(reader->db, true, &txn) != page_db_error_ok) {
        return RESULT_NOT_FOUND;
    }
    Result rc = payload_index_get(reader->index, reader->db, txn, payload, original);
    page_db_txn_abort(reader->db, txn);
    return rc;
}
