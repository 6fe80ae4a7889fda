/* URL score: how good a new URL is expected to be, and the level of the schedule that follows.
 *
 * What: the order of the crawl (schedule.order), the scorer's estimate by the page with the link,
 * or without a scorer the link's own score and its depth. Of a URL that another agent found the
 * estimate came with it, because its parent is there.
 * Threads: ingest, inside the batch's transaction. */
#ifndef INGEST_PAGE_URL_SCORE_H
#define INGEST_PAGE_URL_SCORE_H

#include "ingest/batch/ingest_batch.h"

/* What the scorer expects, in units in which levels are measured; negative: there is no scorer, or
 * the order does not ask for one. */
float url_score_estimate(Batch *batch, const PageRef *page);
/* The level of a new URL. given: an estimate that came with it; negative: none. */
unsigned url_score_level(Batch *batch, const PageRef *page, float given);

#endif
