/* Hand over: a new URL of another agent becomes a stub here, and goes to its owner.
 *
 * What: the stub gets an index, so that links to it can be kept, and a mark; the URL goes into the
 * outbox, in the same transaction, with what its owner cannot know: its depth, the redirects that
 * led to it, what the scorer here expects of it, where it was found. Each agent sends each URL
 * once, and again when it has found a better path. A URL that is too deep is refused here: its
 * owner would do the same. Threads: ingest, inside the batch's transaction. Errors: RESULT_MEMORY,
 * RESULT_FULL, RESULT_IO, in Batch.result. */
#ifndef INGEST_PAGE_HAND_OVER_H
#define INGEST_PAGE_HAND_OVER_H

#include "ingest/batch/ingest_batch.h"

/* With Batch.cluster: whether a new URL is handed over; then it is done, and *rc is what a PageSink
 * returns. */
bool hand_over_new(Batch *batch, const PageRef *page, PageState *state, int *rc);
/* A page that is known has a better path: a stub is sent again, and where the path comes from is
 * noted when it was found elsewhere. What a PageSink returns. */
int hand_over_improved(Batch *batch, const PageRef *page);

#endif
