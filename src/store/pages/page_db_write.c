/* Writing batches: page_db_write and page_db_discover.
 *
 * Four steps: all URLs of the batch are looked up (page_batch.h); the pages are worked through in
 * order, on the nodes in memory only, exactly as if each were written alone; then the tables are
 * written one after the other, each in order of its keys. */
#include "store/pages/page_db.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/pages/page_batch.h"
#include "store/pages/page_hosts.h"
#include "store/records/page_links.h"
#include "store/records/page_packs.h"

typedef struct Writer {
    PageDB *db;
    PageDBStore *store;
    PageBatch *batch;
    MDB_txn *txn;
    const PageSink *sink;
    MDB_cursor *crawls; /* idx2crawl */
    uint64_t n_pages;
    int sink_code; /* what the sink stopped the batch with */
} Writer;

#define STOPPED_BY_SINK (-1)
#define PREFETCH        6u /* elements ahead of the loops over scattered memory */

static int open_writer(Writer *w, PageDB *db, MDB_txn *txn, const PageSink *sink)
{
    *w =
        (Writer){.db = db, .store = db->store, .batch = db->store->batch, .txn = txn, .sink = sink};
    page_batch_reset(w->batch);
    int rc = page_db_count_pages(db->store, txn, &w->n_pages);
    if (rc == 0) {
        rc = mdb_cursor_open(txn, w->store->tables.idx2crawl, &w->crawls);
    }
    return rc;
}

/* Ends a write: translates the code. */
static int close_writer(Writer *w, int rc, const char *what)
{
    mdb_cursor_close(w->crawls);
    page_batch_reset(w->batch);
    if (rc == STOPPED_BY_SINK) {
        return page_db_fail(w->db, w->sink_code, what);
    }
    return page_db_fail_mdb(w->db, rc, what);
}

static int get_by_index(MDB_cursor *cursor, uint64_t index, MDB_val *value)
{
    MDB_val key = {sizeof index, &index};
    return mdb_cursor_get(cursor, &key, value, MDB_SET);
}

/* Reads the record of a known node. */
static int load(Writer *w, PageNode *node)
{
    if (node->loaded || !node->known) {
        return 0;
    }
    MDB_val value;
    PageRecord record;
    int rc = page_pack_find(w->txn, w->store->tables.idx2info, node->index, &value);
    if (rc != 0) {
        return rc == MDB_NOTFOUND ? MDB_CORRUPTED : rc;
    }
    if (!page_record_read(value.mv_data, value.mv_size, node->index, page_node_domain(node),
                          &record)) {
        return MDB_CORRUPTED;
    }
    page_node_take(node, &record);
    return 0;
}

/* Gives a new node its index and host. */
static int create(Writer *w, PageNode *node)
{
    int rc = page_node_find_host(node, w->store, w->txn, &w->batch->arena);
    if (rc != 0) {
        return rc;
    }
    if (w->n_pages >> PAGE_INDEX_BITS != 0) {
        return MDB_MAP_FULL;
    }
    node->index = w->n_pages++;
    w->batch->fresh[w->batch->n_fresh++] = (uint32_t)(node - w->batch->nodes);
    return 0;
}

static int report_discovered(Writer *w, PageNode *node)
{
    if (w->sink == NULL || w->sink->discovered == NULL) {
        return 0;
    }
    PageRef ref = page_node_ref(node, NULL);
    uint8_t level = PAGE_DB_NO_LEVEL;
    page_store_looked_up(w->db->store, 1); /* what it stores is elsewhere in the map */
    w->sink_code = w->sink->discovered(w->sink->context, &ref, &level);
    node->level = level;
    return w->sink_code == 0 ? 0 : STOPPED_BY_SINK;
}

/* A link to node was seen. */
static int see_link(Writer *w, PageNode *node, const PageSource *from, float score, uint8_t hop)
{
    if (node->index == PAGE_DB_NO_INDEX) {
        page_node_set_path(node, from, hop);
        node->score = score;
        int rc = create(w, node);
        return rc == 0 ? report_discovered(w, node) : rc;
    }
    if (node->depth >= PAGE_MAX_DEPTH8 && from->depth >= PAGE_MAX_DEPTH8) {
        int rc = load(w, node);
        if (rc != 0) {
            return rc;
        }
    }
    if (from->depth < node->depth) {
        page_node_set_path(node, from, hop);
        node->moved = true;
    }
    return 0;
}

/* The crawl of a page so far: of this batch, or as stored. *found is false when it was never
 * crawled. */
static int crawl_so_far(Writer *w, PageNode *node, PageBatchCrawl **crawl, bool *found)
{
    if (node->crawl != PAGE_NODE_NO_CRAWL) {
        *crawl = &w->batch->crawls[node->crawl];
        *found = true;
        return 0;
    }
    *crawl = page_batch_add_crawl(w->batch, (uint32_t)(node - w->batch->nodes));
    *found = false;
    if (*crawl == NULL) {
        return ENOMEM;
    }
    if (!node->was_crawled) {
        return 0;
    }
    MDB_val value;
    int rc = get_by_index(w->crawls, node->index, &value);
    if (rc != 0 || !page_crawl_read(value.mv_data, value.mv_size, &(*crawl)->crawl)) {
        return rc == 0 || rc == MDB_NOTFOUND ? MDB_CORRUPTED : rc;
    }
    /* The record moves when the table is written. */
    (*crawl)->crawl.hash =
        arena_copy(&w->batch->arena, (*crawl)->crawl.hash, (*crawl)->crawl.hash_length);
    *found = true;
    return (*crawl)->crawl.hash == NULL ? ENOMEM : 0;
}

static void update_crawl(PageCrawl *crawl, const CrawledPage *page, bool found)
{
    assert(crawl != NULL);
    if (!found) {
        *crawl = (PageCrawl){.first_crawl = page->time};
    } else if (crawl->hash_length != page->content_hash_length ||
               (crawl->hash_length > 0 &&
                memcmp(crawl->hash, page->content_hash, crawl->hash_length) != 0)) {
        crawl->n_changes++;
    }
    crawl->n_crawls++;
    crawl->last_crawl = page->time;
    crawl->hash = page->content_hash;
    crawl->hash_length = page->content_hash_length;
}

/* Updates the page's own node and tells the sink. */
static int see_page(Writer *w, PageNode *node, const PageWrite *write, PageBatchCrawl **crawl)
{
    int rc = node->index == PAGE_DB_NO_INDEX ? create(w, node) : load(w, node);
    bool found = false;
    if (rc == 0) {
        rc = crawl_so_far(w, node, crawl, &found);
    }
    if (rc != 0) {
        return rc;
    }
    PageRef before = page_node_ref(node, found ? &(*crawl)->crawl : NULL);
    update_crawl(&(*crawl)->crawl, write->page, found);
    node->score = write->page->score;
    node->status = write->status;
    node->flags = write->flags;
    node->tries = 0;
    node->level = PAGE_DB_NO_LEVEL;
    if (w->sink != NULL && w->sink->crawled != NULL) {
        PageRef after = page_node_ref(node, &(*crawl)->crawl);
        uint8_t level = PAGE_DB_NO_LEVEL;
        page_store_looked_up(w->db->store, 1);
        w->sink_code = w->sink->crawled(w->sink->context, &before, &after, &level);
        node->level = level;
        rc = w->sink_code == 0 ? 0 : STOPPED_BY_SINK;
    }
    return rc;
}

/* Whether there is more to keep of these links than where they lead. */
static bool has_kinds(const uint8_t *kinds, size_t n)
{
    for (size_t i = 0; kinds != NULL && i < n; i++) {
        if (kinds[i] != 0) {
            return true;
        }
    }
    return false;
}

/* Works through the links of a page, whose references begin at `ref`, and encodes their list. */
static int see_links(Writer *w, const PageNode *node, const PageWrite *write, size_t ref,
                     PageBatchCrawl *crawl)
{
    PageBatch *batch = w->batch;
    const PageLinks *links = write->page->links;
    size_t n = links->n_links, n_diff = 0, n_same = 0;
    PageSource from = {.index = node->index, .hash = node->key.hash, .depth = node->depth + 1};
    bool kinds = has_kinds(write->link_kinds, n);
    int rc = page_batch_reserve_targets(batch, n);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        PageNode *to = page_batch_node(batch, ref + i);
        __builtin_prefetch(page_batch_node(batch, ref + (i + PREFETCH < n ? i + PREFETCH : i)));
        rc = see_link(w, to, &from, links->link_info[i].score,
                      write->link_hops == NULL ? 'L' : write->link_hops[i]);
        size_t place = batch->cross[ref + i] ? n_diff++ : n - ++n_same;
        batch->targets[place] =
            kinds ? to->index << PAGE_LINKS_KIND_BITS | write->link_kinds[i] : to->index;
    }
    Buffer *scratch = &batch->scratch;
    buffer_reset(scratch);
    if (rc == 0 && buffer_reserve(scratch, (n + 3) * MAX_VARINT_SIZE) != RESULT_OK) {
        rc = ENOMEM;
    }
    if (rc != 0) {
        return rc;
    }
    uint8_t *out = (uint8_t *)scratch->data;
    crawl->links_length = kinds
                              ? page_links_encode_kinds(node->index, batch->targets, n_diff, n, out)
                              : page_links_encode(node->index, batch->targets, n_diff, n, out);
    crawl->links = (uint8_t *)arena_copy(&batch->arena, scratch->data, crawl->links_length);
    return crawl->links == NULL ? ENOMEM : 0;
}

static size_t links_of(const PageWrite *write)
{
    return write->links_later ? 0 : write->page->links->n_links;
}

static int add_references(Writer *w, const PageWrite *pages, size_t n)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const CrawledPage *page = pages[i].page;
        size_t length = strlen(page->url);
        PageOrigin origin;
        page_origin_of(page->url, length, &origin);
        rc = page_batch_add(w->batch, w->db, page->url, length, NULL);
        const LinkInfo *links = page->links->link_info;
        size_t n_links = links_of(&pages[i]);
        for (size_t k = 0; rc == 0 && k < n_links; k++) {
            const char *url = links[k].url;
            __builtin_prefetch(links[k + PREFETCH < n_links ? k + PREFETCH : k].url);
            rc = page_batch_add(w->batch, w->db, url, strlen(url), &origin);
        }
    }
    return rc;
}

static int see_pages(Writer *w, const PageWrite *pages, size_t n)
{
    int rc = 0;
    size_t ref = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        PageNode *node = page_batch_node(w->batch, ref);
        PageBatchCrawl *crawl = NULL;
        rc = see_page(w, node, &pages[i], &crawl);
        if (rc == 0 && !pages[i].links_later) {
            rc = see_links(w, node, &pages[i], ref + 1, crawl);
        }
        ref += 1 + links_of(&pages[i]);
    }
    return rc;
}

/* New pages: appended in order of index. */
static int store_fresh(Writer *w, PagePackEditor *infos)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < w->batch->n_fresh; i++) {
        size_t ahead = i + PREFETCH < w->batch->n_fresh ? i + PREFETCH : i;
        __builtin_prefetch(w->batch->nodes[w->batch->fresh[ahead]].url);
        rc = page_node_append(&w->batch->nodes[w->batch->fresh[i]], infos, &w->batch->scratch);
    }
    return rc;
}

static int compare_by_index(const void *a, const void *b, void *context)
{
    const PageNode *nodes = context;
    uint64_t x = nodes[*(const uint32_t *)a].index;
    uint64_t y = nodes[*(const uint32_t *)b].index;
    return (x > y) - (x < y);
}

/* Known pages that were crawled or got a better path, in order of index. */
static int store_changed(Writer *w, PagePackEditor *infos)
{
    PageBatch *batch = w->batch;
    size_t n = 0;
    /* The sort's scratch is free by now and has room for every node. */
    uint32_t *changed = batch->node_of;
    for (size_t i = 0; i < batch->n_nodes; i++) {
        const PageNode *node = &batch->nodes[i];
        if (node->known && (node->moved || node->crawl != PAGE_NODE_NO_CRAWL)) {
            changed[n++] = (uint32_t)i;
        }
    }
    if (n > 1) { /* an empty batch has no array */
        qsort_r(changed, n, sizeof *changed, compare_by_index, batch->nodes);
    }
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        page_store_looked_up(w->store, 1);
        rc = page_node_rewrite(&batch->nodes[changed[i]], infos, &batch->scratch);
    }
    return rc;
}

static int store_crawl(Writer *w, uint64_t index, const PageCrawl *crawl, bool append)
{
    uint8_t head[PAGE_CRAWL_MAX_BYTES];
    size_t length = page_crawl_write(crawl, head);
    MDB_val key = {sizeof index, &index};
    MDB_val value = {length + crawl->hash_length, NULL};
    int rc = mdb_cursor_put(w->crawls, &key, &value, MDB_RESERVE | (append ? MDB_APPEND : 0u));
    if (rc == 0) {
        char *out = mempcpy(value.mv_data, head, length);
        if (crawl->hash_length > 0) {
            memcpy(out, crawl->hash, crawl->hash_length);
        }
    }
    return rc;
}

/* The greatest key of a table, if any. */
static int last_key(MDB_cursor *cursor, bool *any, uint64_t *last)
{
    MDB_val key, value;
    int rc = mdb_cursor_get(cursor, &key, &value, MDB_LAST);
    *any = rc == 0;
    if (rc == 0) {
        memcpy(last, key.mv_data, sizeof *last);
    }
    return rc == MDB_NOTFOUND ? 0 : rc;
}

/* Crawl records and link lists, in order of index. */
static int store_crawls(Writer *w)
{
    PageBatch *batch = w->batch;
    uint32_t *order = batch->node_of;
    for (size_t i = 0; i < batch->n_crawls; i++) {
        order[i] = batch->crawls[i].node;
    }
    if (batch->n_crawls > 0) { /* else there may be no arrays */
        qsort_r(order, batch->n_crawls, sizeof *order, compare_by_index, batch->nodes);
    }
    PageLinksWriter links;
    bool any = false;
    uint64_t last = 0;
    int rc = page_links_writer_begin(&links, w->txn, w->store->tables.links);
    if (rc == 0) {
        rc = last_key(w->crawls, &any, &last);
    }
    for (size_t i = 0; rc == 0 && i < batch->n_crawls; i++) {
        const PageNode *node = &batch->nodes[order[i]];
        const PageBatchCrawl *crawl = &batch->crawls[node->crawl];
        page_store_looked_up(w->store, 2); /* the crawl, its links */
        rc = store_crawl(w, node->index, &crawl->crawl, !any || node->index > last);
        if (!any || node->index > last) {
            any = true;
            last = node->index;
        }
        if (rc == 0 && crawl->links != NULL) {
            rc = page_links_writer_put(&links, node->index, crawl->links, crawl->links_length);
        }
    }
    return page_links_writer_end(&links, rc);
}

static int store_infos(Writer *w)
{
    PagePackEditor infos;
    int rc = page_pack_editor_begin(&infos, w->txn, w->store->tables.idx2info);
    if (rc == 0) {
        rc = store_changed(w, &infos);
    }
    if (rc == 0) {
        rc = store_fresh(w, &infos);
    }
    return page_pack_editor_end(&infos, rc);
}

static int store_all(Writer *w)
{
    int rc = page_batch_store_keys(w->batch, w->store, w->txn);
    if (rc == 0) {
        rc = store_infos(w);
    }
    if (rc == 0) {
        rc = store_crawls(w);
    }
    if (rc == 0 && w->batch->n_fresh > 0) {
        rc = page_store_n_pages(w->store, w->txn, w->n_pages);
    }
    return rc;
}

int page_db_write(PageDB *db, MDB_txn *txn, const PageWrite *pages, size_t n, const PageSink *sink)
{
    error_clean(db->error);
    Writer w;
    int rc = open_writer(&w, db, txn, sink);
    if (rc == 0) {
        rc = add_references(&w, pages, n);
    }
    if (rc == 0) {
        rc = page_batch_resolve(w.batch, w.store, txn);
    }
    if (rc == 0) {
        rc = see_pages(&w, pages, n);
    }
    if (rc == 0) {
        rc = store_all(&w);
    }
    return close_writer(&w, rc, "page_db_write");
}

/* The page, as it is stored, and its links. */
static int see_again(Writer *w, const PageWrite *page)
{
    PageNode *node = page_batch_node(w->batch, 0);
    PageBatchCrawl *crawl = NULL;
    bool found = false;
    if (node->index == PAGE_DB_NO_INDEX) {
        return MDB_NOTFOUND;
    }
    int rc = load(w, node);
    if (rc == 0) {
        rc = crawl_so_far(w, node, &crawl, &found);
    }
    if (rc == 0 && !found) {
        return MDB_NOTFOUND;
    }
    return rc == 0 ? see_links(w, node, page, 1, crawl) : rc;
}

int page_db_relink(PageDB *db, MDB_txn *txn, const PageWrite *page, const PageSink *sink)
{
    error_clean(db->error);
    Writer w;
    int rc = open_writer(&w, db, txn, sink);
    if (rc == 0) {
        rc = add_references(&w, page, 1);
    }
    if (rc == 0) {
        rc = page_batch_resolve(w.batch, w.store, txn);
    }
    if (rc == 0) {
        rc = see_again(&w, page);
    }
    if (rc == 0) {
        rc = store_all(&w);
    }
    if (rc == MDB_NOTFOUND) {
        page_db_fail(db, page_db_error_no_page, "page_db_relink");
        (void)close_writer(&w, 0, "page_db_relink");
        return page_db_error_no_page;
    }
    return close_writer(&w, rc, "page_db_relink");
}

int page_db_discover(PageDB *db, MDB_txn *txn, const LinkInfo *urls, const uint8_t *hops, size_t n,
                     uint64_t from_index, uint64_t depth, const PageSink *sink)
{
    error_clean(db->error);
    Writer w;
    int rc = open_writer(&w, db, txn, sink);
    PageSource from = {.index = from_index, .depth = depth};
    if (rc == 0) {
        rc = page_db_hash_of_index(db, txn, from_index, &from.hash);
    }
    for (size_t i = 0; rc == 0 && i < n; i++) {
        rc = page_batch_add(w.batch, db, urls[i].url, strlen(urls[i].url), NULL);
    }
    if (rc == 0) {
        rc = page_batch_resolve(w.batch, w.store, txn);
    }
    for (size_t i = 0; rc == 0 && i < n; i++) {
        rc = see_link(&w, page_batch_node(w.batch, i), &from, urls[i].score,
                      hops == NULL ? 'L' : hops[i]);
    }
    if (rc == 0) {
        rc = store_all(&w);
    }
    return close_writer(&w, rc, "page_db_discover");
}
