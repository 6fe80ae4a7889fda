#include "virtual_clock.h"

#define WALL_START_US INT64_C(1800000000000000)

MonoTime real_mono_now(void) __asm__("__real_ragno_mono_now");
WallTime real_wall_now(void) __asm__("__real_ragno_wall_now");
MonoTime wrapped_mono_now(void) __asm__("__wrap_ragno_mono_now");
WallTime wrapped_wall_now(void) __asm__("__wrap_ragno_wall_now");

static int64_t virtual_ns; /* 0: the clocks are real */

void virtual_clock_set(MonoTime now)
{
    virtual_ns = now.ns;
}

WallTime virtual_wall(MonoTime now)
{
    return (WallTime){WALL_START_US + now.ns / 1000};
}

MonoTime wrapped_mono_now(void)
{
    return virtual_ns == 0 ? real_mono_now() : (MonoTime){virtual_ns++};
}

WallTime wrapped_wall_now(void)
{
    return virtual_ns == 0 ? real_wall_now() : virtual_wall((MonoTime){virtual_ns});
}
