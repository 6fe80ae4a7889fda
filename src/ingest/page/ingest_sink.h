/* Ingest sink: what PageDB tells while it writes goes into schedule, host records and totals.
 *
 * What: PageDB calls back for each page that it has written and for each URL that it sees for the
 * first time (store/pages/page_db.h). A written page leaves the schedule, and its links go to the
 * sieve when they wait; a new URL is judged by ingest_new_url.h.
 * Threads: ingest, inside the batch's transaction.
 * Errors: an error inside a callback is left in Batch.result. */
#ifndef INGEST_PAGE_INGEST_SINK_H
#define INGEST_PAGE_INGEST_SINK_H

#include "ingest/batch/ingest_batch.h"

/* Borrows the batch. */
PageSink ingest_sink(Batch *batch);

#endif
