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
#include <stdbool.h>

#include "base/core/clock.h"

typedef enum MutexRank {
    RANK_AGENT = 1, /* start and stop of everything; taken first */
    RANK_SCHEDULER, /* bf_scheduler, freq_scheduler: update threads */
    RANK_SCORER,    /* pagerank and hits scorers */
    RANK_FRONTIER,  /* workbench, visit states, DNS waiting list */
    RANK_SIEVE,     /* sieve arrays and their buckets */
    RANK_STORE,     /* page database, transaction manager */
    RANK_WARC,      /* WARC writer */
    RANK_QUEUE,     /* any base/queue: nothing is taken while one is held, but logs */
    RANK_TABLE,     /* small tables: domain temperatures, statistics */
    RANK_ERROR,     /* Error objects of the documented library */
    RANK_LOG        /* the log sink; taken last */
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
