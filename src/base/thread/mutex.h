/* Mutexes with a rank, and the condition variables that go with them.
 *
 * What: the enum of ranks below is the lock-order document: a thread may take a mutex only while
 * every mutex it holds has a lower rank. Builds with RAGNO_CHECK_LOCKS (asan, tsan, cov) abort on a
 * breach and name both ranks. Condition waits use the monotonic clock. This is the only module that
 * calls pthread_mutex_*.
 * Threads: any.
 * Source: the idea is that of Varnish's named lock classes. */
#ifndef BASE_THREAD_MUTEX_H
#define BASE_THREAD_MUTEX_H

#include <pthread.h>

#include "base/core/clock.h"

typedef enum MutexRank {
    RANK_COMMITS = 1, /* commits of the library's best-first scheduler; taken first */
    RANK_SCHEDULER,   /* the library's schedulers: update threads */
    RANK_SCORER,      /* the scorers by PageRank and HITS */
    RANK_STORE,       /* PageDB and its transactions */
    RANK_QUEUE,       /* queues and gates: only RANK_TABLE and the log are taken inside */
    RANK_TABLE,       /* small tables: statistics, lists of threads, ranges */
    RANK_LOG          /* the log sink; taken last */
} MutexRank;

typedef struct Mutex {
    pthread_mutex_t handle;
    MutexRank rank;
} __attribute__((aligned(8))) Mutex;

typedef struct Condition {
    pthread_cond_t handle;
} Condition;

void mutex_init(Mutex *mutex, MutexRank rank);
void mutex_destroy(Mutex *mutex);
void mutex_lock(Mutex *mutex);
void mutex_unlock(Mutex *mutex);

void condition_init(Condition *condition);
void condition_destroy(Condition *condition);
/* Waits; the caller holds mutex and checks its predicate in a loop. */
void condition_wait(Condition *condition, Mutex *mutex);
/* The same until deadline; false when the deadline passed. MONO_NEVER waits for ever. */
bool condition_wait_until(Condition *condition, Mutex *mutex, MonoTime deadline);
void condition_signal(Condition *condition);
void condition_broadcast(Condition *condition);

#endif
