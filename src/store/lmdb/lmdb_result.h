/* LMDB result: LMDB's return codes as Results.
 *
 * What: a code is translated where it occurs, and logged there once, with what was being done.
 * Threads: any. */
#ifndef STORE_LMDB_LMDB_RESULT_H
#define STORE_LMDB_LMDB_RESULT_H

#include "base/core/result.h"

/* rc is what an mdb_ function returned. MDB_NOTFOUND is RESULT_NOT_FOUND and not logged. */
Result lmdb_result(int rc, const char *what);

#endif
