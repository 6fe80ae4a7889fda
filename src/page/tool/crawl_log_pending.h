/* Pending lines of crawl.log: none is lost when the process is killed between a commit and the log.
 *
 * What: the lines of a batch are written to DIR/crawl.pending before the batch is committed, and to
 * crawl.log after the commit. The commit carries the batch's serial number, and so does
 * crawl.pending. At the next start the three are compared:
 *
 *   crawl.pending has         the lines are          so
 *   the committed serial      those of the last      what crawl.log lacks of them is appended
 *                             commit
 *   another serial            of a batch that was    they are dropped: those URLs are fetched again
 *                             never committed
 *   a wrong checksum          half of a batch's      they are dropped, for the same reason
 *
 * What crawl.log has of them follows from its length: crawl.pending says which file it was (by its
 * inode, so that a rotated one is found under its new name in the same directory) and how long it
 * was before. Nothing is synced: a kill loses no line, a power cut may lose the last ones.
 * Owns: nothing; files are opened and closed by each call, but for the descriptor that is passed.
 * Threads: ingest.
 * Errors: RESULT_FULL, RESULT_IO and the like. */
#ifndef PAGE_TOOL_CRAWL_LOG_PENDING_H
#define PAGE_TOOL_CRAWL_LOG_PENDING_H

#include <stdint.h>

#include "base/memory/buffer.h"
#include "base/core/result.h"

#define CRAWL_LOG_PENDING_FILE "crawl.pending"

/* Replaces what is in the open file `pending` by lines that are to be appended to the file log. */
Result crawl_log_pending_write(int pending, int log, uint64_t serial, const Buffer *lines);
/* Appends what is missing of the lines of batch `serial`, the last one that was committed, to the
 * file in which they belong: log_path, or a rotated one in its directory. *repaired counts lines.
 * Without a file `pending_path` there is nothing to do. */
Result crawl_log_pending_repair(const char *pending_path, const char *log_path, uint64_t serial,
                                uint64_t *repaired);

#endif
