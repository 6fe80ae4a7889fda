#include "store/lmdb/lmdb_result.h"

#include <errno.h>
#include <stdlib.h>

#include "base/thread/log.h"

Result lmdb_result(int rc, const char *what)
{
    Result result = RESULT_OK;
    switch (rc) {
    case MDB_SUCCESS:
        return RESULT_OK;
    case MDB_NOTFOUND:
        return RESULT_NOT_FOUND;
    case MDB_KEYEXIST:
        return RESULT_EXISTS;
    case MDB_MAP_FULL:
        result = RESULT_FULL;
        break;
    case MDB_VERSION_MISMATCH:
        result = RESULT_VERSION;
        break;
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
    case MDB_CURSOR_FULL: /* a tree that leads back to itself */
    case MDB_BAD_VALSIZE: /* a key of nonsense */
        result = RESULT_DAMAGED;
        break;
    case MDB_PANIC:
    case MDB_BAD_TXN: /* a call before this one failed in the same transaction */
        result = RESULT_IO;
        break;
    default:
        result = rc > 0 ? result_of_errno(rc) : RESULT_INTERNAL;
        break;
    }
    LOG_ERROR("store", "database call failed", "call=%s error=\"%s\"", what, mdb_strerror(rc));
    return result;
}

void *lmdb_table_new(MDB_txn *txn, const char *name, unsigned flags, size_t bytes, Result *rc)
{
    MDB_dbi *table = calloc(1, bytes);
    *rc = RESULT_MEMORY;
    if (table == NULL) {
        return NULL;
    }
    int code = mdb_dbi_open(txn, name, flags, table);
    *rc = code == EACCES ? RESULT_NOT_FOUND : lmdb_result(code, name);
    if (*rc != RESULT_OK) {
        free(table);
        return NULL;
    }
    return table;
}
