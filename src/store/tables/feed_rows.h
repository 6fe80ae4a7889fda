/* Feed table: which feeds the pages of a host have brought into the crawl.
 *
 * What: for each host that has some, the hashes of the URLs of the feeds that its pages link and
 * that are followed, in order of discovery. So a feed counts once, however many pages link it, and
 * also after a restart.
 * Owns: the handle; the table belongs to the environment.
 * Threads: the ingest thread, in its write transaction.
 * Errors: RESULT_FULL, RESULT_IO and the like. */
#ifndef STORE_TABLES_FEED_ROWS_H
#define STORE_TABLES_FEED_ROWS_H

#include <lmdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"

#define FEED_ROWS_MOST 1000u /* feeds of a host */

typedef struct FeedRows FeedRows;

/* In a write transaction; a table that is missing is created. */
Result feed_rows_open(FeedRows **table, MDB_txn *txn);
void feed_rows_close(FeedRows *table); /* NULL is allowed */

/* *admitted: the host has this feed, or had fewer than most (at most FEED_ROWS_MOST) and has it
 * now. */
Result feed_rows_admit(FeedRows *table, MDB_txn *txn, uint32_t host, uint64_t feed, size_t most,
                       bool *admitted);

#endif
