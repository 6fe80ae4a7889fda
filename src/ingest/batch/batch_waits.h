/* Batch waits: keeps the wait table (store/tables/wait_table.h) in step with a batch.
 *
 * What: a host that has failed and has something scheduled stands in the wait table, by the time of
 * its next try. A host that has failed and has nothing scheduled does not. A healthy host costs
 * nothing here.
 * Threads: ingest, inside the batch's transaction. */
#ifndef INGEST_BATCH_BATCH_WAITS_H
#define INGEST_BATCH_BATCH_WAITS_H

#include "ingest/batch/ingest_batch.h"

/* Enters a host into the wait table, or removes it. Call when the host's record and schedule are
 * final, before the record is written. */
Result batch_waits_note(Batch *batch, BatchHost *host);

#endif
