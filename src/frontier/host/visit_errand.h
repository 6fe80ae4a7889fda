/* Errand: a robots.txt that redirects to another host.
 *
 * What: the asker is handed over together with the visit state of the host that has the file, which
 * is made if need be, and fetches it as the first thing when that host may be visited
 * (frontier/visit/visit_state.h, fetch/transfer/robots_answer.h). Askers wait at a visit state that
 * is away until it comes home.
 * In a crawl on several machines a host is asked by its owner alone. The asker waits (ASKING) until
 * distributor_told says what came of it: the other host is ours after all, and it goes on as above;
 * or there is an answer, which its own next fetching thread reads; or the owner is away, and
 * nothing is fetched of the asker's host for a minute, for which nobody is charged (rules that were
 * in force stay so). What another agent asks is an asker that stands for its host.
 *
 * Threads: distributor.
 * Invariant: a visit state with askers serves them before it goes on an errand itself: nobody waits
 * in a circle. */
#pragma once

#include "frontier/host/distributor_state.h"

/* Sends an asker, whose robots.txt is on another host, with the visit state of that host. True: the
 * asker has gone; when *wakes is not NULL, it is the other visit state, which is at home and must
 * be dispatched. False: the attempt has failed, and the asker is still at home. */
bool visit_errand_send(Distributor *distributor, MDB_txn *txn, VisitState *asker, MonoTime now,
                       VisitState **wakes);
/* The asker of distributor_told, at home again; NULL: nobody waits for this. Takes the answer. */
VisitState *visit_errand_told(Distributor *distributor, uint32_t host, ErrandOutcome outcome,
                              ErrandAnswer *answer, MonoTime now);
/* Takes an asker that stands for another agent's host, and sends it. *wakes: as above. */
void visit_errand_asked(Distributor *distributor, MDB_txn *txn, VisitState *asker, MonoTime now,
                        VisitState **wakes);
/* One that is back: tells what came of it. */
void visit_errand_tell(Distributor *distributor, VisitState *asker);
/* Makes the visit states that waited for this one its askers, so that they travel with it. */
void visit_errand_take_waiting(VisitState *visit_state);
/* Ends the errand of the next asker of a visit state that has no address: the attempt has failed.
 * Returns that asker, which is at home again and must be dispatched; NULL when there are no more.
 */
VisitState *visit_errand_fail_next(Distributor *distributor, VisitState *visit_state, MonoTime now);
