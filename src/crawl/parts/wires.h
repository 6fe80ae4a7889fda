/* The wires between the parts of a running crawl: what one part calls when it has something for
 * another. Each is a function whose context is the AgentParts, and that does nothing but hand over:
 *
 *   frontier -> resolver -> frontier -> fetchers -> parsing -> ingest -> frontier
 *                  '------- DNS answers ------------^            '----> main thread (parts->news)
 *
 * Called in the thread of the part that has something; what they call may wait only where a queue
 * bounds the flow: parsing_push, ingest_push. Ownership goes with what is handed over. */
#ifndef CRAWL_PARTS_WIRES_H
#define CRAWL_PARTS_WIRES_H

#include "crawl/parts/agent_parts.h"

FrontierSinks wires_of_frontier(AgentParts *parts);
FetcherSinks wires_of_fetcher(AgentParts *parts);
IngestSinks wires_of_ingest(AgentParts *parts);

/* Wakes the main thread: something it looks at has changed. */
void wires_ring(AgentParts *parts);
/* Of the resolver: a visit state has its address or none; an answer for the archive. */
void wires_resolved(void *context, VisitState *visit_state);
void wires_heard(void *context, const char *hostname, WallTime asked, const Buffer *records);
/* Of the parsing threads: a page; a link that was refused. */
void wires_parsed(void *context, ParsedPage *page);
void wires_skipped(void *context, const char *url, size_t length, Refusal why,
                   const char *referrer);
/* The answers' gate is open again: whichever fetchers wait for it go on. */
void wires_room(void *context);
/* Fetchers could do more than is ready. */
bool wires_hungry(void *context);
/* Of scoring: there are moves for its chore. */
void wires_moves(void *context);

#endif
