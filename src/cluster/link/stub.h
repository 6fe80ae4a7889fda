/* Stub: a page that this agent knows and another agent owns.
 *
 * What: every link needs the index of its target. So the target of a link to another agent's host
 * is a page in PageDB, with this mark in its flags and nothing else: it is never scheduled, it has
 * no host record, and its URL was sent to its owner (outbox.h). When the slot of its host moves to
 * this agent, the mark is removed and the page is scheduled, unless it is done. A page that was
 * crawled here keeps what is known of it when its host moves to another agent; it only gets the
 * mark. */
#pragma once

#include "store/records/page_ref.h"

#define STUB_FLAG 1u
/* Of a page that was not crawled here: an agent that had its host before has fetched it, or given
 * it up. (The bit has another meaning for pages that were crawled, page/parsed_page.h.) */
#define DONE_FLAG 2u

static inline bool page_is_stub(const PageRef *page)
{
    return (page->flags & STUB_FLAG) != 0;
}

/* Whether it is never to be fetched again as a new page, here or elsewhere. */
static inline bool page_is_done(const PageRef *page)
{
    return page->n_crawls > 0 || (page->flags & DONE_FLAG) != 0;
}
