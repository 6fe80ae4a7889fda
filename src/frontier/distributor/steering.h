/* Steering: which hosts are worth their memory.
 *
 * What: while hosts wait on disk, the visit states in memory are counted by the level of their best
 * URL, a few of them at each call, round and round like the hand of a clock. When memory is full,
 * the best hosts that wait are matched against the worst in memory, and for each that is strictly
 * better one of the worst is evicted: recalled, and forgotten like any other (distributor.h,
 * invariant 3), so that its times, rules and failures survive. Nothing has to be written back,
 * because the disk has everything. While there is room, better hosts are loaded in the same way,
 * even when the front is large enough. So with scores the next URL to be fetched is nearly the best
 * of all hosts, not only of those that happened to come first.
 *
 * Threads: distributor.
 * Invariants:
 *  1. Hosts of equal levels never change places: scores that are all the same evict nobody.
 *  2. Evictions are bounded: in a second by a share of the hosts in memory and, but for a few, by a
 *     share of the results, because a crawl gains nothing by better hosts that it cannot visit.
 *     There are none when the best hosts in memory already make up the required front.
 *  3. However many hosts rest, one transaction reads a bounded number of them (HostWalk.cut).
 *     While memory is full, a host that waits is read once in many looks, and remembered.
 *  4. A weighted bias keeps its share of the hosts in memory for levels that are not the best: that
 *     many of these are not evicted, and they are loaded by turns. */
#pragma once

#include "frontier/host/distributor_state.h"

/* Loads hosts until front has reached required. Then, when hosts with better URLs wait on disk,
 * loads them, too, and evicts worse ones to make room. */
void steering_load_hosts(Distributor *distributor, MDB_txn *txn, size_t front, size_t required,
                         MonoTime now);

/* The level that a host without an address must be better than to be asked for now: any while the
 * front is small, better than the worst in memory when there is no room. */
unsigned steering_names_limit(const Distributor *distributor, size_t front, size_t required);
