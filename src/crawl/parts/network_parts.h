/* Network parts: frontier, resolver and fetchers, as the configuration wants them.
 *
 * What: builds the parts that decide who is next, and those that ask.
 * Owns: nothing; what is built belongs to AgentParts.
 * Threads: main.
 * Errors: error gets one sentence that names the option. */
#pragma once

#include "crawl/parts/agent_parts_types.h"

/* Descriptors: how many connections there may be, given how many files the system lets us open.
 *
 * What: a transfer for which no descriptor is left fails on this machine (FETCH_LOCAL), and so does
 * a log or a WARC file that is to be opened at that moment. So some descriptors are set aside for
 * everything else, and connections share the rest: those in use first, idle ones get what is left.
 * A pure function. */

#define DESCRIPTORS_NO_LIMIT UINT64_MAX

typedef struct DescriptorShare {
    size_t most; /* transfers in flight that there are descriptors for; at least 1 */
    size_t busy; /* as many of them as are asked for */
    size_t kept; /* connections that one fetching thread keeps open, those in use included */
} DescriptorShare;

/* limit: RLIMIT_NOFILE. busy, idle: what is asked for, over all threads; threads is not 0. */
DescriptorShare descriptors_share(uint64_t limit, size_t busy, size_t idle, size_t threads);

Result network_parts_new(AgentParts *parts, Buffer *error);
/* The configuration has changed: delays, retries, memory of hosts, robots expiry, fetching threads.
 * RESULT_INVALID: nothing has changed; RESULT_MEMORY, RESULT_LIMIT: there are fewer threads. */
Result network_parts_change(AgentParts *parts, Buffer *error);
/* The options of the resolver; `ragno check dns` uses them, too. */
ResolverOptions network_parts_resolver_options(const Config *config, const IpPolicy *policy);
