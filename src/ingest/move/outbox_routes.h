/* Outbox routes: rows of the outbox for an agent that has no slots any more get another address.
 *
 * What: an agent that was drained takes no blocks and may be gone for good. What waits for it here
 * is read again, record by record, and put into the outbox for the agents that own the URLs now.
 * What this agent owns itself by now is dropped: it has a page for each of them.
 * Threads: ingest, inside the batch's transaction.
 * Errors: RESULT_FULL, RESULT_IO, RESULT_MEMORY, RESULT_DAMAGED: the transaction must be aborted.
 */
#ifndef INGEST_MOVE_OUTBOX_ROUTES_H
#define INGEST_MOVE_OUTBOX_ROUTES_H

#include "ingest/batch/ingest_batch.h"

/* Some rows, from agent *from on, which moves on; *more: call it again. */
Result outbox_routes_change(Batch *batch, uint32_t *from, bool *more);

#endif
