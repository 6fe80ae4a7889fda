/* Ingest log: the lines of crawl.log for a batch.
 *
 * What: one line for each fetch of the batch, with the path by which its page was found and the
 * page that it is a duplicate of. The lines are made inside the batch's transaction, once all of
 * the batch is in the tables, and come into the log after the commit (page/crawl_log.h). Threads:
 * ingest. */
#ifndef INGEST_INGEST_LOG_H
#define INGEST_INGEST_LOG_H

#include "ingest/batch/ingest_batch.h"

/* Makes the lines; crawl_log_flush or crawl_log_drop follows. */
void ingest_log_write(CrawlLog *log, const Batch *batch);

#endif
