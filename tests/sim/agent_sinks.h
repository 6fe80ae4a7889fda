/* What node and crawl of a simulated agent have for each other, as src/crawl/cluster hands it on.
 * Between agent.c and agent_sinks.c; nobody else includes it. */
#ifndef TESTS_SIM_AGENT_SINKS_H
#define TESTS_SIM_AGENT_SINKS_H

#include "agent.h"

#define AGENT_GATHER_MS 145 /* as in cluster_part.c */

/* One that is no member any more, or not yet, has nothing to do with the crawl
 * (cluster_part.c). */
bool agent_is_member(const Agent *agent);
/* The node has something to do, soon. */
void agent_touch(Agent *agent);
NodeSinks agent_node_sinks(Agent *agent);
InboxSinks agent_inbox_sinks(Agent *agent);
/* Tables and chores of the agent get their sinks. */
void agent_set_sinks(Agent *agent);

#endif
