/* The write transactions of a BFScheduler, and the order of what they tell the front.
 *
 * What: writers number their commits inside the transaction and bring their changes to the front in
 * that order: bf_begin, bf_commit, then bf_turn_begin ... bf_turn_end. An update lets all other
 * writers go first.
 * Owns: nothing.
 * Threads: any; a transaction belongs to one.
 * Errors: those of page_db.h, told as the scheduler's. */
#ifndef STORE_BEST_FIRST_BF_TURN_H
#define STORE_BEST_FIRST_BF_TURN_H

#include "base/core/result.h"
#include "store/best_first/bf_scheduler_types.h"
#include "store/best_first/bf_state.h"

/* How the codes of PageDB and of the schedule become a BFScheduler's.
 *
 * What: each function sets the Error of the scheduler and returns the code.
 * Threads: any; Error has a lock of its own. */

BFSchedulerError bf_fail(BFScheduler *sch, BFSchedulerError code, const char *what);
/* code: of page_db.h. */
BFSchedulerError bf_fail_page_db(BFScheduler *sch, int code, const char *what);
BFSchedulerError bf_fail_result(BFScheduler *sch, Result result, const char *what);

/* How a page stands in the schedule: its level byte and its entry.
 *
 * What: the record of a page has a level byte; the entry in the schedule follows from it, the score
 * of the link and the index, so that it can be found again.
 * Threads: pure but for the scorer, which says itself who may ask it. */

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

typedef enum BFWriter {
    BF_WRITER, /* somebody's call */
    BF_UPDATE  /* lets the others go first */
} BFWriter;

/* Begins a write transaction. LMDB's lock is not fair: the thread that has just released it mostly
 * gets it again, so an update waits here until the other writers have had their turn. Returns the
 * code of a PageDB error. */
BFSchedulerError bf_begin(BFScheduler *sch, BFWriter writer, MDB_txn **txn);
/* Numbers the commit and commits. *turn must then be ended in any case, also after a failure. */
BFSchedulerError bf_commit(BFScheduler *sch, BFWriter writer, MDB_txn *txn, uint64_t *turn);
void bf_abort(BFScheduler *sch, BFWriter writer, MDB_txn *txn);
/* Whether another writer waits for the transaction of an update. */
bool bf_is_awaited(const BFSchedulerState *state);
/* Waits for the changes of earlier commits; the mutex is held from then until bf_turn_end. */
void bf_turn_begin(BFSchedulerState *state, uint64_t turn);
void bf_turn_end(BFSchedulerState *state);

#endif
