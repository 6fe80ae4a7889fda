/* Held URLs: URLs that a rule of the operator refuses in their turn, and that return when the rule
 * goes.
 *
 * What: a URL that was scheduled and is refused before its fetch (scope, a denial, filter.fetch)
 * leaves the schedule with its reason, and is entered in the table of held URLs
 * (store/tables/page_rows.h). When the rules change, each is judged again: one that is admitted is
 * scheduled as it was before.
 * Threads: ingest, inside the batch's transaction. */
#pragma once

#include "ingest/batch/ingest_batch.h"

/* Takes note of a refusal, if it is one: counts it, and holds the URL unless it was crawled before.
 */
Result held_urls_hold(Batch *batch, const FetchResult *fetch);
/* A wall has answered for a page: it is scheduled again, as the last of its host. *under_way: it is
 * scheduled still, since its result has not come. Nothing happens then. */
Result held_urls_return(Batch *batch, uint64_t index, bool *under_way);
/* Judges a held URL anew; *returned: it is scheduled again. That of a full host stays held. filter,
 * url and scratch are the caller's: filter.fetch (NULL: none) and what asking it needs. */
Result held_urls_review(Batch *batch, const HeldUrl *held, const Filter *filter, Url *url,
                        FilterScratch *scratch, bool *returned);
