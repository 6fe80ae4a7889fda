/* Batch waits: which hosts of a batch have failed and still have something to fetch.
 *
 * What: a host that has failed and has nothing scheduled waits for nothing; its record says so, and
 * it does not stand in the wait table (store/tables/wait_table.h). Healthy hosts cost nothing.
 * Threads: ingest, inside the batch's transaction. */
#ifndef INGEST_BATCH_BATCH_WAITS_H
#define INGEST_BATCH_BATCH_WAITS_H

#include "ingest/batch/ingest_batch.h"

/* After all that changes the host's record and schedule; before the record is written. */
Result batch_waits_note(Batch *batch, BatchHost *host);

#endif
