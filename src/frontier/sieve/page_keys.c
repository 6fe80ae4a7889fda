#include "frontier/sieve/page_keys.h"

#include <errno.h>
#include <string.h>

#include "store/lmdb/lmdb_result.h"

static Result page_keys_result_of(int rc, const char *what)
{
    return rc == ENOMEM ? RESULT_MEMORY : lmdb_result(rc, what);
}

Result page_keys_walk(PageDB *db, MDB_txn *txn, void (*visit)(void *context, const PageKey *key),
                      void *context)
{
    MDB_cursor *cursor = NULL;
    int rc = mdb_cursor_open(txn, db->store->tables.hash2idx, &cursor);
    MDB_val key, value;
    for (MDB_cursor_op op = MDB_FIRST; rc == 0; op = MDB_NEXT) {
        rc = mdb_cursor_get(cursor, &key, &value, op);
        if (rc == 0 && (key.mv_size != sizeof(uint32_t) || value.mv_size != PAGE_ENTRY_BYTES)) {
            rc = MDB_CORRUPTED;
        }
        if (rc == 0) {
            uint32_t domain = 0;
            PageEntry entry;
            memcpy(&domain, key.mv_data, sizeof domain);
            page_entry_read(value.mv_data, &entry);
            PageKey page = {.hash = (uint64_t)domain << 32 | entry.url_hash, .print = entry.print};
            visit(context, &page);
        }
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? RESULT_OK : page_keys_result_of(rc, "walk hash2idx");
}
