/* Ingest log: the lines of crawl.log that a committed batch gives.
 *
 * What: one line for each fetch of the batch, with the path by which its page was found and the
 * page that it is a duplicate of. Written after the commit: nothing is decided by logs. Threads:
 * ingest. */
#ifndef INGEST_INGEST_LOG_H
#define INGEST_INGEST_LOG_H

#include "ingest/batch/ingest_batch.h"

/* Reads what it needs in a read transaction of its own; without one nothing is written. */
void ingest_log_write(CrawlLog *log, const Batch *batch);

#endif
