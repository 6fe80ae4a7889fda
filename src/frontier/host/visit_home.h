/* Home: visit states that are with the distributor, and the memory of all.
 *
 * What: a visit state at home with nothing to do rests: it is IDLE, in the heap of those that may
 * be forgotten. One that is away can be recalled.
 *
 * Threads: distributor.
 * Invariants:
 *  1. Distributor.memory is the sum of all visit states' bytes, each as of when it was last home.
 *  2. A visit state is forgotten only when it is IDLE, none of its URLs is uncommitted, and its
 *     next fetch time has passed or is in the host's committed record
 *     (frontier/distributor/distributor.h). */
#pragma once

#include "frontier/host/distributor_state.h"

/* Guest: the visit state of a host that PageDB does not know.
 *
 * What: a host is a guest when only somebody's robots.txt leads to it
 * (frontier/visit/visit_state.h). Guests are found by their origin, since they have no number.
 * Threads: distributor. */

/* The guest of an origin; NULL when there is none. */
VisitState *visit_guest_find(Distributor *distributor, const char *origin, size_t length);

/* Whether one more host that has an address may be in memory. */
static inline bool visit_home_has_room(const Distributor *distributor)
{
    return distributor_memory(distributor) < distributor_memory_most(distributor);
}
/* Whether half of the memory is used. The other half is for hosts that can be fetched from soon. */
bool visit_home_is_scarce(const Distributor *distributor);
/* Updates Distributor.memory for a visit state that is at home. */
void visit_home_account(Distributor *distributor, VisitState *visit_state);
/* It has an address now, or is being forgotten: its place among the names is free. */
void visit_home_name(Distributor *distributor, VisitState *visit_state);
/* Ends the eviction of a visit state: it is being forgotten, or it stays because it is needed. */
void visit_home_keep(Distributor *distributor, VisitState *visit_state);
/* Keeps a visit state that has nothing to do until it may be forgotten. A visit state whose host
 * was given up rests until the database knows about it, because the next walk would load the host
 * again. A visit state that wants more URLs asks for them again after a pause. */
void visit_home_rest(Distributor *distributor, VisitState *visit_state, MonoTime now);
/* Recalls a visit state that is away, because better URLs were found or because it must make room.
 */
void visit_home_recall(Distributor *distributor, VisitState *visit_state);
/* Gives a visit state that is at home the delay that is configured for it now, counted from the end
 * of its last fetch. After failures, or with a Crawl-delay, what it waits is only lengthened. Its
 * robots rules are good for no longer than is configured now. */
void visit_home_replan(Distributor *distributor, VisitState *visit_state, MonoTime now);
/* Frees a visit state. The URLs left in its window may be handed out again. */
void visit_home_forget(Distributor *distributor, VisitState *visit_state);
