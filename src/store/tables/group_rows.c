#include "store/tables/group_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "store/lmdb/lmdb_result.h"

#define DOMAIN_SEED   UINT64_C(1)
#define ADDRESS_SEED  UINT64_C(2)
#define NETWORK_BYTES 8u /* of an IPv6 address */

struct GroupRows {
    MDB_dbi dbi;
};

static uint64_t group_rows_key_of(const void *bytes, size_t length, uint64_t seed)
{
    uint64_t key = hash_64(bytes, length, seed);
    return key == 0 ? 1 : key;
}

uint64_t group_key_of_domain(const char *domain, size_t length)
{
    return group_rows_key_of(domain, length, DOMAIN_SEED);
}

uint64_t group_key_of_address(const IpAddress *address)
{
    return group_rows_key_of(address->bytes, address->v6 ? NETWORK_BYTES : sizeof address->bytes,
                             ADDRESS_SEED);
}

Result group_rows_open(GroupRows **out, MDB_txn *txn)
{
    Result rc;
    *out = lmdb_table_new(txn, "groups", MDB_CREATE | MDB_INTEGERKEY, sizeof **out, &rc);
    return rc;
}

void group_rows_close(GroupRows *table)
{
    free(table);
}

Result group_rows_get(GroupRows *table, MDB_txn *txn, uint64_t key, GroupRecord *record)
{
    MDB_val name = {.mv_size = sizeof key, .mv_data = &key};
    MDB_val value = {.mv_size = 0, .mv_data = NULL};
    *record = (GroupRecord){.hosts = 0};
    int rc = mdb_get(txn, table->dbi, &name, &value);
    if (rc == MDB_NOTFOUND) {
        return RESULT_OK;
    }
    if (rc == MDB_SUCCESS && value.mv_size != sizeof *record) {
        return RESULT_VERSION;
    }
    if (rc == MDB_SUCCESS) {
        memcpy(record, value.mv_data, sizeof *record);
    }
    return lmdb_result(rc, "get group");
}

Result group_rows_put(GroupRows *table, MDB_txn *txn, uint64_t key, const GroupRecord *record)
{
    GroupRecord copy = *record;
    MDB_val name = {.mv_size = sizeof key, .mv_data = &key};
    MDB_val value = {.mv_size = sizeof copy, .mv_data = &copy};
    return lmdb_result(mdb_put(txn, table->dbi, &name, &value, 0), "put group");
}
