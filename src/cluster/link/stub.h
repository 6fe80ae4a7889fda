/* Stubs: pages that this agent knows, and another one owns.
 *
 * A link to a page of another agent needs an index, as every link does: so the page is in PageDB,
 * with this mark in its flags, and with nothing else: it is never scheduled, has no host record,
 * and its URL was sent to its owner (outbox.h). When the slot of its host comes to this agent, the
 * mark goes and the page is scheduled. */
#ifndef CLUSTER_LINK_STUB_H
#define CLUSTER_LINK_STUB_H

#include "store/records/page_ref.h"

#define STUB_FLAG 1u

static inline bool page_is_stub(const PageRef *page)
{
    return (page->flags & STUB_FLAG) != 0;
}

#endif
