#include "command/rank_agents.h"

#include <stdio.h>

#include "base/core/clock.h"
#include "cluster/message/node_place.h"

Result rank_agents_open(RankAgents *agents, const char *directory, PageDB *db)
{
    ClusterTable table;
    *agents = (RankAgents){.mass = NULL};
    cluster_table_init(&table);
    Result rc = node_place_of(db, &agents->self, &table);
    agents->agents = table.n_agents;
    if (rc == RESULT_OK) {
        rc = mass_new(&agents->mass, directory, db, agents->self, &table);
    }
    cluster_table_destroy(&table);
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

void rank_agents_close(RankAgents *agents)
{
    (void)mmap_array_delete(agents->weights);
    mass_delete(agents->mass);
}

Result rank_agents_weigh(RankAgents *agents, const PageRank *pr, size_t n, MMapArray *scores,
                         MMapArray **weights)
{
    *weights = scores;
    if (agents->mass == NULL || n == 0) {
        return RESULT_OK;
    }
    PageRankOutside outside = mass_outside(agents->mass);
    Result rc = outside.weigh(outside.context, pr->damping, scores, n, NULL, &agents->weights);
    *weights = agents->weights;
    return rc;
}

void rank_agents_finish(RankAgents *agents, const PageRank *pr, double *factor)
{
    *factor = 1.0;
    if (agents->mass != NULL && pr->jumping > 0.0) {
        double whole = (double)pr->total_score / pr->jumping;
        mass_close_books(agents->mass, pr, whole);
        double total = mass_total(agents->mass);
        *factor = total > 0.0 ? whole / total : 1.0;
    }
}

bool rank_agents_lists(const RankAgents *agents, uint64_t page)
{
    return agents->mass == NULL || mass_is_own(agents->mass, page);
}

void rank_agents_tell(const RankAgents *agents)
{
    size_t n = 0;
    const MassPeer *peers = agents->mass == NULL ? NULL : mass_peers(agents->mass, &n);
    if (agents->mass != NULL) {
        (void)fprintf(stderr,
                      "pages of agent %u of %u; scores are shares of the whole crawl, with what "
                      "flows in from the others:\n",
                      (unsigned)agents->self, agents->agents);
    }
    for (size_t i = 0; i < n; i++) {
        char text[CLOCK_TEXT_BYTES];
        WallTime time = {.us = (int64_t)peers[i].head.time_s * 1000000};
        if (peers[i].heard) {
            (void)fprintf(stderr, "  agent %u, as of %s: into %llu pages of %llu\n",
                          (unsigned)peers[i].agent, wall_format_iso(time, text),
                          (unsigned long long)peers[i].placed,
                          (unsigned long long)peers[i].head.records);
        } else {
            (void)fprintf(stderr, "  agent %u: nothing was heard\n", (unsigned)peers[i].agent);
        }
    }
}
