#include "store/scorers/page_rank_scorer.h"

#include <stdlib.h>

#include "store/rank/link_graph.h"
#include "store/scorers/score_input.h"

#define FIRST_PAGES 1000u

static int fail(PageRankScorer *prs, PageRankScorerError code, const char *what)
{
    error_set(prs->error, (int)code, what);
    return (int)code;
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
        return (PageRankScorerError)fail(p, page_rank_scorer_error_internal,
                                         "page_rank_scorer_new: db is NULL, or was not opened");
    }
    if (page_rank_new(&p->page_rank, db->path, FIRST_PAGES) != page_rank_error_ok) {
        return (PageRankScorerError)fail(p, page_rank_scorer_error_internal,
                                         "page_rank_scorer_new: the files cannot be opened");
    }
    p->page_rank->stop = &p->stopping;
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
    score_input_free(&prs->input, NULL);
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
    float mean = 1.0f / (float)totals.n_pages;
    float jump = mean;
    if (prs->use_content_scores && totals.total_score > 0.0f) {
        jump = link->score > 0.0f ? link->score / totals.total_score : 0.0f;
    }
    float damping = prs->page_rank->damping;
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
    page_rank_get_totals(prs->page_rank, &totals);
    return SCORER_MEAN * (totals.n_pages == 0 ? 1.0f : (float)totals.n_pages);
}

void page_rank_scorer_stop(void *state, bool stop)
{
    PageRankScorer *prs = state;
    atomic_store(&prs->stopping, stop);
}

int page_rank_scorer_update(void *state)
{
    PageRankScorer *prs = state;
    error_clean(prs->error);
    score_input_free(&prs->input, NULL);
    Result rc = score_input_read(&prs->input, prs->page_db, prs->use_content_scores != 0,
                                 prs->only_diff_domain != 0, &prs->stopping);
    if (rc != RESULT_OK) {
        score_input_free(&prs->input, &prs->stopping);
        return fail(prs,
                    rc == RESULT_MEMORY ? page_rank_scorer_error_memory
                                        : page_rank_scorer_error_internal,
                    rc == RESULT_CLOSED ? "page_rank_scorer_update: stopped"
                                        : "page_rank_scorer_update: the links cannot be read");
    }
    prs->page_rank->scores = prs->input.scores;
    PageRankError code = page_rank_compute_graph(prs->page_rank, prs->input.graph);
    prs->page_rank->scores = NULL;
    score_input_free(&prs->input, &prs->stopping);
    switch (code) {
    case page_rank_error_ok:
        return page_rank_scorer_error_ok;
    case page_rank_error_precision:
        return fail(prs, page_rank_scorer_error_precision,
                    "page_rank_scorer_update: precision was not reached");
    case page_rank_error_memory:
        return fail(prs, page_rank_scorer_error_memory, "page_rank_scorer_update: out of memory");
    case page_rank_error_stopped:
    case page_rank_error_internal:
    default:
        return fail(prs, page_rank_scorer_error_internal,
                    code == page_rank_error_stopped ? "page_rank_scorer_update: stopped"
                                                    : "page_rank_scorer_update: no result");
    }
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
}
