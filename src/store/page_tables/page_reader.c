#include "store/page_tables/page_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/page_tables/page_hosts.h"

#define CACHE_LINE       64u
#define PREFETCHED_LINES 3u
#define SWEEP_THOUGHT    1024u /* misses between two thoughts about a sweep */
#define SWEEP_PIECE      64u   /* places kept with one miss */
#define FIRST_SLOTS      512u  /* of a cache */
#define GROWTH           8u    /* times as many when it was missed once per slot */

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
static void page_reader_dispose(PageReader *reader)
{
    mdb_cursor_close(reader->hashes);
    mdb_txn_abort(reader->txn);
    free(reader->origins);
    free(reader->packs.slots);
    free(reader);
}

/* Makes a reader; the transaction is counted. */
static int page_reader_create(PageDBStore *store, PageReader **reader)
{
    PageReader *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL) {
        return ENOMEM;
    }
    int rc = txn_manager_begin_mdb(store->txn_manager, MDB_RDONLY, &fresh->txn);
    if (rc != 0) {
        free(fresh);
        return rc;
    }
    rc = mdb_cursor_open(fresh->txn, store->tables.hash2idx, &fresh->hashes);
    if (rc != 0) {
        txn_manager_abort_mdb(store->txn_manager, fresh->txn);
        free(fresh);
        return rc;
    }
    fresh->active = true;
    fresh->snapshot = 1;
    fresh->packs.most = PAGE_READER_PACKS;
    fresh->txn_id = mdb_txn_id(fresh->txn);
    *reader = fresh;
    return 0;
}

/* The snapshot is another one. */
static void forget_places(PageReader *reader)
{
    reader->snapshot++;
    PageReaderPlaces *packs = &reader->packs;
    packs->missed = 0;
    packs->sweeping = false;
    packs->swept_to = 0;
    if (reader->snapshot == 0 && packs->slots != NULL) {
        memset(packs->slots, 0, packs->n * sizeof *packs->slots);
    }
    reader->snapshot = reader->snapshot == 0 ? 1 : reader->snapshot;
}

/* Brings a pooled reader to the present. */
static int refresh(PageDBStore *store, PageReader *reader)
{
    MDB_envinfo info;
    int rc = mdb_env_info(store->env, &info);
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

int page_reader_acquire(PageDBStore *store, PageReader **reader)
{
    InvSemaphore *counter = &store->txn_manager->txn_counter_read;
    inv_semaphore_inc(counter);
    *reader = pop(store);
    if (*reader != NULL) {
        if (refresh(store, *reader) == 0) {
            return 0;
        }
        /* The map was grown by another process, perhaps: a new one finds out. */
        page_reader_dispose(*reader);
        *reader = NULL;
    }
    inv_semaphore_dec(counter);
    return page_reader_create(store, reader);
}

void page_reader_release(PageDBStore *store, PageReader *reader)
{
    if (store->read_only && reader->active) {
        mdb_txn_reset(reader->txn);
        reader->active = false;
    }
    mutex_lock(&store->readers_mutex);
    reader->next = store->readers;
    store->readers = reader;
    mutex_unlock(&store->readers_mutex);
    inv_semaphore_dec(&store->txn_manager->txn_counter_read);
}

void page_readers_rest(PageDBStore *store)
{
    mutex_lock(&store->readers_mutex);
    for (PageReader *reader = store->readers; reader != NULL; reader = reader->next) {
        if (reader->active) {
            mdb_txn_reset(reader->txn);
            reader->active = false;
        }
    }
    mutex_unlock(&store->readers_mutex);
}

void page_readers_delete(PageDBStore *store)
{
    PageReader *reader = NULL;
    while ((reader = pop(store)) != NULL) {
        page_reader_dispose(reader);
    }
}

/* Zeroed memory that begins with a cache line; NULL without memory. bytes: whole lines. */
static void *lines(size_t bytes)
{
    void *memory = aligned_alloc(CACHE_LINE, bytes);
    if (memory != NULL) {
        memset(memory, 0, bytes);
    }
    return memory;
}

/* How many slots a cache of n has next; n itself when it was not missed enough, or is at most. */
static size_t next_size(size_t n, size_t most, size_t missed)
{
    if (n == 0) {
        return FIRST_SLOTS;
    }
    if (missed < n || n == most) {
        return n;
    }
    return n * GROWTH < most ? n * GROWTH : most;
}

/* Without memory the places stay as they are. */
static void resize_places(PageReaderPlaces *places, size_t n)
{
    PageReaderPlace *slots = lines(n * sizeof *slots);
    places->missed_at_size = 0;
    if (slots == NULL) {
        return;
    }
    for (size_t i = 0; places->slots != NULL && i < places->n; i++) {
        const PageReaderPlace *slot = &places->slots[i];
        if (slot->snapshot != 0) {
            slots[slot->key & (n - 1)] = *slot;
        }
    }
    free(places->slots);
    places->slots = slots;
    places->n = n;
}

static void page_reader_keep(PageReader *reader, PageReaderPlaces *places, uint64_t key,
                             const MDB_val *value)
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
    LmdbRows rows;
    uint64_t number = places->swept_to;
    bool more = true;
    lmdb_rows_begin(&rows, reader->txn, dbi, lmdb_bytes(&number, sizeof number));
    for (unsigned i = 0; i < SWEEP_PIECE && more; i++) {
        more = lmdb_rows_next(&rows);
        if (more && rows.key.mv_size == sizeof number) {
            memcpy(&number, rows.key.mv_data, sizeof number);
            page_reader_keep(reader, places, number, &rows.value);
        }
    }
    (void)lmdb_rows_close(&rows, 0);
    places->swept_to = number + 1;
    places->sweeping = more;
}

static int find_in_tree(PageReader *reader, PageReaderPlaces *places, MDB_dbi dbi, uint64_t number,
                        MDB_val *value)
{
    MDB_val key = {sizeof number, &number};
    int rc = mdb_get(reader->txn, dbi, &key, value);
    if (rc != 0) {
        return rc;
    }
    places->missed++;
    places->missed_at_size++;
    size_t n = next_size(places->n, places->most, places->missed_at_size);
    MDB_stat stat;
    if (places->swept_to == 0 && places->missed % SWEEP_THOUGHT == 0 &&
        mdb_stat(reader->txn, dbi, &stat) == 0 && stat.ms_entries <= places->most &&
        places->missed >= stat.ms_entries / PAGE_READER_PATIENCE) {
        places->sweeping = true;
        while (n < stat.ms_entries) {
            n *= 2;
        }
    }
    if (n != places->n) {
        resize_places(places, n);
    }
    if (places->slots == NULL) {
        return 0;
    }
    page_reader_keep(reader, places, number, value);
    if (places->sweeping) {
        sweep_piece(reader, places, dbi);
    }
    return 0;
}

static int page_reader_find(PageReader *reader, PageReaderPlaces *places, MDB_dbi dbi,
                            uint64_t number, MDB_val *value)
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

int page_reader_pack(PageDBStore *store, PageReader *reader, uint64_t index, MDB_val *pack)
{
    int rc = page_reader_find(reader, &reader->packs, store->tables.idx2info,
                              index / PAGE_PACK_RECORDS, pack);
    if (rc == 0) {
        prefetch(pack, index % PAGE_PACK_RECORDS);
    }
    return rc;
}

int page_reader_unpack(PageDBStore *store, const PageReader *reader, const MDB_val *pack,
                       uint64_t index, MDB_val *record)
{
    size_t at = index % PAGE_PACK_RECORDS;
    int rc = journal_get(store->journal, reader->txn, JOURNAL_PAGES, index, record);
    if (rc != MDB_NOTFOUND) {
        return rc;
    }
    if (page_pack_record(pack, at, record)) {
        return 0;
    }
    size_t n = page_pack_count(pack);
    return n == 0 || at < n ? MDB_CORRUPTED : MDB_NOTFOUND;
}

int page_reader_record(PageDBStore *store, PageReader *reader, uint64_t index, MDB_val *record)
{
    MDB_val pack;
    int rc = page_reader_pack(store, reader, index, &pack);
    return rc != 0 ? rc : page_reader_unpack(store, reader, &pack, index, record);
}

/* Strings are fetched again: there is nothing to carry over that a miss does not bring. */
static void resize_origins(PageReader *reader, size_t n)
{
    PageReaderOrigin *origins = lines(n * sizeof *origins);
    reader->missed_origins = 0;
    if (origins != NULL) {
        free(reader->origins);
        reader->origins = origins;
        reader->n_origins = n;
    }
}

static void keep_origin(PageReader *reader, uint32_t host, const MDB_val *origin)
{
    size_t n = next_size(reader->n_origins, PAGE_READER_ORIGINS, ++reader->missed_origins);
    if (n != reader->n_origins) {
        resize_origins(reader, n);
    }
    if (reader->origins != NULL && origin->mv_size <= PAGE_READER_ORIGIN_BYTES) {
        PageReaderOrigin *slot = &reader->origins[host & (reader->n_origins - 1)];
        slot->used = 1;
        slot->host = host;
        slot->length = (uint8_t)origin->mv_size;
        memcpy(slot->origin, origin->mv_data, origin->mv_size);
    }
}

int page_reader_origin(PageDBStore *store, PageReader *reader, uint32_t host, MDB_val *origin)
{
    if (reader->origins != NULL) {
        const PageReaderOrigin *slot = &reader->origins[host & (reader->n_origins - 1)];
        if (slot->used && slot->host == host) {
            *origin = (MDB_val){slot->length, (char *)(uintptr_t)slot->origin};
            return 0;
        }
    }
    int rc = page_hosts_origin(store, reader->txn, host, origin);
    if (rc == 0) {
        keep_origin(reader, host, origin);
    }
    return rc;
}
