/* The LMDB tables of PageDB, and the numbers that describe them.
 *
 * What: the handles of the six tables (page_db.h lists keys and values), and the table "info". It
 * holds named 64-bit numbers: the format version, the seed of the fingerprints, and how many pages
 * there are.
 * Owns: nothing. The handles stay valid for the life of the environment once the transaction that
 * opened them was committed.
 * Threads: the one whose transaction it is.
 * Errors: LMDB codes. */
#ifndef STORE_PAGE_TABLES_PAGE_TABLES_H
#define STORE_PAGE_TABLES_PAGE_TABLES_H

#include <lmdb.h>
#include <stdbool.h>
#include <stdint.h>

#define PAGE_TABLES_INFO    "info"
#define PAGE_TABLES_VERSION "version"
#define PAGE_TABLES_SEED    "seed"
#define PAGE_TABLES_N_PAGES "n_pages"

typedef struct PageTables {
    MDB_dbi info;
    MDB_dbi hash2idx;
    MDB_dbi idx2info;
    MDB_dbi links;
    MDB_dbi origins;
    MDB_dbi origin2host;
} PageTables;

/* Opens all tables; create makes those that are missing, which needs a write transaction. */
int page_tables_open(MDB_txn *txn, PageTables *tables, bool create);
/* A number of the info table. MDB_NOTFOUND; MDB_INVALID when the value is not eight bytes. */
int page_tables_read_number(MDB_txn *txn, MDB_dbi info, const char *name, uint64_t *number);
int page_tables_write_number(MDB_txn *txn, MDB_dbi info, const char *name, uint64_t number);

#endif
