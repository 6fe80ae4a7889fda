/* Ingest log: the lines of crawl.log for a committed batch.
 *
 * What: one line for each fetch of the batch, with the path by which its page was found and the
 * page that it is a duplicate of. Lines are written after the commit, and nothing is decided by
 * them.
 * Threads: ingest. */
#ifndef INGEST_INGEST_LOG_H
#define INGEST_INGEST_LOG_H

#include "ingest/batch/ingest_batch.h"

/* Writes the lines. Reads paths and duplicates in a read transaction of its own; when that cannot
 * be begun, nothing is written. */
void ingest_log_write(CrawlLog *log, const Batch *batch);

#endif
