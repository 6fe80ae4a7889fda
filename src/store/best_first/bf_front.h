/* Front: the half of a best-first scheduler that lives in memory. It decides whose turn it is.
 *
 *   Schedule (disk) --windows--> BFFront --bf_front_take--> requests
 *         ^                         ^
 *   transactions ------ offer, withdraw (after the commit, in its order)
 *
 * What: a global best-first order is a merge over the heads of all hosts. Every loaded host holds a
 * small window (bf_front.h) onto the head of its range in the schedule, and stands in a heap under
 * its best entry. So a request costs O(log hosts) for each URL, however many URLs are queued and
 * however long the queue of one host is. Hosts are loaded from the schedule in order of their best
 * level, and only as far as the heaps need them. A host with nothing left is dropped.
 *
 * Rates (bf_front.h): hosts of heat 0 go first, then heat 1, and so on; a host that exceeds all
 * rates stands in no heap. When the heat of a host can sink next is the key of one more heap, the
 * clock. So each URL costs O(log hosts) for rates as well, and a hot host costs nothing until its
 * time has come.
 *
 * Leases: an entry that was taken stays in the schedule but is not given out again, until it is
 * withdrawn (crawled: the entry of the schedule went with the commit). Leases live in
 * memory only: after a crash everything that was not crawled is scheduled.
 *
 * Owns: its hosts, heaps and leases; the schedule is borrowed and only read.
 * Threads: one lock of the caller's. Time is a parameter.
 * Invariants:
 * 1. Entries of a loaded host in order below `complete_to` are in its window or leased.
 * 2. Hosts in the schedule that are not loaded lie behind the loading cursor.
 * 3. A host that may have entries and is below some rate is in the heap of its heat if its window
 *    has any, else among the unread.
 * 4. A host is in the clock while its heat is above 0, or while it has no entries and is only
 *    remembered for its rates.
 * Errors: RESULT_MEMORY, and those of the schedule; RESULT_NOT_FOUND when nothing may be handed out
 * now. */
#pragma once

#include <lmdb.h>

#include "store/schedule/schedule.h"

/* Where an entry stands among those of its host: level and value of the schedule in one number.
 *
 * What: the less, the better. The value holds the order inside the level and the index of the page.
 * Threads: pure functions. */

typedef uint64_t BFOrder;

#define BF_VALUE_BITS 48u
#define BF_INDEX_BITS 36u /* of a value; above them the order inside the level */

static inline BFOrder bf_order(unsigned level, uint64_t value)
{
    return (uint64_t)level << BF_VALUE_BITS | value;
}

static inline unsigned bf_order_level(BFOrder order)
{
    return (unsigned)(order >> BF_VALUE_BITS);
}

static inline uint64_t bf_order_value(BFOrder order)
{
    return order & ((UINT64_C(1) << BF_VALUE_BITS) - 1);
}

static inline uint64_t bf_order_index(BFOrder order)
{
    return order & ((UINT64_C(1) << BF_INDEX_BITS) - 1);
}

typedef struct BFFront BFFront;

/* schedule: borrowed. NULL without memory. */
BFFront *bf_front_new(Schedule *schedule);
void bf_front_delete(BFFront *front);
/* Forgets everything, also the leases: the schedule is read anew. */
void bf_front_clear(BFFront *front);

/* Crawls per second and host; negative: no such limit. A hard limit below the soft one replaces it;
 * a soft limit without a hard one only orders the hosts. Forgets what was handed out before. */
Result bf_front_set_rates(BFFront *front, double soft, double hard);

/* An entry has come into the schedule, or gone from it. RESULT_MEMORY. */
Result bf_front_offer(BFFront *front, uint32_t host, BFOrder order);
void bf_front_withdraw(BFFront *front, uint32_t host, BFOrder order);

/* How many reads of a window the next takes may spend on nothing but the right order. Without
 * effort an entry is taken as soon as one is in memory; a host that was not read yet may have a
 * better one. Bounds what a request costs when thousands of hosts are read for the first time. */
void bf_front_allow(BFFront *front, unsigned effort);

/* The best entry of all hosts that are below a rate; it is leased from then on, and counts for its
 * host's rates. now_s: seconds, not going back. RESULT_NOT_FOUND: there is none now. */
Result bf_front_take(BFFront *front, MDB_txn *txn, double now_s, uint32_t *host, BFOrder *order);
/* Counts a crawl of the host that was not taken from here for the host's rates. */
void bf_front_visit(BFFront *front, uint32_t host, double now_s);

/* Ends the lease of a page that was crawled or given up, or that is to be handed out again (then
 * offer it). False when there was no lease. */
bool bf_front_end_lease(BFFront *front, uint64_t index);
uint64_t bf_front_leases(const BFFront *front);
/* Hosts in memory. */
uint64_t bf_front_hosts(const BFFront *front);
