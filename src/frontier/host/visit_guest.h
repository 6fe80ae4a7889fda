/* Guest: the visit state of a host that PageDB does not know.
 *
 * What: a host is a guest when only somebody's robots.txt leads to it
 * (frontier/visit/visit_state.h). Guests are found by their origin, since they have no number.
 * Threads: distributor. */
#ifndef FRONTIER_HOST_VISIT_GUEST_H
#define FRONTIER_HOST_VISIT_GUEST_H

#include "frontier/host/distributor_state.h"

/* The guest of an origin; NULL when there is none. */
VisitState *visit_guest_find(Distributor *distributor, const char *origin, size_t length);
/* RESULT_MEMORY: nothing has changed. */
Result visit_guest_add(Distributor *distributor, VisitState *guest);
void visit_guest_remove(Distributor *distributor, const VisitState *guest);

#endif
