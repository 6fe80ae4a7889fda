#include "store/page_batch/page_flush.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/format/page_links_table.h"
#include "store/format/page_packs.h"

#define PREFETCH 6u /* elements ahead of the loops over scattered memory */

/* Entries of hash2idx, in order: new pages, and those whose depth in their entry changed. */
static int store_keys(PageFlush *f)
{
    MDB_cursor *cursor = NULL;
    int rc = mdb_cursor_open(f->txn, f->store->tables.hash2idx, &cursor);
    for (size_t i = 0; rc == 0 && i < f->batch->n_nodes; i++) {
        const PageNode *node = &f->batch->nodes[i];
        page_store_looked_up(f->store, 1);
        if (page_node_has_new_entry(node)) {
            rc = page_node_store_entry(cursor, node);
        }
    }
    mdb_cursor_close(cursor);
    return rc;
}

/* New pages: appended in order of index. */
static int store_fresh(PageFlush *f, PagePackEditor *infos)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < f->batch->n_fresh; i++) {
        size_t ahead = i + PREFETCH < f->batch->n_fresh ? i + PREFETCH : i;
        __builtin_prefetch(f->batch->nodes[f->batch->fresh[ahead]].url);
        rc = page_node_append(&f->batch->nodes[f->batch->fresh[i]], infos, &f->batch->scratch);
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

static int page_flush_tell_improved(PageFlush *f, const PageNode *node)
{
    if (f->sink == NULL || f->sink->improved == NULL) {
        return 0;
    }
    PageRef ref = page_node_ref(node, NULL);
    f->sink_code = f->sink->improved(f->sink->context, &ref);
    return f->sink_code == 0 ? 0 : PAGE_FLUSH_STOPPED;
}

/* Known pages that were crawled or got a better path, in order of index. */
static int store_changed(PageFlush *f, PagePackEditor *infos)
{
    PageBatch *batch = f->batch;
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
        page_store_looked_up(f->store, 1);
        PageNode *node = &batch->nodes[changed[i]];
        rc = page_node_rewrite(node, infos, &batch->scratch);
        if (rc == 0 && node->moved) {
            rc = page_flush_tell_improved(f, node);
        }
    }
    return rc;
}

static int store_crawl(PageFlush *f, uint64_t index, const PageCrawl *crawl, bool append)
{
    uint8_t head[PAGE_CRAWL_MAX_BYTES];
    size_t length = page_crawl_write(crawl, head);
    MDB_val key = {sizeof index, &index};
    MDB_val value = {length + crawl->hash_length, NULL};
    int rc = mdb_cursor_put(f->crawls, &key, &value, MDB_RESERVE | (append ? MDB_APPEND : 0u));
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
static int store_crawls(PageFlush *f)
{
    PageBatch *batch = f->batch;
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
    int rc = page_links_writer_begin(&links, f->txn, f->store->tables.links);
    if (rc == 0) {
        rc = last_key(f->crawls, &any, &last);
    }
    for (size_t i = 0; rc == 0 && i < batch->n_crawls; i++) {
        const PageNode *node = &batch->nodes[order[i]];
        const PageBatchCrawl *crawl = &batch->crawls[node->crawl];
        page_store_looked_up(f->store, 2); /* the crawl, its links */
        rc = store_crawl(f, node->index, &crawl->crawl, !any || node->index > last);
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

static int store_infos(PageFlush *f)
{
    PagePackEditor infos;
    int rc = page_pack_editor_begin(&infos, f->txn, f->store->tables.idx2info);
    if (rc == 0) {
        rc = store_changed(f, &infos);
    }
    if (rc == 0) {
        rc = store_fresh(f, &infos);
    }
    return page_pack_editor_end(&infos, rc);
}

int page_flush(PageFlush *f)
{
    int rc = store_keys(f);
    if (rc == 0) {
        rc = store_infos(f);
    }
    return rc == 0 ? store_crawls(f) : rc;
}
