/* Page database, opening: the directory, who claims it, and the tables.
 *
 * What: makes and opens a PageDB in its directory, claims it for one process, and closes it.
 * Owns: the directory's claim, from opening to closing.
 * Threads: one opens and closes.
 * Errors: those of PageDBError. */
#ifndef STORE_PAGES_PAGE_DB_OPEN_H
#define STORE_PAGES_PAGE_DB_OPEN_H

#include "store/pages/page_db_types.h"

/* Of its environment. */
#define PAGE_DIRECTORY_MAX_TABLES 48

/* Opens the database in the directory path, which is created if it is missing (its parent is not).
 * On page_db_error_memory *db may be NULL; on other failures it is an object that holds the error
 * and must be given to page_db_delete. */
PageDBError page_db_new(PageDB **db, const char *path);
/* Closes; removes the files when persist is 0. NULL is accepted. No transaction may be open. */
PageDBError page_db_delete(PageDB *db);
/* page_db_new with options (NULL = defaults). On failure *db is NULL or holds the error. */
int page_db_open(PageDB **db, const char *path, const PageDBOptions *options);
/* Fingerprints under this seed from now on, so that databases that share it agree about them; the
 * database has no page and no host yet. page_db_error_invalid: it has. */
int page_db_share_seed(PageDB *db, MDB_txn *txn, uint64_t seed);

#endif
