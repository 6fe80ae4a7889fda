/* Run clock: time as a thread has lived it.
 *
 * What: a process that is stopped, or a thread that a slow disk holds up, does not run, but clocks
 * go on. Deadlines that were measured with those would all have passed when it runs again, and
 * every transfer would be blamed for it. A run clock leaves such times out: it goes as the
 * monotonic clock does while the thread comes by at least every RUN_CLOCK_STEP_MS, and stands still
 * otherwise.
 *
 * Owns: nothing.
 * Threads: one. Time is a parameter. */
#ifndef FETCH_CLOCK_RUN_CLOCK_H
#define FETCH_CLOCK_RUN_CLOCK_H

#include <stdbool.h>

#include "base/core/clock.h"

/* A thread with deadlines waits no longer than this at a time. */
#define RUN_CLOCK_STEP_MS INT64_C(1000)
/* How much later it may come without having been held up: other programs want the processor, too.
 */
#define RUN_CLOCK_LATE_MS INT64_C(2000)

typedef struct RunClock {
    MonoTime last;   /* when the thread came by last */
    int64_t lost_ns; /* in which it did not run, in all */
} RunClock;

void run_clock_init(RunClock *clock, MonoTime now);
/* The thread comes by. The milliseconds for which it did not run since the last time; mostly 0. */
int64_t run_clock_tick(RunClock *clock, MonoTime now);
/* What the clock shows at a time at or after the last tick. */
static inline MonoTime run_clock_at(const RunClock *clock, MonoTime now)
{
    return (MonoTime){now.ns - clock->lost_ns};
}

#endif
