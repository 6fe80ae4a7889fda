/* What the files of BFScheduler share: its locks, how a page's entry is written, and the moves that
 * wait for a writer.
 *
 * Lock order: transaction of the environment (LMDB lets one writer in) -- state->mutex. The mutex
 * is never held across a commit. Writers number their commits inside the transaction and bring
 * their changes to the front in that order (bf_turn_begin, bf_turn_end).
 *
 * Moves are found by an update and made by whoever has the write transaction next:
 *
 *   update --bf_moves_offer--> moves that wait --bf_piece_make--> piece of a transaction
 *                                    ^                                |          |
 *                                    '------ bf_piece_give_back ------'          |
 *   front <------------------------- bf_piece_end_locked, in the turn of its commit
 *
 * The pieces of an aborted transaction wait again. Those of one whose commit failed are forgotten:
 * a move is the difference between scores and schedule, so the next update finds it again. For the
 * same reason each is checked when it is made: one that waited too long does nothing. */
#ifndef STORE_BEST_FIRST_BF_SCHEDULER_INTERNAL_H
#define STORE_BEST_FIRST_BF_SCHEDULER_INTERNAL_H

#include <stdatomic.h>

#include "base/thread/mutex.h"
#include "base/thread/thread.h"
#include "base/thread/timekeeper.h"
#include "store/best_first/bf_front.h"
#include "store/best_first/bf_scheduler.h"
#include "store/schedule/schedule.h"

/* A page whose level changes. */
typedef struct BFMove {
    uint64_t index;
    BFOrder from;
    BFOrder to;
    uint32_t host;
} BFMove;

#define BF_MOVES 32768u /* that are found before they are made */

struct BFSchedulerState {
    Schedule *schedule;
    const Timekeeper *time;               /* set before the thread starts */
    atomic_uint_least64_t asked;          /* for a transaction, by writers that are no update, */
    atomic_uint_least64_t served;         /* and have ended it, or had none */
    atomic_bool yielding;                 /* an update lets those go first that have asked */
    atomic_bool updating;                 /* it has a write transaction, or waits for one */
    atomic_int_least64_t longest_wait_ns; /* of another writer for it */
    atomic_uint_least64_t turns; /* commits numbered so far; changed inside write transactions */
    atomic_bool has_moves;       /* some wait; a look without the mutex */

    Mutex mutex;        /* guards the rest */
    Condition turn;     /* turn_done has changed */
    uint64_t turn_done; /* commits that the front knows of */
    BFFront *front;

    BFMove *moves;              /* [n_moves]; replaced when all have ended */
    size_t n_moves;             /* found */
    size_t n_taken;             /* of them in pieces, the first ones; changed inside transactions */
    size_t n_ended;             /* of those made, or forgotten */
    size_t most_moves;          /* in one transaction: what the disk writes in time */
    int64_t shortest_commit_ns; /* of the last few */
    Condition moved;            /* all have ended */
    Condition was_served;       /* served has changed while yielding */
    Condition wake;             /* the thread has a reason to look again */
    Thread thread;
    bool is_started;
    atomic_bool stopping;
    time_t interval_s;             /* 0: none */
    uint64_t n_added;              /* pages since the object was made */
    uint64_t n_updated_at;         /* n_added at the last update */
    BFSchedulerCounts counts;      /* those that are counted on the way */
    BFSchedulerError thread_error; /* of the last update that failed */
};

/* The level byte of a page's record: the level, and whether the order inside the level is that of
 * the link's score. */
#define BF_EXACT_LEVEL 64u

/* The entry of a page in the schedule, from its record: all that is needed to find it again. */
BFOrder bf_entry(const BFSchedulerState *state, uint8_t level_byte, float score, uint64_t index);
/* The level byte for a score of the link, or of a scorer. */
uint8_t bf_link_level(const BFSchedulerState *state, float score);
uint8_t bf_scored_level(const BFScheduler *sch, float score);

/* The time, and the same in seconds. */
MonoTime bf_time(const BFSchedulerState *state);
double bf_now(const BFSchedulerState *state);

/* ---- Transactions ---- */

typedef enum BFWriter {
    BF_WRITER, /* somebody's call */
    BF_UPDATE  /* lets the others go first */
} BFWriter;

/* A write transaction. LMDB's lock does not see to who goes first: who has just released it mostly
 * gets it again. The code of a PageDB error. */
BFSchedulerError bf_begin(BFScheduler *sch, BFWriter writer, MDB_txn **txn);
/* Numbers the commit and commits. *turn must then be ended in any case, also after a failure. */
BFSchedulerError bf_commit(BFScheduler *sch, BFWriter writer, MDB_txn *txn, uint64_t *turn);
void bf_abort(BFScheduler *sch, BFWriter writer, MDB_txn *txn);
/* In an update's transaction: whether somebody waits for it. */
bool bf_is_awaited(const BFSchedulerState *state);
/* Waits for the changes of earlier commits; the mutex is held from then until bf_turn_end. */
void bf_turn_begin(BFSchedulerState *state, uint64_t turn);
void bf_turn_end(BFSchedulerState *state);

/* Sorts changes as the table is and writes them: neighbours share pages of the tree. */
Result bf_write_changes(BFScheduler *sch, MDB_txn *txn, ScheduleChange *changes, size_t n);

/* ---- Moves ---- */

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
/* In a transaction that is about to be aborted. Frees the piece, as does the next. */
void bf_piece_give_back(BFSchedulerState *state, BFPiece *piece);
/* In the turn of the commit, which the piece was told of: the front learns of the moves, or, when
 * it failed, they are forgotten. */
void bf_piece_end_locked(BFSchedulerState *state, BFPiece *piece, bool is_committed);
/* Even the shortest of the last commits took so long that nobody should have to wait for one. */
bool bf_disk_is_slow_locked(const BFSchedulerState *state);

/* ---- Errors ---- */

BFSchedulerError bf_fail(BFScheduler *sch, BFSchedulerError code, const char *what);
/* code: of page_db.h. */
BFSchedulerError bf_fail_page_db(BFScheduler *sch, int code, const char *what);
BFSchedulerError bf_fail_result(BFScheduler *sch, Result result, const char *what);

#endif
