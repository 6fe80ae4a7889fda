#include "store/check/page_keys_check.h"

#include <errno.h>
#include <string.h>

#include "store/pages/page_db_read.h"
#include "store/lmdb/lmdb_result.h"
#include "store/page_tables/page_key.h"
#include "store/page_tables/page_hosts.h"

static bool page_keys_check_has_bit(const uint8_t *bits, uint64_t index)
{
    return (bits[index / 8] >> index % 8 & 1) != 0;
}

static Result page_keys_check_result_of(int rc, const char *what)
{
    return rc == ENOMEM ? RESULT_MEMORY : lmdb_result(rc, what);
}

bool page_keys_has(PageDB *db, MDB_txn *txn, uint64_t index, PageRef *page, Buffer *url,
                   bool *readable)
{
    uint64_t found = PAGE_DB_NO_INDEX;
    *readable = page_db_get(db, txn, index, page, url) == page_db_error_ok;
    return *readable &&
           page_db_find(db, txn, page->url, page->url_length, &found) == page_db_error_ok &&
           found == index;
}

Result page_keys_count(PageDB *db, MDB_txn *txn, PageKeysCheck *check)
{
    MDB_stat stat = {.ms_entries = 0};
    int rc = mdb_stat(txn, db->store->tables.hash2idx, &stat);
    check->n_keys = stat.ms_entries;
    return page_keys_check_result_of(rc, "count hash2idx");
}

/* An entry of a page that is found, but not by this one: another key, or the same one twice. */
static bool page_keys_check_is_own(PageDB *db, MDB_txn *txn, uint32_t domain,
                                   const PageEntry *entry, Buffer *url)
{
    PageRef page;
    if (page_db_get(db, txn, entry->index, &page, url) != page_db_error_ok) {
        return true; /* cannot be told */
    }
    PageKey key = page_key_of(db->store, page.url, page.url_length);
    return key.hash == ((uint64_t)domain << 32 | entry->url_hash) && key.print == entry->print;
}

/* Marks the pages that entries lead to, and takes out those that lead nowhere. */
static int page_keys_check_sweep(PageDB *db, MDB_txn *txn, MDB_cursor *cursor, PageKeysCheck *check,
                                 Buffer *url)
{
    MDB_val key, value;
    int rc = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    while (rc == 0) {
        uint32_t domain = 0;
        PageEntry entry;
        if (key.mv_size != sizeof domain || value.mv_size != PAGE_ENTRY_BYTES) {
            return MDB_CORRUPTED;
        }
        memcpy(&domain, key.mv_data, sizeof domain);
        page_entry_read(value.mv_data, &entry);
        bool exists = entry.index < check->n_pages;
        bool surplus = !exists || (page_keys_check_has_bit(check->found, entry.index) &&
                                   (page_keys_check_has_bit(check->named, entry.index) ||
                                    !page_keys_check_is_own(db, txn, domain, &entry, url)));
        if (surplus) {
            rc = mdb_cursor_del(cursor, 0);
            check->n_removed++;
        } else {
            check->named[entry.index / 8] |= (uint8_t)(1u << entry.index % 8);
        }
        rc = rc == 0 ? mdb_cursor_get(cursor, &key, &value, MDB_NEXT) : rc;
    }
    return rc == MDB_NOTFOUND ? 0 : rc;
}

static int page_keys_check_add(PageDB *db, MDB_cursor *cursor, const PageRef *page)
{
    PageKey key = page_key_of(db->store, page->url, page->url_length);
    uint32_t domain = (uint32_t)(key.hash >> 32);
    uint8_t bytes[PAGE_ENTRY_BYTES];
    uint64_t depth = page->depth < PAGE_MAX_DEPTH8 ? page->depth : PAGE_MAX_DEPTH8;
    PageEntry entry = {.url_hash = (uint32_t)key.hash,
                       .print = key.print,
                       .depth = (uint8_t)depth,
                       .index = page->index};
    page_entry_write(&entry, bytes);
    MDB_val k = {sizeof domain, &domain};
    MDB_val v = {sizeof bytes, bytes};
    return mdb_cursor_put(cursor, &k, &v, 0);
}

/* Pages that nothing leads to. */
static int page_keys_check_complete(PageDB *db, MDB_txn *txn, MDB_cursor *cursor,
                                    PageKeysCheck *check, Buffer *url)
{
    int rc = 0;
    for (uint64_t i = 0; rc == 0 && i < check->n_pages; i++) {
        PageRef page;
        if (!page_keys_check_has_bit(check->found, i) &&
            !page_keys_check_has_bit(check->named, i) &&
            page_db_get(db, txn, i, &page, url) == page_db_error_ok) {
            rc = page_keys_check_add(db, cursor, &page);
            check->n_added++;
        }
    }
    return rc;
}

Result page_keys_mend(PageDB *db, MDB_txn *txn, PageKeysCheck *check)
{
    MDB_cursor *cursor = NULL;
    Buffer url;
    buffer_init(&url, BUFFER_NO_LIMIT);
    int rc = mdb_cursor_open(txn, db->store->tables.hash2idx, &cursor);
    if (rc == 0) {
        rc = page_keys_check_sweep(db, txn, cursor, check, &url);
    }
    if (rc == 0) {
        rc = page_keys_check_complete(db, txn, cursor, check, &url);
    }
    mdb_cursor_close(cursor);
    buffer_destroy(&url);
    return page_keys_check_result_of(rc, "complete hash2idx");
}

Result page_keys_mend_host(PageDB *db, MDB_txn *txn, uint32_t host)
{
    return page_keys_check_result_of(page_hosts_restore(db->store, txn, host),
                                     "complete origin2host");
}
