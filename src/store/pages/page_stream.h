/* Streams over a PageDB: all links; all pages by hash, with their infos or with their indices.
 *
 * What: a stream goes on behind its last element in the database as it is then, a piece at a time
 * in a short read transaction. So it sees what is added behind that element, keeps no page of LMDB
 * from being used again, and no writer waits for it.
 * Owns: a stream owns its buffers; the PageDB is borrowed.
 * Threads: a stream belongs to one thread.
 * Errors: `next` fills in its arguments only when it returns stream_state_next. After
 * stream_state_error the database's Error has the words.
 * Source: seeds 000 and 003, "LinkStream", "HashInfoStream", "HashIdxStream". */
#ifndef STORE_PAGES_PAGE_STREAM_H
#define STORE_PAGES_PAGE_STREAM_H

#include <lmdb.h>

#include "store/pages/page_db_types.h"

#define PAGE_DB_LINK_STREAM_DEFAULT_ONLY_DIFF_DOMAIN 1

typedef struct LinkStreamPage LinkStreamPage; /* one page of the block that was read */

typedef struct PageDBLinkStream {
    PageDB *db;
    MDB_cursor *cur; /* NULL: none is open between calls */
    uint64_t from;   /* current page */
    uint64_t *to;    /* its links, inside block: first those that leave its domain */
    size_t n_to;     /* number of links in to */
    size_t i_to;     /* the next of them to deliver */
    size_t m_to;     /* allocated for block */
    size_t n_diff;   /* of them leave the domain */
    StreamState state;
    int only_diff_domain; /* only links that leave the domain; may be set before the first next, or
                             before a reset; default 1 */
    uint64_t *block;      /* decoded links of several pages */
    size_t used;          /* of block */
    LinkStreamPage *pages;
    size_t n_pages;
    size_t i_page;
    uint64_t last; /* page of the last list that was read, once started */
    bool started;
} PageDBLinkStream;

/* *es is NULL on failure. */
PageDBError page_db_link_stream_new(PageDBLinkStream **es, PageDB *db);
/* NULL is accepted. */
void page_db_link_stream_delete(PageDBLinkStream *es);
/* LinkStreamNextFunc: links grouped by from, ascending; each group as PageDB keeps it. */
StreamState page_db_link_stream_next(void *st, Link *link);
/* LinkStreamResetFunc: back to the beginning. */
StreamState page_db_link_stream_reset(void *st);
/* The fast way: all (remaining) links of the next page that has any. *to is valid until the next
 * call. May be mixed with page_db_link_stream_next. */
StreamState page_db_link_stream_next_page(PageDBLinkStream *es, uint64_t *from, const uint64_t **to,
                                          size_t *n);

typedef struct HashIdxEntry HashIdxEntry;

typedef struct HashIdxStream {
    PageDB *db;
    MDB_cursor *cur; /* NULL: none is open between calls */
    StreamState state;
    HashIdxEntry *entries; /* that were read together */
    size_t n_entries;
    size_t i_entry;
    uint32_t domain;  /* of the last of them, */
    uint8_t last[16]; /* as it is in the table, once started */
    bool started;
} HashIdxStream;

/* Ascending by hash. */
PageDBError hashidx_stream_new(HashIdxStream **st, PageDB *db);
void hashidx_stream_delete(HashIdxStream *st);
StreamState hashidx_stream_next(HashIdxStream *st, uint64_t *hash, size_t *idx);
/* The same with the fingerprint, for page_db_find_key: hash and fingerprint are one page. */
StreamState hashidx_stream_next_key(HashIdxStream *st, uint64_t *hash, uint64_t *print,
                                    size_t *idx);

typedef struct HashInfoStream {
    PageDB *db;
    MDB_cursor *cur; /* as the HashIdxStream's */
    StreamState state;
    uint64_t index; /* of the page delivered last */
    HashIdxStream *indices;
} HashInfoStream;

/* Ascending by hash; the caller deletes each PageInfo. */
PageDBError hashinfo_stream_new(HashInfoStream **st, PageDB *db);
void hashinfo_stream_delete(HashInfoStream *st);
StreamState hashinfo_stream_next(HashInfoStream *st, uint64_t *hash, PageInfo **pi);

#endif
