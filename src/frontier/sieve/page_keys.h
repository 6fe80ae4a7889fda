/* Page keys: what the sieve asks PageDB's tables besides its merges.
 *
 * What: reads only, each in the caller's transaction.
 * Errors: RESULT_DAMAGED, RESULT_IO. */
#ifndef FRONTIER_SIEVE_PAGE_KEYS_H
#define FRONTIER_SIEVE_PAGE_KEYS_H

#include "store/page_tables/page_sweep.h"
#include "store/pages/page_db.h"

/* Every key of hash2idx, in order. */
Result page_keys_walk(PageDB *db, MDB_txn *txn, void (*visit)(void *context, const PageKey *key),
                      void *context);

#endif
