#include "store/page_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/page_hosts.h"
#include "store/page_packs.h"

#define CACHE_LINE       64u
#define PREFETCHED_LINES 3u
#define SWEEP_THOUGHT    1024u /* misses between two thoughts about a sweep */
#define SWEEP_PIECE      64u   /* places kept with one miss */

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
    free(reader->origins);
    free(reader->packs.slots);
    free(reader->crawls.slots);
    free(reader);
}

/* Makes a reader; the transaction is counted. */
static int create(PageDB *db, PageReader **reader)
{
    PageReader *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL) {
        return ENOMEM;
    }
    fresh->origins = page_lookup_memory(PAGE_READER_ORIGINS * sizeof *fresh->origins);
    if (fresh->origins == NULL) {
        free(fresh);
        return ENOMEM;
    }
    int rc = txn_manager_begin_mdb(db->txn_manager, MDB_RDONLY, &fresh->txn);
    if (rc != 0) {
        free(fresh->origins);
        free(fresh);
        return rc;
    }
    rc = mdb_cursor_open(fresh->txn, db->store->tables.hash2idx, &fresh->hashes);
    if (rc != 0) {
        txn_manager_abort_mdb(db->txn_manager, fresh->txn);
        free(fresh->origins);
        free(fresh);
        return rc;
    }
    fresh->active = true;
    fresh->snapshot = 1;
    fresh->packs.n = PAGE_READER_PACKS;
    fresh->crawls.n = PAGE_READER_CRAWLS;
    fresh->txn_id = mdb_txn_id(fresh->txn);
    *reader = fresh;
    return 0;
}

/* The snapshot is another one. */
static void forget_places(PageReader *reader)
{
    reader->snapshot++;
    PageReaderPlaces *both[] = {&reader->packs, &reader->crawls};
    for (size_t i = 0; i < 2; i++) {
        both[i]->missed = 0;
        both[i]->sweeping = false;
        both[i]->swept_to = 0;
        if (reader->snapshot == 0 && both[i]->slots != NULL) {
            memset(both[i]->slots, 0, both[i]->n * sizeof *both[i]->slots);
        }
    }
    reader->snapshot = reader->snapshot == 0 ? 1 : reader->snapshot;
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
        forget_places(reader);
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

static void keep(PageReader *reader, PageReaderPlaces *places, uint64_t key, const MDB_val *value)
{
    if (key <= UINT32_MAX && value->mv_size <= UINT16_MAX) {
        places->slots[key & (places->n - 1)] = (PageReaderPlace){.data = value->mv_data,
                                                                 .key = (uint32_t)key,
                                                                 .length = (uint16_t)value->mv_size,
                                                                 .snapshot = reader->snapshot};
    }
}

/* Keeps the next places of a table. An error means that fewer are known, and shows again where it
 * matters. */
static void sweep_piece(PageReader *reader, PageReaderPlaces *places, MDB_dbi dbi)
{
    MDB_cursor *cursor = NULL;
    uint64_t number = places->swept_to;
    MDB_val key = {sizeof number, &number};
    MDB_val value;
    int rc = mdb_cursor_open(reader->txn, dbi, &cursor);
    MDB_cursor_op op = MDB_SET_RANGE;
    for (unsigned i = 0; rc == 0 && i < SWEEP_PIECE; i++, op = MDB_NEXT) {
        rc = mdb_cursor_get(cursor, &key, &value, op);
        if (rc == 0 && key.mv_size == sizeof number) {
            memcpy(&number, key.mv_data, sizeof number);
            keep(reader, places, number, &value);
        }
    }
    mdb_cursor_close(cursor);
    places->swept_to = number + 1;
    places->sweeping = rc == 0;
}

static int find_in_tree(PageReader *reader, PageReaderPlaces *places, MDB_dbi dbi, uint64_t number,
                        MDB_val *value)
{
    MDB_val key = {sizeof number, &number};
    int rc = mdb_get(reader->txn, dbi, &key, value);
    if (rc != 0) {
        return rc;
    }
    if (places->slots == NULL) {
        places->slots = page_lookup_memory(places->n * sizeof *places->slots);
    }
    if (places->slots == NULL) {
        return 0;
    }
    keep(reader, places, number, value);
    places->missed++;
    MDB_stat stat;
    if (places->swept_to == 0 && places->missed % SWEEP_THOUGHT == 0 &&
        mdb_stat(reader->txn, dbi, &stat) == 0 && stat.ms_entries <= places->n &&
        places->missed >= stat.ms_entries / PAGE_READER_PATIENCE) {
        places->sweeping = true;
    }
    if (places->sweeping) {
        sweep_piece(reader, places, dbi);
    }
    return 0;
}

static int find(PageReader *reader, PageReaderPlaces *places, MDB_dbi dbi, uint64_t number,
                MDB_val *value)
{
    if (places->slots != NULL) {
        const PageReaderPlace *slot = &places->slots[number & (places->n - 1)];
        if (slot->key == number && slot->snapshot == reader->snapshot) {
            *value = (MDB_val){slot->length, slot->data};
            return 0;
        }
    }
    return find_in_tree(reader, places, dbi, number, value);
}

/* Loads the lines in which the record will be, while the pack's head is on its way. */
static void prefetch(const MDB_val *pack, size_t at)
{
    const char *bytes = pack->mv_data;
    const char *end = bytes + pack->mv_size;
    __builtin_prefetch(bytes);
    size_t guess = pack->mv_size * at / PAGE_PACK_RECORDS;
    const char *line = bytes + (guess < CACHE_LINE ? 0 : guess - CACHE_LINE / 2);
    for (size_t i = 0; i < PREFETCHED_LINES && line < end; i++, line += CACHE_LINE) {
        __builtin_prefetch(line);
    }
}

void page_reader_begin(const PageReader *reader, uint64_t index)
{
    if (reader->packs.slots != NULL) {
        uint64_t number = index / PAGE_PACK_RECORDS;
        __builtin_prefetch(&reader->packs.slots[number & (reader->packs.n - 1)]);
    }
}

int page_reader_pack(PageDB *db, PageReader *reader, uint64_t index, MDB_val *pack)
{
    int rc =
        find(reader, &reader->packs, db->store->tables.idx2info, index / PAGE_PACK_RECORDS, pack);
    if (rc == 0) {
        prefetch(pack, index % PAGE_PACK_RECORDS);
    }
    return rc;
}

int page_reader_unpack(const MDB_val *pack, uint64_t index, MDB_val *record)
{
    size_t at = index % PAGE_PACK_RECORDS;
    if (page_pack_record(pack, at, record)) {
        return 0;
    }
    size_t n = page_pack_count(pack);
    return n == 0 || at < n ? MDB_CORRUPTED : MDB_NOTFOUND;
}

int page_reader_record(PageDB *db, PageReader *reader, uint64_t index, MDB_val *record)
{
    MDB_val pack;
    int rc = page_reader_pack(db, reader, index, &pack);
    return rc != 0 ? rc : page_reader_unpack(&pack, index, record);
}

int page_reader_crawl(PageDB *db, PageReader *reader, uint64_t index, MDB_val *record)
{
    return find(reader, &reader->crawls, db->store->tables.idx2crawl, index, record);
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
