/* Rank agents: `ragno rank` in the directory of one of several agents (cluster/mass/mass.h).
 *
 * What: PageRank is then that of the whole crawl, for the pages of this agent, as of what it last
 * heard of the others.
 * Owns: the mass. Threads: main. */
#ifndef COMMAND_RANK_AGENTS_H
#define COMMAND_RANK_AGENTS_H

#include "cluster/mass/mass.h"

typedef struct RankAgents {
    Mass *mass; /* NULL: one agent alone */
    uint16_t self;
    uint32_t agents;
    MMapArray *weights;
} RankAgents;

/* RESULT_DAMAGED, RESULT_IO, RESULT_MEMORY. To be closed in any case. */
Result rank_agents_open(RankAgents *agents, const char *directory, PageDB *db);
void rank_agents_close(RankAgents *agents);
/* What the pages jump with; scores: content, or NULL. Alone it is these. RESULT_MEMORY, RESULT_IO.
 */
Result rank_agents_weigh(RankAgents *agents, const PageRank *pr, size_t n, MMapArray *scores,
                         MMapArray **weights);
/* After the computation: a score times *factor is the share of all values of the crawl. */
void rank_agents_finish(RankAgents *agents, const PageRank *pr, double *factor);
/* Whether a page is to be listed. */
bool rank_agents_lists(const RankAgents *agents, uint64_t page);
/* Says on standard error whose pages these are, and what was heard from whom, and when. */
void rank_agents_tell(const RankAgents *agents);

#endif
