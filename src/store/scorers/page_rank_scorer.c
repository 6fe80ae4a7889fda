#include "store/scorers/page_rank_scorer.h"

#include <stdlib.h>

#include "store/rank/rank_vector.h"

#define FIRST_PAGES 1000u

/* The codes of the scorer are those of rank_vector.h. */
_Static_assert((int)page_rank_scorer_error_memory == RANK_MEMORY &&
                   (int)page_rank_scorer_error_internal == RANK_INTERNAL &&
                   (int)page_rank_scorer_error_precision == RANK_PRECISION,
               "codes of rank_vector.h");

static PageRankScorerError page_rank_scorer_fail(PageRankScorer *prs, PageRankScorerError code,
                                                 const char *what)
{
    return (PageRankScorerError)rank_fail(prs->error, (int)code, "page_rank_scorer_new", what);
}

PageRankScorerError page_rank_scorer_new(PageRankScorer **prs, PageDB *db)
{
    if (prs == NULL) {
        return page_rank_scorer_error_internal;
    }
    PageRankScorer *p = *prs = calloc(1, sizeof *p);
    if (p == NULL) {
        return page_rank_scorer_error_memory;
    }
    score_parent_init(&p->parent);
    atomic_init(&p->stopping, false);
    p->page_db = db;
    p->persist = PAGE_RANK_SCORER_PERSIST;
    p->use_content_scores = PAGE_RANK_SCORER_USE_CONTENT_SCORES;
    p->error = error_new();
    if (p->error == NULL) {
        (void)page_rank_scorer_delete(p);
        *prs = NULL;
        return page_rank_scorer_error_memory;
    }
    if (db == NULL || db->txn_manager == NULL) {
        return page_rank_scorer_fail(p, page_rank_scorer_error_internal,
                                     "db is NULL, or was not opened");
    }
    if (page_rank_new(&p->page_rank, db->path, FIRST_PAGES) != page_rank_error_ok) {
        return page_rank_scorer_fail(p, page_rank_scorer_error_internal,
                                     "the files cannot be opened");
    }
    p->page_rank->stop = &p->stopping;
    atomic_store(&p->damping, p->page_rank->damping);
    return page_rank_scorer_error_ok;
}

PageRankScorerError page_rank_scorer_delete(PageRankScorer *prs)
{
    if (prs == NULL) {
        return page_rank_scorer_error_ok;
    }
    PageRankError rc = page_rank_error_ok;
    if (prs->page_rank != NULL) {
        page_rank_set_persist(prs->page_rank, prs->persist);
        rc = page_rank_delete(prs->page_rank);
    }
    error_delete(prs->error);
    score_parent_destroy(&prs->parent);
    free(prs);
    return rc == page_rank_error_ok ? page_rank_scorer_error_ok : page_rank_scorer_error_internal;
}

int page_rank_scorer_add(void *state, const PageInfo *page_info, float *score)
{
    PageRankScorer *prs = state;
    ScorerLink link = {.parent =
                           score_parent_find(&prs->parent, prs->page_db, page_info->linked_from),
                       .score = page_info->score};
    return page_rank_scorer_estimate(state, &link, score);
}

/* The score of a page of mean importance, and what a page with such a link jumps with. */
static void shares(const PageRankScorer *prs, const PageRankTotals *totals, const ScorerLink *link,
                   float *mean, float *jump)
{
    double whole = 0.0;
    double whole_mean = 0.0;
    float content = link->score > 0.0f ? link->score : 0.0f;
    if (prs->outside != NULL) {
        prs->outside->units(prs->outside->context, &whole, &whole_mean);
    }
    if (whole > 0.0) {
        *mean = (float)(whole_mean / whole);
        *jump = (float)((prs->use_content_scores ? (double)content : 1.0) / whole);
        return;
    }
    *mean = *jump = 1.0f / (float)totals->n_pages;
    if (prs->use_content_scores && totals->total_score > 0.0f) {
        *jump = content / totals->total_score;
    }
}

int page_rank_scorer_estimate(void *state, const ScorerLink *link, float *score)
{
    const PageRankScorer *prs = state;
    PageRankTotals totals;
    page_rank_get_totals(prs->page_rank, &totals);
    if (totals.n_pages == 0) {
        /* before the first update every page is of about mean importance */
        *score = prs->use_content_scores && link->score >= 0.0f ? 0.5f + link->score : 1.0f;
        return 0;
    }
    float mean = 0.0f;
    float jump = 0.0f;
    shares(prs, &totals, link, &mean, &jump);
    float damping = atomic_load(&prs->damping);
    *score = (1.0f - damping) * jump;
    if (link->parent == UINT64_MAX) {
        *score = mean;
        return 0;
    }
    float old = 0.0f;
    float parent = 0.0f;
    if (page_rank_get(prs->page_rank, link->parent, &old, &parent) != page_rank_error_ok ||
        !(parent > 0.0f)) {
        parent = mean;
    }
    float n_links = (float)link->n_links;
    if (link->n_links == 0) {
        n_links = page_rank_get_out_degree(prs->page_rank, link->parent);
        n_links = n_links > 0.0f ? n_links : totals.mean_out_degree;
    }
    *score += damping * parent / n_links;
    return 0;
}

int page_rank_scorer_get(void *state, size_t idx, float *score_old, float *score_new)
{
    const PageRankScorer *prs = state;
    return (int)page_rank_get(prs->page_rank, idx, score_old, score_new);
}

float page_rank_scorer_scale(void *state)
{
    const PageRankScorer *prs = state;
    PageRankTotals totals;
    double whole = 0.0;
    double mean = 0.0;
    page_rank_get_totals(prs->page_rank, &totals);
    if (prs->outside != NULL && totals.n_pages > 0) {
        prs->outside->units(prs->outside->context, &whole, &mean);
    }
    if (whole > 0.0 && mean > 0.0) {
        return (float)((double)SCORER_MEAN * whole / mean);
    }
    return SCORER_MEAN * (totals.n_pages == 0 ? 1.0f : (float)totals.n_pages);
}

void page_rank_scorer_stop(void *state, bool stop)
{
    PageRankScorer *prs = state;
    atomic_store(&prs->stopping, stop);
}

static int page_rank_scorer_compute(PageRankScorer *prs, const ScoreInput *input)
{
    PageRank *pr = prs->page_rank;
    const PageRankOutside *outside = prs->outside;
    MMapArray *weights = NULL;
    pr->scores = input->scores;
    if (outside != NULL) {
        Result rc = outside->weigh(outside->context, pr->damping, input->scores,
                                   input->graph->n_pages, &prs->stopping, &weights);
        if (rc != RESULT_OK) {
            pr->scores = NULL;
            return rank_code(rc);
        }
        pr->scores = weights;
    }
    int code = (int)page_rank_compute_graph(pr, input->graph);
    pr->scores = NULL;
    if (outside != NULL && (code == RANK_OK || code == RANK_PRECISION) && pr->jumping > 0.0) {
        double whole = (double)pr->total_score / pr->jumping;
        Result rc = outside->publish(outside->context, pr, whole, &prs->stopping);
        code = rc == RESULT_OK ? code : rank_code(rc);
    }
    (void)mmap_array_delete(weights);
    return code;
}

int page_rank_scorer_update(void *state)
{
    PageRankScorer *prs = state;
    error_clean(prs->error);
    ScoreInput input = {.graph = NULL};
    int code = score_input_read(&input, prs->page_db, prs->use_content_scores != 0,
                                prs->only_diff_domain != 0, &prs->stopping);
    if (code == RANK_OK) {
        code = page_rank_scorer_compute(prs, &input);
    }
    score_input_free(&input);
    return score_input_end(prs->error, code, "page_rank_scorer_update");
}

void page_rank_scorer_setup(PageRankScorer *prs, Scorer *scorer)
{
    *scorer = (Scorer){.state = prs,
                       .update = page_rank_scorer_update,
                       .add = page_rank_scorer_add,
                       .get = page_rank_scorer_get,
                       .estimate = page_rank_scorer_estimate,
                       .scale = page_rank_scorer_scale,
                       .stop = page_rank_scorer_stop};
}

void page_rank_scorer_set_persist(PageRankScorer *prs, int value)
{
    prs->persist = value;
}

void page_rank_scorer_set_use_content_scores(PageRankScorer *prs, int value)
{
    prs->use_content_scores = value;
}

void page_rank_scorer_set_damping(PageRankScorer *prs, float value)
{
    prs->page_rank->damping = value;
    atomic_store(&prs->damping, value);
}

void page_rank_scorer_set_outside(PageRankScorer *prs, const PageRankOutside *outside)
{
    prs->outside = outside;
}
