/* External table: links of pages that lead out of the scope of the crawl.
 *
 * What: such links are part of the graph, but nothing is scheduled for them, and their targets are
 * no pages of PageDB. LMDB table `external`: page index -> the list of the page, as a frame of
 * Zstandard. A list is, for each link, one byte, its kind (parse/html/html.h), then its URL and a
 * NUL.
 * Owns: the handle; the table belongs to the environment.
 * Threads: writers in the write transaction, readers in any read transaction.
 * Errors: RESULT_FULL, RESULT_IO and the like; RESULT_DAMAGED. */
#ifndef STORE_TABLES_EXTERNAL_ROWS_H
#define STORE_TABLES_EXTERNAL_ROWS_H

#include <lmdb.h>
#include <stdint.h>

#include "base/core/result.h"
#include "base/memory/buffer.h"

typedef struct ExternalRows ExternalRows;

/* In a write transaction; a table that is missing is created. */
Result external_rows_open(ExternalRows **table, MDB_txn *txn);
void external_rows_close(ExternalRows *table); /* NULL is allowed */

/* Replaces the list of a page; without a byte it has none. */
Result external_rows_put(ExternalRows *table, MDB_txn *txn, uint64_t index, const char *list,
                         size_t length);
/* Appends the list of a page, and opens the table by itself: for commands, which have one thread.
 * Nothing when there is none. */
Result external_rows_read(MDB_txn *txn, uint64_t index, Buffer *list);

/* A list as the value of its row, and back; both append to out. */
Result external_rows_pack(const char *list, size_t length, Buffer *out);
Result external_rows_unpack(const MDB_val *value, Buffer *out);

#endif
