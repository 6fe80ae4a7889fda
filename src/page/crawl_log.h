/* Crawl log: crawl.log, one line per fetch in Heritrix's twelve columns, and skipped.log, one line
 * per refused URL.
 *
 * What: the last column of crawl.log holds annotations: page/crawl_log_notes.h lists them, and
 * logs/crawl_log_line.h reads them.
 * Owns: the open files. Lines are buffered and flushed with each batch.
 * Threads: lines are the ingest thread's. Any thread may call crawl_log_skipped and
 * crawl_log_reopen.
 * Invariant: a line stands in crawl.log if and only if the commit that holds its result was made,
 * also when the process is killed in between (crawl_log.h). For this the ingest thread
 * makes the lines of a batch, calls crawl_log_prepare, commits, and calls crawl_log_flush, or
 * crawl_log_drop when the commit has failed. A power cut may lose the last lines, since the log is
 * not synced.
 * Errors: RESULT_FULL while the disk is full; the lines are kept and tried again. */
#pragma once

#include "page/parsed_page.h"
#include "page/stats.h"

typedef struct CrawlLog CrawlLog;

/* Opens DIR/crawl.log and DIR/skipped.log for appending; crawl_path replaces the former when it is
 * not NULL. RESULT_IO and the like. */
Result crawl_log_open(CrawlLog **log, const char *directory, const char *crawl_path, bool crawl,
                      SkippedMode skipped);
/* Before it is opened: writes the lines that an earlier run had committed under that serial number
 * and no time to write. Says so in ragno.log. */
Result crawl_log_repair(const char *directory, const char *crawl_path, uint64_t serial);
void crawl_log_close(CrawlLog *log);
/* Any thread: the next write opens the files anew. */
void crawl_log_reopen(CrawlLog *log);

/* How a page was found. */
typedef struct CrawlLogWay {
    const char *path;     /* its discovery path, "LLE" */
    const char *referrer; /* the page that links to it; may be NULL or "" */
    const char *tag;      /* the source tag of the seed it comes from; may be NULL or "" */
} CrawlLogWay;

/* Before the first line of a batch: writes what earlier ones have left, opens the files anew when
 * that was asked for, and sets the mark for crawl_log_drop. RESULT_FULL: lines of an earlier commit
 * are still without room; nothing may be committed meanwhile, for crawl.pending, where a kill would
 * find them, has room for one batch. */
Result crawl_log_begin(CrawlLog *log, size_t *mark);
/* Before the commit that carries the serial number: makes sure that the lines since the last flush
 * will be in the log if it is made. RESULT_FULL, RESULT_IO. */
Result crawl_log_prepare(CrawlLog *log, uint64_t serial);
/* The commit was not made: forgets the lines since the mark. */
void crawl_log_drop(CrawlLog *log, size_t mark);
/* One fetch. duplicate_of (the page with the same body) and near_of (the one with nearly the same
 * text) may be NULL. */
void crawl_log_fetch(CrawlLog *log, const ParsedPage *page, const CrawlLogWay *way,
                     const char *duplicate_of, const char *near_of);
/* One refused URL; any thread. */
void crawl_log_skipped(CrawlLog *log, const char *url, size_t length, int status, const char *rule,
                       long depth, const char *referrer);
/* Writes what is buffered. RESULT_FULL: the disk is full; the next batch tries again. */
Result crawl_log_flush(CrawlLog *log);

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

#define CRAWL_LOG_PENDING_FILE "crawl.pending"

/* Replaces what is in the open file `pending` by lines that are to be appended to the file log. */
Result crawl_log_pending_write(int pending, int log, uint64_t serial, const Buffer *lines);
/* Appends what is missing of the lines of batch `serial`, the last one that was committed, to the
 * file in which they belong: log_path, or a rotated one in its directory. *repaired counts lines.
 * Without a file `pending_path` there is nothing to do. */
Result crawl_log_pending_repair(const char *pending_path, const char *log_path, uint64_t serial,
                                uint64_t *repaired);
