/* Cluster sinks: what the node has for the other parts of the crawl.
 *
 * What: leases go to the frontier, blocks and tables to ingest, allowances and the end to the main
 * thread; rows of the outbox and the situation come from there.
 * Threads: cluster. */
#pragma once

#include "crawl/cluster/cluster_state.h"

NodeSinks cluster_sinks(ClusterPart *part);
/* Scores are exchanged when the crawl goes by PageRank. */
MassDeskOptions cluster_sinks_mass(ClusterPart *part);
