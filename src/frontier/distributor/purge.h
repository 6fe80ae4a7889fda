/* Purge: forgets visit states that have nothing to do, and wakes those that have waited.
 *
 * What: visit states that rest are in a heap, by when each may be forgotten. A host that must wait
 * long makes room before that when memory is short, as soon as its committed record makes it wait
 * as long as its visit state does: politeness survives nowhere else.
 * Threads: distributor. */
#ifndef FRONTIER_DISTRIBUTOR_PURGE_H
#define FRONTIER_DISTRIBUTOR_PURGE_H

#include "frontier/host/distributor_state.h"

/* txn may be NULL: then a visit state is kept when its host's record would have to be read first.
 */
void purge_visit_states(Distributor *distributor, MDB_txn *txn, MonoTime now);

#endif
