/* URL score: how good a new URL is expected to be, and its level in the schedule.
 *
 * What: the level follows from schedule.order: from the depth alone, or, best first, from the
 * scorer's estimate for a link on that page. Without a scorer, the score of the link and its depth
 * decide. For a URL that another agent found, the estimate came with the URL, because the linking
 * page is at that agent.
 * Threads: ingest, inside the batch's transaction. */
#ifndef INGEST_PAGE_URL_SCORE_H
#define INGEST_PAGE_URL_SCORE_H

#include "ingest/batch/ingest_batch.h"

/* The scorer's estimate, in the unit of levels. Negative when there is no scorer, or schedule.order
 * does not use one. */
float url_score_estimate(Batch *batch, const PageRef *page);
/* The level of a new URL. given: the estimate that came with the URL; negative when none did. */
unsigned url_score_level(Batch *batch, const PageRef *page, float given);

#endif
