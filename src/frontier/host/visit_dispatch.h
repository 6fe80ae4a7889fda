/* Dispatch: where a visit state that is at home goes next.
 *
 * What: on an errand when its robots.txt is on another host, to the resolver when it has no
 * address, to the workbench when it has URLs, to rest when it has none or must wait long, and out
 * when it was evicted. A visit state without URLs gets a window first.
 *
 * Threads: distributor. */
#pragma once

#include "frontier/host/distributor_state.h"

/* txn may be NULL: then nothing is read, and a visit state without URLs rests. */
void visit_dispatch(Distributor *distributor, MDB_txn *txn, VisitState *visit_state, MonoTime now);
/* Brings a host into memory, unless it was given up or must be left alone for long, and sends it to
 * the resolver. level: of its best URL. One without an address stays on disk: it has its turn with
 * the names (frontier/distributor/distributor.c). RESULT_EXISTS: its guest is away. */
Result visit_dispatch_load(Distributor *distributor, MDB_txn *txn, uint32_t host, unsigned level,
                           MonoTime now);
/* The same of one without an address, whose record is given; it enters the room for names. */
Result visit_dispatch_load_name(Distributor *distributor, MDB_txn *txn, uint32_t host,
                                const HostRecord *record, const uint16_t sources[NAME_KINDS],
                                MonoTime now);
