#include "store/page_batch/page_batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/array.h"
#include "store/page_tables/page_hosts.h"

/* ---- One page while a write transaction works on it ---- */

void page_node_set_path(PageNode *node, const PageSource *from, uint8_t hop)
{
    node->linked_from = from->index;
    node->linked_hash = from->hash;
    node->depth = from->depth;
    node->hop = hop;
}

void page_node_take(PageNode *node, const PageRecord *record)
{
    if (!node->moved) {
        node->depth = record->depth;
        node->linked_from = record->linked_from;
        node->linked_hash = record->linked_hash;
        node->hop = record->hop;
    }
    node->host = record->host;
    node->score = record->score;
    node->status = record->status;
    node->level = record->level;
    node->tries = record->tries;
    node->flags = record->flags;
    node->was_crawled = record->crawled;
    node->loaded = true;
}

PageRef page_node_ref(const PageNode *node, const PageCrawl *crawl)
{
    PageRef ref = {.index = node->index,
                   .hash = node->key.hash,
                   .host = node->host,
                   .url = node->url,
                   .url_length = node->length,
                   .score = node->score,
                   .depth = node->depth,
                   .linked_from = node->linked_from,
                   .status = node->status,
                   .level = node->level,
                   .tries = node->tries,
                   .hop = node->hop,
                   .flags = node->flags};
    if (crawl != NULL) {
        ref.n_crawls = crawl->n_crawls;
        ref.first_crawl = crawl->first_crawl;
        ref.last_crawl = crawl->last_crawl;
        ref.n_changes = crawl->n_changes;
        size_t length = crawl->hash_length < sizeof ref.content_hash64 ? crawl->hash_length
                                                                       : sizeof ref.content_hash64;
        if (length > 0) {
            memcpy(&ref.content_hash64, crawl->hash, length);
        }
    }
    return ref;
}

int page_node_find_host(PageNode *node, PageDBStore *store, MDB_txn *txn, Arena *arena)
{
    PageUrl parts;
    page_url_split(node->url, node->length, &parts);
    const char *origin = parts.scheme;
    size_t length = parts.scheme_length + parts.authority_length;
    if (parts.userinfo_length > 0) {
        char *joined = arena_alloc_bytes(arena, length + 1);
        if (joined == NULL) {
            return ENOMEM;
        }
        memcpy(joined, parts.scheme, parts.scheme_length);
        memcpy(joined + parts.scheme_length, parts.authority, parts.authority_length);
        origin = joined;
    }
    return page_hosts_add(store, txn, origin, length, &node->host);
}

static PageRecord record_of(const PageNode *node)
{
    return (PageRecord){.hop = node->hop,
                        .crawled = node->crawl != PAGE_NODE_NO_CRAWL || node->was_crawled,
                        .flags = node->flags,
                        .level = node->level,
                        .tries = node->tries,
                        .status = node->status,
                        .score = node->score,
                        .host = node->host,
                        .depth = node->depth,
                        .linked_from = node->linked_from,
                        .linked_hash = node->linked_hash};
}

/* Its whole record, from the node alone, in scratch: false when there was no memory for it. */
static bool page_node_compose(const PageNode *node, const PageCrawl *crawl, PagePackEditor *infos,
                              Buffer *scratch, MDB_val *value)
{
    PageUrl parts;
    page_url_split(node->url, node->length, &parts);
    PageRecord record = record_of(node);
    record.userinfo = parts.userinfo_length > 0;
    uint8_t head[PAGE_RECORD_MAX_BYTES];
    size_t length = page_record_write(&record, node->index, page_node_domain(node), head);
    buffer_reset(scratch);
    (void)buffer_append(scratch, head, length);
    if (record.crawled) {
        (void)page_crawl_append(crawl, scratch);
    }
    (void)buffer_append(scratch, parts.userinfo, parts.userinfo_length);
    (void)buffer_append(scratch, parts.path, parts.path_length);
    *value = (MDB_val){scratch->length, scratch->data};
    return lmdb_rows_note(&infos->rows, scratch->failed == RESULT_OK ? 0 : ENOMEM);
}

void page_node_append(const PageNode *node, const PageCrawl *crawl, PagePackEditor *infos,
                      Buffer *scratch)
{
    MDB_val value;
    if (page_node_compose(node, crawl, infos, scratch, &value)) {
        page_pack_editor_append(infos, node->index, &value);
    }
}

bool page_node_read(const PageNode *node, PagePackEditor *infos, MDB_val *value, PageRecord *record)
{
    return page_pack_editor_read(infos, node->index, page_node_domain(node), value, record) ||
           lmdb_rows_note(&infos->rows, MDB_CORRUPTED);
}

void page_node_rewrite(PageNode *node, const PageCrawl *crawl, PagePackEditor *infos,
                       Buffer *scratch)
{
    MDB_val value;
    PageRecord old;
    if (crawl != NULL) { /* then it was loaded, and nothing of its old record is left */
        if (page_node_compose(node, crawl, infos, scratch, &value)) {
            page_pack_editor_set(infos, node->index, &value);
        }
        return;
    }
    if (!page_node_read(node, infos, &value, &old)) {
        return;
    }
    if (!node->loaded) {
        page_node_take(node, &old);
    }
    PageRecord record = record_of(node);
    record.userinfo = old.userinfo;
    buffer_reset(scratch);
    uint8_t head[PAGE_RECORD_MAX_BYTES];
    size_t length = page_record_write(&record, node->index, page_node_domain(node), head);
    (void)buffer_append(scratch, head, length);
    (void)buffer_append(scratch, (const char *)value.mv_data + old.head_length,
                        value.mv_size - old.head_length); /* crawls and the path stay */
    value = (MDB_val){scratch->length, scratch->data};
    if (lmdb_rows_note(&infos->rows, scratch->failed == RESULT_OK ? 0 : ENOMEM)) {
        page_pack_editor_set(infos, node->index, &value);
    }
}

static PageEntry page_node_entry_of(const PageNode *node)
{
    return (PageEntry){.url_hash = (uint32_t)node->key.hash,
                       .print = node->key.print,
                       .depth = node->depth < PAGE_MAX_DEPTH8 ? (uint8_t)node->depth
                                                              : (uint8_t)PAGE_MAX_DEPTH8,
                       .index = node->index};
}

bool page_node_has_new_entry(const PageNode *node)
{
    return !node->known || (node->moved && node->stored_depth != page_node_entry_of(node).depth);
}

int page_node_store_entry(MDB_cursor *cursor, const PageNode *node)
{
    uint32_t domain = page_node_domain(node);
    uint8_t bytes[PAGE_ENTRY_BYTES];
    MDB_val key = {sizeof domain, &domain};
    MDB_val value = {sizeof bytes, bytes};
    PageEntry entry = page_node_entry_of(node);
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

/* ---- The URLs of one batch ---- */

#define ARENA_BLOCK_BYTES ((size_t)64 << 10)
#define REF_BITS          24
#define REF_MASK          ((UINT64_C(1) << REF_BITS) - 1)
#define KEEP_REFS         ((size_t)1 << 18)
#define SMALL_SORT        48
#define DIGIT_BITS        8
#define DIGITS            (1u << DIGIT_BITS)
#define SORTED_DIGITS     6
#define UNSORTED_BITS     (64 - SORTED_DIGITS * DIGIT_BITS)

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
    free(batch->uses);
    free(batch->node_of);
    free(batch->nodes);
    free(batch->fresh);
    free(batch->crawls);
    *batch = (PageBatch){.arena = batch->arena, .scratch = batch->scratch};
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
    if (batch->m_refs > KEEP_REFS) {
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
static bool page_batch_grow(void *array, size_t capacity, size_t size)
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
    if (!page_batch_grow(&batch->refs, capacity, sizeof *batch->refs) ||
        !page_batch_grow(&batch->sorted, capacity, sizeof *batch->sorted) ||
        !page_batch_grow(&batch->uses, capacity, sizeof *batch->uses) ||
        !page_batch_grow(&batch->node_of, capacity, sizeof *batch->node_of)) {
        return ENOMEM;
    }
    batch->m_refs = capacity;
    return 0;
}

int page_batch_add(PageBatch *batch, const char *url, const PageLinkKey *key)
{
    int rc = reserve_refs(batch);
    if (rc != 0) {
        return rc;
    }
    size_t ref = batch->n_refs++;
    batch->refs[ref].hash = key->key.hash;
    batch->refs[ref].print_ref = key->key.print << REF_BITS | ref;
    batch->uses[ref] = (PageUse){.url = url, .length = key->length, .cross = key->cross};
    return 0;
}

static bool before(const PageRefKey *a, const PageRefKey *b)
{
    return a->hash < b->hash || (a->hash == b->hash && a->print_ref < b->print_ref);
}

static void page_batch_insertion_sort(PageRefKey *refs, size_t n)
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
        page_batch_insertion_sort(batch->refs, n);
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
    page_batch_insertion_sort(batch->refs, n);
}

static int make_nodes(PageBatch *batch)
{
    if (batch->m_nodes < batch->n_refs) {
        if (!page_batch_grow(&batch->nodes, batch->m_refs, sizeof *batch->nodes) ||
            !page_batch_grow(&batch->fresh, batch->m_refs, sizeof *batch->fresh)) {
            return ENOMEM;
        }
        batch->m_nodes = batch->m_refs;
    }
    size_t n = 0;
    for (size_t i = 0; i < batch->n_refs; i++) {
        const PageRefKey *key = &batch->refs[i];
        if (i == 0 || key->hash != key[-1].hash ||
            key->print_ref >> REF_BITS != key[-1].print_ref >> REF_BITS) {
            PageNode *node = &batch->nodes[n++];
            const PageUse *use = &batch->uses[key->print_ref & REF_MASK];
            *node = (PageNode){.url = use->url,
                               .length = use->length,
                               .key = {.hash = key->hash, .print = key->print_ref >> REF_BITS},
                               .index = PAGE_DB_NO_INDEX,
                               .linked_from = PAGE_DB_NO_INDEX,
                               .crawl = PAGE_NODE_NO_CRAWL,
                               .level = PAGE_DB_NO_LEVEL};
        }
        batch->node_of[key->print_ref & REF_MASK] = (uint32_t)n - 1;
    }
    batch->n_nodes = n;
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
    PageBatchCrawl crawl = {.node = node};
    if (array_add(&batch->crawls, &batch->n_crawls, sizeof crawl, &crawl) != RESULT_OK) {
        return NULL;
    }
    batch->nodes[node].crawl = (uint32_t)batch->n_crawls - 1;
    return &batch->crawls[batch->n_crawls - 1];
}
