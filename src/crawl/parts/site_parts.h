/* Site parts: the [site] sections, in the hands of those who go by them.
 *
 * What: makes the site book of the configuration and hands it to the threads: fetching threads
 * (FetcherOptions.sites), the distributor (delay and limit of pages of a host), ingest (limit).
 * Threads: main shares; each of the other functions is called by the thread that it names. */
#pragma once

#include "crawl/parts/agent_parts_types.h"

/* Before anybody is built, and when the configuration has been read anew. Hosts whose robots.txt is
 * not obeyed are an event of ragno.log each. error holds one sentence. */
Result site_parts_share(AgentParts *parts, Buffer *error);
void site_parts_destroy(AgentParts *parts);

/* For the distributor: DistributorOptions.host_delay and host_pages, of the AgentParts. */
int64_t site_parts_host_delay(void *context, const char *hostname, int64_t standard_ms);
uint64_t site_parts_host_pages(void *context, const char *hostname);
/* For ingest: IngestOptions.host_config and RenderWay.host_config. */
bool site_parts_host_config(void *context, const char *hostname, Config *config);
