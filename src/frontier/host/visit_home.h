/* Home: visit states that are with the distributor, and the memory of all.
 *
 * What: a visit state at home with nothing to do rests: it is IDLE, in the heap of those that may
 * be forgotten. One that is away can be recalled.
 *
 * Invariants:
 *  1. Distributor.memory is the sum of all visit states' bytes, each as of when it was last home.
 *  2. A visit state is forgotten only when it is IDLE, none of its URLs is uncommitted, and its
 *     next fetch time has passed or is in the host's committed record
 *     (frontier/distributor/purge.h).
 * Threads: distributor. */
#ifndef FRONTIER_HOST_VISIT_HOME_H
#define FRONTIER_HOST_VISIT_HOME_H

#include "frontier/host/distributor_state.h"

static inline bool visit_home_has_room(const Distributor *distributor)
{
    return distributor->memory < distributor->options.memory_bytes;
}
/* True when half of the memory is used: that half is for hosts that can be fetched from soon. */
bool visit_home_is_scarce(const Distributor *distributor);
/* Keeps Distributor.memory true for a visit state that is at home. */
void visit_home_account(Distributor *distributor, VisitState *visit_state);
/* Takes an eviction back: the visit state has left, or is wanted after all. */
void visit_home_keep(Distributor *distributor, VisitState *visit_state);
/* Keeps a visit state that has nothing to do until it may be forgotten. One whose host was given up
 * rests until the database knows of that, or the next walk would bring it back; one that wants more
 * URLs asks again after a pause. */
void visit_home_rest(Distributor *distributor, VisitState *visit_state, MonoTime now);
/* Asks a visit state that is away to come home: its window is not the best any more, or it is to
 * make room. */
void visit_home_recall(Distributor *distributor, VisitState *visit_state);
/* Frees it; what is left of its window may be handed out again. */
void visit_home_forget(Distributor *distributor, VisitState *visit_state);

#endif
