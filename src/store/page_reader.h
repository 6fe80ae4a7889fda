/* Read transactions that are kept between calls, so that a single look-up costs no more than its
 * trees.
 *
 * A reader is a read transaction with a cursor, a small cache of host strings (which never change)
 * and, once page_reader_record is used, one of where packs of records lie in its snapshot (2 MB).
 * page_reader_acquire hands one out and counts it as a read transaction, page_reader_release takes
 * it back into the database's pool. There it stays open on its snapshot, uncounted, and is used as
 * it is while nothing was committed meanwhile; otherwise it is renewed. So that idle snapshots keep
 * no disk space: page_readers_rest closes them after every commit of this process, and a database
 * that was opened read_only (another process writes) closes each when it comes back.
 *
 * Threads: any; the pool has a mutex (RANK_TABLE), a reader belongs to who acquired it. */
#ifndef STORE_PAGE_READER_H
#define STORE_PAGE_READER_H

#include "store/page_db_internal.h"

#define PAGE_READER_ORIGINS      16384u
#define PAGE_READER_ORIGIN_BYTES 54u /* longer ones are not cached */

typedef struct PageReaderOrigin {
    uint32_t host;
    uint8_t used;
    uint8_t length;
    char origin[PAGE_READER_ORIGIN_BYTES];
} PageReaderOrigin;

/* Where a pack of idx2info lies in the map: LMDB moves nothing while the transaction lives. */
#define PAGE_READER_PACKS ((size_t)1 << 17)

typedef struct PageReaderPack {
    void *data;
    uint32_t number; /* of the pack */
    uint16_t length;
    uint16_t snapshot; /* of PageReader.snapshot; 0 = free */
} PageReaderPack;

typedef struct PageReader {
    struct PageReader *next; /* in the pool */
    MDB_txn *txn;
    MDB_cursor *hashes;    /* of hash2idx */
    size_t txn_id;         /* of the snapshot */
    bool active;           /* not reset */
    uint16_t snapshot;     /* counts renewals, from 1; entries of packs are of one of them */
    PageReaderPack *packs; /* PAGE_READER_PACKS, by number; NULL until used, or without memory */
    PageReaderOrigin origins[PAGE_READER_ORIGINS];
} PageReader;

/* An LMDB code or ENOMEM. */
int page_reader_acquire(PageDB *db, PageReader **reader);
void page_reader_release(PageDB *db, PageReader *reader);
/* Lets go of the snapshots of all idle readers: after a commit, before the map moves. */
void page_readers_rest(PageDB *db);
/* Frees all idle readers; there must be no others. */
void page_readers_delete(PageDB *db);
/* Finds the record of a page, as page_pack_find does, from the cache of packs if it is there. Valid
 * until the reader is released. */
int page_reader_record(PageDB *db, PageReader *reader, uint64_t index, MDB_val *record);
/* The string of a host id, from the cache if it is there. Valid until the reader is released. */
int page_reader_origin(PageDB *db, PageReader *reader, uint32_t host, MDB_val *origin);

#endif
