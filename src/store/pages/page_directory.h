/* The directory of a database: data.mdb and lock.mdb, and how a new database comes into being.
 *
 * What: LMDB begins a file with a write that is not synced, and refuses a file that has only half
 * of it. So a new database is made under another name, made durable, and renamed. A lock on the
 * directory keeps two processes from making two.
 * Owns: nothing; the path is PageDB's.
 * Threads: the one that opens the database.
 * Errors: errno and LMDB codes. */
#ifndef STORE_PAGES_PAGE_DIRECTORY_H
#define STORE_PAGES_PAGE_DIRECTORY_H

#include <lmdb.h>
#include <stdbool.h>
#include <stddef.h>

#define PAGE_DIRECTORY_FILE_MODE  0664
#define PAGE_DIRECTORY_MAX_TABLES 40
#define PAGE_DIRECTORY_PATH_BYTES 4096

/* Writes the tables of a database without pages into a transaction. */
typedef int (*PageDirectoryFill)(void *context, MDB_txn *txn);

/* Makes sure that the directory holds a database: an existing one, or a new one that fill fills
 * in. */
int page_directory_create(const char *directory, PageDirectoryFill fill, void *context);
/* Whether it holds one already; failed receives the path of the file that is missing. */
int page_directory_check(const char *directory, char failed[PAGE_DIRECTORY_PATH_BYTES]);
/* Removes the files and, when nothing else is in it, the directory. */
void page_directory_remove(const char *directory);

#endif
