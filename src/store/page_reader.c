#include "store/page_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/page_hosts.h"
#include "store/page_packs.h"

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
    free(reader->packs);
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
    fresh->snapshot = 1;
    fresh->txn_id = mdb_txn_id(fresh->txn);
    *reader = fresh;
    return 0;
}

/* The snapshot is another one. */
static void forget_packs(PageReader *reader)
{
    reader->snapshot++;
    if (reader->snapshot == 0) {
        reader->snapshot = 1;
        if (reader->packs != NULL) {
            memset(reader->packs, 0, PAGE_READER_PACKS * sizeof *reader->packs);
        }
    }
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
        forget_packs(reader);
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

/* Finds the pack in the tree, and keeps where it is. */
static int find_pack(PageDB *db, PageReader *reader, uint64_t number, MDB_val *pack)
{
    MDB_val key = {sizeof number, &number};
    int rc = mdb_get(reader->txn, db->store->tables.idx2info, &key, pack);
    if (rc != 0) {
        return rc;
    }
    if (page_pack_count(pack) == 0) {
        return MDB_CORRUPTED;
    }
    if (reader->packs == NULL) {
        reader->packs = page_lookup_memory(PAGE_READER_PACKS * sizeof *reader->packs);
    }
    if (reader->packs != NULL && number <= UINT32_MAX && pack->mv_size <= UINT16_MAX) {
        reader->packs[number % PAGE_READER_PACKS] =
            (PageReaderPack){.data = pack->mv_data,
                             .number = (uint32_t)number,
                             .length = (uint16_t)pack->mv_size,
                             .snapshot = reader->snapshot};
    }
    return 0;
}

int page_reader_record(PageDB *db, PageReader *reader, uint64_t index, MDB_val *record)
{
    uint64_t number = index / PAGE_PACK_RECORDS;
    MDB_val pack;
    const PageReaderPack *slot =
        reader->packs == NULL ? NULL : &reader->packs[number % PAGE_READER_PACKS];
    if (slot != NULL && slot->snapshot == reader->snapshot && slot->number == number) {
        pack = (MDB_val){slot->length, slot->data};
    } else {
        int rc = find_pack(db, reader, number, &pack);
        if (rc != 0) {
            return rc;
        }
    }
    size_t at = index % PAGE_PACK_RECORDS;
    if (page_pack_record(&pack, at, record)) {
        return 0;
    }
    return at < page_pack_count(&pack) ? MDB_CORRUPTED : MDB_NOTFOUND;
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
