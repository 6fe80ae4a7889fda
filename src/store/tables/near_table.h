/* The simhashes of all pages, for finding near duplicates: the four tables of simhash.h in one LMDB
 * table.
 *
 * What: a key is the number of the table and the top 16 bits of the rotated hash. Its values,
 * sorted and of fixed size, are the whole rotated hash and the page. So a look-up reads four runs
 * of adjacent values, at 100 million pages about 1 500 each, and a page costs four entries of 16
 * bytes. A fifth entry says, by page, which hash it is entered with, so that a page whose text has
 * changed leaves nothing behind.
 * Owns: the handle; the table is the environment's.
 * Threads: the ingest thread, inside its transaction.
 * Errors: RESULT_FULL (the map must grow), RESULT_DAMAGED, RESULT_IO. */
#ifndef STORE_TABLES_NEAR_TABLE_H
#define STORE_TABLES_NEAR_TABLE_H

#include <lmdb.h>

#include "base/core/result.h"
#include "parse/text/simhash.h"

typedef struct NearTable {
    MDB_txn *txn; /* of this batch; borrowed */
    MDB_dbi dbi;
} NearTable;

/* Opens or creates the table "near". */
Result near_table_open(MDB_txn *txn, MDB_dbi *dbi);
/* The interface of parse/text/simhash.h over it, for simhash_find; table must outlive its use.
 * Putting an entry that is there already changes nothing. Errors are those of LMDB. */
SimhashTables near_table_interface(NearTable *table);
/* The hash that a page is entered with; 0: it is not. (Pages that were entered by a version without
 * the fifth entry count as not.) */
Result near_table_get(NearTable *table, uint64_t page, uint64_t *hash);
/* Enters a page under its hash instead of `old`, what near_table_get says. 0: it leaves. */
Result near_table_change(NearTable *table, uint64_t page, uint64_t old, uint64_t hash);

#endif
