/* What the files of BFScheduler share: its locks and how a page's entry is written.
 *
 * Lock order: transaction of the environment (LMDB lets one writer in) -- state->mutex. The mutex
 * is never held across a commit. Writers number their commits inside the transaction and bring
 * their changes to the front in that order (bf_turn_begin, bf_turn_end). */
#ifndef STORE_BF_SCHEDULER_INTERNAL_H
#define STORE_BF_SCHEDULER_INTERNAL_H

#include <stdatomic.h>

#include "base/mutex.h"
#include "base/thread.h"
#include "store/bf_front.h"
#include "store/bf_scheduler.h"
#include "store/schedule.h"

struct BFSchedulerState {
    Schedule *schedule;
    double (*clock)(void *context);
    void *clock_context;
    atomic_uint_least64_t asked; /* for a transaction, by writers other than the update thread, */
    atomic_uint_least64_t begun; /* and had it, or failed */
    atomic_bool yielding;        /* the update thread lets those go first that have asked */
    atomic_bool updating;        /* the update thread has a write transaction, or waits for one */
    atomic_int_least64_t longest_wait_ns; /* of another writer for it */
    atomic_uint_least64_t turns; /* commits numbered so far; changed inside write transactions */

    Mutex mutex;        /* guards the rest */
    Condition turn;     /* turn_done has changed */
    uint64_t turn_done; /* commits that the front knows of */
    BFFront *front;

    Condition served; /* begun has changed while yielding */
    Condition wake;   /* the thread has a reason to look again */
    Thread thread;
    bool is_started;
    atomic_bool stopping;
    time_t interval_s;     /* 0: none */
    uint64_t n_added;      /* pages since the object was made */
    uint64_t n_updated_at; /* n_added at the last update */
    uint64_t n_updates;
    uint64_t n_moves;
    double longest_update_ms; /* of the update thread's transactions */
    double longest_update_cpu_ms;
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

double bf_now(const BFSchedulerState *state);

/* A write transaction; foreground writers go before the update thread. LMDB's lock does not see to
 * that: who has just released it mostly gets it again. The code of a PageDB error. */
BFSchedulerError bf_begin(BFScheduler *sch, bool is_foreground, MDB_txn **txn);
/* Whether a foreground writer waits for a transaction. */
bool bf_is_awaited(BFSchedulerState *state);
/* Numbers the commit and commits. *turn must then be ended in any case, also after a failure. */
BFSchedulerError bf_commit(BFScheduler *sch, MDB_txn *txn, uint64_t *turn);
/* Waits for the changes of earlier commits; the mutex is held from then until bf_turn_end. */
void bf_turn_begin(BFSchedulerState *state, uint64_t turn);
void bf_turn_end(BFSchedulerState *state);

BFSchedulerError bf_fail(BFScheduler *sch, BFSchedulerError code, const char *what);
/* code: of page_db.h. */
BFSchedulerError bf_fail_page_db(BFScheduler *sch, int code, const char *what);
BFSchedulerError bf_fail_result(BFScheduler *sch, Result result, const char *what);

#endif
