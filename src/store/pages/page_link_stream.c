/* The stream of all links. */
#include "store/pages/page_stream.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/format/page_links.h"
#include "store/format/page_links_table.h"
#include "store/page_tables/page_snapshot.h"
#include "store/pages/page_error.h"

struct LinkStreamPage {
    uint64_t from;
    size_t at;     /* first link in block */
    size_t n;      /* links */
    size_t n_diff; /* of them leave the domain */
};

static StreamState page_link_stream_failed(PageDBLinkStream *es, int rc)
{
    error_clean(es->db->error);
    (void)page_db_fail_mdb(es->db, rc, "link stream");
    es->state = stream_state_error;
    return es->state;
}

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
    int rc =
        page_snapshot_open(&stream->snapshot, db->store, db->store->tables.links, &stream->cur);
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
        page_snapshot_close(es->snapshot);
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
static int page_link_stream_read_block(PageDBLinkStream *es)
{
    bool lost = false;
    int rc = page_snapshot_enter(es->snapshot, &lost);
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
    page_snapshot_leave(es->snapshot);
    return rc;
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
                return page_link_stream_failed(es, rc);
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
    int rc = page_snapshot_renew(es->snapshot);
    es->started = false;
    es->n_pages = 0;
    es->i_page = 0;
    es->n_to = 0;
    es->i_to = 0;
    if (rc != 0) {
        return page_link_stream_failed(es, rc);
    }
    es->state = stream_state_init;
    return es->state;
}
