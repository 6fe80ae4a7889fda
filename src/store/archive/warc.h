/* The WARC writer: one directory of WARC 1.1 files, compressed record by record, with a CDXJ index
 * beside each.
 *
 * What: the writer only appends bytes that warc_record.h has made; compression is the work of the
 * parsing threads. Each batch goes
 *
 *   warc_append ... -> warc_sync(&end) -> the transaction stores end and commits -> warc_committed
 *
 * so that whatever the database refers to is on the disk, and whatever lies behind the end that the
 * database knows is no part of the crawl.
 *
 * A file is written (warc_append), then ended (warc_append by size or age, warc_close), then
 * finished (warc_committed: the index sorted, .open taken from the name).
 *
 * Owns: its files and their journals.
 * Threads: one owns a Warc, the ingest thread.
 * Invariants:
 * 1. A file that is being written, and every file that holds a byte not yet committed, is named
 *    NAME.open. A file without .open is complete, has its index beside it and is never touched
 *    again.
 * 2. Every file starts with a warcinfo record that holds its number (ragno-serial); numbers grow.
 * 3. At the start, warc_open cuts off what lies behind the committed end, in files named .open
 *    only.
 * Errors: after RESULT_FULL nothing is lost: what could not be written is kept (the write buffer
 * and one group at most) and nothing more is taken. Make room and call again.
 * Source: ISO 28500:2017, annexes. */
#pragma once

#include "store/archive/warc_types.h"

/* Recovers the directory to the committed end (store/archive/warc_files.h) and prepares to append
 * there. committed is NULL when the database has no record of an end: files named .open are then
 * set aside as NAME.uncommitted, because only the database could say that they are worthless. An
 * empty end (file is 0) means that nothing was committed: files named .open are removed. (A new
 * crawl stores an empty end with its first commit.) A file with another compression is finished.
 * Finished files may have been moved away. RESULT_INVALID: pattern.
 * RESULT_DAMAGED: a file ends before the committed end, or is broken before it; it was not changed,
 * and `ragno verify` says more. RESULT_IO, RESULT_FULL, RESULT_NOT_FOUND (no directory). */
Result warc_open(Warc **warc, const WarcOptions *options, const WarcEnd *committed);

/* Finishes the files whose bytes are all committed. Others stay .open for the next warc_open. */
Result warc_close(Warc *warc);

/* Appends a group; *position = where its main record is. RESULT_FULL, RESULT_IO: the group was not
 * taken and may be appended again. */
Result warc_append(Warc *warc, const WarcGroup *group, WarcPosition *position);

/* Makes everything appended durable; *end is to be stored by the transaction that refers to it.
 * RESULT_FULL: call again when there is room. RESULT_IO after a failed sync is final: stop, the
 * next warc_open recovers. */
Result warc_sync(Warc *warc, WarcEnd *end);

/* The transaction with the last warc_sync's end is committed: finishes the files that are ended.
 * Failures (a full disk) are logged and tried again by the next call. */
Result warc_committed(Warc *warc);
