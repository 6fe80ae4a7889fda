#include "base/thread/timekeeper.h"

static MonoTime system_now(const Timekeeper *time)
{
    (void)time;
    return mono_now();
}

static bool system_wait_until(const Timekeeper *time, Condition *condition, Mutex *mutex,
                              MonoTime deadline)
{
    (void)time;
    return condition_wait_until(condition, mutex, deadline);
}

const Timekeeper timekeeper_system = {.now = system_now, .wait_until = system_wait_until};
