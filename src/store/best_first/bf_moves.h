/* Moves of pages between levels: found by an update, made by whoever has the write transaction
 * next.
 *
 *   update --bf_moves_offer--> moves that wait --bf_piece_make--> piece of a transaction
 *                                    ^                                |          |
 *                                    '------ bf_piece_give_back ------'          |
 *   front <------------------------- bf_piece_end_locked, in the turn of its commit
 *
 * What: the pieces of an aborted transaction wait again. Those of one whose commit failed are
 * forgotten: a move is the difference between scores and schedule, so the next update finds it
 * again. For the same reason each move is checked when it is made, and one that waited too long
 * does nothing.
 * Owns: a piece owns its moves until it is given back or ended.
 * Threads: any; a piece belongs to the thread with the write transaction.
 * Errors: those of the schedule and of PageDB, as Results. */
#ifndef STORE_BEST_FIRST_BF_MOVES_H
#define STORE_BEST_FIRST_BF_MOVES_H

#include "store/best_first/bf_turn.h"

/* Sorts changes as the table is and writes them: neighbours share pages of the tree. */
Result bf_write_changes(BFScheduler *sch, MDB_txn *txn, ScheduleChange *changes, size_t n);

/* Some of the moves that wait, on their way through a transaction. */
typedef struct BFPiece {
    BFMove *moves; /* [n_held], those that held when they were made */
    size_t n_held;
    size_t n_taken;
    int64_t cpu_ns;    /* of the thread, for making them */
    size_t n_others;   /* entries that its transaction changes besides */
    int64_t commit_ns; /* what its commit took by the clock */
} BFPiece;

void bf_moves_init(BFSchedulerState *state);

/* Offers n moves (taken: the caller's array is freed here) in place of those before, of which none
 * waits any more. */
void bf_moves_offer(BFSchedulerState *state, BFMove *moves, size_t n);
/* Makes up to most moves that wait: no more than the disk was found to write in time, and than fit
 * into about cpu_ms of the thread's time and BF_SCHEDULER_PIECE_MS by the clock; an update also
 * ends when it is awaited or stopped. The piece is zero before. After an error the transaction must
 * be aborted. */
Result bf_piece_make(BFScheduler *sch, BFWriter writer, MDB_txn *txn, size_t most, int64_t cpu_ms,
                     BFPiece *piece);
/* Gives the moves back; call it in a transaction that is about to be aborted. Frees the piece, as
 * bf_piece_end_locked does. */
void bf_piece_give_back(BFSchedulerState *state, BFPiece *piece);
/* Ends a piece in the turn of its commit: tells the front about the moves, or forgets them when the
 * commit failed. */
void bf_piece_end_locked(BFSchedulerState *state, BFPiece *piece, bool is_committed);
/* Whether even the shortest of the last commits took so long that no writer should have to wait for
 * one. */
bool bf_disk_is_slow_locked(const BFSchedulerState *state);

#endif
