/* The length of the database file.
 *
 * LMDB reads through a memory map, and a page behind the end of the file is a SIGBUS. A cut file
 * must be found out before anything is read. But LMDB does not write pages that were taken and
 * given back within one transaction, so a sound file may be shorter than its highest page number
 * says: then the missing pages are all on the free list. page_file_extend, after every commit,
 * makes up for that; page_file_check, when a database is opened, trusts nothing. */
#ifndef STORE_PAGES_PAGE_FILE_H
#define STORE_PAGES_PAGE_FILE_H

#include "store/pages/page_db_internal.h"

/* page_db_error_damaged when pages that are in use are missing. May lengthen a sound file. */
int page_file_check(PageDB *db);
/* Makes the file as long as its highest page number says; failing to is not an error here. A large
 * one becomes a little longer (PAGE_FILE_AHEAD pages at most), and what it grows by is brought into
 * the page cache page by page. Linux since 6.16 else keeps what LMDB appends at once, up to 256
 * KiB, as one folio, and ext4 walks through all of a folio's blocks for each single page that is
 * written into it later: a third of the CPU time of a large crawl whose commits change pages here
 * and there (perf: ext4_block_write_begin; build/release/sim). */
void page_file_extend(PageDB *db);
#define PAGE_FILE_AHEAD 4096u

#endif
