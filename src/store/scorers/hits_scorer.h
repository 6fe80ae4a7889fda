/* HITS as a scorer: the pages with the highest authority go first.
 *
 * What: the scores are those of the walk of hits.h with jump HITS_SCORER_JUMP, since plain HITS
 * would send the crawl into one community: `make bench BENCH=schedule` prints both as
 * schedule.mass_at_*, `hits` and `hits_plain`. hits_scorer_set_jump(hs, 0) is plain HITS.
 *
 * A page that is new since the last update gets an estimate from the page that links to it: the
 * authority that a link from that hub gives, or from a mean hub if the parent was none. Before the
 * first update every page counts as of mean authority; with content scores, which weigh what an
 * authority gives back to its hubs, that is weighed with the link's own score.
 *
 * All links count, also those inside a host; with only_diff_domain (default 0) only links between
 * hosts do. That the precision was not reached is told and harmless. The files hits_h1.bin,
 * hits_h2.bin, hits_a1.bin and hits_a2.bin are in the directory of the PageDB.
 *
 * Owns: its Hits; PageDB is borrowed.
 * Threads: as in scorer.h.
 * Errors: as in hits.h.
 * Source: seeds 000 and 003, "HitsScorer". */
#ifndef STORE_SCORERS_HITS_SCORER_H
#define STORE_SCORERS_HITS_SCORER_H

#include <stdatomic.h>

#include "store/rank/hits.h"
#include "store/scorers/score_input.h"
#include "store/scorers/scorer.h"

#define HITS_SCORER_USE_CONTENT_SCORES 0
#define HITS_SCORER_PERSIST            0
#define HITS_SCORER_JUMP               0.2f

typedef enum HitsScorerError {
    hits_scorer_error_ok = 0,
    hits_scorer_error_memory,
    hits_scorer_error_internal,
    hits_scorer_error_precision /* not reached in max_loops: the scores are usable */
} HitsScorerError;

typedef struct HitsScorer {
    Hits *hits;
    PageDB *page_db; /* borrowed */
    Error *error;
    int persist;            /* keep the files when deleted */
    int use_content_scores; /* authorities give to their hubs by content */
    int only_diff_domain;
    atomic_bool stopping;
    ScoreParent parent; /* of add */
} HitsScorer;

/* db stays the caller's and outlives the scorer. On failure *hs is NULL or holds the error. */
HitsScorerError hits_scorer_new(HitsScorer **hs, PageDB *db);
/* NULL is allowed. */
HitsScorerError hits_scorer_delete(HitsScorer *hs);

/* The functions of a Scorer. */
int hits_scorer_add(void *state, const PageInfo *page_info, float *score);
int hits_scorer_get(void *state, size_t idx, float *score_old, float *score_new);
int hits_scorer_update(void *state);
int hits_scorer_estimate(void *state, const ScorerLink *link, float *score);
float hits_scorer_scale(void *state);
void hits_scorer_stop(void *state, bool stop);
/* Fills in *scorer. */
void hits_scorer_setup(HitsScorer *hs, Scorer *scorer);

/* Settings: between updates only. */
void hits_scorer_set_persist(HitsScorer *hs, int value);
void hits_scorer_set_use_content_scores(HitsScorer *hs, int value);
/* Hits.jump, from 0 to below 1. */
void hits_scorer_set_jump(HitsScorer *hs, float value);

#endif
