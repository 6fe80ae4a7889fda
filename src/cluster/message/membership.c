#include "cluster/message/membership.h"

#include <libdeflate.h>
#include <string.h>

#include "cluster/wire/wire.h"
#include "store/lmdb/lmdb_result.h"

/* ---- Node place ---- */

static char identity_key[] = "cluster_identity";
static char table_key[] = "cluster_table";

static MDB_val node_place_key_of(char *name, size_t size)
{
    return (MDB_val){.mv_size = size - 1, .mv_data = name};
}

Result node_place_read(MDB_txn *txn, MDB_dbi crawl, NodeIdentity *identity, ClusterTable *table)
{
    MDB_val key = node_place_key_of(identity_key, sizeof identity_key);
    MDB_val value;
    *identity = (NodeIdentity){.known = false, .self = CLUSTER_NOBODY};
    int code = mdb_get(txn, crawl, &key, &value);
    Result rc = code == MDB_NOTFOUND  ? RESULT_OK
                : code == MDB_SUCCESS ? member_identity_read(identity, value.mv_data, value.mv_size)
                                      : lmdb_result(code, "get cluster_identity");
    if (rc != RESULT_OK) {
        return rc;
    }
    key = node_place_key_of(table_key, sizeof table_key);
    code = mdb_get(txn, crawl, &key, &value);
    rc = code == MDB_NOTFOUND  ? RESULT_OK
         : code == MDB_SUCCESS ? cluster_table_read(table, value.mv_data, value.mv_size)
                               : lmdb_result(code, "get cluster_table");
    identity->known = identity->token != 0 || table->epoch > 0;
    return rc;
}

static Result node_place_put(MDB_txn *txn, MDB_dbi crawl, MDB_val key, const Buffer *bytes)
{
    MDB_val value = {.mv_size = bytes->length, .mv_data = bytes->data};
    return lmdb_result(mdb_put(txn, crawl, &key, &value, 0), "put the cluster's place");
}

Result node_place_of(PageDB *db, uint16_t *self, ClusterTable *table)
{
    MDB_txn *txn = NULL;
    MDB_dbi crawl = 0;
    NodeIdentity identity = {.known = false};
    if (page_db_txn_begin(db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    Result rc = RESULT_NOT_FOUND;
    if (mdb_dbi_open(txn, "crawl", 0, &crawl) == MDB_SUCCESS) {
        rc = node_place_read(txn, crawl, &identity, table);
    }
    page_db_txn_abort(db, txn);
    *self = identity.self;
    return rc == RESULT_OK && (!identity.known || table->epoch == 0) ? RESULT_NOT_FOUND : rc;
}

Result node_place_write_identity(MDB_txn *txn, MDB_dbi crawl, const NodeIdentity *identity)
{
    Buffer bytes;
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    Result rc = member_identity_write(identity, &bytes);
    if (rc == RESULT_OK) {
        rc = node_place_put(txn, crawl, node_place_key_of(identity_key, sizeof identity_key),
                            &bytes);
    }
    buffer_destroy(&bytes);
    return rc;
}

Result node_place_write_table(MDB_txn *txn, MDB_dbi crawl, const ClusterTable *table)
{
    Buffer bytes;
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    Result rc = cluster_table_write(table, &bytes);
    if (rc == RESULT_OK) {
        rc = node_place_put(txn, crawl, node_place_key_of(table_key, sizeof table_key), &bytes);
    }
    buffer_destroy(&bytes);
    return rc;
}

/* ---- Membership ---- */

#define FORMAT 1u

/* Ends bytes with their checksum. */
static Result seal(WireWriter *writer, size_t start)
{
    if (writer->rc == RESULT_OK) {
        const Buffer *out = writer->out;
        wire_put_32(writer, libdeflate_crc32(0, out->data + start, out->length - start));
    }
    return writer->rc;
}

/* Bytes without their checksum; false: it is wrong, or they have another format. */
static bool open_sealed(const void *bytes, size_t length, WireReader *reader)
{
    uint32_t crc = 0;
    if (length < sizeof crc) {
        return false;
    }
    WireReader tail = wire_reader((const uint8_t *)bytes + length - sizeof crc, sizeof crc);
    crc = wire_get_32(&tail);
    *reader = wire_reader(bytes, length - sizeof crc);
    return libdeflate_crc32(0, bytes, length - sizeof crc) == crc && wire_get_8(reader) == FORMAT;
}

Result member_identity_write(const NodeIdentity *identity, Buffer *out)
{
    size_t start = out->length;
    WireWriter writer = wire_writer(out);
    wire_put_8(&writer, FORMAT);
    wire_put_bytes(&writer, identity->uuid, sizeof identity->uuid);
    wire_put_16(&writer, identity->self);
    wire_put_16(&writer, identity->life);
    wire_put_32(&writer, identity->incarnation);
    wire_put_64(&writer, identity->token);
    wire_put_64(&writer, identity->next_token);
    wire_put_64(&writer, identity->tried);
    return seal(&writer, start);
}

Result member_identity_read(NodeIdentity *identity, const void *bytes, size_t length)
{
    WireReader reader;
    if (!open_sealed(bytes, length, &reader)) {
        return RESULT_DAMAGED;
    }
    const uint8_t *uuid = wire_get_bytes(&reader, sizeof identity->uuid);
    NodeIdentity fresh = {.known = true, .self = wire_get_16(&reader)};
    fresh.life = wire_get_16(&reader);
    fresh.incarnation = wire_get_32(&reader);
    fresh.token = wire_get_64(&reader);
    fresh.next_token = wire_get_64(&reader);
    fresh.tried = wire_left(&reader) > 0 ? wire_get_64(&reader) : 0;
    if (uuid == NULL || !wire_reader_ended(&reader)) {
        return RESULT_DAMAGED;
    }
    memcpy(fresh.uuid, uuid, sizeof fresh.uuid);
    *identity = fresh;
    return RESULT_OK;
}

Result member_record_write(const MemberRecord *record, Buffer *out)
{
    size_t start = out->length;
    WireWriter writer = wire_writer(out);
    wire_put_8(&writer, FORMAT);
    wire_put_16(&writer, record->life);
    wire_put_32(&writer, record->incarnation);
    wire_put_64(&writer, record->token);
    wire_put_64(&writer, record->session);
    wire_put_64(&writer, record->dead_below);
    wire_put_8(&writer, (uint8_t)record->state);
    wire_put_string(&writer, record->machine, strlen(record->machine));
    wire_put_string(&writer, record->name, strlen(record->name));
    wire_put_string(&writer, record->version, strlen(record->version));
    wire_put_64(&writer, record->kept.epoch);
    wire_put_64(&writer, (uint64_t)record->kept.rest_ms);
    return seal(&writer, start);
}

static void get_text(WireReader *reader, char text[MEMBER_TEXT_BYTES])
{
    size_t length = 0;
    const uint8_t *bytes = wire_get_string(reader, &length);
    reader->bad |= length >= MEMBER_TEXT_BYTES;
    memset(text, 0, MEMBER_TEXT_BYTES);
    if (!reader->bad && bytes != NULL) {
        memcpy(text, bytes, length);
    }
}

Result member_record_read(MemberRecord *record, const void *bytes, size_t length)
{
    WireReader reader;
    if (!open_sealed(bytes, length, &reader)) {
        return RESULT_DAMAGED;
    }
    MemberRecord fresh = {.life = wire_get_16(&reader)};
    fresh.incarnation = wire_get_32(&reader);
    fresh.token = wire_get_64(&reader);
    fresh.session = wire_get_64(&reader);
    fresh.dead_below = wire_get_64(&reader);
    uint8_t state = wire_get_8(&reader);
    fresh.state = (MemberState)state;
    get_text(&reader, fresh.machine);
    get_text(&reader, fresh.name);
    get_text(&reader, fresh.version);
    if (wire_left(&reader) > 0) { /* an older program's has none */
        fresh.kept.epoch = wire_get_64(&reader);
        fresh.kept.rest_ms = (int64_t)(wire_get_64(&reader) & INT64_MAX);
    }
    if (!wire_reader_ended(&reader) || state >= MEMBER_STATES) {
        return RESULT_DAMAGED;
    }
    *record = fresh;
    return RESULT_OK;
}

bool member_is_token_of(const NodeIdentity *identity, uint64_t token)
{
    return token == identity->token ||
           (identity->next_token != 0 && token == identity->next_token) ||
           (identity->tried != 0 && token == identity->tried);
}

MemberClaim member_judge(const NodeIdentity *identity, const ClusterTable *table,
                         const MemberRecord *record)
{
    if (memcmp(identity->uuid, table->uuid, sizeof identity->uuid) != 0) {
        return MEMBER_STRANGER;
    }
    if (identity->self >= table->n_agents) {
        return MEMBER_NOBODY;
    }
    const ClusterAgent *agent = &table->agents[identity->self];
    uint16_t claimed = agent->claimed;
    uint16_t life = agent->life;
    if (record != NULL && record->life > claimed) { /* the table is older than the record */
        claimed = record->life;
    }
    life = claimed > life ? claimed : life;
    if (identity->life < life) {
        return claimed < life ? MEMBER_MAY : MEMBER_REPLACED;
    }
    if (record == NULL || record->life < identity->life) {
        return MEMBER_MAY; /* the cluster has forgotten it */
    }
    return member_is_token_of(identity, record->token) ? MEMBER_MAY : MEMBER_IS_COPY;
}

uint64_t member_session(uint16_t life, uint32_t incarnation, uint64_t luck)
{
    return (uint64_t)life << 48 | (uint64_t)(incarnation & 0xffffffu) << 24 | (luck & 0xffffffu);
}
