/* From a page's hash to its index without a tree: a table in memory beside hash2idx.
 *
 * What: hashes and indices of pages never change once they were committed, since pages are not
 * removed, and of several pages with one hash the first counts. So what was read from any snapshot
 * holds for ever, and commits invalidate nothing. A hash that is not in the table only says: ask
 * hash2idx.
 *
 * Nothing is kept for a database that is seldom asked. Look-ups that had to go to the tree are
 * counted. When they have cost about as much as a sweep through hash2idx (one for every
 * PAGE_LOOKUP_PATIENCE pages), the sweep fills a table sized for all pages. Later pages enter as
 * they are asked for, and when the database has doubled, the next sweep makes a larger table. There
 * are never more than PAGE_LOOKUP_MAX_BUCKETS buckets of one cache line, 32 MB. Tables that were
 * replaced stay until the database is closed, at most as much again. A database too large for the
 * table fills it with what is asked for first.
 *
 * Owns: its tables.
 * Threads: any. Writers hold the mutex (RANK_TABLE) or own a table that was not published yet.
 * Invariants: an entry is written once, hash before index, and never changed, so readers take no
 * lock.
 * Errors: without memory there is no table, which is no error. */
#pragma once

#include "store/page_tables/page_lookup_types.h"

void page_lookup_init(PageLookup *lookup);
void page_lookup_destroy(PageLookup *lookup);
/* Begins to load the cache line that page_lookup_get will read. */
void page_lookup_prefetch(PageLookup *lookup, uint64_t hash);
/* false: not in the table. The index may be of a page that was committed after the snapshot of
 * whoever asks: another reader, with a later snapshot, has entered it. */
bool page_lookup_get(PageLookup *lookup, uint64_t hash, uint64_t *index);
/* The page with a hash by the tree, in the reader's snapshot; from then on the table knows it. 0,
 * MDB_NOTFOUND or another LMDB code. */
int page_lookup_find(struct PageDBStore *store, struct PageReader *reader, uint64_t hash,
                     uint64_t *index);
