/* Stub: a page that this agent knows and another agent owns.
 *
 * What: every link needs the index of its target. So the target of a link to another agent's host
 * is a page in PageDB, with this mark in its flags and nothing else: it is never scheduled, it has
 * no host record, and its URL was sent to its owner (outbox.h). When the slot of its host moves to
 * this agent, the mark is removed and the page is scheduled. */
#ifndef CLUSTER_LINK_STUB_H
#define CLUSTER_LINK_STUB_H

#include "store/records/page_ref.h"

#define STUB_FLAG 1u

static inline bool page_is_stub(const PageRef *page)
{
    return (page->flags & STUB_FLAG) != 0;
}

#endif
