/* Read transactions that are kept between calls, so that a single look-up costs no more than its
 * trees.
 *
 * A reader is a read transaction with a cursor and a small cache of host strings.
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

#define PAGE_READER_ORIGINS      4096u
#define PAGE_READER_ORIGIN_BYTES 54u /* longer ones are not cached */

typedef struct PageReaderOrigin {
    uint32_t host;
    uint8_t used;
    uint8_t length;
    char origin[PAGE_READER_ORIGIN_BYTES];
} PageReaderOrigin;

typedef struct PageReader {
    struct PageReader *next; /* in the pool */
    MDB_txn *txn;
    MDB_cursor *hashes; /* of hash2idx */
    size_t txn_id;      /* of the snapshot */
    bool active;        /* not reset */
    PageReaderOrigin origins[PAGE_READER_ORIGINS];
} PageReader;

/* An LMDB code or ENOMEM. */
int page_reader_acquire(PageDB *db, PageReader **reader);
void page_reader_release(PageDB *db, PageReader *reader);
/* Lets go of the snapshots of all idle readers: after a commit, before the map moves. */
void page_readers_rest(PageDB *db);
/* Frees all idle readers; there must be no others. */
void page_readers_delete(PageDB *db);
/* The string of a host id, from the cache if it is there. Valid until the reader is released. */
int page_reader_origin(PageDB *db, PageReader *reader, uint32_t host, MDB_val *origin);

#endif
