#include "store/page_batch/page_writer.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/format/page_links.h"
#include "store/page_tables/page_parts.h"

#define PREFETCH 6u /* elements ahead of the loops over scattered memory */

/* Writing the nodes of a batch to the tables.
 *
 * What: the last step of a batch. Each table is written once, in order of its keys, so that every
 * page of LMDB's trees is changed once: hash2idx, idx2info, then links. The batch's arrays of
 * references are scratch for it, so these are gone afterwards. */

/* The crawl that the batch has of a node, or NULL. */
static const PageCrawl *page_flush_crawl_of(const PageBatch *batch, const PageNode *node)
{
    return node->crawl == PAGE_NODE_NO_CRAWL ? NULL : &batch->crawls[node->crawl].crawl;
}

static int compare_by_index(const void *a, const void *b, void *context)
{
    const PageNode *nodes = context;
    uint64_t x = nodes[*(const uint32_t *)a].index;
    uint64_t y = nodes[*(const uint32_t *)b].index;
    return (x > y) - (x < y);
}

/* false: this or something before it has failed. */
static bool page_writer_note(PageWriter *w, int code)
{
    w->code = w->code == 0 ? code : w->code;
    return w->code == 0;
}

/* What the sink has answered. */
static void page_writer_hear(PageWriter *w, int sink_code)
{
    w->sink_code = sink_code;
    (void)page_writer_note(w, sink_code == 0 ? 0 : PAGE_WRITER_STOPPED);
}

static void page_flush_tell_improved(PageWriter *w, const PageNode *node)
{
    if (w->sink != NULL && w->sink->improved != NULL) {
        PageRef ref = page_node_ref(node, NULL);
        page_writer_hear(w, w->sink->improved(w->sink->context, &ref));
    }
}

/* Known pages that were crawled or got a better path, in order of index. */
static void store_changed(PageWriter *w, PagePackEditor *infos)
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
    for (size_t i = 0; w->code == 0 && i < n; i++) {
        page_store_looked_up(w->store, 1);
        PageNode *node = &batch->nodes[changed[i]];
        page_node_rewrite(node, page_flush_crawl_of(batch, node), infos, &batch->scratch);
        if (page_writer_note(w, infos->rows.code) && node->moved) {
            page_flush_tell_improved(w, node);
        }
    }
}

/* Lists of links, in order of index. */
static void page_flush_links(PageWriter *w)
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
    page_links_writer_begin(&links, w->txn, w->store->tables.links);
    for (size_t i = 0; w->code == 0 && i < batch->n_crawls; i++) {
        const PageNode *node = &batch->nodes[order[i]];
        const PageBatchCrawl *crawl = &batch->crawls[node->crawl];
        if (crawl->links != NULL) {
            page_store_looked_up(w->store, 1);
            page_links_writer_put(&links, node->index, crawl->links, crawl->links_length);
        }
    }
    w->code = page_links_writer_end(&links, w->code);
}

static void store_infos(PageWriter *w)
{
    PagePackEditor infos;
    page_pack_editor_begin(&infos, w->txn, w->store->tables.idx2info, w->store->journal);
    store_changed(w, &infos);
    /* New pages: appended in order of index. */
    for (size_t i = 0; w->code == 0 && i < w->batch->n_fresh; i++) {
        size_t ahead = i + PREFETCH < w->batch->n_fresh ? i + PREFETCH : i;
        __builtin_prefetch(w->batch->nodes[w->batch->fresh[ahead]].url);
        const PageNode *node = &w->batch->nodes[w->batch->fresh[i]];
        page_node_append(node, page_flush_crawl_of(w->batch, node), &infos, &w->batch->scratch);
        if (page_writer_note(w, infos.rows.code) && node->moved) { /* since the sink heard of it */
            page_flush_tell_improved(w, node);
        }
    }
    w->code = page_pack_editor_end(&infos, w->code);
}

/* Writes everything, unless something has failed. */
static void page_flush(PageWriter *w)
{
    MDB_cursor *cursor = NULL;
    if (w->code != 0) {
        return;
    }
    /* Entries of hash2idx, in order: new pages, and those whose depth in their entry changed. */
    w->code = mdb_cursor_open(w->txn, w->store->tables.hash2idx, &cursor);
    for (size_t i = 0; w->code == 0 && i < w->batch->n_nodes; i++) {
        const PageNode *node = &w->batch->nodes[i];
        page_store_looked_up(w->store, 1);
        if (page_node_has_new_entry(node)) {
            w->code = page_node_store_entry(cursor, node);
        }
    }
    mdb_cursor_close(cursor);
    store_infos(w);
    page_flush_links(w);
    if (w->code == 0 && w->batch->n_fresh > 0) {
        w->code = page_store_set_n_pages(w->store, w->txn, w->n_pages);
    }
}

/* ---- Writing a batch ---- */

void page_writer_begin(PageWriter *w, PageDBStore *store, MDB_txn *txn, const PageSink *sink)
{
    *w = (PageWriter){.store = store, .batch = store->batch, .txn = txn, .sink = sink};
    page_batch_reset(w->batch);
    w->code = page_store_count_pages(store, txn, &w->n_pages);
}

int page_writer_end(PageWriter *w)
{
    page_batch_reset(w->batch);
    return w->code;
}

/* Finds the stored record of a known node. */
static bool page_writer_find_record(PageWriter *w, const PageNode *node, PageRecord *record)
{
    MDB_val value;
    int rc =
        page_pack_find(w->txn, w->store->tables.idx2info, w->store->journal, node->index, &value);
    if (rc == MDB_NOTFOUND ||
        (rc == 0 && !page_record_read(value.mv_data, value.mv_size, node->index,
                                      page_node_domain(node), record))) {
        rc = MDB_CORRUPTED;
    }
    return page_writer_note(w, rc);
}

/* Reads the record of a known node. */
static void page_writer_load(PageWriter *w, PageNode *node)
{
    PageRecord record;
    if (!node->loaded && node->known && page_writer_find_record(w, node, &record)) {
        page_node_take(node, &record);
    }
}

/* Gives a new node its index and host. */
static void page_writer_create(PageWriter *w, PageNode *node)
{
    int rc = page_node_find_host(node, w->store, w->txn, &w->batch->arena);
    if (rc == 0 && w->n_pages >> PAGE_INDEX_BITS != 0) {
        rc = MDB_MAP_FULL;
    }
    if (page_writer_note(w, rc)) {
        node->index = w->n_pages++;
        w->batch->fresh[w->batch->n_fresh++] = (uint32_t)(node - w->batch->nodes);
    }
}

static void report_discovered(PageWriter *w, PageNode *node)
{
    if (w->code != 0 || w->sink == NULL || w->sink->discovered == NULL) {
        return;
    }
    PageRef ref = page_node_ref(node, NULL);
    PageState state = {.level = PAGE_DB_NO_LEVEL};
    page_store_looked_up(w->store, 1); /* what it stores is elsewhere in the map */
    page_writer_hear(w, w->sink->discovered(w->sink->context, &ref, &state));
    node->level = state.level;
    node->flags = state.flags;
}

/* A link to node was seen. */
static void see_link(PageWriter *w, PageNode *node, const PageSource *from, float score,
                     uint8_t hop)
{
    if (node->index == PAGE_DB_NO_INDEX) {
        page_node_set_path(node, from, hop);
        node->score = score;
        page_writer_create(w, node);
        report_discovered(w, node);
        return;
    }
    if (node->depth >= PAGE_MAX_DEPTH8 && from->depth >= PAGE_MAX_DEPTH8) {
        page_writer_load(w, node);
    }
    if (from->depth < node->depth) {
        page_node_set_path(node, from, hop);
        node->moved = true;
    }
}

/* The crawl of a page so far: of this batch, or as stored. false: it was never crawled, or that
 * failed. Then *crawl is a new one, or NULL. */
static bool crawl_so_far(PageWriter *w, PageNode *node, PageBatchCrawl **crawl)
{
    if (node->crawl != PAGE_NODE_NO_CRAWL) {
        *crawl = &w->batch->crawls[node->crawl];
        return true;
    }
    *crawl = page_batch_add_crawl(w->batch, (uint32_t)(node - w->batch->nodes));
    PageRecord record;
    if (!page_writer_note(w, *crawl == NULL ? ENOMEM : 0) || !node->was_crawled ||
        !page_writer_find_record(w, node, &record)) {
        return false;
    }
    PageCrawl *stored = &(*crawl)->crawl;
    if (!page_crawl_read(record.crawl, record.crawl_length, stored)) {
        return page_writer_note(w, MDB_CORRUPTED);
    }
    /* The record moves when the table is written. */
    stored->hash = arena_copy(&w->batch->arena, stored->hash, stored->hash_length);
    return page_writer_note(w, stored->hash == NULL ? ENOMEM : 0);
}

static void update_content(PageCrawl *crawl, const PageWrite *write)
{
    const CrawledPage *page = write->page;
    crawl->n_changes +=
        !write->other_hash && (crawl->hash_length != page->content_hash_length ||
                               (crawl->hash_length > 0 &&
                                memcmp(crawl->hash, page->content_hash, crawl->hash_length) != 0));
    crawl->hash = page->content_hash;
    crawl->hash_length = page->content_hash_length;
}

static void update_crawl(PageCrawl *crawl, const PageWrite *write, bool found)
{
    const CrawledPage *page = write->page;
    assert(crawl != NULL);
    if (!found) {
        *crawl = (PageCrawl){.first_crawl = page->time,
                             .hash = page->content_hash,
                             .hash_length = page->content_hash_length};
    }
    update_content(crawl, write);
    crawl->n_crawls++;
    crawl->last_crawl = page->time;
}

/* Updates the page's own node and tells the sink. */
static PageBatchCrawl *see_page(PageWriter *w, PageNode *node, const PageWrite *write)
{
    if (node->index == PAGE_DB_NO_INDEX) {
        page_writer_create(w, node);
    } else {
        page_writer_load(w, node);
    }
    PageBatchCrawl *crawl = NULL;
    bool found = w->code == 0 && crawl_so_far(w, node, &crawl);
    if (w->code != 0) {
        return NULL;
    }
    PageRef before = page_node_ref(node, found ? &crawl->crawl : NULL);
    update_crawl(&crawl->crawl, write, found);
    node->score = write->page->score;
    node->status = write->status;
    node->flags = write->flags;
    node->tries = 0;
    node->level = PAGE_DB_NO_LEVEL;
    if (w->sink != NULL && w->sink->crawled != NULL) {
        PageRef after = page_node_ref(node, &crawl->crawl);
        uint8_t level = PAGE_DB_NO_LEVEL;
        page_store_looked_up(w->store, 1);
        page_writer_hear(w, w->sink->crawled(w->sink->context, &before, &after, &level));
        node->level = level;
    }
    return crawl;
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
static void see_links(PageWriter *w, const PageNode *node, const PageWrite *write, size_t ref,
                      PageBatchCrawl *crawl)
{
    PageBatch *batch = w->batch;
    const PageLinks *links = write->page->links;
    size_t n = links->n_links, n_diff = 0, n_same = 0;
    PageSource from = {.index = node->index, .hash = node->key.hash, .depth = node->depth + 1};
    bool kinds = has_kinds(write->link_kinds, n);
    uint64_t *targets = (uint64_t *)batch->sorted; /* has room for every reference */
    for (size_t i = 0; w->code == 0 && i < n; i++) {
        PageNode *to = page_batch_node(batch, ref + i);
        __builtin_prefetch(page_batch_node(batch, ref + (i + PREFETCH < n ? i + PREFETCH : i)));
        see_link(w, to, &from, links->link_info[i].score,
                 write->link_hops == NULL ? 'L' : write->link_hops[i]);
        size_t place = batch->uses[ref + i].cross ? n_diff++ : n - ++n_same;
        targets[place] =
            kinds ? to->index << PAGE_LINKS_KIND_BITS | write->link_kinds[i] : to->index;
    }
    Buffer *scratch = &batch->scratch;
    buffer_reset(scratch);
    Result rc = buffer_reserve(scratch, (n + 3) * MAX_VARINT_SIZE);
    if (!page_writer_note(w, rc == RESULT_OK ? 0 : ENOMEM)) {
        return;
    }
    uint8_t *out = (uint8_t *)scratch->data;
    crawl->links_length = page_links_encode(node->index, targets, n_diff, n, kinds, out);
    crawl->links = (uint8_t *)arena_copy(&batch->arena, scratch->data, crawl->links_length);
    (void)page_writer_note(w, crawl->links == NULL ? ENOMEM : 0);
}

static size_t links_of(const PageWrite *write)
{
    return write->links_later ? 0 : write->page->links->n_links;
}

/* Adds a reference, unless something has failed. */
static void page_writer_add(PageWriter *w, const char *url, size_t length, const PageOrigin *from)
{
    if (page_writer_note(w, length > UINT32_MAX ? E2BIG : 0)) {
        PageLinkKey key = page_key_of_link(w->store, url, length, from);
        w->code = page_batch_add(w->batch, url, &key);
    }
}

static void page_writer_add_links(PageWriter *w, const PageWrite *write, const PageOrigin *origin)
{
    const LinkInfo *links = write->page->links->link_info;
    size_t n = links_of(write);
    for (size_t i = 0; w->code == 0 && write->link_keys != NULL && i < n; i++) {
        w->code = page_batch_add(w->batch, links[i].url, &write->link_keys[i]);
    }
    for (size_t i = 0; w->code == 0 && write->link_keys == NULL && i < n; i++) {
        __builtin_prefetch(links[i + PREFETCH < n ? i + PREFETCH : i].url);
        page_writer_add(w, links[i].url, strlen(links[i].url), origin);
    }
}

/* Looks up what was added. */
static void page_writer_resolve(PageWriter *w)
{
    if (w->code == 0) {
        w->code = page_batch_resolve(w->batch, w->store, w->txn);
    }
}

static void add_references(PageWriter *w, const PageWrite *pages, size_t n)
{
    for (size_t i = 0; w->code == 0 && i < n; i++) {
        const CrawledPage *page = pages[i].page;
        size_t length = strlen(page->url);
        PageOrigin origin;
        page_origin_of(page->url, length, &origin);
        page_writer_add(w, page->url, length, NULL);
        page_writer_add_links(w, &pages[i], &origin);
    }
    page_writer_resolve(w);
}

void page_writer_write(PageWriter *w, const PageWrite *pages, size_t n)
{
    add_references(w, pages, n);
    size_t ref = 0;
    for (size_t i = 0; w->code == 0 && i < n; i++) {
        PageNode *node = page_batch_node(w->batch, ref);
        PageBatchCrawl *crawl = see_page(w, node, &pages[i]);
        if (w->code == 0 && !pages[i].links_later) {
            see_links(w, node, &pages[i], ref + 1, crawl);
        }
        ref += 1 + links_of(&pages[i]);
    }
    page_flush(w);
}

/* The page, as it is stored, and its links. */
static void see_again(PageWriter *w, const PageWrite *page)
{
    PageNode *node = page_batch_node(w->batch, 0);
    PageBatchCrawl *crawl = NULL;
    if (node->index == PAGE_DB_NO_INDEX) {
        w->code = MDB_NOTFOUND;
        return;
    }
    page_writer_load(w, node);
    if (w->code != 0 || !crawl_so_far(w, node, &crawl)) {
        (void)page_writer_note(w, MDB_NOTFOUND);
        return;
    }
    if (page->page->content_hash_length > 0) {
        update_content(&crawl->crawl, page);
        node->score = page->page->score;
    }
    see_links(w, node, page, 1, crawl);
}

void page_writer_relink(PageWriter *w, const PageWrite *page)
{
    add_references(w, page, 1);
    if (w->code == 0) {
        see_again(w, page);
    }
    page_flush(w);
}

void page_writer_discover_each(PageWriter *w, const PageDiscovery *found, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        page_writer_add(w, found[i].url, found[i].length, NULL);
    }
    page_writer_resolve(w);
    for (size_t i = 0; w->code == 0 && i < n; i++) {
        PageSource from = {.index = PAGE_DB_NO_INDEX, .depth = found[i].depth};
        see_link(w, page_batch_node(w->batch, i), &from, found[i].score, found[i].hop);
    }
    page_flush(w);
}

void page_writer_discover(PageWriter *w, const LinkInfo *urls, const uint8_t *hops, size_t n,
                          uint64_t from_index, uint64_t depth)
{
    PageSource from = {.index = from_index, .depth = depth};
    (void)page_writer_note(w, page_parts_hash(w->store, w->txn, from_index, &from.hash));
    for (size_t i = 0; i < n; i++) {
        page_writer_add(w, urls[i].url, strlen(urls[i].url), NULL);
    }
    page_writer_resolve(w);
    for (size_t i = 0; w->code == 0 && i < n; i++) {
        see_link(w, page_batch_node(w->batch, i), &from, urls[i].score,
                 hops == NULL ? 'L' : hops[i]);
    }
    page_flush(w);
}
