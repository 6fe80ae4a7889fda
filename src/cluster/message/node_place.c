#include "cluster/message/node_place.h"

#include "store/lmdb/lmdb_result.h"

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
