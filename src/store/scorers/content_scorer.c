#include "store/scorers/content_scorer.h"

void content_scorer_init(ContentScorer *cs, float page_share)
{
    bool is_valid = page_share >= 0.0f && page_share <= 1.0f;
    cs->page_share = is_valid ? page_share : CONTENT_SCORER_PAGE_SHARE;
}

int content_scorer_update(void *state)
{
    (void)state;
    return 0;
}

int content_scorer_add(void *state, const PageInfo *page_info, float *score)
{
    (void)state;
    *score = page_info->score;
    return 0;
}

int content_scorer_get(void *state, size_t idx, float *score_old, float *score_new)
{
    (void)state;
    (void)idx;
    *score_old = 0.0f;
    *score_new = 0.0f;
    return 1;
}

int content_scorer_estimate(void *state, const ScorerLink *link, float *score)
{
    const ContentScorer *cs = state;
    *score = link->score;
    if (link->parent != UINT64_MAX) {
        *score = (1.0f - cs->page_share) * link->score + cs->page_share * link->page_score;
    }
    return 0;
}

void content_scorer_setup(ContentScorer *cs, Scorer *scorer)
{
    *scorer = (Scorer){.state = cs,
                       .update = content_scorer_update,
                       .add = content_scorer_add,
                       .get = content_scorer_get,
                       .estimate = content_scorer_estimate};
}
