/* LMDB's return codes as Results: translated where they occur, logged once with context.
 *
 * Threads: any. */
#ifndef STORE_LMDB_LMDB_RESULT_H
#define STORE_LMDB_LMDB_RESULT_H

#include "base/core/result.h"

/* rc is what an mdb_ function returned. MDB_NOTFOUND is RESULT_NOT_FOUND and not logged. */
Result lmdb_result(int rc, const char *what);

#endif
