/* Notice reader: what a commit means for the visit states.
 *
 * What: results that were committed are no longer in flight; a host that got URLs is loaded, woken
 * or recalled when they are better than its window; a host whose schedule was cleared is retired; a
 * window whose URLs have moved is read anew.
 * Threads: distributor. */
#ifndef FRONTIER_DISTRIBUTOR_NOTICE_READER_H
#define FRONTIER_DISTRIBUTOR_NOTICE_READER_H

#include "frontier/distributor/commit_notice.h"
#include "frontier/host/distributor_state.h"

/* The notice stays the caller's. */
void notice_reader_take(Distributor *distributor, const CommitNotice *notice, MonoTime now,
                        WallTime wall);

#endif
