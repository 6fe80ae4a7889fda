#include "fetch/clock/run_clock.h"

void run_clock_init(RunClock *clock, MonoTime now)
{
    *clock = (RunClock){.last = now};
}

int64_t run_clock_tick(RunClock *clock, MonoTime now)
{
    int64_t ms = mono_ms_between(clock->last, now);
    clock->last = now;
    if (ms < RUN_CLOCK_STEP_MS + RUN_CLOCK_LATE_MS) {
        return 0;
    }
    int64_t lost_ms = ms - RUN_CLOCK_STEP_MS;
    clock->lost_ns += lost_ms * 1000000;
    return lost_ms;
}
