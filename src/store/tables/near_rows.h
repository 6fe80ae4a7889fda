/* Near table: the simhashes of all pages, for finding near duplicates.
 *
 * What: the four tables of parse/text/digest.h in one LMDB table. A key is the number of the table
 * and the top 16 bits of the rotated hash. Its values, sorted and of fixed size, are the whole
 * rotated hash and the page. So a look-up reads four runs of adjacent values, at 100 million pages
 * about 1 500 each, and a page costs four entries of 16 bytes. A fifth entry, by page, holds the
 * hash that the page is entered with, so that its old entries can be removed when its text has
 * changed.
 * Owns: the handle; the table is the environment's.
 * Threads: the ingest thread, inside its transaction.
 * Errors: RESULT_FULL (the map must grow), RESULT_DAMAGED, RESULT_IO. */
#ifndef STORE_TABLES_NEAR_ROWS_H
#define STORE_TABLES_NEAR_ROWS_H

#include <lmdb.h>

#include "base/core/result.h"
#include "parse/text/digest.h"

typedef struct NearRows {
    MDB_txn *txn; /* of this batch; borrowed */
    MDB_dbi dbi;
} NearRows;

/* Opens or creates the table "near". */
Result near_rows_open(MDB_txn *txn, MDB_dbi *dbi);
/* The interface of parse/text/digest.h over it, for simhash_find; table must outlive its use.
 * Putting an entry that is there already changes nothing. Errors are those of LMDB. */
SimhashTables near_rows_interface(NearRows *table);
/* The hash that a page is entered with; 0 when it is not entered. (A page that was entered before
 * the fifth entry existed counts as not entered.) */
Result near_rows_get(NearRows *table, uint64_t page, uint64_t *hash);
/* Enters a page under its hash. has_twin: another page is entered with the same hash, and stands
 * for this one in every search, so that thousands of pages of one template are one entry. */
Result near_rows_enter(NearRows *table, uint64_t page, uint64_t hash, bool has_twin);
/* Enters a page under `hash` instead of `old`, the hash that near_rows_get says. hash 0 removes
 * the page. */
Result near_rows_change(NearRows *table, uint64_t page, uint64_t old, uint64_t hash);

#endif
