/* New URL: what happens to a URL that is seen for the first time.
 *
 * What: the URL is refused, which is counted and logged, or it gets its level and goes into the
 * schedule of its host.
 * Threads: ingest, inside the batch's transaction. */
#ifndef INGEST_PAGE_INGEST_NEW_URL_H
#define INGEST_PAGE_INGEST_NEW_URL_H

#include "ingest/batch/ingest_batch.h"

/* PageSink.discovered; the context is the Batch. */
int ingest_new_url(void *context, const PageRef *page, PageState *state);

#endif
