#include "store/pages/page_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/pages/page_db_internal.h"
#include "store/records/page_links.h"

#define ENTRIES_BYTES ((size_t)64 << 10)

struct LinkStreamPage {
    uint64_t from;
    size_t at;     /* first link in block */
    size_t n;      /* links */
    size_t n_diff; /* of them leave the domain */
};

/* ---- Snapshots ---------------------------------------------------------------------------------
 */

static int begin_snapshot(PageSnapshot *s)
{
    int rc = txn_manager_begin_mdb(s->db->txn_manager, MDB_RDONLY, &s->txn);
    if (rc != 0) {
        s->txn = NULL;
        return rc;
    }
    rc = mdb_cursor_open(s->txn, s->dbi, s->cur);
    if (rc != 0) {
        txn_manager_abort_mdb(s->db->txn_manager, s->txn);
        s->txn = NULL;
    }
    return rc;
}

static void end_snapshot(PageSnapshot *s)
{
    if (s->txn != NULL) {
        mdb_cursor_close(*s->cur);
        *s->cur = NULL;
        txn_manager_abort_mdb(s->db->txn_manager, s->txn);
        s->txn = NULL;
    }
}

static int open_snapshot(PageSnapshot *s, PageDB *db, MDB_dbi dbi, MDB_cursor **cur)
{
    *s = (PageSnapshot){.db = db, .dbi = dbi, .cur = cur};
    int rc = begin_snapshot(s);
    if (rc == 0) {
        PageDBStore *store = db->store;
        mutex_lock(&store->streams_mutex);
        s->next = store->streams;
        if (s->next != NULL) {
            s->next->previous = s;
        }
        store->streams = s;
        mutex_unlock(&store->streams_mutex);
    }
    return rc;
}

static void close_snapshot(PageSnapshot *s)
{
    PageDBStore *store = s->db->store;
    mutex_lock(&store->streams_mutex);
    if (s->previous != NULL) {
        s->previous->next = s->next;
    } else {
        store->streams = s->next;
    }
    if (s->next != NULL) {
        s->next->previous = s->previous;
    }
    end_snapshot(s);
    mutex_unlock(&store->streams_mutex);
}

void page_stream_park_all(void *db)
{
    PageDBStore *store = ((PageDB *)db)->store;
    mutex_lock(&store->streams_mutex);
    for (PageSnapshot *s = store->streams; s != NULL; s = s->next) {
        end_snapshot(s);
    }
    mutex_unlock(&store->streams_mutex);
}

/* Between enter and leave the snapshot cannot be parked. *lost: the cursor has lost its place.
 * While the mutex is held a growth may make us wait in begin_snapshot; it does not need the mutex
 * then. */
static int enter(PageSnapshot *s, bool *lost)
{
    mutex_lock(&s->db->store->streams_mutex);
    *lost = s->txn == NULL;
    int rc = 0;
    if (*lost) {
        rc = begin_snapshot(s);
    }
    if (rc != 0) {
        mutex_unlock(&s->db->store->streams_mutex);
    }
    return rc;
}

static void leave(PageSnapshot *s)
{
    mutex_unlock(&s->db->store->streams_mutex);
}

static StreamState failed(PageDB *db, StreamState *state, int rc, const char *what)
{
    error_clean(db->error);
    (void)page_db_fail_mdb(db, rc, what);
    *state = stream_state_error;
    return *state;
}

/* ---- Links -------------------------------------------------------------------------------------
 */

PageDBError page_db_link_stream_new(PageDBLinkStream **es, PageDB *db)
{
    error_clean(db->error);
    *es = NULL;
    PageDBLinkStream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        return (PageDBError)page_db_fail(db, page_db_error_memory, "link stream: out of memory");
    }
    stream->db = db;
    stream->only_diff_domain = PAGE_DB_LINK_STREAM_DEFAULT_ONLY_DIFF_DOMAIN;
    stream->state = stream_state_init;
    int rc = open_snapshot(&stream->snapshot, db, db->store->tables.links, &stream->cur);
    if (rc != 0) {
        free(stream);
        return (PageDBError)page_db_fail_mdb(db, rc, "link stream");
    }
    *es = stream;
    return page_db_error_ok;
}

void page_db_link_stream_delete(PageDBLinkStream *es)
{
    if (es != NULL) {
        close_snapshot(&es->snapshot);
        free(es->block);
        free(es->pages);
        free(es);
    }
}

static int reserve_links(PageDBLinkStream *es, size_t n)
{
    if (n > es->m_to) {
        uint64_t *block = reallocarray(es->block, n + n / 2, sizeof *block);
        if (block == NULL) {
            return ENOMEM;
        }
        es->block = block;
        es->m_to = n + n / 2;
    }
    return 0;
}

static int reserve_page(PageDBLinkStream *es)
{
    if (es->n_pages == es->m_pages) {
        size_t capacity = es->m_pages == 0 ? 64 : 2 * es->m_pages;
        LinkStreamPage *pages = reallocarray(es->pages, capacity, sizeof *pages);
        if (pages == NULL) {
            return ENOMEM;
        }
        es->pages = pages;
        es->m_pages = capacity;
    }
    return 0;
}

/* Decodes all lists of a record that come after the last one read. */
static int decode_record(PageDBLinkStream *es, const MDB_val *key, const MDB_val *record)
{
    uint64_t first = 0;
    memcpy(&first, key->mv_data, sizeof first);
    PageLinksReader reader;
    page_links_reader_init(&reader, first, record);
    int rc = reserve_links(es, page_links_bound(record->mv_size));
    size_t used = 0, length = 0;
    const uint8_t *list = NULL;
    uint64_t from = 0;
    int more = 0;
    es->n_pages = 0;
    es->i_page = 0;
    while (rc == 0 && (more = page_links_reader_next(&reader, &from, &list, &length)) == 1) {
        if (es->started && from <= es->last) {
            continue;
        }
        rc = reserve_page(es);
        if (rc == 0) {
            LinkStreamPage *page = &es->pages[es->n_pages++];
            *page = (LinkStreamPage){.from = from, .at = used};
            if (!page_links_decode(from, list, length, es->only_diff_domain != 0, es->block + used,
                                   &page->n_diff, &page->n)) {
                rc = MDB_CORRUPTED;
            }
            used += page->n;
        }
    }
    if (rc == 0 && more < 0) {
        rc = MDB_CORRUPTED;
    }
    if (rc == 0 && es->n_pages > 0) {
        es->last = from;
        es->started = true;
    }
    return rc;
}

/* Finds the record that may hold lists behind the last one read. */
static int seek_behind(PageDBLinkStream *es, MDB_val *key, MDB_val *record)
{
    if (!es->started) {
        return mdb_cursor_get(es->cur, key, record, MDB_FIRST);
    }
    uint64_t wanted = es->last + 1;
    key->mv_size = sizeof wanted;
    /* cppcheck-suppress autoVariables */
    key->mv_data = &wanted; /* LMDB replaces it */
    int rc = mdb_cursor_get(es->cur, key, record, MDB_SET_RANGE);
    if (rc != 0 && rc != MDB_NOTFOUND) {
        return rc;
    }
    uint64_t found = 0;
    if (rc == 0) {
        memcpy(&found, key->mv_data, sizeof found);
        if (found == wanted) {
            return 0;
        }
        return mdb_cursor_get(es->cur, key, record, MDB_PREV);
    }
    return mdb_cursor_get(es->cur, key, record, MDB_LAST);
}

/* Reads the next record that yields pages. */
static int read_block(PageDBLinkStream *es)
{
    bool lost = false;
    int rc = enter(&es->snapshot, &lost);
    if (rc != 0) {
        return rc;
    }
    MDB_val key, record;
    bool seek = lost || !es->started;
    do {
        rc = seek ? seek_behind(es, &key, &record)
                  : mdb_cursor_get(es->cur, &key, &record, MDB_NEXT);
        seek = false;
        if (rc == 0) {
            rc = decode_record(es, &key, &record);
        }
    } while (rc == 0 && es->n_pages == 0);
    leave(&es->snapshot);
    return rc;
}

static StreamState next_page(PageDBLinkStream *es)
{
    do {
        if (es->i_page == es->n_pages) {
            int rc = es->state == stream_state_end ? MDB_NOTFOUND : read_block(es);
            if (rc == MDB_NOTFOUND) {
                es->state = stream_state_end;
                es->n_to = 0;
                es->i_to = 0;
                return es->state;
            }
            if (rc != 0) {
                return failed(es->db, &es->state, rc, "link stream");
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
    mutex_lock(&es->db->store->streams_mutex);
    end_snapshot(&es->snapshot);
    int rc = begin_snapshot(&es->snapshot);
    mutex_unlock(&es->db->store->streams_mutex);
    es->started = false;
    es->n_pages = 0;
    es->i_page = 0;
    es->n_to = 0;
    es->i_to = 0;
    if (rc != 0) {
        return failed(es->db, &es->state, rc, "link stream");
    }
    es->state = stream_state_init;
    return es->state;
}

/* ---- Hashes and indices ------------------------------------------------------------------------
 */

PageDBError hashidx_stream_new(HashIdxStream **st, PageDB *db)
{
    error_clean(db->error);
    *st = NULL;
    HashIdxStream *stream = calloc(1, sizeof *stream);
    uint8_t *entries = malloc(ENTRIES_BYTES);
    if (stream == NULL || entries == NULL) {
        free(entries);
        free(stream);
        return (PageDBError)page_db_fail(db, page_db_error_memory, "hash stream: out of memory");
    }
    stream->db = db;
    stream->state = stream_state_init;
    stream->entries = entries;
    int rc = open_snapshot(&stream->snapshot, db, db->store->tables.hash2idx, &stream->cur);
    if (rc != 0) {
        free(entries);
        free(stream);
        return (PageDBError)page_db_fail_mdb(db, rc, "hash stream");
    }
    *st = stream;
    return page_db_error_ok;
}

void hashidx_stream_delete(HashIdxStream *st)
{
    if (st != NULL) {
        close_snapshot(&st->snapshot);
        free(st->entries);
        free(st);
    }
}

/* Finds the entries behind the last one again. An entry that has moved meanwhile (its depth is part
 * of it) may come twice or not at all; its neighbours are not touched by that. */
static int seek_entries(HashIdxStream *st, MDB_val *key, MDB_val *value)
{
    if (!st->started) {
        return mdb_cursor_get(st->cur, key, value, MDB_FIRST);
    }
    uint8_t behind[PAGE_ENTRY_BYTES];
    memcpy(behind, st->last, sizeof behind);
    for (size_t i = sizeof behind; i > 0; i--) {
        behind[i - 1]++;
        if (behind[i - 1] != 0) {
            break;
        }
    }
    key->mv_size = sizeof st->domain;
    key->mv_data = &st->domain;
    value->mv_size = sizeof behind;
    value->mv_data = behind;
    int rc = mdb_cursor_get(st->cur, key, value, MDB_GET_BOTH_RANGE);
    if (rc != MDB_NOTFOUND) {
        return rc;
    }
    uint32_t next = st->domain + 1;
    if (next == 0) {
        return MDB_NOTFOUND;
    }
    MDB_val from = {sizeof next, &next};
    rc = mdb_cursor_get(st->cur, &from, value, MDB_SET_RANGE);
    if (rc == 0) {
        *key = from; /* LMDB has put its own there */
    }
    return rc;
}

/* Moves to the next entries: a whole page of the domain's, or the first of another domain. */
static int next_entries(HashIdxStream *st, bool lost, MDB_val *key, MDB_val *value)
{
    int rc = MDB_NOTFOUND;
    if (st->started && !lost) {
        rc = mdb_cursor_get(st->cur, key, value, MDB_NEXT_MULTIPLE);
        if (rc != MDB_NOTFOUND) {
            return rc;
        }
        rc = mdb_cursor_get(st->cur, key, value, MDB_NEXT_NODUP);
    } else {
        rc = seek_entries(st, key, value);
    }
    return rc == 0 ? mdb_cursor_get(st->cur, key, value, MDB_GET_MULTIPLE) : rc;
}

/* Copies entries behind the last one; after a seek the page may begin before it. */
static int copy_entries(HashIdxStream *st, const MDB_val *key, const MDB_val *value)
{
    if (value->mv_size == 0 || value->mv_size > ENTRIES_BYTES ||
        value->mv_size % PAGE_ENTRY_BYTES != 0) {
        return MDB_CORRUPTED;
    }
    uint32_t domain = st->domain;
    if (key->mv_size == sizeof domain) {
        memcpy(&domain, key->mv_data, sizeof domain);
    }
    memcpy(st->entries, value->mv_data, value->mv_size);
    st->n_entries = value->mv_size / PAGE_ENTRY_BYTES;
    st->i_entry = 0;
    while (st->started && domain == st->domain && st->i_entry < st->n_entries &&
           memcmp(st->entries + st->i_entry * PAGE_ENTRY_BYTES, st->last, PAGE_ENTRY_BYTES) <= 0) {
        st->i_entry++;
    }
    st->domain = domain;
    memcpy(st->last, st->entries + value->mv_size - PAGE_ENTRY_BYTES, PAGE_ENTRY_BYTES);
    st->started = true;
    return 0;
}

static int read_entries(HashIdxStream *st)
{
    bool lost = false;
    int rc = enter(&st->snapshot, &lost);
    if (rc != 0) {
        return rc;
    }
    do {
        MDB_val key = {0, NULL}, value = {0, NULL};
        rc = next_entries(st, lost, &key, &value);
        lost = false;
        if (rc == 0) {
            rc = copy_entries(st, &key, &value);
        }
    } while (rc == 0 && st->i_entry == st->n_entries);
    leave(&st->snapshot);
    return rc;
}

StreamState hashidx_stream_next(HashIdxStream *st, uint64_t *hash, size_t *idx)
{
    if (st->i_entry == st->n_entries) {
        int rc = st->state == stream_state_end ? MDB_NOTFOUND : read_entries(st);
        if (rc == MDB_NOTFOUND) {
            st->state = stream_state_end;
            return st->state;
        }
        if (rc != 0) {
            return failed(st->db, &st->state, rc, "hash stream");
        }
    }
    PageEntry entry;
    page_entry_read(st->entries + st->i_entry++ * PAGE_ENTRY_BYTES, &entry);
    *hash = (uint64_t)st->domain << 32 | entry.url_hash;
    *idx = entry.index;
    st->state = stream_state_next;
    return st->state;
}

/* ---- Hashes and infos --------------------------------------------------------------------------
 */

PageDBError hashinfo_stream_new(HashInfoStream **st, PageDB *db)
{
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
    st->state = hashidx_stream_next(st->indices, hash, &index);
    st->cur = st->indices->cur;
    if (st->state != stream_state_next) {
        return st->state;
    }
    st->index = index;
    PageSnapshot *snapshot = &st->indices->snapshot;
    bool lost = false;
    int rc = enter(snapshot, &lost);
    if (rc == 0) {
        rc = page_db_make_info(st->db, snapshot->txn, NULL, *hash, index, pi);
        if (lost) {
            /* The cursor has no place now: let the index stream seek again. */
            end_snapshot(snapshot);
        }
        leave(snapshot);
    }
    if (rc != 0) {
        return failed(st->db, &st->state, rc, "info stream");
    }
    return st->state;
}
