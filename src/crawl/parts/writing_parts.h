/* Writing parts: archive, scoring, ingest, sieve and revisits, as the configuration wants them.
 *
 * What: builds the parts that work in the ingest thread, and the scoring thread.
 * Owns: nothing; what is built belongs to AgentParts.
 * Threads: main.
 * Errors: error gets one sentence that names the option or the file. */
#ifndef CRAWL_PARTS_WRITING_PARTS_H
#define CRAWL_PARTS_WRITING_PARTS_H

#include "crawl/parts/agent_parts_types.h"

/* crawl_log: its path, or NULL for the one in the crawl's directory. On failure parts_delete takes
 * what there is. */
Result writing_parts_new(AgentParts *parts, const char *crawl_log, Buffer *error);
/* The configuration has changed: weights of scores; with schedule.mode = continuous the revisit
 * policy, for which schedule.rules is read again. On failure the policy stays as it was. */
Result writing_parts_change(AgentParts *parts, Buffer *error);

#endif
