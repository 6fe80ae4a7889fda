/* What the files of the distributor share; not for others. */
#ifndef FRONTIER_DISTRIBUTOR_DISTRIBUTOR_INSIDE_H
#define FRONTIER_DISTRIBUTOR_DISTRIBUTOR_INSIDE_H

#include "frontier/distributor/distributor.h"

/* ---- distributor.c ---- */

static inline bool distributor_has_room(const Distributor *distributor)
{
    return distributor->memory < distributor->options.memory_bytes;
}
/* Whether a host that is on disk may be in RAM: neither given up nor left alone for long. */
bool distributor_may_load(Distributor *distributor, MDB_txn *txn, uint32_t host);
/* Brings one host into RAM if that makes sense now; level: of its best URL. */
Result distributor_load(Distributor *distributor, MDB_txn *txn, uint32_t host, unsigned level,
                        MonoTime now);
/* Asks a visit state that is away to come home: what it holds is not the best any more, or it is to
 * make room. */
void distributor_recall(Distributor *distributor, VisitState *visit_state);

/* Decides where a visit state that is at home goes next. */
void distributor_dispatch(Distributor *distributor, MDB_txn *txn, VisitState *visit_state,
                          MonoTime now);
/* Keeps an empty visit state until it may be forgotten. One that was given up stays until the
 * database knows it, or the next walk would bring it back; one that wants more does not ask at
 * once. */
void distributor_rest(Distributor *distributor, VisitState *visit_state, MonoTime now);
/* What came of reading the database; an error that will stay ends it all. Returns it. */
Result distributor_note(Distributor *distributor, Result rc);
/* NULL, and told in the log, when that fails. */
MDB_txn *distributor_begin_read(Distributor *distributor);
/* Makes the visit state of a host that has none, without URLs. RESULT_EXISTS: its guest is away. */
Result distributor_bear(Distributor *distributor, MDB_txn *txn, uint32_t host,
                        const HostRecord *record, MonoTime now, VisitState **visit_state);
/* The configured delay, and what a resumed crawl owes. */
void distributor_set_delays(const Distributor *distributor, VisitState *visit_state,
                            int64_t crawl_delay_ms);

/* ---- distributor_walk.c ---- */

/* Loads hosts until the front is required, and better ones beyond that; makes room for those. */
void distributor_load_hosts(Distributor *distributor, MDB_txn *txn, size_t front, size_t required,
                            MonoTime now);
/* A host with work, best at that level, is on disk only. */
void distributor_left_out(Distributor *distributor, uint32_t host, unsigned level, MonoTime now);

/* ---- distributor_window.c ---- */

/* Gives a visit state without URLs its next window; it may stay empty. */
Result distributor_refill(Distributor *distributor, MDB_txn *txn, VisitState *visit_state);
/* Takes back what is left of its window. */
void distributor_release_window(Distributor *distributor, VisitState *visit_state);

/* ---- distributor_errand.c ---- */

/* Sends an asker, whose robots.txt is elsewhere, with the visit state of that host: true when it
 * went; otherwise the attempt has failed and the asker is still at home. */
bool distributor_send(Distributor *distributor, MDB_txn *txn, VisitState *asker, MonoTime now);
/* Those who waited for it now go with it. */
void distributor_take_waiting(VisitState *visit_state);
/* It has no address: the askers' attempts have failed. */
void distributor_fail_askers(Distributor *distributor, MDB_txn *txn, VisitState *visit_state,
                             MonoTime now);
VisitState *distributor_find_guest(Distributor *distributor, const char *origin, size_t length);
void distributor_remove_guest(Distributor *distributor, const VisitState *guest);

#endif
