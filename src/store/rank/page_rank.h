/* PageRank of every page of a link graph.
 *
 * What: the score of a page is the probability to find a random surfer there. With probability
 * damping the surfer follows one of the page's links, each equally likely, and otherwise jumps to
 * any page: to each alike or, when content scores are given, in proportion to them. A page without
 * links (most pages of a crawl are known but not yet fetched) gives its whole score to the jump. So
 * the scores always sum to 1, and no mass is lost in dangling pages.
 *
 *   x'[i] = damping * sum over links j->i of x[j] / out_degree[j]  +  (1 - followed) * jump[i]
 *
 * where followed = damping * sum of x[j] over the pages j with links. Links that appear twice count
 * twice. Content scores that are negative or not a number count as 0; if all are 0 they are
 * ignored.
 *
 * Convergence: the documentation stops "when the largest change in any page score is below
 * precision". Here the change is measured in units of the score, or of the mean score 1/n for pages
 * below it. This demands more than the bare difference: scores are at most 1, and scores around
 * 1e-7 would count as converged before they are computed. Both are reported (delta, relative_delta,
 * loops).
 *
 * Restart: a computation begins with the last result; pages that are new since then begin at the
 * mean score. Inside, the graph is read once into a compact form (link_graph.h), and sums are
 * double.
 *
 * Owns: its vectors, which may be files.
 * Threads: compute by one thread at a time; page_rank_get by any thread meanwhile, which sees the
 * last result or, for a moment, a part of the new one; the set functions only between computations.
 * Errors: the returned code; `error` has the words. Each computation starts clean.
 * Source: seeds 000 and 003, "PageRank". */
#ifndef STORE_RANK_PAGE_RANK_H
#define STORE_RANK_PAGE_RANK_H

#include <stdatomic.h>

#include "base/thread/mutex.h"
#include "store/rank/link_graph.h"

#define PAGE_RANK_DEFAULT_DAMPING   0.85f
#define PAGE_RANK_DEFAULT_MAX_LOOPS 100
#define PAGE_RANK_DEFAULT_PRECISION 1e-4f
#define PAGE_RANK_DEFAULT_PERSIST   0

typedef enum PageRankError {
    page_rank_error_ok = 0,
    page_rank_error_memory,
    page_rank_error_internal,
    page_rank_error_precision, /* not reached in max_loops; the scores are the best so far */
    page_rank_error_stopped    /* *stop became true; the scores are those of before */
} PageRankError;

typedef struct PageRank {
    MMapArray *out_degree; /* float by page: outgoing links at the last computation */
    MMapArray *value1;     /* float by page: the score one sweep before the end of the last
                              computation; it differs from value2 by less than the precision */
    MMapArray *value2;     /* float by page: the score at the last computation */
    size_t n_pages;        /* pages of the last computation, or as set before the first */
    char *path_out_degree; /* file of out_degree */
    char *path_pr;         /* file of value2 */
    Error *error;
    float damping;     /* 0..1 */
    MMapArray *scores; /* float by page: content scores, borrowed; NULL: none */
    float total_score; /* their sum at the last computation */
    size_t max_loops;  /* 0: no bound */
    float precision;
    int persist;             /* keep the files when deleted: the next one begins with them */
    size_t loops;            /* sweeps of the last computation */
    double delta;            /* its last largest change of a score */
    double relative_delta;   /* the same in units of max(score, 1/n) */
    double jumping;          /* share of the last sweep's score that jumped */
    const atomic_bool *stop; /* looked at in the sweeps, NULL: none; borrowed */
    size_t n_links;          /* of the last computation; guarded by mutex, as the next two */
    size_t n_sources;        /* pages with links */
    size_t n_ranked;         /* pages that took part */
    Mutex mutex;             /* guards the arrays against page_rank_get while results come in */
} PageRank;

/* path: an existing directory for the files pr.bin and pr_out_degree.bin; NULL: all of it in
 * anonymous memory. max_vertices: a hint.
 * On failure *pr is NULL if memory is short, else an object to read error from and to delete. */
PageRankError page_rank_new(PageRank **pr, const char *path, size_t max_vertices);
/* NULL is allowed. */
PageRankError page_rank_delete(PageRank *pr);

/* The least number of pages in the next computation, with links or without. */
PageRankError page_rank_set_n_pages(PageRank *pr, size_t n_pages);

PageRankError page_rank_compute(PageRank *pr, void *link_stream_state,
                                LinkStreamNextFunc *link_stream_next,
                                LinkStreamResetFunc *link_stream_reset);
/* The same for a graph that was built before. */
PageRankError page_rank_compute_graph(PageRank *pr, const LinkGraph *graph);

/* The scores of page idx in the last sweep of the last computation and in the one before (value2,
 * value1). page_rank_error_internal: there is no such page, or an argument is NULL. */
PageRankError page_rank_get(const PageRank *pr, size_t idx, float *score_old, float *score_new);
/* Outgoing links of a page at the last computation, 0 when it had none. Any thread. */
float page_rank_get_out_degree(const PageRank *pr, size_t idx);

typedef struct PageRankTotals {
    size_t n_pages;        /* that took part in the last computation; 0: there was none */
    float mean_out_degree; /* of pages with links; at least 1 */
    float total_score;     /* of the content scores */
} PageRankTotals;
/* Any thread. */
void page_rank_get_totals(const PageRank *pr, PageRankTotals *totals);

void page_rank_set_persist(PageRank *pr, int value);

#endif
