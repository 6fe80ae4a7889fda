/* Errand: a robots.txt that redirects to another host.
 *
 * What: the asker is handed over together with the visit state of the host that has the file, which
 * is made if need be, and fetches it as the first thing when that host may be visited
 * (frontier/visit/visit_state.h, fetch/transfer/robots_answer.h). Askers wait at a visit state that
 * is away until it comes home.
 *
 * Threads: distributor.
 * Invariant: a visit state with askers serves them before it goes on an errand itself: nobody waits
 * in a circle. */
#ifndef FRONTIER_HOST_VISIT_ERRAND_H
#define FRONTIER_HOST_VISIT_ERRAND_H

#include "frontier/host/distributor_state.h"

/* Sends an asker, whose robots.txt is on another host, with the visit state of that host. True: the
 * asker has gone; when *wakes is not NULL, it is the other visit state, which is at home and must
 * be dispatched. False: the attempt has failed, and the asker is still at home. */
bool visit_errand_send(Distributor *distributor, MDB_txn *txn, VisitState *asker, MonoTime now,
                       VisitState **wakes);
/* Makes the visit states that waited for this one its askers, so that they travel with it. */
void visit_errand_take_waiting(VisitState *visit_state);
/* Ends the errand of the next asker of a visit state that has no address: the attempt has failed.
 * Returns that asker, which is at home again and must be dispatched; NULL when there are no more.
 */
VisitState *visit_errand_fail_next(Distributor *distributor, VisitState *visit_state, MonoTime now);

#endif
