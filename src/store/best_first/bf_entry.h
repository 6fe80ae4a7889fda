/* How a page stands in the schedule: its level byte and its entry.
 *
 * What: the record of a page has a level byte; the entry in the schedule follows from it, the score
 * of the link and the index, so that it can be found again.
 * Threads: pure but for the scorer, which says itself who may ask it. */
#ifndef STORE_BEST_FIRST_BF_ENTRY_H
#define STORE_BEST_FIRST_BF_ENTRY_H

#include "store/best_first/bf_state.h"

/* The level byte of a page's record: the level, and whether the order inside the level is that of
 * the link's score. */
#define BF_EXACT_LEVEL 64u

/* The entry of a page in the schedule, from its record: all that is needed to find it again. */
BFOrder bf_entry(const BFSchedulerState *state, uint8_t level_byte, float score, uint64_t index);
/* The level byte for a score of the link, or of a scorer. */
uint8_t bf_link_level(const BFSchedulerState *state, float score);
uint8_t bf_scored_level(const BFScheduler *sch, float score);

/* Makes the schedule agree with pages [first, end): what was never crawled is scheduled. url is
 * scratch. */
Result bf_reload_pages(BFScheduler *sch, MDB_txn *txn, uint64_t first, uint64_t end, Buffer *url);

#endif
