#include "fetch/clock/transfer_clock.h"

/* ---- Run clock ---- */

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

/* ---- Transfer clock ---- */

void transfer_clock_init(TransferClock *clock)
{
    heap_init(&clock->heap);
}

void transfer_clock_destroy(TransferClock *clock)
{
    heap_destroy(&clock->heap);
}

void transfer_timer_init(TransferTimer *timer)
{
    *timer = (TransferTimer){.phase = PHASE_CONNECTING};
    heap_node_init(&timer->node);
}

/* Between two marks. */
static int64_t step_ms(const TransferTimes *times)
{
    int64_t ms = times->slow_time_ms / (int64_t)TRANSFER_MARKS;
    return ms > 0 ? ms : 1;
}

/* When the next mark of a received body is to be made. */
static MonoTime next_mark(const TransferTimer *timer)
{
    return mono_add_ms(timer->phase_start, step_ms(&timer->times) * (int64_t)(timer->n_marks + 1));
}

static MonoTime phase_due(const TransferTimer *timer)
{
    const TransferTimes *times = &timer->times;
    MonoTime first_byte = mono_add_ms(timer->start, times->first_byte_ms);
    MonoTime connect = mono_add_ms(timer->start, times->connect_ms);
    switch (timer->phase) {
    case PHASE_CONNECTING:
        return mono_before(connect, first_byte) ? connect : first_byte;
    case PHASE_ASKING:
        return first_byte;
    case PHASE_RECEIVING:
        break;
    }
    return times->slow_bytes_s > 0 ? next_mark(timer) : MONO_NEVER;
}

static MonoTime transfer_clock_due(const TransferTimer *timer)
{
    MonoTime phase = phase_due(timer);
    MonoTime total = mono_add_ms(timer->start, timer->times.total_ms);
    return mono_before(total, phase) ? total : phase;
}

static Result transfer_clock_push(TransferClock *clock, TransferTimer *timer)
{
    return heap_push(&clock->heap, &timer->node, transfer_clock_due(timer).ns, 0);
}

Result transfer_clock_start(TransferClock *clock, TransferTimer *timer, const TransferTimes *times,
                            MonoTime now)
{
    transfer_timer_init(timer);
    timer->times = *times;
    timer->start = now;
    timer->phase_start = now;
    return transfer_clock_push(clock, timer);
}

void transfer_clock_enter(TransferClock *clock, TransferTimer *timer, TransferPhase phase,
                          MonoTime now)
{
    if (timer->phase >= phase || timer->start.ns == 0) {
        return;
    }
    timer->phase = phase;
    timer->phase_start = now;
    timer->n_marks = 0;
    for (unsigned i = 0; i < TRANSFER_MARKS; i++) {
        timer->marks[i] = timer->bytes;
    }
    /* One that is due later now is looked at when it was due before, and put back. */
    if (heap_holds(&timer->node) && transfer_clock_due(timer).ns < timer->node.key) {
        heap_remove(&clock->heap, &timer->node);
        (void)transfer_clock_push(clock, timer); /* there is room: it was in it */
    }
}

void transfer_clock_pause(TransferClock *clock, TransferTimer *timer, MonoTime now)
{
    if (heap_holds(&timer->node)) {
        heap_remove(&clock->heap, &timer->node);
        timer->paused = now;
    }
}

void transfer_clock_go_on(TransferClock *clock, TransferTimer *timer, MonoTime now)
{
    if (timer->paused.ns == 0) {
        return;
    }
    int64_t ns = now.ns - timer->paused.ns;
    timer->paused = (MonoTime){0};
    timer->start.ns += ns;
    timer->phase_start.ns += ns;
    (void)transfer_clock_push(clock, timer);
}

void transfer_clock_stop(TransferClock *clock, TransferTimer *timer)
{
    heap_remove(&clock->heap, &timer->node);
    transfer_timer_init(timer);
}

/* Makes the marks that are due; true when too little came in the last window. */
static bool is_too_slow(TransferTimer *timer, MonoTime now)
{
    const TransferTimes *times = &timer->times;
    uint64_t least = (uint64_t)(times->slow_bytes_s * times->slow_time_ms / 1000);
    while (timer->phase == PHASE_RECEIVING && times->slow_bytes_s > 0 &&
           !mono_before(now, next_mark(timer))) {
        uint64_t *mark = &timer->marks[timer->n_marks++ % TRANSFER_MARKS];
        uint64_t before = *mark; /* a window ago */
        *mark = timer->bytes;
        if (timer->n_marks >= TRANSFER_MARKS && timer->bytes - before < least) {
            return true;
        }
    }
    return false;
}

static TransferLate transfer_clock_judge(TransferTimer *timer, MonoTime now)
{
    if (!mono_before(now, mono_add_ms(timer->start, timer->times.total_ms))) {
        return LATE_TOTAL;
    }
    if (timer->phase == PHASE_RECEIVING) {
        return is_too_slow(timer, now) ? LATE_SLOW : LATE_NOT;
    }
    if (mono_before(now, phase_due(timer))) {
        return LATE_NOT;
    }
    return timer->phase == PHASE_CONNECTING ? LATE_CONNECT : LATE_FIRST_BYTE;
}

TransferTimer *transfer_clock_late(TransferClock *clock, MonoTime now, TransferLate *late)
{
    HeapNode *node = heap_top(&clock->heap);
    while (node != NULL && node->key <= now.ns) {
        TransferTimer *timer = HEAP_ELEMENT(node, TransferTimer, node);
        heap_remove(&clock->heap, node);
        *late = transfer_clock_judge(timer, now);
        if (*late != LATE_NOT) {
            return timer;
        }
        (void)transfer_clock_push(clock, timer);
        node = heap_top(&clock->heap);
    }
    *late = LATE_NOT;
    return NULL;
}

MonoTime transfer_clock_next(const TransferClock *clock)
{
    const HeapNode *node = heap_top(&clock->heap);
    return node == NULL ? MONO_NEVER : (MonoTime){node->key};
}
