/* Seed table: which pages are seeds, and their source tags.
 *
 * What: a seed is entered when it is read, new or not, with the tag behind it ("" = none). Whoever
 * wants to know what became of the seeds walks this table.
 * Owns: the handle; the table belongs to the environment.
 * Threads: writers in the write transaction, readers in any read transaction.
 * Errors: RESULT_FULL, RESULT_IO and the like.
 * Source: Heritrix's source tags. */
#ifndef STORE_TABLES_SEED_ROWS_H
#define STORE_TABLES_SEED_ROWS_H

#include <lmdb.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"

#define SEED_TAG_BYTES 64u /* a longer tag is cut */

typedef struct SeedRows SeedRows;

typedef struct SeedEntry {
    uint64_t index; /* of the page */
    char tag[SEED_TAG_BYTES + 1];
} SeedEntry;

/* In a write transaction a table that is missing is created. RESULT_NOT_FOUND: a read transaction,
 * and there is none. */
Result seed_rows_open(SeedRows **table, MDB_txn *txn);
void seed_rows_close(SeedRows *table); /* NULL is allowed */

/* tag: "" or NULL = none; then a tag that is known stays. */
Result seed_rows_put(SeedRows *table, MDB_txn *txn, uint64_t index, const char *tag);
/* RESULT_NOT_FOUND: it is no seed. */
Result seed_rows_get(SeedRows *table, MDB_txn *txn, uint64_t index, SeedEntry *entry);
/* Reads up to max entries by index, from `first` on. *n = how many. */
Result seed_rows_read(SeedRows *table, MDB_txn *txn, uint64_t first, SeedEntry *entries, size_t max,
                      size_t *n);

#endif
