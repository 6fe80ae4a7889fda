#include "store/pages/page_db.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "store/page_tables/page_file.h"
#include "store/page_tables/page_hosts.h"
#include "store/page_tables/page_key.h"
#include "store/page_tables/page_reader.h"
#include "store/page_tables/page_snapshot.h"
#include "store/pages/page_error.h"

uint64_t page_db_hash(const char *url)
{
    return url == NULL ? 0 : page_key_hash(url, strlen(url));
}

uint32_t page_db_hash_get_domain(uint64_t hash)
{
    return (uint32_t)(hash >> 32);
}

uint32_t page_db_hash_get_url(uint64_t hash)
{
    return (uint32_t)hash;
}

void page_db_set_persist(PageDB *db, int value)
{
    if (db != NULL) {
        db->persist = value;
    }
}

PageDBError page_db_set_sync(PageDB *db, int value)
{
    int rc = page_db_check(db, true, "page_db_set_sync");
    if (rc == page_db_error_ok) {
        rc = page_db_fail_mdb(db, mdb_env_set_flags(db->store->env, MDB_NOSYNC, value == 0),
                              "page_db_set_sync");
    }
    if (rc == page_db_error_ok) {
        db->store->lazy_sync = value == 0;
    }
    return (PageDBError)rc;
}

MDB_env *page_db_env(PageDB *db)
{
    return db->store->env;
}

int page_db_txn_begin(PageDB *db, bool read_only, MDB_txn **txn)
{
    int checked = page_db_check(db, txn != NULL, "page_db_txn_begin");
    if (checked != page_db_error_ok) {
        return checked;
    }
    assert(txn != NULL); /* or page_db_check would have told */
    *txn = NULL;
    if (!read_only && db->store->read_only) {
        return page_db_fail(db, page_db_error_read_only, "the database was opened for reading");
    }
    if (!read_only && atomic_load(&db->store->failed)) {
        return page_db_fail(db, page_db_error_io,
                            "an earlier commit could not be written; close the database, look at "
                            "the disk, and open it anew");
    }
    int rc = txn_manager_begin_mdb(db->txn_manager, read_only ? MDB_RDONLY : 0, txn);
    if (rc == 0 && !read_only) {
        page_hosts_begin(db->store->hosts, mdb_txn_id(*txn));
    }
    if (rc == EDEADLK) {
        return page_db_fail(db, page_db_error_locked,
                            "this thread has a write transaction open (that of a cursor of "
                            "freq_scheduler_cursor_open?): commit or abort it first");
    }
    return page_db_fail_mdb(db, rc, "beginning a transaction");
}

int page_db_txn_commit(PageDB *db, MDB_txn *txn)
{
    error_clean(db->error);
    bool writes = atomic_load(&db->txn_manager->writer) == txn;
    size_t id = mdb_txn_id(txn);
    int rc = txn_manager_commit_mdb(db->txn_manager, txn);
    if (rc == 0 && writes) {
        page_hosts_committed(db->store->hosts, id);
    }
    if (rc == EIO && page_file_is_full(db->store)) {
        rc = ENOSPC; /* a write was cut short */
    }
    if (rc == EIO || rc == MDB_PANIC) {
        atomic_store(&db->store->failed, true);
    }
    if (writes) {
        page_readers_rest(db->store);
        page_file_extend(db->store);
        (void)page_db_check_residence(db);
    }
    return page_db_fail_mdb(db, rc, "committing");
}

void page_db_txn_abort(PageDB *db, MDB_txn *txn)
{
    txn_manager_abort_mdb(db->txn_manager, txn);
}

void page_db_rest(PageDB *db)
{
    page_snapshots_park(db->store);
    page_readers_rest(db->store);
}

int page_db_grow(PageDB *db)
{
    error_clean(db->error);
    TxnManagerError rc = txn_manager_expand_to(db->txn_manager, 0);
    if (rc == txn_manager_error_ok) {
        return page_db_error_ok;
    }
    const char *message = error_message(db->txn_manager->error);
    return page_db_fail(
        db, rc == txn_manager_error_memory ? page_db_error_full : page_db_error_internal,
        message == NULL ? "growing the map" : message);
}

void page_db_set_residence(PageDB *db, size_t budget)
{
    map_residence_set(&db->store->residence, budget, atomic_load(&db->store->residence.most));
}

void page_db_set_map_memory(PageDB *db, size_t most)
{
    map_residence_set(&db->store->residence, atomic_load(&db->store->residence.budget), most);
}

void page_db_looked_up(PageDB *db, unsigned n)
{
    page_store_looked_up(db->store, n);
}

uint64_t page_db_check_residence(PageDB *db)
{
    MDB_txn *txn = NULL; /* while it lives, the map is not moved */
    if (map_residence_is_bound(&db->store->residence) &&
        txn_manager_begin_mdb(db->txn_manager, MDB_RDONLY, &txn) == 0) {
        page_store_check_residence(db->store);
        txn_manager_abort_mdb(db->txn_manager, txn);
    }
    return atomic_load(&db->store->residence.n);
}
