/* Rule parts: the operator's rules about URLs and hosts, as the threads of a crawl see them.
 *
 * What: scope, denials and filters are immutable objects that are replaced while the crawl runs.
 * Parsing threads ask scope and filters about links, fetching threads the admission (scope and
 * denials) and filter.fetch before each fetch, ingest the admission about hosts. What was scheduled
 * before a change is judged again (ingest/chore/readmission.h).
 *
 * Owns: nothing; what is built belongs to AgentParts.
 * Threads: main.
 * Errors: error gets a sentence, or a line for each mistake; nothing has changed then. */
#pragma once

#include "crawl/parts/agent_parts_types.h"

/* Makes all rules anew: configuration, lists of hosts, DIR/denied.txt. */
Result rule_parts_share(AgentParts *parts, Buffer *error);
/* Denies what a rule says, from the next fetch on and over restarts; who is noted beside it. answer
 * gets a sentence. RESULT_INVALID: it is no rule; RESULT_EXISTS: it is denied already. */
Result rule_parts_deny(AgentParts *parts, const char *rule, const char *who, Buffer *answer);
/* Takes a denial back. RESULT_NOT_FOUND: there is none; answer says which rule denies it instead.
 */
Result rule_parts_allow(AgentParts *parts, const char *rule, const char *who, Buffer *answer);
