/* Writing parts: archive, scoring, ingest, sieve and revisits, as the configuration wants them.
 *
 * What: builds the parts that work in the ingest thread, and the scoring thread.
 * Owns: nothing; what is built belongs to AgentParts.
 * Threads: main.
 * Errors: error gets one sentence that names the option or the file. */
#ifndef CRAWL_PARTS_WRITING_PARTS_H
#define CRAWL_PARTS_WRITING_PARTS_H

#include "crawl/parts/agent_parts.h"

/* crawl_log: its path, or NULL for the one in the crawl's directory. On failure parts_delete takes
 * what there is. */
Result writing_parts_new(AgentParts *parts, const char *crawl_log, Buffer *error);
/* Makes the revisit policy from the present configuration; schedule.rules is read again. Nothing
 * changes on failure, or without schedule.mode = continuous. */
Result writing_parts_change_revisits(AgentParts *parts, Buffer *error);

#endif
