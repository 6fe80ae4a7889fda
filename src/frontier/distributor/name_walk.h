/* Name walk: hosts that have no address yet, asked for in turns.
 *
 * What: a page can name tens of thousands of hosts that do not exist, at no cost to whoever wrote
 * it. So hosts that have never had an address have a bounded part of the frontier's memory
 * (NAME_SHARE); further ones wait on disk, where their URLs are, and nobody is evicted for a name.
 * Within that part each page that names hosts, and each registered domain, holds as much as any
 * other, and one that comes new finds room: of n sources none holds more than a part of n + 1.
 *
 *   commit notice --name_walk_offer--> in memory (RESOLVING) --an address--> a host like any other
 *                        |    ^                           |
 *         (no room, no turn)  '-- name_walk               '--none: given up, or waits on disk
 *                        '--> on disk -'
 *
 * The walk has two places in the list of hosts with work. Before `front` all have had their turn:
 * it stops at the first host whose source has none, and goes on there. The `scout` goes on from it
 * to the end, past hosts of sources without a turn, so that those of others need not wait for them.
 *
 * Threads: distributor.
 * Invariants:
 *  1. Distributor.names.bytes is at most a part of NAME_SHARE of the memory, and one host more.
 *  2. A host that was passed by is met again: `waits` stays set until a walk has found none.
 *  3. A look reads a bounded number of hosts, whatever waits on disk.
 * Source: IRLbot (budgets of domains), Mercator (one queue for each host). */
#ifndef FRONTIER_DISTRIBUTOR_NAME_WALK_H
#define FRONTIER_DISTRIBUTOR_NAME_WALK_H

#include "frontier/host/distributor_state.h"

/* A host that is not in memory has got URLs, the best at this level. False: it has had an address,
 * or its record cannot be read: it is a matter of the others. True: it is in memory now, or waits
 * on disk. */
bool name_walk_offer(Distributor *distributor, MDB_txn *txn, uint32_t host, unsigned level,
                     MonoTime now);
/* Loads hosts that wait and are better than limit (steering_names_limit), as far as there is room.
 * Returns the time by which it must be called again. */
MonoTime name_walk(Distributor *distributor, MDB_txn *txn, unsigned limit, MonoTime now);

#endif
