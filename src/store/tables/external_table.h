/* External table: links of pages that lead out of the scope of the crawl.
 *
 * What: such links are part of the graph, but nothing is scheduled for them, and their targets are
 * no pages of PageDB. A host's pages repeat most of them, so each host has a dictionary: a URL is
 * stored once for all pages of the host, and has a number there, from 0 in order of appearance. One
 * table holds it all, a host's rows side by side; its keys are big-endian:
 *
 *   host 32, 0, page 48        the list of a page: for each link a varint, its number relative to
 *                              that of the link before it, and one bit that says whether a byte
 *                              follows, its kind, where that is another one
 *   host 32, 1, number 32      this URL and some behind it: how far back in the row the URL is that
 *                              it begins like (0 = none), with how many bytes, and how many follow,
 *                              all as varints, and these
 *   host 32, 2, hash 32        the numbers of the URLs that have this hash, as varints
 *
 * A URL stays in the dictionary when the last page that had it has others. To callers a list is,
 * for each link, one byte, its kind (parse/html/html.h), then its URL and a NUL.
 *
 * Owns: the handle; the table belongs to the environment.
 * Threads: writers in the write transaction, readers in any read transaction.
 * Errors: RESULT_FULL, RESULT_IO and the like; RESULT_DAMAGED. */
#ifndef STORE_TABLES_EXTERNAL_TABLE_H
#define STORE_TABLES_EXTERNAL_TABLE_H

#include <lmdb.h>
#include <stdint.h>

#include "base/core/result.h"
#include "base/memory/buffer.h"

typedef struct ExternalTable ExternalTable;

/* In a write transaction; a table that is missing is created. */
Result external_table_open(ExternalTable **table, MDB_txn *txn);
void external_table_close(ExternalTable *table); /* NULL is allowed */

/* Replaces the list of a page of a host; without a byte it has none. */
Result external_table_put(ExternalTable *table, MDB_txn *txn, uint32_t host, uint64_t index,
                          const char *list, size_t length);
/* Appends the list of a page, and opens the table by itself: for commands, which have one thread.
 * Nothing when there is none. */
Result external_table_read(MDB_txn *txn, uint32_t host, uint64_t index, Buffer *list);

/* Shows every page that has a list, and its host; anything but RESULT_OK ends the walk and is
 * returned. Opens the table by itself; RESULT_OK when there is none. */
typedef Result (*ExternalVisit)(void *context, uint32_t host, uint64_t index);
Result external_table_walk(MDB_txn *txn, ExternalVisit visit, void *context);

#endif
