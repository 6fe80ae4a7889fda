#include "store/page_tables/page_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/page_tables/page_hosts.h"
#include "store/page_tables/page_key.h"
#include "store/page_tables/page_lookup.h"

/* URLs up to this length are put together on the stack. */
#define STACK_URL_BYTES 1024

int page_parts_read(PageDBStore *store, MDB_txn *txn, PageReader *reader, uint32_t domain,
                    uint64_t index, PageParts *parts)
{
    MDB_val value;
    *parts = (PageParts){.origin = {0, NULL}};
    int rc = reader != NULL
                 ? page_reader_record(store, reader, index, &value)
                 : page_pack_find(txn, store->tables.idx2info, store->journal, index, &value);
    if (rc != 0) {
        return rc;
    }
    if (!page_record_read(value.mv_data, value.mv_size, index, domain, &parts->record)) {
        return MDB_CORRUPTED;
    }
    rc = reader != NULL ? page_reader_origin(store, reader, parts->record.host, &parts->origin)
                        : page_hosts_origin(store, txn, parts->record.host, &parts->origin);
    if (rc == 0 && parts->record.crawled &&
        !page_crawl_read(parts->record.crawl, parts->record.crawl_length, &parts->crawl)) {
        rc = MDB_CORRUPTED;
    }
    return rc == MDB_NOTFOUND ? MDB_CORRUPTED : rc;
}

int page_parts_info(PageDBStore *store, MDB_txn *txn, PageReader *reader, uint64_t hash,
                    uint64_t index, PageInfo **pi)
{
    PageParts parts;
    int rc = page_parts_read(store, txn, reader, (uint32_t)(hash >> 32), index, &parts);
    if (rc != 0) {
        return rc;
    }
    size_t hash_length = parts.crawl.hash_length;
    PageInfo *info =
        page_info_allocate(page_url_length(parts.origin.mv_size, &parts.record), hash_length);
    if (info == NULL) {
        return ENOMEM;
    }
    page_url_join(parts.origin.mv_data, parts.origin.mv_size, &parts.record, info->url);
    if (hash_length > 0) {
        memcpy(info->content_hash, parts.crawl.hash, hash_length);
    }
    info->depth = parts.record.depth;
    info->first_crawl = parts.crawl.first_crawl;
    info->last_crawl = parts.crawl.last_crawl;
    info->n_changes = parts.crawl.n_changes;
    info->n_crawls = parts.crawl.n_crawls;
    info->score = parts.record.score;
    info->linked_from = parts.record.linked_hash;
    *pi = info;
    return 0;
}

int page_parts_find_info(PageDBStore *store, PageReader *reader, uint64_t hash, PageInfo **pi)
{
    uint64_t index = 0;
    *pi = NULL;
    if (page_lookup_get(&store->lookup, hash, &index)) {
        int known = page_parts_info(store, reader->txn, reader, hash, index, pi);
        if (known != MDB_NOTFOUND) {
            return known;
        }
        /* The page is younger than the snapshot, most likely; the tree of the snapshot knows. */
    }
    int rc = page_lookup_find(store, reader, hash, &index);
    if (rc != 0) {
        return rc == MDB_NOTFOUND ? 0 : rc;
    }
    return page_parts_info(store, reader->txn, reader, hash, index, pi);
}

int page_parts_hash(PageDBStore *store, MDB_txn *txn, uint64_t index, uint64_t *hash)
{
    *hash = 0;
    if (index == PAGE_DB_NO_INDEX) {
        return 0;
    }
    PageParts parts;
    int rc = page_parts_read(store, txn, NULL, 0, index, &parts);
    if (rc != 0) {
        return rc;
    }
    char short_url[STACK_URL_BYTES];
    size_t length = page_url_length(parts.origin.mv_size, &parts.record);
    char *url = length < sizeof short_url ? short_url : malloc(length + 1);
    if (url == NULL) {
        return ENOMEM;
    }
    page_url_join(parts.origin.mv_data, parts.origin.mv_size, &parts.record, url);
    *hash = page_key_of(store, url, length).hash;
    if (url != short_url) {
        free(url);
    }
    return 0;
}

int page_parts_linked_from(PageDBStore *store, MDB_txn *txn, const char *url, uint64_t *hash)
{
    PageKey key = page_key_of(store, url, strlen(url));
    PageParts parts;
    uint64_t index = 0;
    int rc = page_key_look_up(store, txn, &key, &index);
    if (rc == 0) {
        rc = page_parts_read(store, txn, NULL, page_key_domain(&key), index, &parts);
    }
    *hash = rc == 0 ? parts.record.linked_hash : 0;
    return rc;
}
