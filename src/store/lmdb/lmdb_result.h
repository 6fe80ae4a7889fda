/* LMDB result: LMDB's return codes as Results; objects that stand for a table.
 *
 * What: a code is translated where it occurs, and logged there once, with what was being done.
 * Threads: any. */
#ifndef STORE_LMDB_LMDB_RESULT_H
#define STORE_LMDB_LMDB_RESULT_H

#include <lmdb.h>
#include <stddef.h>

#include "base/core/result.h"

/* rc is what an mdb_ function returned. MDB_NOTFOUND is RESULT_NOT_FOUND and not logged. */
Result lmdb_result(int rc, const char *what);

/* A new object of so many bytes, zeros but for the handle of a table, with which it begins. NULL:
 * *rc says why. RESULT_NOT_FOUND: the transaction only reads, and there is no such table. */
void *lmdb_table_new(MDB_txn *txn, const char *name, unsigned flags, size_t bytes, Result *rc);

#endif
