/* Wires: what one part of a running crawl calls when it has something for another.
 *
 *   frontier -> resolver -> frontier -> fetchers -> parsing -> ingest -> frontier
 *                  '------- DNS answers ------------^            '----> main thread (parts->news)
 *
 * What: functions that do nothing but hand over; the context of each is the AgentParts.
 * Owns: nothing. What is handed over belongs to the part that gets it.
 * Threads: that of the part that has something. Only parsing_push, parsing_add and ingest_push may
 * wait, where a queue bounds the flow. */
#pragma once

#include "crawl/parts/agent_parts_types.h"

FrontierSinks wires_of_frontier(AgentParts *parts);
FetcherSinks wires_of_fetcher(AgentParts *parts);
IngestSinks wires_of_ingest(AgentParts *parts);

/* Wakes the main thread: something it looks at has changed, such as that an outage of our own
 * network has begun or ended. context is an AgentParts. */
void wires_ring(void *context);
/* From the resolver: a visit state whose name was resolved, or could not be; a DNS answer for the
 * archive. */
void wires_resolved(void *context, VisitState *visit_state);
void wires_heard(void *context, const char *hostname, WallTime asked, const Buffer *records);
/* From the parsing threads: a parsed page; a link that was refused. */
void wires_parsed(void *context, ParsedPage *page);
/* From the classifier: a page with its score. */
void wires_classified(void *context, ParsedPage *page);
void wires_skipped(void *context, const SkippedLink *link);
/* The gate of answers is open again: wakes the fetchers, some of which may wait for it. */
void wires_room(void *context);
/* Whether the fetchers could begin more transfers than there are hosts ready. */
bool wires_hungry(void *context);
/* Whether nothing is left to be fetched, parsed or written: what is lacking will not come. */
bool wires_quiet(void *context);
/* From scoring: its chore has moves to apply. */
void wires_moves(void *context);

/* Cluster wires: what a crawl's parts and its cluster part have for each other.
 *
 * What: as wires.h, for a crawl on several machines; the context of each is the AgentParts. Of
 * limits, only what was granted to this agent may be used (cluster/whole/ledger.h).
 * Threads: as the functions say. */

ClusterSinks cluster_wires_sinks(AgentParts *parts);

/* What counts for crawl.max_bytes: all that was received, also of what is in flight. Any thread. */
uint64_t cluster_wires_bytes(AgentParts *parts);
/* As many transfers as there may be pages. Any thread. */
void cluster_wires_allow(AgentParts *parts);
