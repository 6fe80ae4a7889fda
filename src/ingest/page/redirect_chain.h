/* Redirect chain: how many redirects lead to a URL in a row.
 *
 * What: counted along the path here; where the path goes on at another agent, the count came with
 * the URL (cluster/link/via_table.h), or a loop over two agents would never end.
 * Threads: ingest, inside the batch's transaction. */
#ifndef INGEST_PAGE_REDIRECT_CHAIN_H
#define INGEST_PAGE_REDIRECT_CHAIN_H

#include "ingest/batch/ingest_batch.h"

/* How many lead to this page, this one included: 0 when it was found in another way. Not counted
 * further than one beyond IngestOptions.max_redirects. */
unsigned redirect_chain_length(Batch *batch, const PageRef *page);

#endif
