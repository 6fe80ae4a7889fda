/* The content scorer: a link is as good as its own score says and as its page was.
 *
 * What: for focused crawls. The crawler gives links (by their text) and pages (by their content)
 * scores between 0 and 1. The score of a page that was not crawled yet is
 *
 *   (1 - share) * score of the link + share * score of the page with the link
 *
 * because pages on a topic link to pages on that topic. There is nothing to update.
 * Owns: nothing but the share.
 * Threads: pure functions. */
#ifndef STORE_SCORERS_CONTENT_SCORER_H
#define STORE_SCORERS_CONTENT_SCORER_H

#include "store/scorers/scorer.h"

#define CONTENT_SCORER_PAGE_SHARE 0.3f

typedef struct ContentScorer {
    float page_share; /* 0..1 */
} ContentScorer;

/* page_share outside 0..1: the default. */
void content_scorer_init(ContentScorer *cs, float page_share);
/* Fills in *scorer; cs outlives it. */
void content_scorer_setup(ContentScorer *cs, Scorer *scorer);

/* The functions of a Scorer. add knows the score of the link only. get has no scores to offer: it
 * answers 1, and schedulers leave entries where they are. */
int content_scorer_update(void *state);
int content_scorer_add(void *state, const PageInfo *page_info, float *score);
int content_scorer_get(void *state, size_t idx, float *score_old, float *score_new);
int content_scorer_estimate(void *state, const ScorerLink *link, float *score);

#endif
