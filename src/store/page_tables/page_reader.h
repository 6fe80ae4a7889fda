/* Read transactions that are kept between calls, so that a single look-up costs little more than
 * the memory it reads.
 *
 * What: a reader is a read transaction with a cursor and two caches: the strings of hosts, which
 * never change, and where the packs of idx2info lie in its snapshot. With these,
 * most look-ups read the record itself and no tree. The caches begin with a few kilobytes and grow
 * with what misses them, to 2 MB for the strings and 2 MB for the places.
 *
 * page_reader_acquire hands out a reader and counts it as a read transaction; page_reader_release
 * takes it back into the pool of the store. There it stays open on its snapshot, uncounted. It is
 * used as it is while nothing was committed meanwhile, and renewed otherwise. Idle snapshots must
 * not keep disk space: page_readers_rest closes them after every commit of this process. In a
 * database that was opened read_only (another process writes) a reader is closed whenever it comes
 * back.
 *
 * Owns: a reader owns its transaction and its caches; the store owns the pool.
 * Threads: any; the pool has a mutex (RANK_TABLE), and a reader belongs to the thread that acquired
 * it.
 * Errors: LMDB codes and ENOMEM. */
#pragma once

#include "store/page_tables/page_store.h"

#define PAGE_READER_ORIGINS      ((size_t)1 << 15) /* at most */
#define PAGE_READER_ORIGIN_BYTES 58u               /* longer ones are not cached */

typedef struct PageReaderOrigin {
    uint32_t host;
    uint8_t used;
    uint8_t length;
    char origin[PAGE_READER_ORIGIN_BYTES];
} PageReaderOrigin;

/* Where a record of a table lies in the map, by its key: LMDB moves nothing while the transaction
 * lives. */
typedef struct PageReaderPlace {
    void *data;
    uint32_t key;
    uint16_t length;
    uint16_t snapshot; /* of PageReader.snapshot; 0 = free */
} PageReaderPlace;

/* The places of a table, direct mapped. Each is kept as it is found in the tree; when that number
 * had to be found there that a sweep through the table costs no more, a sweep keeps all: a piece of
 * it with every further one, so that no single look-up pays for the whole. */
typedef struct PageReaderPlaces {
    PageReaderPlace *slots; /* n of them, by key; NULL until used, or without memory */
    size_t n;               /* a power of two; 0 = none yet */
    size_t most;            /* of n */
    size_t missed;          /* found in the tree, in this snapshot */
    size_t missed_at_size;  /* the same since there are n slots */
    bool sweeping;          /* in this snapshot, from key swept_to on */
    uint64_t swept_to;
} PageReaderPlaces;

#define PAGE_READER_PACKS    ((size_t)1 << 17)
#define PAGE_READER_PATIENCE 16u /* a sweep after n / this have missed */

typedef struct PageReader {
    struct PageReader *next; /* in the pool */
    MDB_txn *txn;
    MDB_cursor *hashes;        /* of hash2idx */
    size_t txn_id;             /* of the snapshot */
    bool active;               /* not reset */
    uint16_t snapshot;         /* counts renewals, from 1; places are of one of them */
    PageReaderPlaces packs;    /* of idx2info */
    PageReaderOrigin *origins; /* n_origins of them, by host id; NULL until used */
    size_t n_origins;          /* a power of two; 0 = none yet */
    size_t missed_origins;     /* since the table has its present size */
} PageReader;

/* An LMDB code or ENOMEM. */
int page_reader_acquire(PageDBStore *store, PageReader **reader);
void page_reader_release(PageDBStore *store, PageReader *reader);
/* Lets go of the snapshots of all idle readers: after a commit, before the map moves. */
void page_readers_rest(PageDBStore *store);
/* Frees all idle readers; there must be no others. */
void page_readers_delete(PageDBStore *store);
/* Finds the record of a page in idx2info, as page_pack_find does. An LMDB code; MDB_NOTFOUND,
 * MDB_CORRUPTED. Valid until the reader is released. */
int page_reader_record(PageDBStore *store, PageReader *reader, uint64_t index, MDB_val *record);
/* page_reader_record in steps, for many records at once: begin with all of them, find the packs of
 * all, read all. What each step needs is on its way from memory meanwhile. */
void page_reader_begin(const PageReader *reader, uint64_t index);
int page_reader_pack(PageDBStore *store, PageReader *reader, uint64_t index, MDB_val *pack);
int page_reader_unpack(PageDBStore *store, const PageReader *reader, const MDB_val *pack,
                       uint64_t index, MDB_val *record);
/* The string of a host id, from the cache if it is there. Valid until the next call. */
int page_reader_origin(PageDBStore *store, PageReader *reader, uint32_t host, MDB_val *origin);
