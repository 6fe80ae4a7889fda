#include "store/pages/page_stream.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/array.h"
#include "store/format/page_links.h"
#include "store/page_tables/page_key.h"
#include "store/page_tables/page_parts.h"
#include "store/pages/page_error.h"

/* The stream of all links. */

#define LINKS_AT_ONCE 8192u

struct LinkStreamPage {
    uint64_t from;
    size_t at;     /* first link in block */
    size_t n;      /* links */
    size_t n_diff; /* of them leave the domain */
};

PageDBError page_db_link_stream_new(PageDBLinkStream **es, PageDB *db)
{
    int checked = page_db_check(db, es != NULL, "page_db_link_stream_new");
    if (checked != page_db_error_ok) {
        return (PageDBError)checked;
    }
    assert(es != NULL); /* or page_db_check would have told */
    *es = NULL;
    PageDBLinkStream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        return (PageDBError)page_db_fail(db, page_db_error_memory, "link stream: out of memory");
    }
    stream->db = db;
    stream->only_diff_domain = PAGE_DB_LINK_STREAM_DEFAULT_ONLY_DIFF_DOMAIN;
    stream->state = stream_state_init;
    *es = stream;
    return page_db_error_ok;
}

void page_db_link_stream_delete(PageDBLinkStream *es)
{
    if (es != NULL) {
        free(es->block);
        free(es->pages);
        free(es);
    }
}

/* Decodes all lists of a record that come after the last one read. */
static int decode_record(PageDBLinkStream *es, const MDB_val *key, const MDB_val *record)
{
    uint64_t first = 0;
    memcpy(&first, key->mv_data, sizeof first);
    PageLinksReader reader;
    page_links_reader_init(&reader, first, record);
    size_t most = es->used + page_links_bound(record->mv_size);
    int rc =
        array_reserve(&es->block, &es->m_to, most, sizeof *es->block) == RESULT_OK ? 0 : ENOMEM;
    size_t length = 0;
    const uint8_t *list = NULL;
    uint64_t from = 0;
    int more = 0;
    while (rc == 0 && (more = page_links_reader_next(&reader, &from, &list, &length)) == 1) {
        LinkStreamPage page = {.from = from, .at = es->used};
        if (es->started && from <= es->last) {
            continue;
        }
        if (!page_links_decode(from, list, length, es->only_diff_domain != 0, es->block + es->used,
                               &page.n_diff, &page.n)) {
            return MDB_CORRUPTED;
        }
        if (array_add(&es->pages, &es->n_pages, sizeof page, &page) != RESULT_OK) {
            return ENOMEM;
        }
        es->used += page.n;
        es->last = from;
        es->started = true;
    }
    return rc == 0 && more < 0 ? MDB_CORRUPTED : rc;
}

/* Reads the next records, LINKS_AT_ONCE links or some more, in a transaction of their own. */
static int page_link_stream_read_block(PageDBLinkStream *es)
{
    MDB_txn *txn = NULL;
    LmdbRows rows;
    es->n_pages = 0;
    es->i_page = 0;
    es->used = 0;
    int rc = txn_manager_begin_mdb(es->db->txn_manager, MDB_RDONLY, &txn);
    if (rc != 0) {
        return rc;
    }
    lmdb_rows_open(&rows, txn, es->db->store->tables.links);
    /* The record that may hold lists behind the last one read. */
    bool more =
        es->started ? page_links_seek(&rows, es->last + 1) : lmdb_rows_get(&rows, MDB_FIRST);
    while (more && lmdb_rows_note(&rows, decode_record(es, &rows.key, &rows.value)) &&
           es->used < LINKS_AT_ONCE) {
        more = lmdb_rows_get(&rows, MDB_NEXT);
    }
    rc = lmdb_rows_close(&rows, 0);
    txn_manager_abort_mdb(es->db->txn_manager, txn);
    return rc == 0 && es->n_pages == 0 ? MDB_NOTFOUND : rc;
}

static StreamState page_stream_failed(PageDB *db, StreamState *state, int rc, const char *what)
{
    error_clean(db->error);
    (void)page_db_fail_mdb(db, rc, what);
    *state = stream_state_error;
    return *state;
}

static StreamState next_page(PageDBLinkStream *es)
{
    do {
        if (es->i_page == es->n_pages) {
            int rc = es->state == stream_state_end ? MDB_NOTFOUND : page_link_stream_read_block(es);
            if (rc == MDB_NOTFOUND) {
                es->state = stream_state_end;
                es->n_to = 0;
                es->i_to = 0;
                return es->state;
            }
            if (rc != 0) {
                return page_stream_failed(es->db, &es->state, rc, "link stream");
            }
        }
        const LinkStreamPage *page = &es->pages[es->i_page++];
        es->from = page->from;
        es->to = es->block + page->at;
        es->n_to = page->n;
        es->n_diff = page->n_diff;
        es->i_to = 0;
    } while (es->n_to == 0);
    es->state = stream_state_next;
    return es->state;
}

StreamState page_db_link_stream_next(void *st, Link *link)
{
    PageDBLinkStream *es = st;
    if (es == NULL || link == NULL) {
        return stream_state_error;
    }
    if (es->i_to == es->n_to) {
        StreamState state = next_page(es);
        if (state != stream_state_next) {
            return state;
        }
    }
    link->from = (int64_t)es->from;
    link->to = (int64_t)es->to[es->i_to++];
    return stream_state_next;
}

StreamState page_db_link_stream_next_page(PageDBLinkStream *es, uint64_t *from, const uint64_t **to,
                                          size_t *n)
{
    if (es->i_to == es->n_to) {
        StreamState state = next_page(es);
        if (state != stream_state_next) {
            return state;
        }
    }
    *from = es->from;
    *to = es->to + es->i_to;
    *n = es->n_to - es->i_to;
    es->i_to = es->n_to;
    return stream_state_next;
}

StreamState page_db_link_stream_reset(void *st)
{
    PageDBLinkStream *es = st;
    if (es == NULL) {
        return stream_state_error;
    }
    es->started = false;
    es->n_pages = 0;
    es->i_page = 0;
    es->n_to = 0;
    es->i_to = 0;
    es->state = stream_state_init;
    return es->state;
}

/* The streams of all pages by hash: with their indices, with their infos. */

#define ENTRIES_AT_ONCE 2048u

struct HashIdxEntry {
    uint64_t hash;
    uint64_t print;
    uint64_t index;
};

PageDBError hashidx_stream_new(HashIdxStream **st, PageDB *db)
{
    int checked = page_db_check(db, st != NULL, "hashidx_stream_new");
    if (checked != page_db_error_ok) {
        return (PageDBError)checked;
    }
    assert(st != NULL); /* or page_db_check would have told */
    *st = NULL;
    HashIdxStream *stream = calloc(1, sizeof *stream);
    HashIdxEntry *entries = calloc(ENTRIES_AT_ONCE, sizeof *entries);
    if (stream == NULL || entries == NULL) {
        free(entries);
        free(stream);
        return (PageDBError)page_db_fail(db, page_db_error_memory, "hash stream: out of memory");
    }
    stream->db = db;
    stream->state = stream_state_init;
    stream->entries = entries;
    *st = stream;
    return page_db_error_ok;
}

void hashidx_stream_delete(HashIdxStream *st)
{
    if (st != NULL) {
        free(st->entries);
        free(st);
    }
}

/* Finds the entries behind the last one again. An entry that has moved meanwhile (its depth is part
 * of it) may come twice or not at all; its neighbours are not touched by that. */
static bool seek_entries(HashIdxStream *st, LmdbRows *rows)
{
    if (!st->started) {
        return lmdb_rows_get(rows, MDB_FIRST);
    }
    uint8_t behind[PAGE_ENTRY_BYTES];
    memcpy(behind, st->last, sizeof behind);
    for (size_t i = sizeof behind; i > 0; i--) {
        behind[i - 1]++;
        if (behind[i - 1] != 0) {
            break;
        }
    }
    rows->key = lmdb_bytes(&st->domain, sizeof st->domain);
    rows->value = lmdb_bytes(behind, sizeof behind);
    if (lmdb_rows_get(rows, MDB_GET_BOTH_RANGE)) {
        return true;
    }
    uint32_t next = st->domain + 1;
    rows->key = lmdb_bytes(&next, sizeof next);
    return next != 0 && lmdb_rows_get(rows, MDB_SET_RANGE);
}

/* Takes entries of a domain behind the last one, as far as there is room; after a seek the page of
 * entries may begin before it. */
static int take_entries(HashIdxStream *st, uint32_t domain, const MDB_val *value)
{
    const uint8_t *at = value->mv_data;
    if (value->mv_size == 0 || value->mv_size % PAGE_ENTRY_BYTES != 0) {
        return MDB_CORRUPTED;
    }
    for (const uint8_t *end = at + value->mv_size; at < end; at += PAGE_ENTRY_BYTES) {
        PageEntry entry;
        bool is_behind =
            !st->started || domain != st->domain || memcmp(at, st->last, PAGE_ENTRY_BYTES) > 0;
        if (is_behind && st->n_entries < ENTRIES_AT_ONCE) {
            page_entry_read(at, &entry);
            st->entries[st->n_entries++] =
                (HashIdxEntry){.hash = (uint64_t)domain << 32 | entry.url_hash,
                               .print = entry.print,
                               .index = entry.index};
            memcpy(st->last, at, PAGE_ENTRY_BYTES);
            st->domain = domain;
            st->started = true;
        }
    }
    return 0;
}

/* Reads the next entries in a transaction of their own, page of entries by page of entries. */
static int read_entries(HashIdxStream *st)
{
    MDB_txn *txn = NULL;
    LmdbRows rows;
    st->n_entries = 0;
    st->i_entry = 0;
    int rc = txn_manager_begin_mdb(st->db->txn_manager, MDB_RDONLY, &txn);
    if (rc != 0) {
        return rc;
    }
    lmdb_rows_open(&rows, txn, st->db->store->tables.hash2idx);
    bool more = seek_entries(st, &rows);
    while (more && st->n_entries < ENTRIES_AT_ONCE) {
        uint32_t domain = 0;
        memcpy(&domain, rows.key.mv_data, sizeof domain);
        MDB_cursor_op from = MDB_GET_MULTIPLE;
        while (lmdb_rows_get(&rows, from) &&
               lmdb_rows_note(&rows, take_entries(st, domain, &rows.value))) {
            from = MDB_NEXT_MULTIPLE;
        }
        more = lmdb_rows_get(&rows, MDB_NEXT_NODUP);
    }
    rc = lmdb_rows_close(&rows, 0);
    txn_manager_abort_mdb(st->db->txn_manager, txn);
    return rc == 0 && st->n_entries == 0 ? MDB_NOTFOUND : rc;
}

StreamState hashidx_stream_next(HashIdxStream *st, uint64_t *hash, size_t *idx)
{
    uint64_t print = 0;
    return hashidx_stream_next_key(st, hash, &print, idx);
}

StreamState hashidx_stream_next_key(HashIdxStream *st, uint64_t *hash, uint64_t *print, size_t *idx)
{
    if (st == NULL || hash == NULL || print == NULL || idx == NULL) {
        return stream_state_error;
    }
    if (st->i_entry == st->n_entries) {
        int rc = st->state == stream_state_end ? MDB_NOTFOUND : read_entries(st);
        if (rc == MDB_NOTFOUND) {
            st->state = stream_state_end;
            return st->state;
        }
        if (rc != 0) {
            return page_stream_failed(st->db, &st->state, rc, "hash stream");
        }
    }
    const HashIdxEntry *entry = &st->entries[st->i_entry++];
    *hash = entry->hash;
    *print = entry->print;
    *idx = entry->index;
    st->state = stream_state_next;
    return st->state;
}

PageDBError hashinfo_stream_new(HashInfoStream **st, PageDB *db)
{
    int checked = page_db_check(db, st != NULL, "hashinfo_stream_new");
    if (checked != page_db_error_ok) {
        return (PageDBError)checked;
    }
    assert(st != NULL); /* or page_db_check would have told */
    *st = NULL;
    HashIdxStream *indices = NULL;
    PageDBError rc = hashidx_stream_new(&indices, db);
    if (indices == NULL) {
        return rc;
    }
    HashInfoStream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        hashidx_stream_delete(indices);
        return (PageDBError)page_db_fail(db, page_db_error_memory, "info stream: out of memory");
    }
    *stream = (HashInfoStream){
        .db = db, .cur = indices->cur, .state = stream_state_init, .indices = indices};
    *st = stream;
    return page_db_error_ok;
}

void hashinfo_stream_delete(HashInfoStream *st)
{
    if (st != NULL) {
        hashidx_stream_delete(st->indices);
        free(st);
    }
}

StreamState hashinfo_stream_next(HashInfoStream *st, uint64_t *hash, PageInfo **pi)
{
    size_t index = 0;
    if (st == NULL || hash == NULL || pi == NULL) {
        return stream_state_error;
    }
    st->state = hashidx_stream_next(st->indices, hash, &index);
    st->cur = st->indices->cur;
    if (st->state != stream_state_next) {
        return st->state;
    }
    st->index = index;
    PageReader *reader = NULL;
    PageDBStore *store = st->db->store;
    int rc = page_reader_acquire(store, &reader);
    if (rc == 0) {
        rc = page_parts_info(store, reader->txn, reader, *hash, index, pi);
        page_reader_release(store, reader);
    }
    if (rc != 0) {
        return page_stream_failed(st->db, &st->state, rc, "info stream");
    }
    return st->state;
}
