/* `ragno verify DIR`: does everything that a crawl keeps agree?
 *
 * What: these must hold.
 *
 *  - Settings: config.ini is there, ends as it was written, and can be read.
 *  - Database: its file is there and whole (lmdb_check.h); if not, nothing else is looked at,
 *    since
 *   LMDB would stumble. Every page is found by its URL and has its own index, its links are pages,
 *   and it is deeper than the page it was found on. Every host is found by its name.
 *  - Schedule: every entry is a page of that host with that level. Every page with a level is
 *   scheduled unless its host is given up. Hosts with work are listed at their best level. The
 *   counters of every host are those of its pages.
 *  - Archive: every record of every file in DIR/warc is read strictly (warc_reader.h), its digests
 *   are recomputed, and requests and metadata belong to the capture before them. The index is
 *   derived from the file and compared line by line with the one beside it. The original of every
 *   revisit is found, unless another crawl has it (warc.dedup_against). Every page whose answer was
 *   stored (capture_index.h) is there. No file ends before the end that the database has committed.
 *
 * Only --repair changes anything, and says so. It writes anew: the schedule, from the levels in
 * PageDB; host counters, from the pages; indices, from the WARC files. A page whose list of links
 * is lost is fetched again. From a WARC file that was cut or is broken it moves what follows the
 * last whole record to NAME.damaged, so that the crawl can go on behind it. The captures that are
 * lost are listed, and --refetch has their pages crawled again.
 *
 * Finished files may be moved away; DIR/moved.txt names them (verify_files.c). A
 * file that is gone otherwise is one problem, and each page whose answer is nowhere else is a line
 * "lost", which is no problem of its own.
 *
 * Without --repair verify may run beside a crawl: what is behind the committed end of a file that
 * is still being written is no problem. The database is checked in one read transaction, for the
 * length of which the file of a running crawl grows.
 * Memory: seven bits for each page, 17 bytes for each host, and the sorter's.
 *
 * Owns: the lock of the folder of WARC files, in which two at once would take each other's files;
 * with --repair the lock of the directory.
 * Threads: main.
 * Errors: exit status 0 no problem; 1 problems; 2 usage; 3 cannot be read; 17 in use: by
 * another verify, or by a crawl (--repair). */
#pragma once

#include "command/verify/verify_run.h"

/* RESULT_OK when everything could be looked at, whatever was found. RESULT_LOCKED: another verify
 * is at work there, or a repair of what is in use; standard error says by whom. */
Result verify_directory(const VerifyOptions *options, VerifyCounts *counts);

/* `ragno verify DIR [--repair|--refetch]`: exit status 0 no problem, 1 problems,
 * 2 usage, 3 cannot be read, 17 in use by another verify, or by a crawl (--repair). */
int verify_main(int argc, char **argv);
