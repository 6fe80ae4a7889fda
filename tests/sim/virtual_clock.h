/* Virtual clock: what the clocks of base/core/clock.h say while agents of a cluster are simulated.
 *
 * What: nearly everything gets the time as a parameter. What reads a clock all the same (chores of
 * ingest, the times of hosts that move) gets the virtual one, because the linker leads calls of
 * mono_now and wall_now here (--wrap in the Makefile). Each look at it takes a nanosecond, so that
 * what works until a time comes to an end.
 * Threads: one. */
#ifndef TESTS_SIM_VIRTUAL_CLOCK_H
#define TESTS_SIM_VIRTUAL_CLOCK_H

#include "base/core/clock.h"

/* From now on the clocks are virtual. */
void virtual_clock_set(MonoTime now);
/* What the wall clock says then. */
WallTime virtual_wall(MonoTime now);

#endif
