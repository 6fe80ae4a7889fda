/* Hubs and authorities of a link graph.
 *
 * What: a good hub links to good authorities, and a good authority is linked from good hubs:
 *
 *   authority[i] ~ sum over links j->i of hub[j]
 *   hub[i]       ~ sum over links i->j of authority[j] * score[j]
 *
 * both scaled to sum 1, over and over. score is the content score of the page if scores are given,
 * else 1. Scores that are negative or not a number count as 0; if all are 0 they are ignored. Links
 * that appear twice count twice. Hubs are computed from the authorities of the same round, which
 * needs half the rounds of computing both from the last one's and has the same limit. A graph
 * without links leaves all scores 0.
 *
 * jump: hubs and authorities that only link to one another outweigh the rest of a large graph. On
 * the web of `make bench BENCH=schedule` a host with one page in a hundred has a third of all
 * authority. With jump above 0 the scores are those of a walk that follows a link of the hub
 * forwards, then a link of the authority backwards, each of its links alike, and starts anew
 * anywhere with probability jump at each step. Then a page gives as much as it gets, and no
 * community more. 0, the default, is plain HITS.
 *
 * Convergence, restart and stopping are those of page_rank.h: the largest change is measured in
 * units of the score, or of the mean score (over pages that link, or are linked to) for pages below
 * it. A new computation starts with the last hubs, mixed with a little of everybody, so that a
 * community that had faded can come back.
 *
 * Owns: its vectors, which may be files.
 * Threads: as page_rank.h.
 * Errors: the returned code; `error` has the words.
 * Source: seeds 000 and 003, "Hits"; J. Kleinberg, Authoritative sources in a hyperlinked
 * environment; A. Ng, A. Zheng, M. Jordan, Stable algorithms for link analysis (Randomized
 * HITS). */
#ifndef STORE_RANK_HITS_H
#define STORE_RANK_HITS_H

#include <stdatomic.h>

#include "base/thread/mutex.h"
#include "store/rank/link_graph.h"

#define HITS_DEFAULT_MAX_LOOPS 100
#define HITS_DEFAULT_PRECISION 1e-4f
#define HITS_DEFAULT_PERSIST   0

typedef enum HitsError {
    hits_error_ok = 0,
    hits_error_memory,
    hits_error_internal,
    hits_error_precision, /* not reached in max_loops; the scores are the best so far */
    hits_error_stopped    /* *stop became true; the scores are those of before */
} HitsError;

/* The authority that a link from a hub gives to its target. */
typedef struct HitsGifts {
    size_t n_pages;    /* of the last computation; 0: there was none */
    bool is_shared;    /* a hub's links share it */
    float scale;       /* authority for a hub of 1, times its links if they share it */
    float of_nobody;   /* authority from no hub: what everybody has */
    float of_newcomer; /* from a page that was no hub: that of a mean link */
} HitsGifts;

typedef struct Hits {
    MMapArray *h1; /* float by page: hub score one round before the end of the last computation */
    MMapArray *h2; /* hub score at the last computation */
    MMapArray *a1; /* authority score one round before the end of the last computation */
    MMapArray *a2; /* authority score at the last computation */
    char *path_h1; /* file of h1 */
    char *path_h2; /* file of h2 */
    size_t n_pages;
    Error *error;
    MMapArray *scores; /* float by page: content scores, borrowed; NULL: none */
    size_t max_loops;  /* 0: no bound */
    float precision;
    int persist;             /* keep the files when deleted: the next one begins with them */
    char *path_a1;           /* file of a1 */
    char *path_a2;           /* file of a2 */
    size_t loops;            /* sweeps of the last computation */
    double delta;            /* its last largest change of a score, hub or authority */
    double relative_delta;   /* the same in units of max(score, mean score) */
    const atomic_bool *stop; /* looked at in the sweeps, NULL: none; borrowed */
    float jump;              /* 0: HITS; below 1: the walk's */
    HitsGifts gifts;         /* of the last computation; guarded by mutex */
    Mutex mutex;             /* guards the arrays while results come in */
} Hits;

/* path: an existing directory for the files hits_h1.bin, hits_h2.bin, hits_a1.bin, hits_a2.bin;
 * NULL: anonymous memory.
 * On failure *hits is NULL if memory is short, else an object to read error from and to delete. */
HitsError hits_new(Hits **hits, const char *path, size_t max_vertices);
/* NULL is allowed. */
HitsError hits_delete(Hits *hits);

/* The least number of pages in the next computation, with links or without. */
HitsError hits_set_n_pages(Hits *hits, size_t n_pages);

HitsError hits_compute(Hits *hits, void *link_stream_state, LinkStreamNextFunc *link_stream_next,
                       LinkStreamResetFunc *link_stream_reset);
/* The same for a graph that was built before. */
HitsError hits_compute_graph(Hits *hits, const LinkGraph *graph);

/* The scores of page idx in the last round of the last computation and in the one before.
 * hits_error_internal: there is no such page, or an argument is NULL. Any thread. */
HitsError hits_get_hub(const Hits *hits, size_t idx, float *score_old, float *score_new);
HitsError hits_get_authority(const Hits *hits, size_t idx, float *score_old, float *score_new);
/* The authority that a link from page idx, which has n_links (0: not known), gives to the page
 * behind it, by the last computation; that of a mean link if idx was no hub. Any thread.
 * hits_error_internal: there was no computation. */
HitsError hits_get_gift(const Hits *hits, size_t idx, size_t n_links, float *gift);
/* Pages of the last computation; 0: there was none. Any thread. */
size_t hits_get_n_ranked(const Hits *hits);
void hits_set_persist(Hits *hits, int value);

#endif
