/* Parsing parts: the parsing threads and the rules that they go by.
 *
 * What: builds them.
 * Owns: nothing; what is built belongs to AgentParts.
 * Threads: main.
 * Errors: error gets one sentence that names the option or the file. */
#ifndef CRAWL_PARTS_PARSING_PARTS_H
#define CRAWL_PARTS_PARSING_PARTS_H

#include "crawl/parts/agent_parts.h"

Result parsing_parts_new(AgentParts *parts, Buffer *error);
/* The configuration has changed: limits of a page, parsing threads; score.rules is read again.
 * RESULT_INVALID and errors of reading: nothing has changed. */
Result parsing_parts_change(AgentParts *parts, Buffer *error);

#endif
