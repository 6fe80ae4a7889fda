#include "frontier/sieve/page_merge.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/array.h"
#include "store/format/page_links.h"

#define ARENA_BLOCK_BYTES ((size_t)64 << 10)

struct PageMerge {
    DrumRepository repository; /* first member */
    PageDB *db;
    DrumProgress progress;
    MDB_txn *txn; /* NULL: closed */
    bool read_only;
    const PageSink *sink;
    PageSweep sweep;
    PagePackEditor infos;
    PageLinksWriter links;
    bool links_open;
    uint64_t n_pages;
    uint64_t n_before;
    PageNode *moved; /* better paths of the bucket, in order of appearance */
    size_t n_moved;
    uint8_t value[PAGE_MERGE_VALUE_BYTES]; /* what find told last */
    Arena arena;
    Buffer scratch;
};

static Result page_merge_result_of(int rc, const char *what)
{
    return rc == ENOMEM ? RESULT_MEMORY : lmdb_result(rc, what);
}

/* ---- keys and values ---- */

void page_merge_key(const PageKey *key, uint8_t bytes[PAGE_MERGE_KEY_BYTES])
{
    uint64_t hash = htobe64(key->hash);
    uint64_t print = htobe64(key->print << (64 - PAGE_PRINT_BITS));
    memcpy(bytes, &hash, sizeof hash);
    memcpy(bytes + sizeof hash, &print, PAGE_MERGE_KEY_BYTES - sizeof hash);
}

PageKey page_merge_read_key(const uint8_t bytes[PAGE_MERGE_KEY_BYTES])
{
    uint64_t hash = 0, print = 0;
    memcpy(&hash, bytes, sizeof hash);
    memcpy(&print, bytes + sizeof hash, PAGE_MERGE_KEY_BYTES - sizeof hash);
    return (PageKey){.hash = be64toh(hash), .print = be64toh(print) >> (64 - PAGE_PRINT_BITS)};
}

static void page_merge_write_value(uint64_t index, uint8_t depth, uint8_t *bytes)
{
    uint64_t number = htole64(index);
    memcpy(bytes, &number, sizeof number);
    bytes[sizeof number] = depth;
}

PageMergeValue page_merge_read_value(DrumBytes value)
{
    const uint8_t *bytes = value.bytes;
    uint64_t number = 0;
    memcpy(&number, bytes, sizeof number);
    return (PageMergeValue){.index = le64toh(number), .depth = bytes[sizeof number]};
}

/* ---- the repository ---- */

static Result repository_progress(DrumRepository *repository, DrumProgress *progress)
{
    const PageMerge *merge = (PageMerge *)(void *)repository;
    *progress = merge->progress;
    return RESULT_OK;
}

static Result repository_find(DrumRepository *repository, const DrumKey *key, DrumBytes *value)
{
    PageMerge *merge = (PageMerge *)(void *)repository;
    PageKey page = page_merge_read_key(key->bytes.bytes);
    PageEntry entry;
    bool found = false;
    page_store_looked_up(merge->db->store, 1);
    int rc = page_sweep_find(&merge->sweep, &page, &entry, &found);
    if (rc != 0 || !found) {
        return rc == 0 ? RESULT_NOT_FOUND : page_merge_result_of(rc, "read hash2idx");
    }
    page_merge_write_value(entry.index, entry.depth, merge->value);
    *value = (DrumBytes){merge->value, sizeof merge->value};
    return RESULT_OK;
}

static Result repository_put(DrumRepository *repository, const DrumKey *key, DrumBytes value,
                             bool is_new)
{
    PageMerge *merge = (PageMerge *)(void *)repository;
    if (!is_new || merge->read_only) {
        return RESULT_INTERNAL; /* entries that exist are changed by page_merge_flush */
    }
    PageMergeValue given = page_merge_read_value(value);
    PageNode node = {
        .key = page_merge_read_key(key->bytes.bytes), .index = given.index, .depth = given.depth};
    page_sweep_restart(&merge->sweep);
    return page_merge_result_of(page_node_store_entry(merge->sweep.cursor, &node),
                                "write hash2idx");
}

/* Transactions are the owner's. */
Result page_merge_assign(void *context, const DrumKey *key, DrumBytes given, void *value)
{
    PageMerge *merge = context;
    (void)key;
    if (given.length != 1) {
        return RESULT_DAMAGED;
    }
    if (merge->n_pages >> PAGE_INDEX_BITS != 0) {
        return RESULT_FULL;
    }
    page_merge_write_value(merge->n_pages++, *(const uint8_t *)given.bytes, value);
    return RESULT_OK;
}

/* ---- birth, transactions ---- */

PageMerge *page_merge_new(PageDB *db)
{
    PageMerge *merge = calloc(1, sizeof *merge);
    if (merge != NULL) {
        merge->repository = (DrumRepository){.keys = DRUM_KEYS_BYTES,
                                             .key_limit = PAGE_MERGE_KEY_BYTES,
                                             .progress = repository_progress,
                                             .find = repository_find,
                                             .put = repository_put};
        merge->db = db;
        arena_init(&merge->arena, ARENA_BLOCK_BYTES, SIZE_MAX / 2);
        buffer_init(&merge->scratch, BUFFER_NO_LIMIT);
    }
    return merge;
}

void page_merge_delete(PageMerge *merge)
{
    if (merge != NULL) {
        arena_destroy(&merge->arena);
        buffer_destroy(&merge->scratch);
        free(merge->moved);
        free(merge);
    }
}

DrumRepository *page_merge_repository(PageMerge *merge, DrumProgress progress)
{
    merge->progress = progress;
    return &merge->repository;
}

Result page_merge_begin(PageMerge *merge, MDB_txn *txn, bool read_only, const PageSink *sink)
{
    PageDBStore *store = merge->db->store;
    merge->txn = txn;
    merge->read_only = read_only;
    merge->sink = sink;
    merge->n_moved = 0;
    merge->links_open = false;
    merge->sweep = (PageSweep){.cursor = NULL};
    int rc = page_store_count_pages(store, txn, &merge->n_pages);
    merge->n_before = merge->n_pages;
    if (rc == 0) {
        rc = mdb_cursor_open(txn, store->tables.hash2idx, &merge->sweep.cursor);
    }
    if (!read_only) {
        page_pack_editor_begin(&merge->infos, txn, store->tables.idx2info, store->journal);
    }
    return page_merge_result_of(rc, "open tables for a merge");
}

Result page_merge_end(PageMerge *merge, Result result)
{
    PageDBStore *store = merge->db->store;
    int before = result == RESULT_OK ? 0 : MDB_BAD_TXN;
    int rc = before;
    if (!merge->read_only) {
        rc = page_pack_editor_end(&merge->infos, rc);
    }
    if (merge->links_open) {
        rc = page_links_writer_end(&merge->links, rc);
    }
    if (rc == 0 && merge->n_pages != merge->n_before) {
        rc = page_store_set_n_pages(store, merge->txn, merge->n_pages);
    }
    mdb_cursor_close(merge->sweep.cursor);
    merge->sweep.cursor = NULL;
    merge->txn = NULL;
    arena_reset(&merge->arena);
    return result != RESULT_OK ? result : page_merge_result_of(rc, "write a merge");
}

/* ---- pages ---- */

Result page_merge_new_page(PageMerge *merge, const PageKey *key, PageMergeValue value,
                           const PageMergeLink *link)
{
    PageNode node = {.url = link->url,
                     .length = link->length,
                     .key = *key,
                     .index = value.index,
                     .score = link->score,
                     .crawl = PAGE_NODE_NO_CRAWL,
                     .level = PAGE_DB_NO_LEVEL};
    page_node_set_path(&node, &link->from, link->hop);
    int rc = page_node_find_host(&node, merge->db->store, merge->txn, &merge->arena);
    if (rc != 0) {
        return page_merge_result_of(rc, "add an origin");
    }
    if (merge->sink != NULL && merge->sink->discovered != NULL) {
        PageRef ref = page_node_ref(&node, NULL);
        PageState state = {.level = PAGE_DB_NO_LEVEL};
        if (merge->sink->discovered(merge->sink->context, &ref, &state) != 0) {
            return RESULT_CLOSED;
        }
        node.level = state.level;
        node.flags = state.flags;
    }
    page_node_append(&node, NULL, &merge->infos, &merge->scratch);
    return page_merge_result_of(merge->infos.rows.code, "append a page");
}

Result page_merge_seen(PageMerge *merge, const PageKey *key, PageMergeValue value,
                       const PageMergeLink *link)
{
    /* Deep ones are judged by their records: the entry says only that it is deep. */
    if (link->from.depth >= value.depth &&
        (value.depth < PAGE_MAX_DEPTH8 || link->from.depth < PAGE_MAX_DEPTH8)) {
        return RESULT_OK;
    }
    PageNode node = {.key = *key,
                     .index = value.index,
                     .crawl = (uint32_t)merge->n_moved, /* order of appearance */
                     .stored_depth = value.depth,
                     .known = true,
                     .moved = true};
    page_node_set_path(&node, &link->from, link->hop);
    return array_add(&merge->moved, &merge->n_moved, sizeof node, &node);
}

/* By page, the best path first; of equal ones the first that was seen. */
static int compare_moved(const void *a, const void *b)
{
    const PageNode *x = a;
    const PageNode *y = b;
    if (x->index != y->index) {
        return (x->index > y->index) - (x->index < y->index);
    }
    if (x->depth != y->depth) {
        return (x->depth > y->depth) - (x->depth < y->depth);
    }
    return (x->crawl > y->crawl) - (x->crawl < y->crawl);
}

/* Whether a path to a deep page is better than the stored one. */
static bool is_better(PageMerge *merge, const PageNode *node)
{
    MDB_val value;
    PageRecord record;
    return node->stored_depth < PAGE_MAX_DEPTH8 ||
           (page_node_read(node, &merge->infos, &value, &record) && node->depth < record.depth);
}

/* False: the sink stopped it. */
static bool page_merge_tell_improved(const PageMerge *merge, const PageNode *node)
{
    if (merge->sink == NULL || merge->sink->improved == NULL) {
        return true;
    }
    PageRef ref = page_node_ref(node, NULL);
    return merge->sink->improved(merge->sink->context, &ref) == 0;
}

Result page_merge_flush(PageMerge *merge)
{
    const int *failed = &merge->infos.rows.code;
    size_t n = 0;
    if (merge->n_moved == 0) {
        return RESULT_OK;
    }
    qsort(merge->moved, merge->n_moved, sizeof *merge->moved, compare_moved);
    for (size_t i = 0; *failed == 0 && i < merge->n_moved; i++) {
        PageNode *node = &merge->moved[i];
        if ((n > 0 && merge->moved[n - 1].index == node->index) || !is_better(merge, node)) {
            continue;
        }
        node->crawl = PAGE_NODE_NO_CRAWL;
        page_node_rewrite(node, NULL, &merge->infos, &merge->scratch);
        if (*failed == 0 && !page_merge_tell_improved(merge, node)) {
            return RESULT_CLOSED;
        }
        merge->moved[n++] = *node;
    }
    int rc = *failed;
    array_sort(merge->moved, n, sizeof *merge->moved, ARRAY_KEY(PageNode, key.hash),
               ARRAY_KEY(PageNode, key.print));
    page_sweep_restart(&merge->sweep);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const PageNode *node = &merge->moved[i];
        if (node->depth < node->stored_depth) {
            rc = page_node_store_entry(merge->sweep.cursor, node);
        }
    }
    merge->n_moved = 0;
    return page_merge_result_of(rc, "write better paths");
}

/* ---- links ---- */

Result page_merge_put_links(PageMerge *merge, uint64_t index, uint64_t *to, size_t n_diff, size_t n,
                            bool kinds)
{
    Buffer *scratch = &merge->scratch;
    buffer_reset(scratch);
    if (buffer_reserve(scratch, (n + 3) * MAX_VARINT_SIZE) != RESULT_OK) {
        return RESULT_MEMORY;
    }
    if (!merge->links_open) {
        merge->links_open = true;
        page_links_writer_begin(&merge->links, merge->txn, merge->db->store->tables.links);
    }
    uint8_t *list = (uint8_t *)scratch->data;
    size_t length = page_links_encode(index, to, n_diff, n, kinds, list);
    page_links_writer_put(&merge->links, index, list, length);
    return page_merge_result_of(merge->links.rows.code, "write links");
}
