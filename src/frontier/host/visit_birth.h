/* Birth: makes the visit state of a host from what the disk has of it.
 *
 * What: delays, failures and robots.txt are those of the host's record, so that a host that was
 * forgotten is owed what it was owed before. A host that has a guest gets the guest's times; the
 * guest is forgotten.
 *
 * Threads: distributor.
 * Invariant: a host has at most one visit state, its guest included. */
#pragma once

#include "frontier/host/distributor_state.h"

/* Whether a host may be in memory: it was not given up, and need not be left alone for long. */
bool visit_birth_is_open(const Distributor *distributor, const HostRecord *record);
/* Whether it has never had an address. */
bool visit_birth_is_nameless(const Distributor *distributor, const HostRecord *record);
typedef enum VisitDue {
    VISIT_NOT_DUE,
    VISIT_DUE,
    VISIT_NAMELESS /* it would be, but for an address: NameRoom.waits is set */
} VisitDue;
/* The same for a host on disk; reads its record. */
VisitDue visit_birth_due(Distributor *distributor, MDB_txn *txn, uint32_t host);
/* Makes the visit state of a host that has none, without URLs. RESULT_EXISTS: its guest is away. */
Result visit_birth_host(Distributor *distributor, MDB_txn *txn, uint32_t host,
                        const HostRecord *record, MonoTime now, VisitState **visit_state);
/* Makes a guest. A guest is retired from birth, because the database has no URLs for it. */
Result visit_birth_guest(Distributor *distributor, const char *origin, size_t length,
                         VisitState **guest);
