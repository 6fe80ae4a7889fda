#include "store/scorers/hits_scorer.h"

#include <stdlib.h>

#include "store/rank/rank_vector.h"

#define FIRST_PAGES 1000u

/* The codes of the scorer are those of rank_vector.h. */
_Static_assert((int)hits_scorer_error_memory == RANK_MEMORY &&
                   (int)hits_scorer_error_internal == RANK_INTERNAL &&
                   (int)hits_scorer_error_precision == RANK_PRECISION,
               "codes of rank_vector.h");

static HitsScorerError hits_scorer_fail(HitsScorer *hs, HitsScorerError code, const char *what)
{
    return (HitsScorerError)rank_fail(hs->error, (int)code, "hits_scorer_new", what);
}

HitsScorerError hits_scorer_new(HitsScorer **hs, PageDB *db)
{
    if (hs == NULL) {
        return hits_scorer_error_internal;
    }
    HitsScorer *p = *hs = calloc(1, sizeof *p);
    if (p == NULL) {
        return hits_scorer_error_memory;
    }
    score_parent_init(&p->parent);
    atomic_init(&p->stopping, false);
    p->page_db = db;
    p->persist = HITS_SCORER_PERSIST;
    p->use_content_scores = HITS_SCORER_USE_CONTENT_SCORES;
    p->error = error_new();
    if (p->error == NULL) {
        (void)hits_scorer_delete(p);
        *hs = NULL;
        return hits_scorer_error_memory;
    }
    if (db == NULL || db->txn_manager == NULL) {
        return hits_scorer_fail(p, hits_scorer_error_internal, "db is NULL, or was not opened");
    }
    if (hits_new(&p->hits, db->path, FIRST_PAGES) != hits_error_ok) {
        return hits_scorer_fail(p, hits_scorer_error_internal, "the files cannot be opened");
    }
    p->hits->stop = &p->stopping;
    p->hits->jump = HITS_SCORER_JUMP;
    return hits_scorer_error_ok;
}

HitsScorerError hits_scorer_delete(HitsScorer *hs)
{
    if (hs == NULL) {
        return hits_scorer_error_ok;
    }
    HitsError rc = hits_error_ok;
    if (hs->hits != NULL) {
        hits_set_persist(hs->hits, hs->persist);
        rc = hits_delete(hs->hits);
    }
    error_delete(hs->error);
    score_parent_destroy(&hs->parent);
    free(hs);
    return rc == hits_error_ok ? hits_scorer_error_ok : hits_scorer_error_internal;
}

int hits_scorer_add(void *state, const PageInfo *page_info, float *score)
{
    HitsScorer *hs = state;
    ScorerLink link = {.parent =
                           score_parent_find(&hs->parent, hs->page_db, page_info->linked_from),
                       .score = page_info->score};
    return hits_scorer_estimate(state, &link, score);
}

int hits_scorer_estimate(void *state, const ScorerLink *link, float *score)
{
    const HitsScorer *hs = state;
    float gift = 0.0f;
    bool has_parent = link->parent != UINT64_MAX;
    if (has_parent &&
        hits_get_gift(hs->hits, link->parent, link->n_links, &gift) == hits_error_ok &&
        gift > 0.0f) {
        *score = gift;
        return 0;
    }
    size_t n_pages = hits_get_n_ranked(hs->hits);
    float mean = n_pages == 0 ? 1.0f : 1.0f / (float)n_pages;
    *score = hs->use_content_scores && link->score >= 0.0f ? mean * (0.5f + link->score) : mean;
    return 0;
}

int hits_scorer_get(void *state, size_t idx, float *score_old, float *score_new)
{
    const HitsScorer *hs = state;
    return (int)hits_get_authority(hs->hits, idx, score_old, score_new);
}

float hits_scorer_scale(void *state)
{
    const HitsScorer *hs = state;
    size_t n_pages = hits_get_n_ranked(hs->hits);
    return SCORER_MEAN * (n_pages == 0 ? 1.0f : (float)n_pages);
}

void hits_scorer_stop(void *state, bool stop)
{
    HitsScorer *hs = state;
    atomic_store(&hs->stopping, stop);
}

int hits_scorer_update(void *state)
{
    HitsScorer *hs = state;
    error_clean(hs->error);
    ScoreInput input = {.graph = NULL};
    int code = score_input_read(&input, hs->page_db, hs->use_content_scores != 0,
                                hs->only_diff_domain != 0, &hs->stopping);
    if (code == RANK_OK) {
        hs->hits->scores = input.scores;
        code = (int)hits_compute_graph(hs->hits, input.graph);
        hs->hits->scores = NULL;
    }
    score_input_free(&input);
    code = score_input_end(hs->error, code, "hits_scorer_update");
    /* Told, and harmless: the scores are the best there are. */
    return code == RANK_PRECISION ? (int)hits_scorer_error_ok : code;
}

void hits_scorer_setup(HitsScorer *hs, Scorer *scorer)
{
    *scorer = (Scorer){.state = hs,
                       .update = hits_scorer_update,
                       .add = hits_scorer_add,
                       .get = hits_scorer_get,
                       .estimate = hits_scorer_estimate,
                       .scale = hits_scorer_scale,
                       .stop = hits_scorer_stop};
}

void hits_scorer_set_persist(HitsScorer *hs, int value)
{
    hs->persist = value;
}

void hits_scorer_set_use_content_scores(HitsScorer *hs, int value)
{
    hs->use_content_scores = value;
}

void hits_scorer_set_jump(HitsScorer *hs, float value)
{
    hs->hits->jump = value;
}
