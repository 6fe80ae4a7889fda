/* The inside of a BFScheduler, which its parts work on: transactions and levels.
 *
 * What: every write goes bf_begin -- work -- bf_commit -- changes of the front -- bf_end, or
 * bf_begin -- work -- bf_abort. LMDB lets one writer in. The writer then takes `commits` and keeps
 * it until the front knows what was committed, so changes reach the front in the order of their
 * commits. That lock is held across a commit: it is LMDB's own lock of writers, kept a moment
 * longer, and nobody waits for it but the next writer, who waited for LMDB's before.
 *
 * An update finds pages whose scores say another level (BFMove), and makes these moves in short
 * transactions of its own. A move is checked when it is made, and one that does not hold any more
 * does nothing; one that is lost, by a crash or a stop, is found by the next update.
 *
 * Owns: schedule, front and thread.
 * Threads: any. Lock order: transaction of the environment, `commits`, `mutex`. The mutex guards
 * what the front is, and is never held across a commit.
 * Errors: those of page_db.h and of the schedule, told as the scheduler's. */
#pragma once

#include <stdatomic.h>

#include "base/thread/thread.h"
#include "store/best_first/bf_scheduler_types.h"
#include "store/format/page_packs.h"
#include "store/best_first/bf_front.h"

/* A page whose level changes. */
typedef struct BFMove {
    uint64_t index;
    BFOrder from;
    BFOrder to;
    uint32_t host;
    bool holds; /* in the transaction that has made it: the page was where the move says */
} BFMove;

struct BFSchedulerState {
    Schedule *schedule;
    bool is_claimed;        /* the PageDB: PageDBStore.has_best_first */
    const Timekeeper *time; /* set before the thread starts */
    atomic_bool stopping;
    Mutex
        commits; /* held from the begin of a write transaction until the front knows its changes */

    Mutex mutex; /* guards the rest */
    BFFront *front;
    Condition wake; /* pages were added, the interval changed, or stop */
    Thread thread;
    bool is_started;
    time_t interval_s;             /* 0: none */
    uint64_t n_added;              /* pages since the object was made */
    uint64_t n_updated_at;         /* n_added at the last update */
    BFSchedulerCounts counts;      /* those that are counted on the way */
    BFSchedulerError thread_error; /* of the last update that failed */
};

/* Each sets the Error of the scheduler, unless the code means success, and returns the scheduler's
 * code. The second takes a code of page_db.h. */
BFSchedulerError bf_fail(BFScheduler *sch, BFSchedulerError code, const char *what);
BFSchedulerError bf_fail_page_db(BFScheduler *sch, int code, const char *what);
BFSchedulerError bf_fail_result(BFScheduler *sch, Result result, const char *what);

static inline MonoTime bf_time(const BFSchedulerState *state)
{
    return timekeeper_now(state->time);
}

/* ---- How a page stands in the schedule ---- */

/* The level byte of a page's record: the level, and whether the order inside the level is that of
 * the link's score. */
#define BF_EXACT_LEVEL 64u

/* The entry of a page in the schedule, from its record: all that is needed to find it again. */
BFOrder bf_entry(const BFSchedulerState *state, uint8_t level_byte, float score, uint64_t index);
/* The level byte for a score of the link, or of a scorer. */
uint8_t bf_link_level(const BFSchedulerState *state, float score);
uint8_t bf_scored_level(const BFScheduler *sch, float score);
/* Writes another level byte into the record of a page that is scheduled at `from`. false: it is not
 * there. */
bool bf_relevel(const BFScheduler *sch, PagePackEditor *infos, uint64_t index, BFOrder from,
                uint8_t level_byte);
/* ---- Write transactions ---- */

/* On success `commits` is held until bf_end or bf_abort. */
BFSchedulerError bf_begin(BFScheduler *sch, MDB_txn **txn);
/* Commits; then the mutex is held until bf_end, also after an error. */
BFSchedulerError bf_commit(BFScheduler *sch, MDB_txn *txn);
void bf_end(BFSchedulerState *state);
void bf_abort(BFScheduler *sch, MDB_txn *txn);
