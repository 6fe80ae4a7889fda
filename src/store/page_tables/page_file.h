/* The length of the database file.
 *
 * What: LMDB reads through a memory map, and reading a page behind the end of the file ends the
 * program with SIGBUS. So a file that was cut off must be found out before anything is read. But
 * LMDB does not write pages that were taken and given back within one transaction: a sound file may
 * be shorter than its highest page number says, and then all missing pages are on the free list.
 * page_file_extend makes up for that after every commit. page_file_check, when a database is
 * opened, trusts nothing.
 * Threads: page_file_check before the store is shared; page_file_extend any, beside readers.
 * Errors: errno and LMDB codes. */
#ifndef STORE_PAGE_TABLES_PAGE_FILE_H
#define STORE_PAGE_TABLES_PAGE_FILE_H

#include "store/page_tables/page_store.h"

/* *cut: pages that are in use are missing. May lengthen a sound file. An LMDB code or errno, and in
 * *what the words for what failed. */
int page_file_check(PageDBStore *store, bool *cut, const char **what);
/* Makes the file as long as its highest page number says; that it cannot is no error here. A large
 * file becomes a little longer than that (PAGE_FILE_AHEAD pages at most), and what it grows by is
 * brought into the page cache page by page. Otherwise Linux since 6.16 keeps what LMDB appends at
 * once, up to 256 KiB, as one folio, and ext4 walks through all blocks of a folio for each single
 * page that is written into it later: a third of the CPU time of a large crawl whose commits change
 * pages here and there (perf: ext4_block_write_begin; build/release/sim). */
void page_file_extend(PageDBStore *store);
/* Takes away what the file was made longer ahead of its pages: at the end of who writes. */
void page_file_trim(PageDBStore *store);
/* Makes the file at least `to` bytes long, with the disk space from `from` on, which was its length
 * and is less. Never shortens the file: other threads and processes may have committed since the
 * length was looked at. errno; EOPNOTSUPP where the file system cannot do that. */
int page_file_lengthen(int fd, uint64_t from, uint64_t to);
#define PAGE_FILE_AHEAD 4096u

/* Whether there is no room for the file to grow: no blocks, no quota, or the limit of its size.
 * LMDB's answer to a write that was cut short by this is EIO, as it is to a disk that fails. */
bool page_file_is_full(PageDBStore *store);

#endif
