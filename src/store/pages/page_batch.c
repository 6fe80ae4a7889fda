#include "store/pages/page_batch.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"

#define ARENA_BLOCK_BYTES ((size_t)64 << 10)
#define REF_BITS          24
#define REF_MASK          ((UINT64_C(1) << REF_BITS) - 1)
#define PRINT_MASK        ((UINT64_C(1) << PAGE_PRINT_BITS) - 1)
#define INDEX_MASK        ((UINT64_C(1) << PAGE_INDEX_BITS) - 1)
#define KEEP_REFS         ((size_t)1 << 18)
#define SMALL_SORT        48
#define DIGIT_BITS        8
#define DIGITS            (1u << DIGIT_BITS)
#define SORTED_DIGITS     6
#define UNSORTED_BITS     (64 - SORTED_DIGITS * DIGIT_BITS)

/* (URL hash 32, high 32 of print) and (low 8 of print, depth 8, index 48), both big-endian. */
void page_entry_write(const PageEntry *entry, uint8_t out[PAGE_ENTRY_BYTES])
{
    uint64_t high = htobe64((uint64_t)entry->url_hash << 32 | entry->print >> 8);
    uint64_t low = htobe64(entry->print << 56 | (uint64_t)entry->depth << PAGE_INDEX_BITS |
                           (entry->index & INDEX_MASK));
    memcpy(out, &high, sizeof high);
    memcpy(out + sizeof high, &low, sizeof low);
}

void page_entry_read(const uint8_t in[PAGE_ENTRY_BYTES], PageEntry *entry)
{
    uint64_t high = 0, low = 0;
    memcpy(&high, in, sizeof high);
    memcpy(&low, in + sizeof high, sizeof low);
    high = be64toh(high);
    low = be64toh(low);
    entry->url_hash = (uint32_t)(high >> 32);
    entry->print = (high & UINT32_MAX) << 8 | low >> 56;
    entry->depth = (uint8_t)(low >> PAGE_INDEX_BITS);
    entry->index = low & INDEX_MASK;
}

static uint64_t print_of(const PageDB *db, const char *url, size_t length)
{
    return hash_64(url, length, db->store->seed) & PRINT_MASK;
}

PageKey page_db_key(const PageDB *db, const char *url, size_t length)
{
    UrlParts parts;
    uint32_t domain = 0;
    if (url_parts(url, length, &parts)) {
        domain = hash_32(url + parts.host_start, parts.host_end - parts.host_start, 0);
    }
    uint64_t hash = (uint64_t)domain << 32 | hash_32(url, length, 0);
    return (PageKey){.hash = hash & db->store->hash_mask, .print = print_of(db, url, length)};
}

PageBatch *page_batch_new(void)
{
    PageBatch *batch = calloc(1, sizeof *batch);
    if (batch != NULL) {
        arena_init(&batch->arena, ARENA_BLOCK_BYTES, SIZE_MAX / 2);
        buffer_init(&batch->scratch, BUFFER_NO_LIMIT);
    }
    return batch;
}

static void free_arrays(PageBatch *batch)
{
    free(batch->refs);
    free(batch->sorted);
    free(batch->urls);
    free(batch->lengths);
    free(batch->cross);
    free(batch->node_of);
    free(batch->nodes);
    free(batch->fresh);
    free(batch->crawls);
    free(batch->targets);
    batch->refs = NULL;
    batch->sorted = NULL;
    batch->urls = NULL;
    batch->lengths = NULL;
    batch->cross = NULL;
    batch->node_of = NULL;
    batch->nodes = NULL;
    batch->fresh = NULL;
    batch->crawls = NULL;
    batch->targets = NULL;
    batch->m_refs = 0;
    batch->m_nodes = 0;
    batch->m_crawls = 0;
    batch->m_targets = 0;
}

void page_batch_delete(PageBatch *batch)
{
    if (batch != NULL) {
        free_arrays(batch);
        arena_destroy(&batch->arena);
        buffer_destroy(&batch->scratch);
        free(batch);
    }
}

void page_batch_reset(PageBatch *batch)
{
    if (batch->m_refs > KEEP_REFS || batch->m_targets > KEEP_REFS) {
        free_arrays(batch);
    }
    arena_reset(&batch->arena);
    buffer_trim(&batch->scratch, ARENA_BLOCK_BYTES);
    batch->n_refs = 0;
    batch->n_nodes = 0;
    batch->n_fresh = 0;
    batch->n_crawls = 0;
}

/* Grows *array to capacity elements of size bytes. */
static bool grow(void *array, size_t capacity, size_t size)
{
    void **slot = array;
    void *more = reallocarray(*slot, capacity, size);
    if (more == NULL) {
        return false;
    }
    *slot = more;
    return true;
}

static int reserve_refs(PageBatch *batch)
{
    if (batch->n_refs < batch->m_refs) {
        return 0;
    }
    if (batch->n_refs == PAGE_BATCH_MAX_REFS) {
        return E2BIG;
    }
    size_t capacity = batch->m_refs == 0 ? 256 : 2 * batch->m_refs;
    if (!grow(&batch->refs, capacity, sizeof *batch->refs) ||
        !grow(&batch->sorted, capacity, sizeof *batch->sorted) ||
        !grow(&batch->urls, capacity, sizeof *batch->urls) ||
        !grow(&batch->lengths, capacity, sizeof *batch->lengths) ||
        !grow(&batch->cross, capacity, sizeof *batch->cross) ||
        !grow(&batch->node_of, capacity, sizeof *batch->node_of)) {
        return ENOMEM;
    }
    batch->m_refs = capacity;
    return 0;
}

void page_origin_of(const char *url, size_t length, PageOrigin *origin)
{
    UrlParts parts;
    *origin = (PageOrigin){.url = url};
    if (url_parts(url, length, &parts)) {
        origin->prefix_length = parts.authority_end;
        origin->host_start = parts.host_start;
        origin->host_end = parts.host_end;
        origin->domain_hash = hash_32(url + parts.host_start, parts.host_end - parts.host_start, 0);
    }
}

/* Whether url begins with the page's scheme and authority, and they end there. */
static bool shares_prefix(const PageOrigin *from, const char *url, size_t length)
{
    size_t n = from->prefix_length;
    if (n == 0 || length < n || memcmp(url, from->url, n) != 0) {
        return false;
    }
    char c = length == n ? '/' : url[n];
    return c == '/' || c == '?' || c == '#';
}

void page_key_of_link(const PageDB *db, const char *url, size_t length, const PageOrigin *from,
                      PageKey *key, bool *cross)
{
    uint32_t domain = 0;
    *cross = true;
    if (from != NULL && shares_prefix(from, url, length)) {
        domain = from->domain_hash;
        *cross = false;
    } else {
        UrlParts parts;
        if (url_parts(url, length, &parts)) {
            const char *host = url + parts.host_start;
            size_t host_length = parts.host_end - parts.host_start;
            domain = hash_32(host, host_length, 0);
            *cross = from == NULL || from->prefix_length == 0 ||
                     host_length != from->host_end - from->host_start ||
                     memcmp(host, from->url + from->host_start, host_length) != 0;
        } else if (from != NULL && from->prefix_length == 0) {
            *cross = strlen(from->url) != length || memcmp(from->url, url, length) != 0;
        }
    }
    uint64_t hash = (uint64_t)domain << 32 | hash_32(url, length, 0);
    *key = (PageKey){.hash = hash & db->store->hash_mask, .print = print_of(db, url, length)};
}

int page_batch_add(PageBatch *batch, const PageDB *db, const char *url, size_t length,
                   const PageOrigin *from)
{
    int rc = reserve_refs(batch);
    if (rc != 0) {
        return rc;
    }
    if (length > UINT32_MAX) {
        return E2BIG;
    }
    PageKey key;
    bool cross = true;
    page_key_of_link(db, url, length, from, &key, &cross);
    size_t ref = batch->n_refs++;
    batch->refs[ref].hash = key.hash;
    batch->refs[ref].print_ref = key.print << REF_BITS | ref;
    batch->urls[ref] = url;
    batch->lengths[ref] = (uint32_t)length;
    batch->cross[ref] = cross;
    return 0;
}

static bool before(const PageRefKey *a, const PageRefKey *b)
{
    return a->hash < b->hash || (a->hash == b->hash && a->print_ref < b->print_ref);
}

static void insertion_sort(PageRefKey *refs, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        PageRefKey x = refs[i];
        size_t k = i;
        for (; k > 0 && before(&x, &refs[k - 1]); k--) {
            refs[k] = refs[k - 1];
        }
        refs[k] = x;
    }
}

/* Radix sort by the upper bits of the hash, lowest digit first; the few references that share them
 * are mentions of one URL, mostly, and in order already. */
static void sort_refs(PageBatch *batch)
{
    size_t n = batch->n_refs;
    if (n <= SMALL_SORT) {
        insertion_sort(batch->refs, n);
        return;
    }
    size_t counts[SORTED_DIGITS][DIGITS];
    memset(counts, 0, sizeof counts);
    for (size_t i = 0; i < n; i++) {
        uint64_t hash = batch->refs[i].hash >> UNSORTED_BITS;
        for (unsigned d = 0; d < SORTED_DIGITS; d++) {
            counts[d][hash >> (d * DIGIT_BITS) & (DIGITS - 1)]++;
        }
    }
    for (unsigned d = 0; d < SORTED_DIGITS; d++) {
        size_t sum = 0;
        for (unsigned v = 0; v < DIGITS; v++) {
            size_t count = counts[d][v];
            counts[d][v] = sum;
            sum += count;
        }
        unsigned shift = UNSORTED_BITS + d * DIGIT_BITS;
        for (size_t i = 0; i < n; i++) {
            unsigned digit = (unsigned)(batch->refs[i].hash >> shift) & (DIGITS - 1);
            batch->sorted[counts[d][digit]++] = batch->refs[i];
        }
        PageRefKey *swap = batch->refs;
        batch->refs = batch->sorted;
        batch->sorted = swap;
    }
    insertion_sort(batch->refs, n);
}

static void init_node(PageBatch *batch, PageNode *node, const PageRefKey *key)
{
    size_t ref = key->print_ref & REF_MASK;
    *node = (PageNode){.url = batch->urls[ref],
                       .length = batch->lengths[ref],
                       .key = {.hash = key->hash, .print = key->print_ref >> REF_BITS},
                       .index = PAGE_DB_NO_INDEX,
                       .linked_from = PAGE_DB_NO_INDEX,
                       .crawl = PAGE_NODE_NO_CRAWL,
                       .level = PAGE_DB_NO_LEVEL};
}

static int make_nodes(PageBatch *batch)
{
    if (batch->m_nodes < batch->n_refs) {
        if (!grow(&batch->nodes, batch->m_refs, sizeof *batch->nodes) ||
            !grow(&batch->fresh, batch->m_refs, sizeof *batch->fresh)) {
            return ENOMEM;
        }
        batch->m_nodes = batch->m_refs;
    }
    size_t n = 0;
    for (size_t i = 0; i < batch->n_refs; i++) {
        const PageRefKey *key = &batch->refs[i];
        if (i == 0 || key->hash != key[-1].hash ||
            key->print_ref >> REF_BITS != key[-1].print_ref >> REF_BITS) {
            init_node(batch, &batch->nodes[n++], key);
        }
        batch->node_of[key->print_ref & REF_MASK] = (uint32_t)n - 1;
    }
    batch->n_nodes = n;
    return 0;
}

static PageEntry entry_of(const PageNode *node)
{
    return (PageEntry){.url_hash = (uint32_t)node->key.hash,
                       .print = node->key.print,
                       .depth = node->depth < PAGE_MAX_DEPTH8 ? (uint8_t)node->depth
                                                              : (uint8_t)PAGE_MAX_DEPTH8,
                       .index = node->index};
}

/* Goes to the entries among which a key is or would be; n 0 and ended when all are before it. */
static int seek_run(PageSweep *sweep, uint32_t domain, const uint8_t *bytes)
{
    MDB_val key = {sizeof domain, &domain};
    MDB_val value = {PAGE_ENTRY_BYTES, (uint8_t *)(uintptr_t)bytes};
    page_sweep_restart(sweep);
    sweep->domain = domain;
    int rc = mdb_cursor_get(sweep->cursor, &key, &value, MDB_GET_BOTH_RANGE);
    if (rc == 0) {
        rc = mdb_cursor_get(sweep->cursor, &key, &value, MDB_GET_MULTIPLE);
    }
    if (rc == MDB_NOTFOUND) {
        sweep->ended = true;
        return 0;
    }
    if (rc == 0 && (value.mv_size == 0 || value.mv_size % PAGE_ENTRY_BYTES != 0)) {
        return MDB_CORRUPTED;
    }
    sweep->entries = value.mv_data;
    sweep->n = value.mv_size / PAGE_ENTRY_BYTES;
    return rc;
}

/* The first entry that is not before bytes; it moves the run's start there. */
static void advance(PageSweep *sweep, const uint8_t *bytes)
{
    const uint8_t *low = sweep->entries;
    size_t n = sweep->n;
    while (n > 0) {
        size_t half = n / 2;
        const uint8_t *middle = low + half * PAGE_ENTRY_BYTES;
        if (memcmp(middle, bytes, PAGE_ENTRY_BYTES) < 0) {
            low = middle + PAGE_ENTRY_BYTES;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    sweep->n -= (size_t)(low - sweep->entries) / PAGE_ENTRY_BYTES;
    sweep->entries = low;
}

int page_sweep_find(PageSweep *sweep, const PageKey *key, PageEntry *entry, bool *found)
{
    uint32_t domain = (uint32_t)(key->hash >> 32);
    uint8_t bytes[PAGE_ENTRY_BYTES];
    *entry = (PageEntry){.url_hash = (uint32_t)key->hash, .print = key->print};
    page_entry_write(entry, bytes);
    *found = false;
    bool same = sweep->domain == domain && (sweep->ended || sweep->n > 0);
    if (same && !sweep->ended) {
        advance(sweep, bytes);
    }
    if (!same || (!sweep->ended && sweep->n == 0)) {
        int rc = seek_run(sweep, domain, bytes);
        if (rc != 0) {
            return rc;
        }
        advance(sweep, bytes);
    }
    if (sweep->n > 0) {
        page_entry_read(sweep->entries, entry);
        *found = entry->url_hash == (uint32_t)key->hash && entry->print == key->print;
    }
    return 0;
}

int page_batch_resolve(PageBatch *batch, PageDBStore *store, MDB_txn *txn)
{
    sort_refs(batch);
    int rc = make_nodes(batch);
    PageSweep sweep = {.cursor = NULL};
    if (rc == 0) {
        rc = mdb_cursor_open(txn, store->tables.hash2idx, &sweep.cursor);
    }
    for (size_t i = 0; rc == 0 && i < batch->n_nodes; i++) {
        page_store_looked_up(store, 1);
        PageNode *node = &batch->nodes[i];
        PageEntry entry;
        rc = page_sweep_find(&sweep, &node->key, &entry, &node->known);
        if (node->known) {
            node->index = entry.index;
            node->depth = entry.depth;
            node->stored_depth = entry.depth;
        }
    }
    mdb_cursor_close(sweep.cursor);
    return rc;
}

PageBatchCrawl *page_batch_add_crawl(PageBatch *batch, uint32_t node)
{
    if (batch->n_crawls == batch->m_crawls) {
        size_t capacity = batch->m_crawls == 0 ? 64 : 2 * batch->m_crawls;
        if (!grow(&batch->crawls, capacity, sizeof *batch->crawls)) {
            return NULL;
        }
        batch->m_crawls = capacity;
    }
    PageBatchCrawl *crawl = &batch->crawls[batch->n_crawls];
    *crawl = (PageBatchCrawl){.node = node};
    batch->nodes[node].crawl = (uint32_t)batch->n_crawls++;
    return crawl;
}

int page_batch_reserve_targets(PageBatch *batch, size_t n)
{
    if (n <= batch->m_targets) {
        return 0;
    }
    if (!grow(&batch->targets, n + n / 2, sizeof *batch->targets)) {
        return ENOMEM;
    }
    batch->m_targets = n + n / 2;
    return 0;
}

int page_batch_store_key(MDB_cursor *cursor, const PageNode *node)
{
    uint32_t domain = (uint32_t)(node->key.hash >> 32);
    uint8_t bytes[PAGE_ENTRY_BYTES];
    MDB_val key = {sizeof domain, &domain};
    MDB_val value = {sizeof bytes, bytes};
    PageEntry entry = entry_of(node);
    if (node->known) {
        /* The depth is part of the entry's place: take the old one out. */
        PageEntry old = entry;
        old.depth = node->stored_depth;
        page_entry_write(&old, bytes);
        int rc = mdb_cursor_get(cursor, &key, &value, MDB_GET_BOTH);
        if (rc == 0) {
            rc = mdb_cursor_del(cursor, 0);
        }
        if (rc != 0) {
            return rc == MDB_NOTFOUND ? MDB_CORRUPTED : rc;
        }
        value = (MDB_val){sizeof bytes, bytes};
    }
    page_entry_write(&entry, bytes);
    return mdb_cursor_put(cursor, &key, &value, 0);
}

int page_batch_store_keys(PageBatch *batch, PageDBStore *store, MDB_txn *txn)
{
    MDB_cursor *cursor = NULL;
    int rc = mdb_cursor_open(txn, store->tables.hash2idx, &cursor);
    for (size_t i = 0; rc == 0 && i < batch->n_nodes; i++) {
        const PageNode *node = &batch->nodes[i];
        page_store_looked_up(store, 1);
        if (!node->known || (node->moved && node->stored_depth != entry_of(node).depth)) {
            rc = page_batch_store_key(cursor, node);
        }
    }
    mdb_cursor_close(cursor);
    return rc;
}
