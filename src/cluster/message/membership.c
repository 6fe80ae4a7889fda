#include "cluster/message/membership.h"

#include <string.h>

#include "cluster/link/kept.h"

/* ---- Node place ---- */

#define IDENTITY_KEY "cluster_identity"
#define PLACE_KEY    "cluster_table"

Result node_place_read(MDB_txn *txn, MDB_dbi crawl, NodeIdentity *identity, ClusterTable *table)
{
    MDB_val value;
    *identity = (NodeIdentity){.known = false, .self = CLUSTER_NOBODY};
    Result rc = kept_find(txn, crawl, IDENTITY_KEY, &value);
    if (rc == RESULT_OK) {
        rc = member_identity_read(identity, value.mv_data, value.mv_size);
    }
    if (rc == RESULT_OK || rc == RESULT_NOT_FOUND) {
        rc = kept_find(txn, crawl, PLACE_KEY, &value);
        rc = rc != RESULT_OK ? rc : cluster_table_read(table, value.mv_data, value.mv_size);
    }
    identity->known = identity->token != 0 || table->epoch > 0;
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
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

static Result node_place_keep(MDB_txn *txn, MDB_dbi crawl, const char *key, Result written,
                              Buffer *bytes)
{
    Result rc = written;
    if (rc == RESULT_OK) {
        rc = kept_put(txn, crawl, key, bytes->data, bytes->length);
    }
    buffer_destroy(bytes);
    return rc;
}

Result node_place_write_identity(MDB_txn *txn, MDB_dbi crawl, const NodeIdentity *identity)
{
    Buffer bytes = {.limit = BUFFER_NO_LIMIT};
    return node_place_keep(txn, crawl, IDENTITY_KEY, member_identity_write(identity, &bytes),
                           &bytes);
}

Result node_place_write_table(MDB_txn *txn, MDB_dbi crawl, const ClusterTable *table)
{
    Buffer bytes = {.limit = BUFFER_NO_LIMIT};
    return node_place_keep(txn, crawl, PLACE_KEY, cluster_table_write(table, &bytes), &bytes);
}

/* ---- Membership ---- */

#define FORMAT     1u
#define ANY_NUMBER UINT64_MAX

static const WireField identity_fields[] = {WIRE_FIELD(NodeIdentity, uuid, WIRE_BYTES, 0),
                                            WIRE_FIELD(NodeIdentity, self, 2, ANY_NUMBER),
                                            WIRE_FIELD(NodeIdentity, life, 2, ANY_NUMBER),
                                            WIRE_FIELD(NodeIdentity, incarnation, 4, ANY_NUMBER),
                                            WIRE_FIELD(NodeIdentity, token, 8, ANY_NUMBER),
                                            WIRE_FIELD(NodeIdentity, next_token, 8, ANY_NUMBER),
                                            WIRE_FIELD(NodeIdentity, tried, 8, ANY_NUMBER)};
static const WireRecord identity_record = WIRE_RECORD(NodeIdentity, identity_fields);

static const WireField member_fields[] = {WIRE_FIELD(MemberRecord, life, 2, ANY_NUMBER),
                                          WIRE_FIELD(MemberRecord, incarnation, 4, ANY_NUMBER),
                                          WIRE_FIELD(MemberRecord, token, 8, ANY_NUMBER),
                                          WIRE_FIELD(MemberRecord, session, 8, ANY_NUMBER),
                                          WIRE_FIELD(MemberRecord, dead_below, 8, ANY_NUMBER),
                                          WIRE_FIELD(MemberRecord, state, 1, MEMBER_STATES - 1),
                                          WIRE_FIELD(MemberRecord, machine, WIRE_TEXT, 0),
                                          WIRE_FIELD(MemberRecord, name, WIRE_TEXT, 0),
                                          WIRE_FIELD(MemberRecord, version, WIRE_TEXT, 0)};
static const WireRecord member_record = WIRE_RECORD(MemberRecord, member_fields);

Result member_identity_write(const NodeIdentity *identity, Buffer *out)
{
    WireWriter writer = wire_writer(out);
    wire_put_number(&writer, FORMAT, 1);
    wire_put(&writer, &identity_record, identity);
    return wire_seal(&writer);
}

Result member_identity_read(NodeIdentity *identity, const void *bytes, size_t length)
{
    WireReader reader;
    *identity = (NodeIdentity){.known = true};
    if (!wire_open(&reader, bytes, length) || wire_get_number(&reader, 1) != FORMAT) {
        return RESULT_DAMAGED;
    }
    wire_get(&reader, &identity_record, identity);
    return wire_reader_ended(&reader) ? RESULT_OK : RESULT_DAMAGED;
}

Result member_record_write(const MemberRecord *record, const Buffer *heard, Buffer *out)
{
    WireWriter writer = wire_writer(out);
    wire_put_number(&writer, FORMAT, 1);
    wire_put(&writer, &member_record, record);
    wire_put_bytes(&writer, heard->data, heard->length);
    return wire_seal(&writer);
}

Result member_record_read(MemberRecord *record, uint16_t self, const void *bytes, size_t length)
{
    WireReader reader;
    if (!wire_open(&reader, bytes, length) || wire_get_number(&reader, 1) != FORMAT) {
        return RESULT_DAMAGED;
    }
    wire_get(&reader, &member_record, record);
    record->heard = 0;
    for (uint32_t i = 0; !reader.bad && wire_left(&reader) > 0; i++) {
        uint64_t heard = wire_get_varint(&reader);
        record->heard = i == self ? heard : record->heard;
    }
    return reader.bad ? RESULT_DAMAGED : RESULT_OK;
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
