#include "store/check/page_links_check.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/bits.h"
#include "store/lmdb/lmdb_result.h"
#include "store/page_tables/page_store.h"
#include "store/format/page_links.h"
#include "store/format/page_links_table.h"
#include "store/pages/page_db_read.h"
#include "store/page_tables/page_key.h"
#include "store/page_tables/page_hosts.h"

/* What one sweep needs. */
typedef struct Sweep {
    PageLinksCheck *check;
    uint64_t *to; /* scratch */
    uint8_t *kinds;
    size_t capacity;
    uint64_t next;  /* no list may be of an earlier page */
    Buffer *rescue; /* sound lists of broken records: Rescued and its bytes; NULL: not wanted */
} Sweep;

typedef struct Rescued {
    uint64_t index;
    size_t length;
} Rescued;

static Result page_links_check_reserve(Sweep *sweep, size_t n)
{
    if (n <= sweep->capacity) {
        return RESULT_OK;
    }
    size_t capacity = 2 * n;
    uint64_t *to = reallocarray(sweep->to, capacity, sizeof *to);
    if (to == NULL) {
        return RESULT_MEMORY;
    }
    sweep->to = to;
    uint8_t *kinds = realloc(sweep->kinds, capacity);
    if (kinds == NULL) {
        return RESULT_MEMORY;
    }
    sweep->kinds = kinds;
    sweep->capacity = capacity;
    return RESULT_OK;
}

static Result is_sound(Sweep *sweep, uint64_t index, const uint8_t *list, size_t length,
                       bool *sound)
{
    size_t n_diff = 0;
    size_t n = 0;
    Result rc = page_links_check_reserve(sweep, page_links_bound(length));
    if (rc != RESULT_OK) {
        return rc;
    }
    const uint64_t *to = sweep->to;
    assert(to != NULL); /* a list takes room, be it empty */
    *sound = page_links_decode(index, list, length, false, sweep->to, &n_diff, &n) &&
             page_links_decode_kinds(list, length, sweep->kinds, n);
    for (size_t i = 0; *sound && i < n; i++) {
        *sound = to[i] < sweep->check->n_pages;
    }
    return RESULT_OK;
}

static Result rescue(Buffer *out, uint64_t index, const uint8_t *list, size_t length)
{
    Rescued head = {.index = index, .length = length};
    Result rc = buffer_append(out, &head, sizeof head);
    return rc == RESULT_OK ? buffer_append(out, list, length) : rc;
}

/* A record whose pages are not those that can have lists was shifted: none of its lists can be
 * trusted to be its page's. */
static bool has_right_pages(const Sweep *sweep, uint64_t key, const MDB_val *record)
{
    PageLinksReader reader;
    uint64_t index = 0;
    uint64_t next = sweep->next;
    const uint8_t *list = NULL;
    size_t length = 0;
    page_links_reader_init(&reader, key, record);
    while (page_links_reader_next(&reader, &index, &list, &length) == 1) {
        if (index < next || index >= sweep->check->n_pages ||
            !bits_has(sweep->check->crawled, index)) {
            return false;
        }
        next = index + 1;
    }
    return true; /* one that ends early may have sound lists before its end */
}

/* Marks the sound lists of a record; *broken when there is anything else in it. */
static Result page_links_check_read_record(Sweep *sweep, uint64_t key, const MDB_val *record,
                                           bool *broken)
{
    PageLinksCheck *check = sweep->check;
    PageLinksReader reader;
    uint64_t index = 0;
    const uint8_t *list = NULL;
    size_t length = 0;
    Result rc = RESULT_OK;
    *broken = !has_right_pages(sweep, key, record);
    if (*broken) {
        return RESULT_OK;
    }
    page_links_reader_init(&reader, key, record);
    int more = page_links_reader_next(&reader, &index, &list, &length);
    for (; rc == RESULT_OK && more == 1;
         more = page_links_reader_next(&reader, &index, &list, &length)) {
        bool sound = false;
        rc = is_sound(sweep, index, list, length, &sound);
        if (sound) {
            bits_set(check->listed, index);
            sweep->next = index + 1;
            rc = sweep->rescue == NULL ? rc : rescue(sweep->rescue, index, list, length);
        }
        *broken |= !sound;
    }
    *broken |= more < 0 || record->mv_size == 0;
    return rc;
}

static Result page_links_check_put_back(MDB_txn *txn, MDB_dbi links, const Buffer *rescued)
{
    PageLinksWriter writer;
    int code = page_links_writer_begin(&writer, txn, links);
    for (size_t at = 0; code == 0 && at < rescued->length;) {
        Rescued head;
        memcpy(&head, rescued->data + at, sizeof head);
        at += sizeof head;
        code = page_links_writer_put(&writer, head.index, (const uint8_t *)rescued->data + at,
                                     head.length);
        at += head.length;
    }
    code = page_links_writer_end(&writer, code);
    return code == ENOMEM ? RESULT_MEMORY : lmdb_result(code, "put back lists of links");
}

/* Broken records are deleted; what was rescued of them is put back behind the sweep. */
static Result sweep_table(Sweep *sweep, MDB_cursor *cursor, bool mend)
{
    MDB_val key;
    MDB_val record;
    Buffer *rescued = sweep->rescue;
    Result rc = RESULT_OK;
    int code = mdb_cursor_get(cursor, &key, &record, MDB_FIRST);
    while (code == 0 && rc == RESULT_OK) {
        uint64_t first = 0;
        bool broken = false;
        size_t before = rescued == NULL ? 0 : rescued->length;
        memcpy(&first, key.mv_data, sizeof first);
        rc = page_links_check_read_record(sweep, first, &record, &broken);
        sweep->check->n_broken += broken;
        if (broken && mend) {
            code = mdb_cursor_del(cursor, 0);
        } else if (rescued != NULL) {
            rescued->length = before; /* it stays where it is */
        }
        code = code == 0 ? mdb_cursor_get(cursor, &key, &record, MDB_NEXT) : code;
    }
    return rc != RESULT_OK || code == MDB_NOTFOUND ? rc : lmdb_result(code, "read lists of links");
}

static Result page_links_check_look(PageDB *db, MDB_txn *txn, PageLinksCheck *check, bool mend)
{
    MDB_dbi links = db->store->tables.links;
    MDB_cursor *cursor = NULL;
    Buffer rescued;
    buffer_init(&rescued, BUFFER_NO_LIMIT);
    Sweep sweep = {.check = check, .rescue = mend ? &rescued : NULL};
    check->n_broken = 0;
    Result rc = lmdb_result(mdb_cursor_open(txn, links, &cursor), "open lists of links");
    if (rc == RESULT_OK) {
        rc = sweep_table(&sweep, cursor, mend);
        mdb_cursor_close(cursor);
    }
    if (rc == RESULT_OK && rescued.length > 0) {
        rc = page_links_check_put_back(txn, links, &rescued);
    }
    free(sweep.to);
    free(sweep.kinds);
    buffer_destroy(&rescued);
    return rc;
}

Result page_links_check(PageDB *db, MDB_txn *txn, PageLinksCheck *check)
{
    return page_links_check_look(db, txn, check, false);
}

Result page_links_mend(PageDB *db, MDB_txn *txn, PageLinksCheck *check)
{
    return page_links_check_look(db, txn, check, true);
}

/* ---- Page keys check ---- */

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
        bool surplus = !exists || (bits_has(check->found, entry.index) &&
                                   (bits_has(check->named, entry.index) ||
                                    !page_keys_check_is_own(db, txn, domain, &entry, url)));
        if (surplus) {
            rc = mdb_cursor_del(cursor, 0);
            check->n_removed++;
        } else {
            bits_set(check->named, entry.index);
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
        if (!bits_has(check->found, i) && !bits_has(check->named, i) &&
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
