#include "store/page_tables/page_lookup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "store/page_tables/page_key.h"
#include "store/page_tables/page_reader.h"

#define CACHE_LINE        64u
#define LARGE_PAGE        ((size_t)1 << 21)
#define BUCKET_ENTRIES    5u
#define FULL_ENTRIES      3u /* entries per bucket, on average, that a table is sized for */
#define FIRST_DECISION    1024u
#define LARGEST_INDEX     (UINT32_MAX - 1u)
#define HASH_MULTIPLIER   UINT64_C(0x9e3779b97f4a7c15)
#define BUCKET_HASH_SHIFT 32u
#define SWEEP_AHEAD       8u /* entries whose buckets are on their way */

typedef struct Bucket {
    _Alignas(CACHE_LINE) _Atomic uint64_t hashes[BUCKET_ENTRIES];
    _Atomic uint32_t indices[BUCKET_ENTRIES]; /* plus one; 0 = free, as all behind it */
} Bucket;

struct PageLookupTable {
    PageLookupTable *older; /* replaced by this one; readers may still be in it */
    size_t mask;
    Bucket *buckets;
};

/* Zeroed memory in large pages, which random access to a large table wants: such a page may cost
 * milliseconds when the system has none at hand. */
static void *large_memory(size_t bytes)
{
    size_t page = bytes >= LARGE_PAGE ? LARGE_PAGE : CACHE_LINE;
    size_t whole = (bytes + page - 1) / page * page;
    void *memory = aligned_alloc(page, whole);
    if (memory != NULL) {
        if (page == LARGE_PAGE) {
            (void)madvise(memory, whole, MADV_HUGEPAGE); /* advice: without it, it is slower */
        }
        memset(memory, 0, whole);
    }
    return memory;
}

static Bucket *bucket_of(const PageLookupTable *table, uint64_t hash)
{
    return &table->buckets[((hash * HASH_MULTIPLIER) >> BUCKET_HASH_SHIFT) & table->mask];
}

static PageLookupTable *table_new(size_t n_buckets)
{
    PageLookupTable *table = malloc(sizeof *table);
    Bucket *buckets = large_memory(n_buckets * sizeof *buckets);
    if (table == NULL || buckets == NULL) {
        free(table);
        free(buckets);
        return NULL;
    }
    *table = (PageLookupTable){.mask = n_buckets - 1, .buckets = buckets};
    return table;
}

static void table_delete(PageLookupTable *table)
{
    if (table != NULL) {
        free(table->buckets);
        free(table);
    }
}

/* Does nothing when the bucket is full or the hash is there. */
static void table_put(PageLookupTable *table, uint64_t hash, uint64_t index)
{
    Bucket *bucket = bucket_of(table, hash);
    for (size_t i = 0; index <= LARGEST_INDEX && i < BUCKET_ENTRIES; i++) {
        if (atomic_load_explicit(&bucket->indices[i], memory_order_relaxed) == 0) {
            atomic_store_explicit(&bucket->hashes[i], hash, memory_order_relaxed);
            atomic_store_explicit(&bucket->indices[i], (uint32_t)index + 1, memory_order_release);
            break;
        }
        if (atomic_load_explicit(&bucket->hashes[i], memory_order_relaxed) == hash) {
            break;
        }
    }
}

/* Entries of one domain, sorted by hash. Of equal hashes the least index counts; they may lie on
 * both sides of a call's end, so the last hash is carried over. */
typedef struct Sweep {
    PageLookupTable *table;
    uint64_t hash;
    uint64_t index;
    bool pending;
} Sweep;

static void sweep_flush(Sweep *sweep)
{
    if (sweep->pending) {
        table_put(sweep->table, sweep->hash, sweep->index);
    }
    sweep->pending = false;
}

static void sweep_entries(Sweep *sweep, uint32_t domain, const MDB_val *entries)
{
    const uint8_t *p = entries->mv_data;
    for (size_t n = entries->mv_size / PAGE_ENTRY_BYTES; n > 0; n--, p += PAGE_ENTRY_BYTES) {
        PageEntry entry;
        page_entry_read(p, &entry);
        uint64_t hash = (uint64_t)domain << 32 | entry.url_hash;
        if (n > SWEEP_AHEAD) {
            PageEntry later;
            page_entry_read(p + SWEEP_AHEAD * PAGE_ENTRY_BYTES, &later);
            __builtin_prefetch(bucket_of(sweep->table, (uint64_t)domain << 32 | later.url_hash), 1);
        }
        if (!sweep->pending || sweep->hash != hash) {
            sweep_flush(sweep);
            sweep->hash = hash;
            sweep->index = entry.index;
            sweep->pending = true;
        } else if (entry.index < sweep->index) {
            sweep->index = entry.index;
        }
    }
}

/* Puts all of hash2idx into a table that nobody else knows. */
static void sweep_all(MDB_cursor *cursor, PageLookupTable *table)
{
    Sweep sweep = {.table = table};
    MDB_val key, value;
    int rc = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    while (rc == 0) {
        uint32_t domain = 0;
        memcpy(&domain, key.mv_data, sizeof domain);
        rc = mdb_cursor_get(cursor, &key, &value, MDB_GET_MULTIPLE);
        while (rc == 0) {
            sweep_entries(&sweep, domain, &value);
            rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT_MULTIPLE);
        }
        if (rc == MDB_NOTFOUND) {
            rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT_NODUP);
        }
    }
    /* A table that a damaged database has left half full is as good as another one. */
    sweep_flush(&sweep);
}

static void page_lookup_publish(PageLookup *lookup, PageLookupTable *table)
{
    mutex_lock(&lookup->mutex);
    table->older = atomic_load_explicit(&lookup->table, memory_order_relaxed);
    atomic_store_explicit(&lookup->table, table, memory_order_release);
    mutex_unlock(&lookup->mutex);
}

/* Whether a table, or a larger one, is worth its sweep now; one thread at a time gets past
 * decide_at. */
static void page_lookup_decide(PageDBStore *store, PageReader *reader)
{
    PageLookup *lookup = &store->lookup;
    uint64_t n_pages = 0;
    if (page_store_count_pages(store, reader->txn, &n_pages) != 0) {
        n_pages = 0;
    }
    uint64_t patience = n_pages / PAGE_LOOKUP_PATIENCE;
    patience = patience < FIRST_DECISION ? FIRST_DECISION : patience;
    mutex_lock(&lookup->mutex);
    uint64_t swept = lookup->swept;
    bool wait = lookup->missed < patience;
    lookup->missed = wait ? lookup->missed : 0;
    mutex_unlock(&lookup->mutex);
    uint64_t largest = PAGE_LOOKUP_MAX_BUCKETS * FULL_ENTRIES * 4 / 3;
    if (!wait && n_pages >= 2 * swept && (swept == 0 || n_pages <= largest)) {
        size_t n_buckets = 1;
        while (n_buckets < PAGE_LOOKUP_MAX_BUCKETS && n_buckets * FULL_ENTRIES < n_pages) {
            n_buckets *= 2;
        }
        PageLookupTable *table = table_new(n_buckets);
        if (table != NULL) {
            if (n_pages <= largest) {
                sweep_all(reader->hashes, table);
            }
            page_lookup_publish(lookup, table);
            swept = n_pages;
        }
    }
    mutex_lock(&lookup->mutex);
    lookup->swept = swept;
    lookup->decide_at = patience;
    mutex_unlock(&lookup->mutex);
}

void page_lookup_init(PageLookup *lookup)
{
    mutex_init(&lookup->mutex, RANK_TABLE);
    atomic_init(&lookup->table, NULL);
    lookup->decide_at = FIRST_DECISION;
}

void page_lookup_destroy(PageLookup *lookup)
{
    PageLookupTable *table = atomic_load(&lookup->table);
    while (table != NULL) {
        PageLookupTable *older = table->older;
        table_delete(table);
        table = older;
    }
    mutex_destroy(&lookup->mutex);
}

void page_lookup_prefetch(PageLookup *lookup, uint64_t hash)
{
    PageLookupTable *table = atomic_load_explicit(&lookup->table, memory_order_acquire);
    if (table != NULL) {
        __builtin_prefetch(bucket_of(table, hash));
    }
}

bool page_lookup_get(PageLookup *lookup, uint64_t hash, uint64_t *index)
{
    PageLookupTable *table = atomic_load_explicit(&lookup->table, memory_order_acquire);
    if (table == NULL) {
        return false;
    }
    Bucket *bucket = bucket_of(table, hash);
    for (size_t i = 0; i < BUCKET_ENTRIES; i++) {
        uint32_t next = atomic_load_explicit(&bucket->indices[i], memory_order_acquire);
        if (next == 0) {
            return false;
        }
        if (atomic_load_explicit(&bucket->hashes[i], memory_order_relaxed) == hash) {
            *index = next - 1;
            return true;
        }
    }
    return false;
}

/* Notes a look-up that the table could not answer and that found index in the tree. May sweep
 * hash2idx in the reader's snapshot, and move its cursor. */
static void page_lookup_missed(PageDBStore *store, PageReader *reader, uint64_t hash,
                               uint64_t index)
{
    PageLookup *lookup = &store->lookup;
    mutex_lock(&lookup->mutex);
    PageLookupTable *table = atomic_load_explicit(&lookup->table, memory_order_relaxed);
    if (table != NULL) {
        table_put(table, hash, index);
    }
    bool due = ++lookup->missed >= lookup->decide_at;
    if (due) {
        lookup->decide_at = UINT64_MAX;
    }
    mutex_unlock(&lookup->mutex);
    if (due) {
        page_lookup_decide(store, reader);
    }
}

int page_lookup_find(PageDBStore *store, PageReader *reader, uint64_t hash, uint64_t *index)
{
    int rc = page_key_find(reader->hashes, hash, NULL, index);
    if (rc == 0) {
        page_lookup_missed(store, reader, hash, *index);
    }
    return rc;
}
