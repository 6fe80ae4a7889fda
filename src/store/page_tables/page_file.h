/* The database file: its length, and the free pages in it.
 *
 * What: LMDB reads through a memory map, and reading a page behind the end of the file ends the
 * program with SIGBUS. So a file that was cut off must be found out before anything is read. But
 * LMDB does not write pages that were taken and given back within one transaction: a sound file may
 * be shorter than its highest page number says, and then all missing pages are on the free list.
 * page_file_extend makes up for that after every commit. page_file_check, when a database is
 * opened, trusts nothing.
 *
 * LMDB shortens no file, and keeps the pages that its last two commits have changed: up to half of
 * a small database. So whoever closes one copies it without its free pages (page_file_pack), and
 * the copy takes its place when nobody else has the database open (page_file_replace).
 * Threads: page_file_check before the store is shared; page_file_extend any, beside readers; what
 * belongs to the closing, the thread that closes.
 * Errors: errno and LMDB codes. */
#pragma once

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
/* Writes the database without its free pages to data.mdb.new, synced, when these are an eighth of
 * it or more, and it is not so large that the copy would take seconds (where their share is small).
 * Returns the number of the transaction that the copy is as of; 0: there is no copy. */
size_t page_file_pack(PageDBStore *store, const char *directory);
/* Behind mdb_env_close: the copy becomes the database, unless another process has that open or has
 * committed behind the transaction as_of; then the copy is removed. */
void page_file_replace(const char *directory, size_t as_of);
/* Makes the file at least `to` bytes long, with the disk space from `from` on, which was its length
 * and is less. Never shortens the file: other threads and processes may have committed since the
 * length was looked at. errno; EOPNOTSUPP where the file system cannot do that. */
int page_file_lengthen(int fd, uint64_t from, uint64_t to);
#define PAGE_FILE_AHEAD 4096u

/* Whether there is no room for the file to grow: no blocks, no quota, or the limit of its size.
 * LMDB's answer to a write that was cut short by this is EIO, as it is to a disk that fails. */
bool page_file_is_full(PageDBStore *store);
