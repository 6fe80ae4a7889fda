/* Duplicates: pages whose body, or nearly the same text, is stored already.
 *
 * What: a page is a duplicate when a page of the same host has the same body, byte for byte. A page
 * is a near duplicate when a page of any host has nearly the same text (store/tables/near_table.h).
 * Threads: ingest, inside the batch's transaction. */
#ifndef INGEST_PAGE_INGEST_DUPLICATES_H
#define INGEST_PAGE_INGEST_DUPLICATES_H

#include "ingest/batch/ingest_batch.h"

/* When the body of a page has changed: removes the entry that names this page as the original of
 * its old body. stored: the page before this visit; n_crawls is 0 when there was none. */
Result ingest_forget_body(Batch *batch, const ParsedPage *page, const PageRef *stored);
/* Finds the page of this host that has the same body; when there is none, enters this page as the
 * original. *same_links: both pages have the same links, too. (A copy in another folder has the
 * same bytes, but its relative links lead elsewhere, and dropping it would lose pages that only it
 * leads to.) */
Result ingest_find_duplicate(Batch *batch, const ParsedPage *page, uint64_t *original,
                             bool *same_links);
/* Finds the page, on any host, that has nearly the same text, and enters the simhash of this page
 * in place of its earlier one. The simhash of a duplicate is not entered. */
Result ingest_find_near(Batch *batch, const ParsedPage *page, bool duplicate, uint64_t *near);

#endif
