/* Thread: a thread with a name that publishes the step it is at.
 *
 * What: names appear in logs, debuggers and `ragno ctl DIR threads`; steps ("waiting",
 * "distributing") show an operator what a running crawl does.
 * Owns: a Thread owns the system's thread until it is joined.
 * Threads: thread_step only by the thread itself; thread_walk by any. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/core/result.h"

typedef struct Thread {
    pthread_t handle;
    char name[16];
    void *(*run)(void *argument);
    void *argument;
    _Atomic(const char *) step; /* what it is doing now: a string literal */
    bool started;
    struct Thread *next; /* in the list of all, while it runs */
} Thread;

/* Starts run(argument) in a thread of that name (at most 15 bytes). All signals are blocked in it,
 * but for faults (SIGBUS, SIGSEGV): they are taken by one thread of the program. RESULT_MEMORY,
 * RESULT_LIMIT: none was started. */
Result thread_start(Thread *thread, const char *name, void *(*run)(void *), void *argument);
/* Waits for its end; does nothing when it was never started. */
void thread_join(Thread *thread);
/* Calls visit for every running thread with its name and step, in no order; any thread. */
void thread_walk(void (*visit)(void *context, const char *name, const char *step), void *context);
/* Called by the thread itself. */
void thread_step(const char *step);

/* Life: a thread that may rest while there is no need for it, and go on later.
 *
 *           life_start            life_rest              life_ends
 *   ENDED -------------> RUNNING -----------> RESTING -------------> ENDED
 *                           ^     life_start     |
 *                           '--------------------'
 *
 * What: a thread that rests finishes what it is at, and ends. Started again before that, it goes on
 * as if nothing had been.
 * Owns: its thread.
 * Threads: life_ends the thread itself, life_rests and life_is_running any, the others the main
 * thread. */

typedef enum LifeState { LIFE_ENDED, LIFE_RUNNING, LIFE_RESTING } LifeState;

typedef struct Life {
    _Atomic LifeState state; /* all zero: ended */
    Thread thread;
} Life;

/* Starts run(argument) in a thread of that name, unless it runs. RESULT_MEMORY, RESULT_LIMIT: no
 * thread was started. */
Result life_start(Life *life, const char *name, void *(*run)(void *), void *argument);
/* Lets it rest, if it runs. The caller wakes it. */
void life_rest(Life *life);
/* Asked by the thread when it has nothing more to do: true when it rests, and is to return. */
bool life_ends(Life *life);
/* Whether it is to rest; any thread. */
bool life_rests(Life *life);
/* True until it has ended. */
bool life_is_running(Life *life);
/* Waits for its end. */
void life_join(Life *life);
