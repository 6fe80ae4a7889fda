/* Redirect chain: how many redirects, or how many embeds, in a row lead to a URL.
 *
 * What: counts redirects along the path of the page in this database. Where the path continues at
 * another agent, the count came with the URL (cluster/link/via_table.h), so that a loop of
 * redirects over two agents ends.
 * Threads: ingest, inside the batch's transaction. */
#ifndef INGEST_PAGE_REDIRECT_CHAIN_H
#define INGEST_PAGE_REDIRECT_CHAIN_H

#include "ingest/batch/ingest_batch.h"

/* The number of redirects that lead to this page, the last one included; 0 when the page was not
 * found by a redirect. Counting stops at IngestOptions.max_redirects + 1. */
unsigned redirect_chain_length(Batch *batch, const PageRef *page);
/* The same for hops from a page to what it embeds (E): 2 for an image of a style sheet. Not counted
 * further than one beyond IngestOptions.max_embeds; what lies before another agent's part of the
 * path is not counted. */
unsigned embed_chain_length(Batch *batch, const PageRef *page);

#endif
