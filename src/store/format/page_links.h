/* The list of links of a page, as bytes.
 *
 * What: a list is the indices of a page's links: first those that leave its domain, then the
 * others, both ascending, repetitions kept. Its bytes are:
 *
 *   varint 2 * n_diff, plus 1 if kinds follow;
 *   the kinds, if there are any;
 *   for each group a signed varint, the distance of the first index from the page's own, and
 *   unsigned varints, the distances between neighbours.
 *
 * All arithmetic is modulo 2^64, so every index is possible. A kind is a byte of the caller's that
 * is kept with each link; equal links are in order of kind. Most pages have one kind of link, 0,
 * and then nothing is stored. Otherwise kinds are a varint, how many bytes follow, and runs in the
 * order of the list: a kind and a varint, how often in a row. Zeroes at the end are left out.
 *
 * Owns: nothing.
 * Threads: pure functions.
 * Source: seed 003, "Index". */
#pragma once

#include <lmdb.h>

#include "base/core/varint.h"
#include "base/memory/buffer.h"
#include "store/lmdb/lmdb_result.h"

#define PAGE_LINKS_KIND_BITS 8
/* Writes the list of page `index` to out (room for (n + 3) * MAX_VARINT_SIZE bytes); sorts both
 * groups of to[0..n) in place. Returns how many bytes. kinds: elements of to are
 * index << PAGE_LINKS_KIND_BITS | kind, so indices are below 2^56; what is left there is without
 * kinds. */
size_t page_links_encode(uint64_t index, uint64_t *to, size_t n_diff, size_t n, bool kinds,
                         uint8_t *out);
/* Whether a list has kinds other than 0. */
static inline bool page_links_has_kinds(const uint8_t *list, size_t length)
{
    return length > 0 && (list[0] & 1) != 0;
}
/* The kinds of the n links of a list, as page_links_decode orders them. false: not a list. */
bool page_links_decode_kinds(const uint8_t *list, size_t length, uint8_t *kinds, size_t n);

/* Room, in elements, that decoding a list of length bytes needs: one for each byte, and some. */
#define PAGE_LINKS_SLACK 8
static inline size_t page_links_bound(size_t length)
{
    return length + PAGE_LINKS_SLACK;
}

/* Decodes a list into to (room for page_links_bound(length)). only_diff stops behind the first
 * group. false: the bytes are not a list. */
bool page_links_decode(uint64_t index, const uint8_t *list, size_t length, bool only_diff,
                       uint64_t *to, size_t *n_diff, size_t *n);

/* The table of link lists.
 *
 * What: the lists of neighbouring pages share a record of the table, since a record for each page
 * would cost more than most lists. Key: the index of the first page. Value, for each page: the
 * distance of its index to the one before (not for the first), the length of its list, both as
 * varints, and the list as page_links.h has it. A record is filled up to PAGE_LINKS_RECORD_BYTES,
 * four to a page of LMDB; a longer list has a record of its own. Pages that come in order of index
 * are appended and fill records completely. Others are inserted, and full records are split; pages
 * of the tree, too, which with longer records are half empty then. */

#define PAGE_LINKS_RECORD_BYTES 1000 /* four nodes of that size fill a 4 KiB page of LMDB */

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

/* Moves to the record that holds, or would hold, the list of index: the one with the greatest key
 * that is not greater. false: all keys are greater, or there are none. */
bool page_links_seek(LmdbRows *rows, uint64_t index);
/* Finds the list of a page. An LMDB code; MDB_NOTFOUND when it was never crawled, MDB_CORRUPTED. */
int page_links_find(MDB_txn *txn, MDB_dbi dbi, uint64_t index, const uint8_t **list,
                    size_t *length);
/* Writes lists, best in ascending order of index: the last record of the table is kept in memory
 * and written when it is full, or when the writer ends. The table's other users must keep away
 * meanwhile. After its first failure it writes nothing more (LmdbRows). */
typedef struct PageLinksWriter {
    LmdbRows rows;
    Buffer tail;    /* the last record, while open */
    uint64_t first; /* its key */
    uint64_t last;  /* the last page of the table, once known: insertions do not change it */
    bool knows_last;
    bool open;
    bool stored;  /* a previous state of it is in the table */
    bool changed; /* since it was opened */
    Buffer scratch;
} PageLinksWriter;

void page_links_writer_begin(PageLinksWriter *writer, MDB_txn *txn, MDB_dbi dbi);
/* Creates or replaces the list of a page. */
void page_links_writer_put(PageLinksWriter *writer, uint64_t index, const uint8_t *list,
                           size_t length);
/* Writes what is left, unless rc, what went before, is an error. Returns the code of the first
 * failure, an LMDB code or ENOMEM. */
int page_links_writer_end(PageLinksWriter *writer, int rc);
