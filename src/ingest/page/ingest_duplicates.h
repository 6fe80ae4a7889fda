/* Duplicates: pages that have been had before, with the same bytes or with nearly the same text.
 *
 * What: the same bytes (with parse.duplicates = content, the same content: page/content_hash.h)
 * count on the same host only, nearly the same text on any host. Threads: ingest, inside the
 * batch's transaction. */
#ifndef INGEST_PAGE_INGEST_DUPLICATES_H
#define INGEST_PAGE_INGEST_DUPLICATES_H

#include "ingest/batch/ingest_batch.h"

/* A page that has another body than it had stands for the old one no longer. stored: the page
 * before this visit; n_crawls is 0 when there was none. */
Result ingest_forget_body(Batch *batch, const ParsedPage *page, const PageRef *stored);
/* Finds the page of this host that has the same body, or notes that this one has it. *same_links:
 * they lead to the same places, too. (The same bytes in another folder are another page: their
 * relative links are other links, and dropping them would lose what only they lead to.) */
Result ingest_find_duplicate(Batch *batch, const ParsedPage *page, uint64_t *original,
                             bool *same_links);
/* Finds the page, of any host, whose text is nearly that of this one, and enters this one instead
 * of what it was before. A duplicate is not entered. */
Result ingest_find_near(Batch *batch, const ParsedPage *page, bool duplicate, uint64_t *near);

#endif
