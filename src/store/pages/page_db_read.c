#include "store/pages/page_db_read.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/format/page_links.h"
#include "store/page_tables/page_hosts.h"
#include "store/page_tables/page_key.h"
#include "store/page_tables/page_parts.h"
#include "store/pages/page_error.h"
#include "store/page_tables/page_lookup.h"
#include "store/page_tables/page_file.h"

#define SYNC_PAUSE_NS INT64_C(1000000000)

uint64_t page_db_check_residence(PageDB *db)
{
    MDB_txn *txn = NULL; /* while it lives, the map is not moved */
    if (map_residence_is_bound(&db->store->residence) &&
        txn_manager_begin_mdb(db->txn_manager, MDB_RDONLY, &txn) == 0) {
        page_store_check_residence(db->store);
        txn_manager_abort_mdb(db->txn_manager, txn);
    }
    return atomic_load(&db->store->residence.n);
}

Journal *page_db_journal(PageDB *db)
{
    return db->store->journal;
}

int page_db_txn_begin(PageDB *db, bool read_only, MDB_txn **txn)
{
    int checked = page_db_check(db, txn != NULL, "page_db_txn_begin");
    if (checked != page_db_error_ok) {
        return checked;
    }
    assert(txn != NULL); /* or page_db_check would have told */
    *txn = NULL;
    if (!read_only && db->store->read_only) {
        return page_db_fail(db, page_db_error_read_only, "the database was opened for reading");
    }
    if (!read_only && atomic_load(&db->store->failed)) {
        return page_db_fail(db, page_db_error_io,
                            "an earlier commit could not be written; close the database, look at "
                            "the disk, and open it anew");
    }
    int rc = txn_manager_begin_mdb(db->txn_manager, read_only ? MDB_RDONLY : 0, txn);
    if (rc == 0 && !read_only) {
        page_hosts_begin(db->store->hosts, mdb_txn_id(*txn));
    }
    if (rc == EDEADLK) {
        return page_db_fail(db, page_db_error_locked,
                            "this thread has a write transaction open (that of a cursor of "
                            "freq_scheduler_cursor_open?): commit or abort it first");
    }
    return page_db_fail_mdb(db, rc, "beginning a transaction");
}

/* Makes durable what has been committed since a second ago or longer. */
static int page_db_sync_late(PageDBStore *store)
{
    int64_t now_ns = mono_now().ns;
    if (!store->lazy_sync || now_ns - atomic_load(&store->synced_ns) < SYNC_PAUSE_NS) {
        return 0;
    }
    atomic_store(&store->synced_ns, now_ns);
    return mdb_env_sync(store->env, 1);
}

int page_db_txn_commit(PageDB *db, MDB_txn *txn)
{
    error_clean(db->error);
    bool writes = atomic_load(&db->txn_manager->writer) == txn;
    size_t id = mdb_txn_id(txn);
    int rc = txn_manager_commit_mdb(db->txn_manager, txn);
    if (rc == 0 && writes) {
        page_hosts_committed(db->store->hosts, id);
        rc = page_db_sync_late(db->store);
    }
    if (rc == EIO && page_file_is_full(db->store)) {
        rc = ENOSPC; /* a write was cut short */
    }
    if (rc == EIO || rc == MDB_PANIC) {
        atomic_store(&db->store->failed, true);
    }
    if (writes) {
        page_readers_rest(db->store);
        page_file_extend(db->store);
        (void)page_db_check_residence(db);
    }
    return page_db_fail_mdb(db, rc, "committing");
}

void page_db_txn_abort(PageDB *db, MDB_txn *txn)
{
    if (txn != NULL) {
        txn_manager_abort_mdb(db->txn_manager, txn);
    }
}

Result page_db_txn_end(PageDB *db, MDB_txn *txn, Result rc)
{
    if (rc != RESULT_OK) {
        page_db_txn_abort(db, txn);
        return rc;
    }
    return page_db_txn_commit(db, txn) == page_db_error_ok ? RESULT_OK : RESULT_FULL;
}

int page_db_txn_end_code(PageDB *db, MDB_txn *txn, int code)
{
    if (code == page_db_error_ok) {
        return page_db_txn_commit(db, txn);
    }
    page_db_txn_abort(db, txn);
    return code;
}

/* Reading single pages and hosts. */

int page_db_find(PageDB *db, MDB_txn *txn, const char *url, size_t length, uint64_t *index)
{
    error_clean(db->error);
    PageKey key = page_key_of(db->store, url, length);
    return page_db_fail_find(db, page_key_look_up(db->store, txn, &key, index), "page_db_find");
}

int page_db_get_way(PageDB *db, MDB_txn *txn, uint64_t index, uint64_t *linked_from, uint8_t *hop,
                    Buffer *url)
{
    error_clean(db->error);
    PageRecord record;
    MDB_val value;
    MDB_val origin;
    page_store_looked_up(db->store, url == NULL ? 1 : 2);
    int rc = page_pack_find(txn, db->store->tables.idx2info, db->store->journal, index, &value);
    if (rc == 0 && !page_record_read(value.mv_data, value.mv_size, index, 0, &record)) {
        rc = MDB_CORRUPTED;
    }
    if (rc == 0 && url != NULL) {
        rc = page_hosts_origin(db->store, txn, record.host, &origin);
        rc = rc == MDB_NOTFOUND ? MDB_CORRUPTED : rc;
    }
    if (rc != 0) {
        return page_db_fail_find(db, rc, "page_db_get_way");
    }
    if (url != NULL) {
        size_t length = page_url_length(origin.mv_size, &record);
        buffer_reset(url);
        if (buffer_reserve(url, length) != RESULT_OK) {
            return page_db_fail(db, page_db_error_memory, "page_db_get_way: out of memory");
        }
        page_url_join(origin.mv_data, origin.mv_size, &record, url->data);
        url->length = length;
    }
    *linked_from = record.linked_from;
    *hop = record.hop;
    return page_db_error_ok;
}

int page_db_find_key(PageDB *db, MDB_txn *txn, uint64_t hash, uint64_t print, uint64_t *index)
{
    error_clean(db->error);
    PageKey key = {.hash = hash, .print = print};
    page_store_looked_up(db->store, 1);
    return page_db_fail_find(db, page_key_look_up(db->store, txn, &key, index), "page_db_find_key");
}

int page_db_get(PageDB *db, MDB_txn *txn, uint64_t index, PageRef *page, Buffer *url)
{
    error_clean(db->error);
    PageParts parts;
    page_store_looked_up(db->store, 3); /* the page, its crawls, its host */
    int rc = page_parts_read(db->store, txn, NULL, 0, index, &parts);
    if (rc != 0) {
        return page_db_fail_find(db, rc, "page_db_get");
    }
    size_t length = page_url_length(parts.origin.mv_size, &parts.record);
    buffer_reset(url);
    if (buffer_reserve(url, length) != RESULT_OK) {
        return page_db_fail(db, page_db_error_memory, "page_db_get: out of memory");
    }
    page_url_join(parts.origin.mv_data, parts.origin.mv_size, &parts.record, url->data);
    url->length = length;
    *page = (PageRef){.index = index,
                      .hash = page_key_of(db->store, url->data, length).hash,
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

/* What of a record's head is to change. */
typedef struct HeadChange {
    bool has_state;
    int32_t status;
    uint8_t level;
    uint8_t tries;
    bool has_flags;
    uint8_t flags;
} HeadChange;

static int change_head(PageDB *db, MDB_txn *txn, uint64_t index, const HeadChange *change)
{
    PagePackEditor infos;
    MDB_val value;
    PageRecord record;
    page_pack_editor_begin(&infos, txn, db->store->tables.idx2info, db->store->journal);
    bool is_there = page_pack_editor_read(&infos, index, 0, &value, &record);
    if (is_there && change->has_state) {
        record.status = change->status;
        record.level = change->level;
        record.tries = change->tries;
    }
    if (is_there && change->has_flags) {
        record.flags = change->flags;
    }
    if (is_there) {
        page_pack_editor_set_head(&infos, index, &value, &record);
    }
    int rc = page_pack_editor_end(&infos, 0);
    return rc == 0 && !is_there ? MDB_NOTFOUND : rc;
}

int page_db_set_state(PageDB *db, MDB_txn *txn, uint64_t index, int32_t status, uint8_t level,
                      uint8_t tries)
{
    HeadChange change = {.has_state = true, .status = status, .level = level, .tries = tries};
    error_clean(db->error);
    return page_db_fail_find(db, change_head(db, txn, index, &change), "page_db_set_state");
}

int page_db_set_flags(PageDB *db, MDB_txn *txn, uint64_t index, uint8_t flags)
{
    HeadChange change = {.has_flags = true, .flags = flags};
    error_clean(db->error);
    return page_db_fail_find(db, change_head(db, txn, index, &change), "page_db_set_flags");
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

/* ---- The documented functions ---- */

PageDBError page_db_get_info(PageDB *db, uint64_t hash, PageInfo **pi)
{
    int checked = page_db_check(db, pi != NULL, "page_db_get_info");
    if (checked != page_db_error_ok) {
        return (PageDBError)checked;
    }
    assert(pi != NULL); /* or page_db_check would have told */
    *pi = NULL;
    page_lookup_prefetch(&db->store->lookup, hash);
    PageReader *reader = NULL;
    int rc = page_reader_acquire(db->store, &reader);
    if (rc == 0) {
        rc = page_parts_find_info(db->store, reader, hash, pi);
        page_reader_release(db->store, reader);
    }
    return (PageDBError)page_db_fail_mdb(db, rc, "page_db_get_info");
}

PageDBError page_db_get_idx(PageDB *db, uint64_t hash, uint64_t *idx)
{
    int checked = page_db_check(db, idx != NULL, "page_db_get_idx");
    if (checked != page_db_error_ok) {
        return (PageDBError)checked;
    }
    assert(idx != NULL); /* or page_db_check would have told */
    *idx = 0;
    page_lookup_prefetch(&db->store->lookup, hash);
    PageReader *reader = NULL;
    int rc = page_reader_acquire(db->store, &reader);
    if (rc == 0) {
        if (!page_lookup_get(&db->store->lookup, hash, idx)) {
            rc = page_lookup_find(db->store, reader, hash, idx);
        }
        page_reader_release(db->store, reader);
    }
    return (PageDBError)page_db_fail_find(db, rc, "page_db_get_idx");
}

/* ---- Hosts ---- */

int page_db_host_find(PageDB *db, MDB_txn *txn, const char *origin, size_t length, uint32_t *host)
{
    error_clean(db->error);
    return page_db_fail_find(db, page_hosts_find(db->store, txn, origin, length, host),
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
        return page_db_fail_find(db, rc, "page_db_host_origin");
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
    return page_store_count_pages(db->store, txn, &n_pages) == 0 ? n_pages : 0;
}
