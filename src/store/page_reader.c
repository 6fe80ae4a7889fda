#include "store/page_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/page_hosts.h"

static PageReader *pop(PageDBStore *store)
{
    mutex_lock(&store->readers_mutex);
    PageReader *reader = store->readers;
    if (reader != NULL) {
        store->readers = reader->next;
    }
    mutex_unlock(&store->readers_mutex);
    return reader;
}

/* Ends the transaction itself, which the pool does not count. */
static void dispose(PageReader *reader)
{
    if (reader->hashes != NULL) {
        mdb_cursor_close(reader->hashes);
    }
    if (reader->txn != NULL) {
        mdb_txn_abort(reader->txn);
    }
    free(reader);
}

/* Makes a reader; the transaction is counted. */
static int create(PageDB *db, PageReader **reader)
{
    PageReader *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL) {
        return ENOMEM;
    }
    int rc = txn_manager_begin_mdb(db->txn_manager, MDB_RDONLY, &fresh->txn);
    if (rc != 0) {
        free(fresh);
        return rc;
    }
    rc = mdb_cursor_open(fresh->txn, db->store->tables.hash2idx, &fresh->hashes);
    if (rc != 0) {
        txn_manager_abort_mdb(db->txn_manager, fresh->txn);
        free(fresh);
        return rc;
    }
    fresh->active = true;
    fresh->txn_id = mdb_txn_id(fresh->txn);
    *reader = fresh;
    return 0;
}

/* Brings a pooled reader to the present. */
static int refresh(PageDB *db, PageReader *reader)
{
    MDB_envinfo info;
    int rc = mdb_env_info(db->store->env, &info);
    if (rc != 0 || (reader->active && reader->txn_id == info.me_last_txnid)) {
        return rc;
    }
    if (reader->active) {
        mdb_txn_reset(reader->txn);
        reader->active = false;
    }
    rc = mdb_txn_renew(reader->txn);
    if (rc == 0) {
        reader->active = true;
        reader->txn_id = mdb_txn_id(reader->txn);
        rc = mdb_cursor_renew(reader->txn, reader->hashes);
    }
    return rc;
}

int page_reader_acquire(PageDB *db, PageReader **reader)
{
    InvSemaphore *counter = &db->txn_manager->txn_counter_read;
    inv_semaphore_inc(counter);
    *reader = pop(db->store);
    if (*reader != NULL) {
        if (refresh(db, *reader) == 0) {
            return 0;
        }
        /* The map was grown by another process, perhaps: a new one finds out. */
        dispose(*reader);
        *reader = NULL;
    }
    inv_semaphore_dec(counter);
    return create(db, reader);
}

void page_reader_release(PageDB *db, PageReader *reader)
{
    PageDBStore *store = db->store;
    if (store->read_only && reader->active) {
        mdb_txn_reset(reader->txn);
        reader->active = false;
    }
    mutex_lock(&store->readers_mutex);
    reader->next = store->readers;
    store->readers = reader;
    mutex_unlock(&store->readers_mutex);
    inv_semaphore_dec(&db->txn_manager->txn_counter_read);
}

void page_readers_rest(PageDB *db)
{
    PageDBStore *store = db->store;
    mutex_lock(&store->readers_mutex);
    for (PageReader *reader = store->readers; reader != NULL; reader = reader->next) {
        if (reader->active) {
            mdb_txn_reset(reader->txn);
            reader->active = false;
        }
    }
    mutex_unlock(&store->readers_mutex);
}

void page_readers_delete(PageDB *db)
{
    PageReader *reader = NULL;
    while ((reader = pop(db->store)) != NULL) {
        dispose(reader);
    }
}

int page_reader_origin(PageDB *db, PageReader *reader, uint32_t host, MDB_val *origin)
{
    PageReaderOrigin *slot = &reader->origins[host % PAGE_READER_ORIGINS];
    if (slot->used && slot->host == host) {
        *origin = (MDB_val){slot->length, slot->origin};
        return 0;
    }
    int rc = page_hosts_origin(db->store, reader->txn, host, origin);
    if (rc == 0 && origin->mv_size <= PAGE_READER_ORIGIN_BYTES) {
        slot->used = 1;
        slot->host = host;
        slot->length = (uint8_t)origin->mv_size;
        memcpy(slot->origin, origin->mv_data, origin->mv_size);
    }
    return rc;
}
