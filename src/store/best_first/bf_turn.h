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

#include "store/best_first/bf_state.h"

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
