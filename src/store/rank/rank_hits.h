/* One computation of hubs and authorities: the sweeps over the link graph.
 *
 * What: hits.h tells the formulas. Each round weighs what the hubs give; sweeps once over the
 * links, where an authority is complete when its links have been read and gives back at once;
 * gathers what the parts of the team have gained; and replaces the hubs.
 * Owns: nothing; vectors and team are those of the Hits.
 * Threads: the one that computes, and those of the team.
 * Errors: hits_error_stopped, hits_error_precision. */
#ifndef STORE_RANK_RANK_HITS_H
#define STORE_RANK_RANK_HITS_H

#include "store/rank/hits.h"
#include "store/rank/rank_team.h"

typedef struct RankHits {
    const Hits *hits;
    const LinkGraph *graph;
    RankTeam *team;
    double *hub;                   /* by source, sum 1 */
    double *flow;                  /* by source: what it gives along each of its links */
    double *gained[RANK_TEAM_MAX]; /* by source: the next hubs, as far as a part has got */
    double *authority;             /* by position, sum 1 */
    float *hub_before;             /* both one round earlier */
    float *authority_before;
    double *score;                    /* by position: content; NULL: 1 each */
    double mean_hub;                  /* 1 / sources */
    double mean_authority;            /* 1 / targets */
    bool is_walk;                     /* links share what a page gives */
    double jump;                      /* share of both that everybody gets */
    double authority_scale;           /* (1 - jump) / what this round's hubs give */
    double hub_scale;                 /* (1 - jump) / what this round's authorities give back */
    double part_sum[RANK_TEAM_MAX];   /* of a part's sources: hub * out-degree, or gained */
    double part_delta[RANK_TEAM_MAX]; /* largest change of a part */
    double part_relative[RANK_TEAM_MAX];
} RankHits;

/* The hubs that a computation begins with: the last ones, mixed with a little of everybody. */
void rank_hits_start(const Hits *hits, RankHits *it);
/* Rounds until hubs and authorities change by less than hits->precision.
 * hits_error_precision: max_loops came first; hits_error_stopped. */
HitsError rank_hits_iterate(Hits *hits, RankHits *it);

#endif
