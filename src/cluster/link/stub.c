#include "cluster/link/stub.h"

#include "cluster/wire/link_block.h"
#include "store/lmdb/lmdb_result.h"

#define TABLE "vias"

static const WireField via_fields[] = {WIRE_FIELD(Via, agent, 2, UINT64_MAX),
                                       WIRE_FIELD(Via, redirects, 1, UINT64_MAX),
                                       WIRE_FIELD(Via, parent, 6, UINT64_MAX)}; /* all bits: none */
static const WireRecord via_record = WIRE_RECORD(Via, via_fields);
#define PARENT_NONE ((UINT64_C(1) << 48) - 1)

Result via_table_open(MDB_dbi *table, MDB_txn *txn)
{
    return lmdb_table_open(table, txn, TABLE, MDB_CREATE | MDB_INTEGERKEY);
}

Result via_table_put(MDB_dbi table, MDB_txn *txn, uint64_t index, const Via *via)
{
    Buffer bytes = {.limit = BUFFER_NO_LIMIT};
    WireWriter writer = wire_writer(&bytes);
    wire_put(&writer, &via_record, via);
    if (writer.rc != RESULT_OK) {
        return writer.rc;
    }
    MDB_val key = {sizeof index, &index};
    MDB_val value = {bytes.length, bytes.data};
    int rc = mdb_put(txn, table, &key, &value, MDB_APPEND);
    if (rc == MDB_KEYEXIST) {
        rc = mdb_put(txn, table, &key, &value, 0);
    }
    buffer_destroy(&bytes);
    return lmdb_result(rc, "write vias");
}

Result via_table_get(MDB_dbi table, MDB_txn *txn, uint64_t index, Via *via)
{
    MDB_val value;
    Result rc = lmdb_get(txn, table, lmdb_bytes(&index, sizeof index), &value, "read vias");
    if (rc != RESULT_OK) {
        return rc;
    }
    WireReader reader = wire_reader(value.mv_data, value.mv_size);
    wire_get(&reader, &via_record, via);
    via->parent = via->parent == PARENT_NONE ? LINK_NO_PARENT : via->parent;
    return wire_reader_ended(&reader) ? RESULT_OK : RESULT_DAMAGED;
}
