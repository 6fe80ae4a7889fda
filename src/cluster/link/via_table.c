#include "cluster/link/via_table.h"

#include "cluster/wire/link_block.h"
#include "store/lmdb/lmdb_result.h"

#define TABLE       "vias"
#define VALUE_BYTES 9u
#define PARENT_NONE ((UINT64_C(1) << 48) - 1)

Result via_table_open(MDB_dbi *table, MDB_txn *txn)
{
    return lmdb_table_open(table, txn, TABLE, MDB_CREATE | MDB_INTEGERKEY);
}

Result via_table_put(MDB_dbi table, MDB_txn *txn, uint64_t index, const Via *via)
{
    uint8_t bytes[VALUE_BYTES];
    uint64_t parent = via->parent == LINK_NO_PARENT ? PARENT_NONE : via->parent;
    bytes[0] = (uint8_t)via->agent;
    bytes[1] = (uint8_t)(via->agent >> 8);
    bytes[2] = via->redirects;
    for (unsigned i = 0; i < 6; i++) {
        bytes[3 + i] = (uint8_t)(parent >> (8 * i));
    }
    MDB_val key = {sizeof index, &index};
    MDB_val value = {sizeof bytes, bytes};
    int rc = mdb_put(txn, table, &key, &value, MDB_APPEND);
    if (rc == MDB_KEYEXIST) {
        rc = mdb_put(txn, table, &key, &value, 0);
    }
    return lmdb_result(rc, "write vias");
}

Result via_table_get(MDB_dbi table, MDB_txn *txn, uint64_t index, Via *via)
{
    uint8_t bytes[VALUE_BYTES];
    Result rc = lmdb_get_struct(txn, table, lmdb_bytes(&index, sizeof index), bytes, sizeof bytes,
                                "read vias");
    if (rc != RESULT_OK) {
        return rc == RESULT_VERSION ? RESULT_DAMAGED : rc;
    }
    uint64_t parent = 0;
    for (unsigned i = 0; i < 6; i++) {
        parent |= (uint64_t)bytes[3 + i] << (8 * i);
    }
    *via = (Via){.agent = (uint16_t)(bytes[0] | bytes[1] << 8),
                 .redirects = bytes[2],
                 .parent = parent == PARENT_NONE ? LINK_NO_PARENT : parent};
    return RESULT_OK;
}
