/* Parts sample: what the threads of a crawl are doing, for a line of the status.
 *
 * What: fills in what fetching, scoring, the network and the hosts that wait contribute to a
 *   StatusSample. The counts are relaxed atomics: each is right, and together they may be a moment
 *   apart.
 * Owns: nothing.
 * Threads: main. */
#ifndef CRAWL_RUN_PARTS_SAMPLE_H
#define CRAWL_RUN_PARTS_SAMPLE_H

#include "crawl/parts/agent_parts.h"
#include "crawl/run/status.h"

/* s->state and s->wall are set before. */
void parts_sample(AgentParts *parts, StatusSample *s);

#endif
