/* Window: which URLs of a host are in memory.
 *
 * What: a window is the head of the host's schedule, and with a weighted bias a share of what comes
 * later. Its size is a share of the memory that is left, so that more hosts mean shorter windows.
 *
 * Threads: distributor.
 * Invariants:
 *  1. A page index is in Distributor.in_flight from the moment it enters a window until its result
 *     is committed or its window is released: nothing is handed out twice.
 *  2. With limits.pages_per_host, the pages of a host that are stored and its URLs in flight are
 *     never more together than that limit. */
#pragma once

#include "frontier/host/distributor_state.h"

/* Gives a visit state its next window that has no URLs but such as wait for a retry, which stay
 * behind the new ones. The window may stay as it is. */
Result visit_window_refill(Distributor *distributor, MDB_txn *txn, VisitState *visit_state);
/* Returns the URLs left in its window to the schedule: they may be handed out again. */
void visit_window_release(Distributor *distributor, VisitState *visit_state);
/* The same, but for those that wait for a retry. */
void visit_window_release_ready(Distributor *distributor, VisitState *visit_state);
