/* Held table: URLs that a rule of the operator holds back.
 *
 * What: a URL that was scheduled and that a rule refuses in its turn (scope, a denial,
 * filter.fetch) leaves the schedule and is entered here, with the reason and the level it had. When
 * the rules change, the table says which URLs are to be judged again.
 *
 * Owns: the handle; the table belongs to the environment.
 * Threads: writers in the write transaction, readers in any read transaction.
 * Errors: RESULT_FULL, RESULT_IO and the like. */
#ifndef STORE_TABLES_HELD_ROWS_H
#define STORE_TABLES_HELD_ROWS_H

#include <lmdb.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"

typedef struct HeldRows HeldRows;

typedef struct HeldUrl {
    uint64_t index; /* of the page */
    int32_t status; /* why */
    uint8_t level;  /* of the schedule, until then */
} HeldUrl;

/* In a write transaction a table that is missing is created. RESULT_NOT_FOUND: a read transaction,
 * and there is none. */
Result held_rows_open(HeldRows **table, MDB_txn *txn);
void held_rows_close(HeldRows *table); /* NULL is allowed */

Result held_rows_put(HeldRows *table, MDB_txn *txn, const HeldUrl *url);
/* RESULT_OK when it is not there, too. */
Result held_rows_remove(HeldRows *table, MDB_txn *txn, uint64_t index);
/* RESULT_NOT_FOUND. */
Result held_rows_get(HeldRows *table, MDB_txn *txn, uint64_t index, HeldUrl *url);
/* Reads up to max entries by index, from `first` on. *n = how many. */
Result held_rows_read(HeldRows *table, MDB_txn *txn, uint64_t first, HeldUrl *urls, size_t max,
                      size_t *n);
/* O(1). */
Result held_rows_count(HeldRows *table, MDB_txn *txn, uint64_t *n);

#endif
