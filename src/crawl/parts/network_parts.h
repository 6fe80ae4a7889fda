/* Network parts: frontier, resolver and fetchers, as the configuration wants them.
 *
 * What: builds the parts that decide who is next, and those that ask.
 * Owns: nothing; what is built belongs to AgentParts.
 * Threads: main.
 * Errors: error gets one sentence that names the option. */
#ifndef CRAWL_PARTS_NETWORK_PARTS_H
#define CRAWL_PARTS_NETWORK_PARTS_H

#include "crawl/parts/agent_parts.h"

Result network_parts_new(AgentParts *parts, Buffer *error);
/* The configuration has changed: delays, retries, memory of hosts, robots expiry, fetching threads.
 * RESULT_INVALID: nothing has changed; RESULT_MEMORY, RESULT_LIMIT: there are fewer threads. */
Result network_parts_change(AgentParts *parts, Buffer *error);
/* The options of the resolver; `ragno check dns` uses them, too. */
ResolverOptions network_parts_resolver_options(const Config *config, const IpPolicy *policy);

#endif
