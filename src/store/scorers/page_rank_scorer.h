/* PageRank as a scorer: the pages that a random surfer would see most go first.
 *
 * What: a page that is new since the last update gets an estimate from the page that links to it:
 * what would flow along that link, damping * PageRank(parent) / links of the parent, plus the share
 * of every page, 1 - damping over the number of pages. With content scores that share is in
 * proportion to the link's own score. A parent that is new itself counts as a page of mean
 * importance.
 *
 * All links count, also those inside a host, since the best-first order is one of pages. With
 * only_diff_domain (default 0) only links between hosts count, which makes link farms harmless and
 * leaves most pages of a host alike. The files pr.bin and pr_out_degree.bin are in the directory of
 * the PageDB.
 *
 * Where the database is a part of a larger one (PageRankOutside), the scores are of the whole: what
 * flows in from other parts is added to the jump, what flows out is told. That is exact, because
 * PageRank with its scale left open is linear: with b = (1 - damping) * content + inflow, the
 * solution of y = b + damping * flow(y) is the score here times the sum of b over what jumps.
 *
 * Owns: its PageRank; PageDB is borrowed.
 * Threads: as in scorer.h.
 * Errors: as in page_rank.h.
 * Source: seeds 000 and 003, "PageRankScorer". */
#ifndef STORE_SCORERS_PAGE_RANK_SCORER_H
#define STORE_SCORERS_PAGE_RANK_SCORER_H

#include <stdatomic.h>

#include "store/rank/page_rank.h"
#include "store/scorers/score_input.h"
#include "store/scorers/scorer.h"

#define PAGE_RANK_SCORER_USE_CONTENT_SCORES 0
#define PAGE_RANK_SCORER_PERSIST            0

typedef enum PageRankScorerError {
    page_rank_scorer_error_ok = 0,
    page_rank_scorer_error_memory,
    page_rank_scorer_error_internal,
    page_rank_scorer_error_precision /* not reached in max_loops: the scores are usable */
} PageRankScorerError;

/* What is known of the other parts of a graph (cluster/mass/mass.h). */
typedef struct PageRankOutside {
    void *context;
    /* Before a computation: what each of n pages jumps with, a new array; pages of other parts
     * have 0. content: scores of pages, NULL = 1 each. */
    Result (*weigh)(void *context, float damping, const MMapArray *content, size_t n,
                    const atomic_bool *stop, MMapArray **weights);
    /* After it: a page's value is its score times whole. */
    Result (*publish)(void *context, const PageRank *pr, double whole, const atomic_bool *stop);
    /* The last whole, and the mean value of a page of all parts; whole is 0 before the first
     * computation. Any thread. */
    void (*units)(void *context, double *whole, double *mean);
} PageRankOutside;

typedef struct PageRankScorer {
    PageRank *page_rank;
    PageDB *page_db;                /* borrowed */
    const PageRankOutside *outside; /* borrowed; NULL: the database is the whole */
    Error *error;
    int persist;            /* keep the files when deleted */
    int use_content_scores; /* the jumps of the surfer prefer pages with content */
    int only_diff_domain;
    atomic_bool stopping;
    _Atomic(float) damping; /* of estimates, which may be made while an update begins */
    ScoreParent parent;     /* of add */
} PageRankScorer;

/* db stays the caller's and outlives the scorer. On failure *prs is NULL or holds the error. */
PageRankScorerError page_rank_scorer_new(PageRankScorer **prs, PageDB *db);
/* NULL is allowed. */
PageRankScorerError page_rank_scorer_delete(PageRankScorer *prs);

/* The functions of a Scorer. */
int page_rank_scorer_add(void *state, const PageInfo *page_info, float *score);
int page_rank_scorer_get(void *state, size_t idx, float *score_old, float *score_new);
int page_rank_scorer_update(void *state);
int page_rank_scorer_estimate(void *state, const ScorerLink *link, float *score);
float page_rank_scorer_scale(void *state);
void page_rank_scorer_stop(void *state, bool stop);
/* Fills in *scorer. */
void page_rank_scorer_setup(PageRankScorer *prs, Scorer *scorer);

/* Settings: between updates only. */
void page_rank_scorer_set_persist(PageRankScorer *prs, int value);
void page_rank_scorer_set_use_content_scores(PageRankScorer *prs, int value);
void page_rank_scorer_set_damping(PageRankScorer *prs, float value);
/* outside is borrowed. */
void page_rank_scorer_set_outside(PageRankScorer *prs, const PageRankOutside *outside);

#endif
