#include "store/tables/near_rows.h"

#include <endian.h>
#include <string.h>

#include "store/lmdb/lmdb_result.h"

/* Big endian, so that bytes sort as numbers do. */
typedef struct NearEntry {
    uint64_t key;
    uint64_t page;
} NearEntry;

#define BY_PAGE SIMHASH_TABLES /* the fifth table: (page, hash) under one name */

typedef struct NearKey {
    uint8_t bytes[3]; /* table, then the top 16 bits */
} NearKey;

Result near_rows_open(MDB_txn *txn, MDB_dbi *dbi)
{
    return lmdb_result(mdb_dbi_open(txn, "near", MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED, dbi),
                       "open near");
}

static NearKey near_rows_key_of(unsigned table, uint64_t key)
{
    return (NearKey){{(uint8_t)table, (uint8_t)(key >> 56), (uint8_t)(key >> 48)}};
}

static Result put_entry(NearRows *near, NearKey name, uint64_t first, uint64_t second)
{
    NearEntry entry = {.key = htobe64(first), .page = htobe64(second)};
    MDB_val k = {.mv_size = sizeof name, .mv_data = &name};
    MDB_val v = {.mv_size = sizeof entry, .mv_data = &entry};
    int rc = mdb_put(near->txn, near->dbi, &k, &v, MDB_NODUPDATA);
    return rc == MDB_KEYEXIST ? RESULT_OK : lmdb_result(rc, "put simhash");
}

static Result remove_entry(NearRows *near, NearKey name, uint64_t first, uint64_t second)
{
    NearEntry entry = {.key = htobe64(first), .page = htobe64(second)};
    MDB_val k = {.mv_size = sizeof name, .mv_data = &name};
    MDB_val v = {.mv_size = sizeof entry, .mv_data = &entry};
    int rc = mdb_del(near->txn, near->dbi, &k, &v);
    return rc == MDB_NOTFOUND ? RESULT_OK : lmdb_result(rc, "remove simhash");
}

static Result near_rows_put(void *state, unsigned table, uint64_t key, uint64_t page)
{
    return put_entry(state, near_rows_key_of(table, key), key, page);
}

/* Shows the entries of one block of values; false when the scan is over. */
static bool near_rows_show(const MDB_val *block, uint64_t first, uint64_t last, SimhashVisit visit,
                           void *context)
{
    for (size_t at = 0; at + sizeof(NearEntry) <= block->mv_size; at += sizeof(NearEntry)) {
        NearEntry entry;
        memcpy(&entry, (const char *)block->mv_data + at, sizeof entry);
        uint64_t key = be64toh(entry.key);
        if (key > last || (key >= first && !visit(context, key, be64toh(entry.page)))) {
            return false;
        }
    }
    return true;
}

/* The values under one name from `first` on, a page of the database at a time. */
static int scan_name(MDB_cursor *cursor, NearKey name, uint64_t first, uint64_t last,
                     SimhashVisit visit, void *context, bool *go_on)
{
    NearEntry from = {.key = htobe64(first), .page = 0};
    MDB_val k = {.mv_size = sizeof name, .mv_data = &name};
    MDB_val v = {.mv_size = sizeof from, .mv_data = &from};
    int rc = mdb_cursor_get(cursor, &k, &v, MDB_GET_BOTH_RANGE);
    if (rc == 0) {
        rc = mdb_cursor_get(cursor, &k, &v, MDB_GET_MULTIPLE);
    }
    while (rc == 0 && *go_on) {
        *go_on = near_rows_show(&v, first, last, visit, context);
        rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT_MULTIPLE);
    }
    return rc == MDB_NOTFOUND ? 0 : rc;
}

static Result scan(void *state, unsigned table, uint64_t first, uint64_t last, SimhashVisit visit,
                   void *context)
{
    NearRows *near = state;
    MDB_cursor *cursor = NULL;
    bool go_on = true;
    int rc = mdb_cursor_open(near->txn, near->dbi, &cursor);
    for (uint64_t top = first >> 48; rc == 0 && go_on && top <= last >> 48; top++) {
        rc = scan_name(cursor, near_rows_key_of(table, top << 48), first, last, visit, context,
                       &go_on);
    }
    if (cursor != NULL) {
        mdb_cursor_close(cursor);
    }
    return lmdb_result(rc, "scan simhashes");
}

SimhashTables near_rows_interface(NearRows *table)
{
    return (SimhashTables){.state = table, .put = near_rows_put, .scan = scan};
}

Result near_rows_get(NearRows *table, uint64_t page, uint64_t *hash)
{
    NearKey name = near_rows_key_of(BY_PAGE, 0);
    NearEntry entry = {.key = htobe64(page), .page = 0};
    MDB_val k = {.mv_size = sizeof name, .mv_data = &name};
    MDB_val v = {.mv_size = sizeof entry, .mv_data = &entry};
    MDB_cursor *cursor = NULL;
    *hash = 0;
    int rc = mdb_cursor_open(table->txn, table->dbi, &cursor);
    if (rc == 0) {
        rc = mdb_cursor_get(cursor, &k, &v, MDB_GET_BOTH_RANGE);
    }
    if (rc == 0 && v.mv_size == sizeof entry) {
        memcpy(&entry, v.mv_data, sizeof entry);
        *hash = be64toh(entry.key) == page ? be64toh(entry.page) : 0;
    }
    if (cursor != NULL) {
        mdb_cursor_close(cursor);
    }
    return rc == MDB_NOTFOUND ? RESULT_OK : lmdb_result(rc, "get simhash of page");
}

Result near_rows_change(NearRows *table, uint64_t page, uint64_t old, uint64_t hash)
{
    SimhashTables tables = near_rows_interface(table);
    Result rc = RESULT_OK;
    for (unsigned t = 0; t < SIMHASH_TABLES && old != 0 && rc == RESULT_OK; t++) {
        uint64_t key = simhash_table_key(old, t);
        rc = remove_entry(table, near_rows_key_of(t, key), key, page);
    }
    if (rc == RESULT_OK && old != 0) {
        rc = remove_entry(table, near_rows_key_of(BY_PAGE, 0), page, old);
    }
    if (rc == RESULT_OK && hash != 0) {
        rc = put_entry(table, near_rows_key_of(BY_PAGE, 0), page, hash);
    }
    return rc == RESULT_OK ? simhash_insert(&tables, hash, page) : rc;
}

Result near_rows_enter(NearRows *table, uint64_t page, uint64_t hash, bool has_twin)
{
    return has_twin ? put_entry(table, near_rows_key_of(BY_PAGE, 0), page, hash)
                    : near_rows_change(table, page, 0, hash);
}
