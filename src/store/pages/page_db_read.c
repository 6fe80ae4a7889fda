/* Reading single pages and hosts. */
#include "store/pages/page_db.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/pages/page_db_internal.h"
#include "store/pages/page_hosts.h"
#include "store/records/page_links.h"
#include "store/records/page_packs.h"
#include "store/pages/page_reader.h"
#include "store/pages/page_record.h"

static const char no_page[] = "there is no such page";

static int fail_read(PageDB *db, int rc, const char *what)
{
    return rc == MDB_NOTFOUND ? page_db_fail(db, page_db_error_no_page, no_page)
                              : page_db_fail_mdb(db, rc, what);
}

static int get_by_index(MDB_txn *txn, MDB_dbi dbi, uint64_t index, MDB_val *value)
{
    MDB_val key = {sizeof index, &index};
    return mdb_get(txn, dbi, &key, value);
}

/* The first entry with a URL hash, or the one with the fingerprint too. */
static int find_with(MDB_cursor *cursor, uint64_t hash, const uint64_t *print, uint64_t *index)
{
    uint32_t domain = (uint32_t)(hash >> 32);
    uint8_t bytes[PAGE_ENTRY_BYTES];
    PageEntry entry = {.url_hash = (uint32_t)hash, .print = print == NULL ? 0 : *print};
    page_entry_write(&entry, bytes);
    MDB_val key = {sizeof domain, &domain};
    MDB_val value = {sizeof bytes, bytes};
    int rc = mdb_cursor_get(cursor, &key, &value, MDB_GET_BOTH_RANGE);
    bool found = false;
    while (rc == 0) {
        page_entry_read(value.mv_data, &entry);
        if (entry.url_hash != (uint32_t)hash || (print != NULL && entry.print != *print)) {
            break;
        }
        if (!found || entry.index < *index) {
            *index = entry.index;
        }
        found = true;
        if (print != NULL) {
            break;
        }
        rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT_DUP);
    }
    if (rc != 0 && rc != MDB_NOTFOUND) {
        return rc;
    }
    return found ? 0 : MDB_NOTFOUND;
}

static int find_entry(PageDB *db, MDB_txn *txn, uint64_t hash, const uint64_t *print,
                      uint64_t *index)
{
    MDB_cursor *cursor = NULL;
    int rc = mdb_cursor_open(txn, db->store->tables.hash2idx, &cursor);
    if (rc == 0) {
        rc = find_with(cursor, hash, print, index);
    }
    mdb_cursor_close(cursor);
    return rc;
}

int page_db_find(PageDB *db, MDB_txn *txn, const char *url, size_t length, uint64_t *index)
{
    error_clean(db->error);
    PageKey key = page_db_key(db, url, length);
    return fail_read(db, find_entry(db, txn, key.hash, &key.print, index), "page_db_find");
}

/* What a page is, in pieces that point into the transaction. */
typedef struct PageParts {
    PageRecord record;
    PageCrawl crawl; /* zero when never crawled */
    MDB_val origin;
} PageParts;

/* reader: whose cache of origins to use, or NULL. domain: the page's own, 0 = unknown. */
static int read_parts(PageDB *db, MDB_txn *txn, PageReader *reader, uint32_t domain, uint64_t index,
                      PageParts *parts)
{
    PageDBStore *store = db->store;
    MDB_val value;
    *parts = (PageParts){.origin = {0, NULL}};
    int rc = reader != NULL ? page_reader_record(db, reader, index, &value)
                            : page_pack_find(txn, store->tables.idx2info, index, &value);
    if (rc != 0) {
        return rc;
    }
    if (!page_record_read(value.mv_data, value.mv_size, index, domain, &parts->record)) {
        return MDB_CORRUPTED;
    }
    rc = reader != NULL ? page_reader_origin(db, reader, parts->record.host, &parts->origin)
                        : page_hosts_origin(store, txn, parts->record.host, &parts->origin);
    if (rc == 0 && parts->record.crawled) {
        rc = reader != NULL ? page_reader_crawl(db, reader, index, &value)
                            : get_by_index(txn, store->tables.idx2crawl, index, &value);
        if (rc == 0 && !page_crawl_read(value.mv_data, value.mv_size, &parts->crawl)) {
            rc = MDB_CORRUPTED;
        }
    }
    return rc == MDB_NOTFOUND ? MDB_CORRUPTED : rc;
}

int page_db_get(PageDB *db, MDB_txn *txn, uint64_t index, PageRef *page, Buffer *url)
{
    error_clean(db->error);
    PageParts parts;
    page_store_looked_up(db->store, 3); /* the page, its crawls, its host */
    int rc = read_parts(db, txn, NULL, 0, index, &parts);
    if (rc != 0) {
        return fail_read(db, rc, "page_db_get");
    }
    size_t length = page_url_length(parts.origin.mv_size, &parts.record);
    buffer_reset(url);
    if (buffer_reserve(url, length) != RESULT_OK) {
        return page_db_fail(db, page_db_error_memory, "page_db_get: out of memory");
    }
    page_url_join(parts.origin.mv_data, parts.origin.mv_size, &parts.record, url->data);
    url->length = length;
    *page = (PageRef){.index = index,
                      .hash = page_db_key(db, url->data, length).hash,
                      .host = parts.record.host,
                      .url = url->data,
                      .url_length = length,
                      .score = parts.record.score,
                      .depth = parts.record.depth,
                      .linked_from = parts.record.linked_from,
                      .n_crawls = parts.crawl.n_crawls,
                      .status = parts.record.status,
                      .level = parts.record.level,
                      .tries = parts.record.tries,
                      .hop = parts.record.hop,
                      .flags = parts.record.flags,
                      .first_crawl = parts.crawl.first_crawl,
                      .last_crawl = parts.crawl.last_crawl,
                      .n_changes = parts.crawl.n_changes};
    size_t hash_length = parts.crawl.hash_length;
    if (hash_length > 0) {
        memcpy(&page->content_hash64, parts.crawl.hash,
               hash_length < sizeof page->content_hash64 ? hash_length
                                                         : sizeof page->content_hash64);
    }
    return page_db_error_ok;
}

int page_db_set_state(PageDB *db, MDB_txn *txn, uint64_t index, int32_t status, uint8_t level,
                      uint8_t tries)
{
    error_clean(db->error);
    PagePackEditor infos;
    MDB_val value;
    PageRecord record;
    char *copy = NULL;
    int rc = page_pack_editor_begin(&infos, txn, db->store->tables.idx2info);
    if (rc == 0) {
        rc = page_pack_editor_get(&infos, index, &value);
    }
    if (rc == 0 && !page_record_read(value.mv_data, value.mv_size, index, 0, &record)) {
        rc = MDB_CORRUPTED;
    }
    if (rc == 0) {
        copy = malloc(value.mv_size);
        rc = copy == NULL ? ENOMEM : 0;
    }
    if (rc == 0) {
        memcpy(copy, value.mv_data, value.mv_size);
        record.status = status;
        record.level = level;
        record.tries = tries;
        page_record_write_head(&record, (uint8_t *)copy);
        value.mv_data = copy;
        rc = page_pack_editor_set(&infos, index, &value);
    }
    rc = page_pack_editor_end(&infos, rc);
    free(copy);
    return fail_read(db, rc, "page_db_set_state");
}

int page_db_get_links(PageDB *db, MDB_txn *txn, uint64_t index, uint64_t **to, size_t *n,
                      size_t *n_diff)
{
    error_clean(db->error);
    *to = NULL;
    *n = 0;
    *n_diff = 0;
    const uint8_t *list = NULL;
    size_t length = 0;
    int rc = page_links_find(txn, db->store->tables.links, index, &list, &length);
    if (rc == MDB_NOTFOUND) {
        return page_db_error_ok;
    }
    if (rc == 0) {
        *to = malloc(page_links_bound(length) * sizeof **to);
        rc = *to == NULL ? ENOMEM : 0;
    }
    if (rc == 0 && !page_links_decode(index, list, length, false, *to, n_diff, n)) {
        rc = MDB_CORRUPTED;
    }
    if (rc != 0) {
        free(*to);
        *to = NULL;
    }
    return page_db_fail_mdb(db, rc, "page_db_get_links");
}

int page_db_get_link_kinds(PageDB *db, MDB_txn *txn, uint64_t index, size_t n, uint8_t **kinds)
{
    error_clean(db->error);
    *kinds = NULL;
    const uint8_t *list = NULL;
    size_t length = 0;
    int rc = page_links_find(txn, db->store->tables.links, index, &list, &length);
    if (rc == MDB_NOTFOUND || (rc == 0 && !page_links_has_kinds(list, length))) {
        return page_db_error_ok;
    }
    if (rc == 0) {
        *kinds = malloc(n + 1);
        rc = *kinds == NULL ? ENOMEM : 0;
    }
    if (rc == 0 && !page_links_decode_kinds(list, length, *kinds, n)) {
        rc = MDB_CORRUPTED;
    }
    if (rc != 0) {
        free(*kinds);
        *kinds = NULL;
    }
    return page_db_fail_mdb(db, rc, "page_db_get_link_kinds");
}

/* ---- The documented functions ------------------------------------------------------------------
 */

/* URLs up to this length are put together on the stack. */
#define STACK_URL_BYTES 1024

int page_db_hash_of_index(PageDB *db, MDB_txn *txn, uint64_t index, uint64_t *hash)
{
    *hash = 0;
    if (index == PAGE_DB_NO_INDEX) {
        return 0;
    }
    PageParts parts;
    int rc = read_parts(db, txn, NULL, 0, index, &parts);
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
    *hash = page_db_key(db, url, length).hash;
    if (url != short_url) {
        free(url);
    }
    return 0;
}

int page_db_linked_from(PageDB *db, MDB_txn *txn, const char *url, uint64_t *hash)
{
    PageKey key = page_db_key(db, url, strlen(url));
    PageParts parts;
    uint64_t index = 0;
    int rc = find_entry(db, txn, key.hash, &key.print, &index);
    if (rc == 0) {
        rc = read_parts(db, txn, NULL, (uint32_t)(key.hash >> 32), index, &parts);
    }
    *hash = rc == 0 ? parts.record.linked_hash : 0;
    return fail_read(db, rc, "reading where a page was linked from");
}

int page_db_make_info(PageDB *db, MDB_txn *txn, PageReader *reader, uint64_t hash, uint64_t index,
                      PageInfo **pi)
{
    PageParts parts;
    int rc = read_parts(db, txn, reader, (uint32_t)(hash >> 32), index, &parts);
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

/* The page with a hash, by the tree; then the table shall know it. */
static int find_in_tree(PageDB *db, PageReader *reader, uint64_t hash, uint64_t *index)
{
    int rc = find_with(reader->hashes, hash, NULL, index);
    if (rc == 0) {
        page_lookup_missed(db, reader, hash, *index);
    }
    return rc;
}

PageDBError page_db_get_info(PageDB *db, uint64_t hash, PageInfo **pi)
{
    error_clean(db->error);
    *pi = NULL;
    page_lookup_prefetch(&db->store->lookup, hash);
    PageReader *reader = NULL;
    int rc = page_reader_acquire(db, &reader);
    if (rc == 0) {
        uint64_t index = 0;
        if (!page_lookup_get(&db->store->lookup, hash, &index)) {
            rc = find_in_tree(db, reader, hash, &index);
        }
        if (rc == 0) {
            rc = page_db_make_info(db, reader->txn, reader, hash, index, pi);
        } else if (rc == MDB_NOTFOUND) {
            rc = 0;
        }
        page_reader_release(db, reader);
    }
    return (PageDBError)page_db_fail_mdb(db, rc, "page_db_get_info");
}

PageDBError page_db_get_idx(PageDB *db, uint64_t hash, uint64_t *idx)
{
    error_clean(db->error);
    *idx = 0;
    page_lookup_prefetch(&db->store->lookup, hash);
    PageReader *reader = NULL;
    int rc = page_reader_acquire(db, &reader);
    if (rc == 0) {
        if (!page_lookup_get(&db->store->lookup, hash, idx)) {
            rc = find_in_tree(db, reader, hash, idx);
        }
        page_reader_release(db, reader);
    }
    return (PageDBError)fail_read(db, rc, "page_db_get_idx");
}

/* ---- Hosts -------------------------------------------------------------------------------------
 */

int page_db_host_find(PageDB *db, MDB_txn *txn, const char *origin, size_t length, uint32_t *host)
{
    error_clean(db->error);
    return fail_read(db, page_hosts_find(db->store, txn, origin, length, host),
                     "page_db_host_find");
}

int page_db_host_add(PageDB *db, MDB_txn *txn, const char *origin, size_t length, uint32_t *host)
{
    error_clean(db->error);
    return page_db_fail_mdb(db, page_hosts_add(db->store, txn, origin, length, host),
                            "page_db_host_add");
}

int page_db_host_origin(PageDB *db, MDB_txn *txn, uint32_t host, Buffer *out)
{
    error_clean(db->error);
    MDB_val origin;
    int rc = page_hosts_origin(db->store, txn, host, &origin);
    if (rc != 0) {
        return fail_read(db, rc, "page_db_host_origin");
    }
    buffer_reset(out);
    if (buffer_append(out, origin.mv_data, origin.mv_size) != RESULT_OK) {
        return page_db_fail(db, page_db_error_memory, "page_db_host_origin: out of memory");
    }
    return page_db_error_ok;
}

uint32_t page_db_n_hosts(PageDB *db, MDB_txn *txn)
{
    uint32_t count = 0;
    (void)page_hosts_count(db->store, txn, &count);
    return count;
}

uint64_t page_db_n_pages(PageDB *db, MDB_txn *txn)
{
    uint64_t n_pages = 0;
    return page_db_count_pages(db->store, txn, &n_pages) == 0 ? n_pages : 0;
}
