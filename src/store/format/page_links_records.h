/* The table of link lists.
 *
 * What: the lists of neighbouring pages share a record of the table, since a record for each page
 * would cost more than most lists. Key: the index of the first page. Value, for each page: the
 * distance of its index to the one before (not for the first), the length of its list, both as
 * varints, and the list as page_links.h has it. A record is filled up to PAGE_LINKS_RECORD_BYTES,
 * two to a page of LMDB; a longer list has a record of its own. Pages that come in order of index
 * are appended and fill records completely. Others are inserted, and full records are split.
 * Owns: a writer owns its cursor, and the last record, which it keeps in memory until it is full.
 * Threads: a writer belongs to the thread with the write transaction; while it is open, nobody else
 * uses the table in that transaction.
 * Errors: LMDB codes and ENOMEM.
 * Source: the records are ours; seed 003 has one for each page. */
#ifndef STORE_FORMAT_PAGE_LINKS_RECORDS_H
#define STORE_FORMAT_PAGE_LINKS_RECORDS_H

#include <lmdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory/buffer.h"

#define PAGE_LINKS_RECORD_BYTES 2022 /* two nodes of that size fill a 4 KiB page of LMDB */

/* The lists of one record, one after the other. */
typedef struct PageLinksReader {
    const uint8_t *p;
    const uint8_t *end;
    uint64_t index; /* of the next list, once started */
    bool started;
} PageLinksReader;

void page_links_reader_init(PageLinksReader *reader, uint64_t key, const MDB_val *record);
/* 1: *index, *list and *length are the next list; 0: no more; -1: not a record. */
int page_links_reader_next(PageLinksReader *reader, uint64_t *index, const uint8_t **list,
                           size_t *length);

/* Finds the list of a page. An LMDB code; MDB_NOTFOUND when it was never crawled, MDB_CORRUPTED. */
int page_links_find(MDB_txn *txn, MDB_dbi dbi, uint64_t index, const uint8_t **list,
                    size_t *length);
/* Writes lists, best in ascending order of index: the last record of the table is kept in memory
 * and written when it is full, or when the writer ends. The table's other users must keep away
 * meanwhile. */
typedef struct PageLinksWriter {
    MDB_cursor *cursor;
    Buffer tail;    /* the last record, while open */
    uint64_t first; /* its key */
    uint64_t last;  /* the last page in it */
    bool open;
    bool stored;  /* a previous state of it is in the table */
    bool changed; /* since it was opened */
    Buffer scratch;
} PageLinksWriter;

/* An LMDB code, ENOMEM. end must be called in any case; it writes what is left unless rc, what went
 * before, is an error, and returns the first error. */
int page_links_writer_begin(PageLinksWriter *writer, MDB_txn *txn, MDB_dbi dbi);
/* Creates or replaces the list of a page. */
int page_links_writer_put(PageLinksWriter *writer, uint64_t index, const uint8_t *list,
                          size_t length);
int page_links_writer_end(PageLinksWriter *writer, int rc);

#endif
