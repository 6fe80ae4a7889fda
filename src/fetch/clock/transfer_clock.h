/* Transfer clock: how long the transfers of one fetching thread may take.
 *
 * What: libcurl's own time-outs go by the wall, cannot stand still, and cost a timer a second for
 * each transfer. These go by the time in which the thread ran (transfer_clock.h), stand still while
 * a transfer is paused for want of memory, and cost nothing until they are due.
 *
 *   CONNECTING --(request is sent)--> ASKING --(first byte)--> RECEIVING
 *
 *   phase         late when
 *   CONNECTING    connect_ms have passed since the start
 *   ASKING        first_byte_ms have passed since the start
 *   RECEIVING     less than slow_bytes_s came, on average, in the last slow_time_ms
 *   all           total_ms have passed since the start
 *
 * Each transfer goes by the times that held when it began.
 *
 * Owns: the heap; transfers are the caller's.
 * Threads: one fetching thread. Times are those of its run clock, and parameters.
 * Invariant: a running transfer stands in the heap under the first time at which something about it
 * may be due; a paused one does not. */
#pragma once

#include "base/core/clock.h"
#include "base/memory/heap.h"

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

typedef struct TransferTimes {
    int64_t connect_ms;
    int64_t first_byte_ms; /* from the start */
    int64_t total_ms;
    int64_t slow_bytes_s; /* 0: no rate is too slow */
    int64_t slow_time_ms;
} TransferTimes;

typedef enum TransferPhase { PHASE_CONNECTING, PHASE_ASKING, PHASE_RECEIVING } TransferPhase;

typedef enum TransferLate {
    LATE_NOT,
    LATE_CONNECT,
    LATE_FIRST_BYTE,
    LATE_SLOW,
    LATE_TOTAL,
    LATE_ROOM /* it was not: it was in the way of others, and nobody's fault */
} TransferLate;

#define TRANSFER_MARKS 4u /* of a window: what had come by when */

/* Of one transfer; part of it. */
typedef struct TransferTimer {
    HeapNode node;
    TransferTimes times;
    TransferPhase phase;
    MonoTime start;
    MonoTime phase_start;
    MonoTime paused; /* since then; 0: it is not */
    uint64_t bytes;  /* received so far; the owner counts */
    uint64_t marks[TRANSFER_MARKS];
    unsigned n_marks; /* made so far */
} TransferTimer;

typedef struct TransferClock {
    Heap heap;
} TransferClock;

void transfer_clock_init(TransferClock *clock);
void transfer_clock_destroy(TransferClock *clock);
void transfer_timer_init(TransferTimer *timer);

/* A transfer begins; times are copied. RESULT_MEMORY. */
Result transfer_clock_start(TransferClock *clock, TransferTimer *timer, const TransferTimes *times,
                            MonoTime now);
/* Its connection is there, its first byte has come; in a phase that is behind it, nothing happens.
 */
void transfer_clock_enter(TransferClock *clock, TransferTimer *timer, TransferPhase phase,
                          MonoTime now);
/* It waits for memory; it goes on. What it waited does not count. */
void transfer_clock_pause(TransferClock *clock, TransferTimer *timer, MonoTime now);
void transfer_clock_go_on(TransferClock *clock, TransferTimer *timer, MonoTime now);
/* It has ended. Nothing happens when it does not run. */
void transfer_clock_stop(TransferClock *clock, TransferTimer *timer);

/* A transfer that is late, or NULL; *late says how. It has been taken out of the clock. */
TransferTimer *transfer_clock_late(TransferClock *clock, MonoTime now, TransferLate *late);
/* When transfer_clock_late may find one; MONO_NEVER. */
MonoTime transfer_clock_next(const TransferClock *clock);
