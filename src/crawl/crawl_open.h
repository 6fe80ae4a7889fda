/* Crawl open: the database of a crawl, for a command that looks at it.
 *
 * What: DIR is the directory of a crawl, or of a database of the library (which holds data.mdb
 * itself). Never creates one.
 * Owns: the database is the caller's.
 * Threads: main. */
#ifndef CRAWL_CRAWL_OPEN_H
#define CRAWL_CRAWL_OPEN_H

#include "store/pages/page_db.h"

/* Returns 0, or the exit status after an error: *db is then NULL, and standard error has a line
 * that begins "ragno COMMAND:". */
int crawl_open(const char *command, const char *directory, bool read_only, PageDB **db);
/* Does the directory hold crawl.mdb, as a crawl's does? */
bool crawl_open_is_crawl(const char *directory);
/* The exit status for an error code of PageDB. */
int crawl_exit_status(int code);

#endif
