/* What a scheduler wants to know of a page before it is crawled: how good it will be.
 *
 *   Scorer = none (the score of the link), ContentScorer, PageRankScorer, HitsScorer, or the user's
 *
 * What: a scorer is a state and functions. The documented ones are: update, which computes all
 * scores anew and may take long; get, which gives the score of a page at the last update and at the
 * one before; add, which gives the first score of a page that was discovered just now. The
 * functions below them are optional (NULL).
 * Owns: the scheduler borrows the scorer.
 * Threads: update is called by one thread; the others by any, also meanwhile.
 * Errors: all answer 0 for success.
 * Source: seeds 000 and 003, "Scorer". */
#ifndef STORE_SCORERS_SCORER_H
#define STORE_SCORERS_SCORER_H

#include <stdbool.h>

#include "store/records/page_info.h"

typedef int(ScorerUpdateFunc)(void *state);
typedef int(ScorerAddFunc)(void *state, const PageInfo *page_info, float *score);
typedef int(ScorerGetFunc)(void *state, size_t idx, float *score_old, float *score_new);

/* A link by which a page was discovered, as the one who writes it into PageDB knows it: what add
 * has to look up. */
typedef struct ScorerLink {
    uint64_t parent;  /* index of the page with the link; UINT64_MAX: none (a seed) */
    size_t n_links;   /* that page has */
    float page_score; /* content score of that page */
    float score;      /* of the link */
} ScorerLink;

/* The same as add, without a look into the database. */
typedef int(ScorerEstimateFunc)(void *state, const ScorerLink *link, float *score);
/* Factor that makes scores comparable from one update to the next, for priority levels: scores that
 * sum to 1 shrink while the crawl grows. Times it, a page of mean importance has SCORER_MEAN. */
typedef float(ScorerScaleFunc)(void *state);
/* true: an update that is running ends soon (with an error) and others do not begin. Any thread. */
typedef void(ScorerStopFunc)(void *state, bool stop);

#define SCORER_MEAN (1.0f / 4096.0f)

typedef struct Scorer {
    void *state;
    ScorerUpdateFunc *update;
    ScorerAddFunc *add;
    ScorerGetFunc *get;
    ScorerEstimateFunc *estimate;
    ScorerScaleFunc *scale;
    ScorerStopFunc *stop;
} Scorer;

#endif
