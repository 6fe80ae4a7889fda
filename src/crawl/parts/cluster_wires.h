/* Cluster wires: what a crawl's parts and its cluster part have for each other.
 *
 * What: as wires.h, for a crawl on several machines; the context of each is the AgentParts. Of
 * limits, only what was granted to this agent may be used (cluster/whole/ledger.h).
 * Threads: as the functions say. */
#ifndef CRAWL_PARTS_CLUSTER_WIRES_H
#define CRAWL_PARTS_CLUSTER_WIRES_H

#include "crawl/parts/agent_parts_types.h"

ClusterSinks cluster_wires_sinks(AgentParts *parts);

/* From the todo thread: FrontierSinks. */
void cluster_wires_want(void *context, const IpAddress *address, uint64_t ticket);
void cluster_wires_release(void *context, const IpAddress *address, MonoTime rest_end);
/* From the distributor: FrontierSinks. */
void cluster_wires_left(void *context, uint32_t host);
void cluster_wires_ask(void *context, uint32_t host, const char *url);
void cluster_wires_tell(void *context, uint64_t ticket, ErrandAnswer *answer);
/* From ingest: IngestSinks. */
void cluster_wires_quiet(void *context, bool quiet);
/* From a fetching thread: one page more. */
void cluster_wires_count(AgentParts *parts);
/* What counts for crawl.max_bytes: all that was received, also of what is in flight. Any thread. */
uint64_t cluster_wires_bytes(AgentParts *parts);
/* As many transfers as there may be pages. Any thread. */
void cluster_wires_allow(AgentParts *parts);

#endif
