/* Seed places: the places of all seeds of a crawl, for scope.stay, from its database.
 *
 * What: a crawl that is resumed knows its seeds from the seed table, and what they redirected to
 * from the links of the pages.
 * Threads: any; it opens a read transaction of its own. */
#ifndef INGEST_PAGE_SEED_PLACES_H
#define INGEST_PAGE_SEED_PLACES_H

#include "ingest/batch/ingest_batch.h"
#include "rules/scope/stay_set.h"

/* Adds the places of all seeds to set. RESULT_IO, RESULT_DAMAGED, RESULT_MEMORY. */
Result seed_places_load(const IngestStore *store, StaySet *set, unsigned max_redirects);

#endif
