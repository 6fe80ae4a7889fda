/* Host walk: goes over the hosts that wait on disk, best level first, and loads them.
 *
 * What: the schedule lists the hosts that have work by the level of their best URL. The walk has a
 * place in that list and goes on as long as there is room.
 *
 * Threads: distributor.
 * Invariants:
 *  1. The hosts before the walk's place are in memory, could not be loaded when it passed, or had
 *     their turn. A host that is better than those at its place and is left on disk before it sets
 *     the walk back (host_walk_left_out); and it begins anew now and then.
 *  2. No host is loaded while a better one is known to wait; equals take turns. */
#pragma once

#include "frontier/host/distributor_state.h"

#define HOST_WALK_BATCH    64u  /* hosts read from the schedule at a time */
#define HOST_WALK_PAUSE_MS 1000 /* between two walks */

typedef enum WalkStop {
    WALK_ON,    /* there may be more */
    WALK_END,   /* that were all */
    WALK_WORSE, /* the next is not wanted */
    WALK_FULL   /* the next has no room */
} WalkStop;

/* Tells the walk that a host with work stays on disk; level is that of its best URL. */
void host_walk_left_out(Distributor *distributor, uint32_t host, unsigned level, MonoTime now);
/* Whether the walk may load more hosts. Some room is kept for hosts of lower levels, when a
 * weighted bias gives them turns. */
bool host_walk_has_room(const Distributor *distributor);
/* Loads the next hosts while their levels are better than limit and there is room. Stops before the
 * first host that is not loaded, and returns the reason. */
WalkStop host_walk_on(Distributor *distributor, MDB_txn *txn, unsigned limit, MonoTime now);
/* Goes back to the best level, looks for hosts that are better than those at its place, and then
 * goes on from its place. */
void host_walk_restart(Distributor *distributor, MonoTime now);
