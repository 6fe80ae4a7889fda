/* Seed places: the places of all seeds of a crawl, for scope.stay, from its database.
 *
 * What: a crawl that is resumed knows its seeds from the seed table, and what they redirected to
 * from the links of the pages.
 * Threads: any; it opens a read transaction of its own. */
#pragma once

#include "ingest/batch/ingest_batch.h"

/* Adds the places of all seeds to set. RESULT_IO, RESULT_DAMAGED, RESULT_MEMORY. */
Result seed_places_load(const IngestStore *store, StaySet *set, unsigned max_redirects);
