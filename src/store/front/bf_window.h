/* The head of a host's queue in memory: a small sorted window onto its range in the schedule.
 *
 * What: entries are read from the schedule when the window is empty, at first a few, then more.
 * Entries that come later are inserted; what falls off at the end is still on disk.
 * Owns: the entries.
 * Threads: as the front.
 * Invariants: all entries of the host in order below `complete_to` are in the window, or leased.
 * Errors: RESULT_MEMORY, and those of the schedule. */
#ifndef STORE_FRONT_BF_WINDOW_H
#define STORE_FRONT_BF_WINDOW_H

#include <lmdb.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/front/bf_order.h"
#include "store/front/bf_set.h"
#include "store/schedule/schedule.h"

#define BF_WINDOW_COMPLETE UINT64_MAX /* complete_to: nothing is left on disk */

typedef struct BFWindow {
    BFOrder *entries; /* ascending, [begin, end) in use */
    BFOrder complete_to;
    uint32_t begin;
    uint32_t end;
    uint32_t capacity;
} BFWindow;

static inline bool bf_window_is_empty(const BFWindow *window)
{
    return window->begin == window->end;
}

/* Whether the host may have entries, here or on disk. */
static inline bool bf_window_may_have_entries(const BFWindow *window)
{
    return window->begin < window->end || window->complete_to != BF_WINDOW_COMPLETE;
}

/* The best that the host can have: its first entry, or where its unread part begins. */
static inline BFOrder bf_window_best(const BFWindow *window)
{
    return window->begin < window->end ? window->entries[window->begin] : window->complete_to;
}

void bf_window_destroy(BFWindow *window);
/* Reads the next entries of a host behind the window, which is empty, without the leased ones. */
Result bf_window_fill(BFWindow *window, Schedule *schedule, MDB_txn *txn, uint32_t host,
                      const BFSet *leases);
/* An entry that is in order below complete_to has come. What falls off at the end is on disk. */
Result bf_window_insert(BFWindow *window, BFOrder order);
/* False: it is not there. */
bool bf_window_remove(BFWindow *window, BFOrder order);

#endif
