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
 * The commits of a second are made durable together (page_db_set_sync).
 * On page_db_error_memory *db may be NULL; on other failures it is an object that holds the error
 * and must be given to page_db_delete. */
PageDBError page_db_new(PageDB **db, const char *path);
/* Whether every commit is made durable by itself (1, for a database of page_db_open), or those of a
 * second by the first one behind it, and the last ones by page_db_delete (0, for one of
 * page_db_new: the documented calls are many and small). Then a process that dies loses nothing,
 * but a power cut before the next sync may damage the database. Works for everything that writes
 * through this PageDB, schedulers included. Call it while no other thread writes.
 * page_db_error_invalid: db is NULL or was not opened; page_db_error_io. */
PageDBError page_db_set_sync(PageDB *db, int value);
/* Closes; removes the files when persist is 0. NULL is accepted. No transaction may be open. */
PageDBError page_db_delete(PageDB *db);
/* As page_db_new, with options (NULL = defaults); each commit is durable. On failure *db is NULL or
 * holds the error. */
int page_db_open(PageDB **db, const char *path, const PageDBOptions *options);
/* Fingerprints under this seed from now on, so that databases that share it agree about them; the
 * database has no page and no host yet. page_db_error_invalid: it has. */
int page_db_share_seed(PageDB *db, MDB_txn *txn, uint64_t seed);

#endif
