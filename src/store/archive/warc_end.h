/* The committed end of the WARC files, in the database.
 *
 * What: LMDB table `warc`, key "end": twelve bytes, the number of the newest file and the offset
 * in it, big-endian; zeroes when there is none. It is written by the transaction that commits the
 * batch whose records lie before it. warc_open reads it at the start, and so does `ragno verify`.
 * Owns: nothing.
 * Threads: the one with the transaction. The first call in a process opens the handle of the table:
 * make it before other threads have transactions (a rule of LMDB).
 * Errors: RESULT_NOT_FOUND, RESULT_DAMAGED, RESULT_FULL, RESULT_IO. */
#ifndef STORE_ARCHIVE_WARC_END_H
#define STORE_ARCHIVE_WARC_END_H

#include <lmdb.h>

#include "base/core/result.h"
#include "store/archive/warc_types.h"

/* Stores it; txn is a write transaction. RESULT_FULL: the map must grow. RESULT_IO, RESULT_DAMAGED.
 */
Result warc_end_put(MDB_txn *txn, const WarcEnd *end);
/* RESULT_NOT_FOUND: nothing was ever committed, *end is empty. RESULT_DAMAGED. */
Result warc_end_get(MDB_txn *txn, WarcEnd *end);

#endif
