/* The inside of a BFScheduler, which its parts work on.
 *
 * What: the front, the order of commits, the moves that wait, and the thread that updates.
 * Owns: schedule, front, moves and thread.
 * Threads: any. Lock order: transaction of the environment (LMDB lets one writer in), then `mutex`,
 * which guards the fields behind it and is never held across a commit. The atomic fields before it
 * are looked at without it. */
#ifndef STORE_BEST_FIRST_BF_STATE_H
#define STORE_BEST_FIRST_BF_STATE_H

#include <stdatomic.h>

#include "base/thread/mutex.h"
#include "base/thread/thread.h"
#include "base/thread/timekeeper.h"
#include "store/front/bf_front.h"
#include "store/best_first/bf_scheduler_types.h"
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
    bool is_claimed;                      /* the PageDB: PageDBStore.has_best_first */
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

/* The time, and the same in seconds. */
MonoTime bf_time(const BFSchedulerState *state);
double bf_now(const BFSchedulerState *state);

#endif
