/* Robots table: the robots.txt of each host, and its earlier versions; equal files are kept once.
 *
 * What: hosts of one owner have the same file, thousands of times, and the files are text. So
 * robots and robots_history hold for each host, and each version, the hash of a text, and
 * robots_texts holds the text, compressed by zstd, with the number of those that refer to it. Very
 * short texts, and those whose hash is another text's, stand where the reference would.
 * Owns: the handles, and the writer's scratch with the texts that it compared last; the tables are
 * the environment's.
 * Threads: the ingest thread writes, any thread reads in a read transaction.
 * Invariants: a text is there exactly as long as somebody refers to it.
 * Errors: RESULT_FULL (the map must grow), RESULT_DAMAGED, RESULT_IO, RESULT_MEMORY,
 * RESULT_NOT_FOUND. */
#pragma once

#include <lmdb.h>
#include <stdbool.h>

#include "base/memory/buffer.h"

#define ROBOTS_ROWS_KEPT 32u /* earlier versions of a host */

typedef struct RobotsRows RobotsRows;

/* RESULT_NOT_FOUND: there is no such table, and the transaction only reads. */
Result robots_rows_open(RobotsRows **table, MDB_txn *txn);
void robots_rows_close(RobotsRows *table);

/* Appends the present text of a host. */
Result robots_rows_get(const RobotsRows *table, MDB_txn *txn, uint32_t host, Buffer *body);
/* Appends an earlier one. */
Result robots_rows_get_version(const RobotsRows *table, MDB_txn *txn, uint32_t host,
                               uint32_t version, Buffer *body);
/* Replaces the present text. hash: hash_64 of it without a seed, which its reader has already
 * (robots_content_hash); texts are shared that have the same hash and are the same. */
Result robots_rows_put(RobotsRows *table, MDB_txn *txn, uint32_t host, const char *body,
                       size_t length, uint64_t hash);
/* Keeps the present text, if there is one, as that of a version, and forgets the version that is
 * ROBOTS_ROWS_KEPT older. */
Result robots_rows_keep(RobotsRows *table, MDB_txn *txn, uint32_t host, uint32_t version);

/* Whether a value of robots or robots_history refers to a text, and to which. */
bool robots_reference_read(const MDB_val *value, uint64_t *hash);
