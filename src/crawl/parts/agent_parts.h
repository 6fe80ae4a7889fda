/* Agent parts: the parts of a running crawl.
 *
 *   parts_identify --> parts_new --> parts_start --> (parts_pause) --> parts_drain --> parts_stop
 *                                                                       --> parts_delete
 *
 * What: builds the parts in the order in which they need each other (
 * agent_parts.h, network_parts.h), starts them, pauses and ends them. What they hand to each
 * other is in wires.h.
 *
 * Owns: all parts. Configuration and directory are borrowed.
 * Threads: main. The atomics, which wires.h counts in, are of all threads.
 * Errors: error holds one sentence. */
#pragma once

#include "crawl/parts/agent_parts_types.h"

/* Determines the user agent and the addresses that may be connected to. Nothing is created yet.
 * RESULT_INVALID: error says what is missing. */
Result parts_identify(AgentParts *parts, const Config *config, Buffer *error);
/* With a [cluster] section: connects, and begins to join; parts->cluster has its state. news of
 * parts tells of changes. */
Result parts_join(AgentParts *parts, CrawlStore *store, Buffer *error);
/* Builds everything else. After a failure parts_delete frees what was built; error holds one
 * sentence. */
Result parts_new(AgentParts *parts, CrawlStore *store, const char *crawl_log, Buffer *error);
/* Takes over the live values of the configuration, those of rule_parts.h and site_parts.h included;
 * main thread. error gets a sentence, or a line for each mistake; rules stay as they were then. */
Result parts_configure(AgentParts *parts, Buffer *error);
Result parts_start(AgentParts *parts);
/* Sets the reasons for a pause (PauseReasons, 0 = none). While there is one, nothing new is begun;
 * before parts_start: from the first moment on. */
void parts_pause(AgentParts *parts, unsigned reasons);
/* No new fetches. */
void parts_drain(AgentParts *parts);
/* Aborts what is in flight. */
void parts_abort(AgentParts *parts);
size_t parts_outstanding(AgentParts *parts);
/* Brings hosts back that were dropped or parked (ingest/chore/revival.h); any thread. */
Result parts_revive(AgentParts *parts, const RevivalOrder *order);
/* Commits what was fetched and ends all threads. */
void parts_stop(AgentParts *parts);
void parts_delete(AgentParts *parts);
