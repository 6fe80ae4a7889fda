/* New URL: what happens to a URL that is seen for the first time.
 *
 * What: the URL is refused, which is counted and logged, or it gets its level and goes into the
 * schedule of its host.
 * Threads: ingest, inside the batch's transaction. */
#pragma once

#include "ingest/batch/ingest_batch.h"

/* Hand over: a new URL of another agent's host becomes a stub here, and is sent to its owner.
 *
 * What: the stub is a page with an index, so that links to it can be stored, and with a mark. In
 * the same transaction the URL goes into the outbox, together with what its owner cannot know: its
 * depth, the number of redirects that led to it, its estimated score, and the page where it was
 * found. Each agent sends each URL once, and again when it has found a better path. A URL that is
 * too deep is refused here, because its owner would refuse it.
 *
 * A URL of a slot that is MOVING to this agent becomes a stub, too, and is sent nowhere: it is
 * scheduled when the slot is OWNED (ingest/move/page_move.h), because only then everything is known
 * here that its former owner has fetched.
 * Threads: ingest, inside the batch's transaction.
 * Errors: RESULT_MEMORY, RESULT_FULL, RESULT_IO, in Batch.result. */

/* What the owner of a page is told of it that was found here. The URL is borrowed. */
LinkRecord hand_over_record(Batch *batch, const PageRef *page);
/* For a known page that has got a better path: sends a stub again, and notes the origin of the path
 * when another agent found it. Returns what the PageSink returns. */
int hand_over_improved(void *batch, const PageRef *page);

/* Whether a URL is further from a seed than the options allow: depth counts links, embeds the hops
 * from a page to what it embeds, redirects included, which is as deep as the page. `ragno why` asks
 * the same. */
static inline bool ingest_is_too_deep(uint64_t depth, unsigned embeds, uint64_t max_depth,
                                      unsigned max_embeds)
{
    return embeds > max_embeds || depth > max_depth + embeds;
}

/* PageSink.discovered; the context is the Batch. */
int ingest_new_url(void *context, const PageRef *page, PageState *state);
