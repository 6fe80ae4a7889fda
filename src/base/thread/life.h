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
#ifndef BASE_THREAD_LIFE_H
#define BASE_THREAD_LIFE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/thread/thread.h"

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

#endif
