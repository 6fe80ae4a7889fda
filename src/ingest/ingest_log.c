#include "ingest/ingest_log.h"

#include "store/pages/page_db_read.h"
#include "page/discovery.h"

/* The URL of the page with this index; NULL when there is none. */
static const char *ingest_log_url_of(PageDB *db, MDB_txn *txn, uint64_t index, Buffer *url)
{
    PageRef ref;
    buffer_reset(url);
    return index != PAGE_DB_NO_INDEX && page_db_get(db, txn, index, &ref, url) == 0
               ? buffer_string(url)
               : NULL;
}

/* The path of a fetch, its referrer, the tag of its seed. */
static CrawlLogWay find_way(const Batch *batch, MDB_txn *txn, const FetchResult *fetch,
                            DiscoverySteps *steps, Buffer *path, Buffer *referrer, SeedEntry *seed)
{
    SeedTable *seeds = batch->store->seeds;
    uint64_t first = PAGE_DB_NO_INDEX;
    buffer_reset(path);
    buffer_reset(referrer);
    *seed = (SeedEntry){.tag = ""};
    if (fetch->request.has_page) {
        discovery_find(batch->store->db, txn, fetch->request.index, path, referrer, &first, steps);
    } else {
        (void)buffer_append_char(path, 'P');
    }
    if (seeds == NULL || first == PAGE_DB_NO_INDEX ||
        seed_table_get(seeds, txn, first, seed) != RESULT_OK) {
        seed->tag[0] = '\0';
    }
    return (CrawlLogWay){
        .path = buffer_string(path), .referrer = buffer_string(referrer), .tag = seed->tag};
}

void ingest_log_write(CrawlLog *log, const Batch *batch)
{
    PageDB *db = batch->store->db;
    MDB_txn *txn = batch->txn;
    Buffer path;
    Buffer referrer;
    Buffer original;
    Buffer near;
    DiscoverySteps steps = {.of = {{.page = 0}}};
    buffer_init(&near, BUFFER_NO_LIMIT);
    buffer_init(&path, BUFFER_NO_LIMIT);
    buffer_init(&referrer, BUFFER_NO_LIMIT);
    buffer_init(&original, BUFFER_NO_LIMIT);
    for (size_t i = 0; i < batch->n_pages; i++) {
        const ParsedPage *page = batch->pages[i];
        const FetchResult *fetch = page->fetch;
        if (fetch->kind == FETCHED_DNS ||
            (fetch->kind == FETCHED_NOTHING && fetch->request.url == NULL)) {
            continue; /* no fetch: news of a host */
        }
        SeedEntry seed;
        CrawlLogWay way = find_way(batch, txn, fetch, &steps, &path, &referrer, &seed);
        crawl_log_fetch(log, page, &way,
                        ingest_log_url_of(db, txn, batch->duplicate_of[i], &original),
                        ingest_log_url_of(db, txn, batch->near_of[i], &near));
    }
    buffer_destroy(&path);
    buffer_destroy(&referrer);
    buffer_destroy(&original);
    buffer_destroy(&near);
}
