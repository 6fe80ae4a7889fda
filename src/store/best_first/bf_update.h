/* Best-first scheduler, updating: the thread that brings scores into the schedule.
 *
 * What: a run computes scores, reads the schedule and finds moves (bf_state.h). It makes them piece
 * by piece in short transactions, and pauses behind each, so that others have most of the time.
 * Owns: the thread, until update_stop.
 * Threads: any may start and stop it.
 * Errors: those of BFSchedulerError. */
#ifndef STORE_BEST_FIRST_BF_UPDATE_H
#define STORE_BEST_FIRST_BF_UPDATE_H

#include "store/best_first/bf_scheduler_types.h"

/* Starts the thread that runs the scorer when enough pages are new, and re-orders the schedule.
 * Without a scorer it only waits. Starting twice is harmless. */
BFSchedulerError bf_scheduler_update_start(BFScheduler *sch);

/* Ends a computation that runs, within fractions of a second. The error of the last update that
 * failed is returned here (the thread carries on after one). */
BFSchedulerError bf_scheduler_update_stop(BFScheduler *sch);

/* What the thread does, once, now, in the calling thread, which makes the moves itself. */
BFSchedulerError bf_scheduler_update(BFScheduler *sch);

#endif
