/* The length of the database file.
 *
 * LMDB reads through a memory map, and a page behind the end of the file is a SIGBUS. A cut file
 * must be found out before anything is read. But LMDB does not write pages that were taken and
 * given back within one transaction, so a sound file may be shorter than its highest page number
 * says: then the missing pages are all on the free list. page_file_extend, after every commit,
 * makes up for that; page_file_check, when a database is opened, trusts nothing. */
#ifndef STORE_PAGE_FILE_H
#define STORE_PAGE_FILE_H

#include "store/page_db_internal.h"

/* page_db_error_damaged when pages that are in use are missing. May lengthen a sound file. */
int page_file_check(PageDB *db);
/* Makes the file as long as its highest page number says; failing to is not an error here. */
void page_file_extend(PageDB *db);

#endif
