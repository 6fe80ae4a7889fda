#include "fetch/clock/transfer_clock.h"
#include "unit.h"

#define SECOND INT64_C(1000000000)

static const TransferTimes standard = {.connect_ms = 20000,
                                       .first_byte_ms = 30000,
                                       .total_ms = 120000,
                                       .slow_bytes_s = 1000,
                                       .slow_time_ms = 30000};

static MonoTime at(int64_t s)
{
    return (MonoTime){(1000 + s) * SECOND};
}

/* Who is late first, how, and at which second; bytes_s come in every second of the body. */
static TransferLate run(const TransferTimes *times, int64_t connected, int64_t first_byte,
                        uint64_t bytes_s, int64_t *when)
{
    TransferClock clock;
    TransferTimer timer;
    TransferLate late = LATE_NOT;
    transfer_clock_init(&clock);
    transfer_timer_init(&timer);
    CU_ASSERT_EQUAL(transfer_clock_start(&clock, &timer, times, at(0)), RESULT_OK);
    for (*when = 0; *when < 1000 && late == LATE_NOT; ++*when) {
        if (*when == connected) {
            transfer_clock_enter(&clock, &timer, PHASE_ASKING, at(*when));
        }
        if (*when == first_byte) {
            transfer_clock_enter(&clock, &timer, PHASE_RECEIVING, at(*when));
        }
        timer.bytes += *when >= first_byte ? bytes_s : 0;
        CU_ASSERT_TRUE(heap_holds(&timer.node));
        TransferTimer *found = transfer_clock_late(&clock, at(*when), &late);
        CU_ASSERT_EQUAL(found == &timer, late != LATE_NOT);
    }
    --*when;
    transfer_clock_stop(&clock, &timer);
    CU_ASSERT_EQUAL(transfer_clock_next(&clock).ns, MONO_NEVER.ns);
    transfer_clock_destroy(&clock);
    return late;
}

static void each_phase_has_its_time(void)
{
    int64_t when = 0;
    CU_ASSERT_EQUAL(run(&standard, 999, 999, 0, &when), LATE_CONNECT);
    CU_ASSERT_EQUAL(when, 20);
    CU_ASSERT_EQUAL(run(&standard, 19, 999, 0, &when), LATE_FIRST_BYTE);
    CU_ASSERT_EQUAL(when, 30);
    CU_ASSERT_EQUAL(run(&standard, 1, 29, 0, &when), LATE_SLOW);
    CU_ASSERT_TRUE(when >= 59 && when <= 67);
    CU_ASSERT_EQUAL(run(&standard, 1, 2, 999, &when), LATE_SLOW);
    CU_ASSERT_TRUE(when >= 32 && when <= 40);
    CU_ASSERT_EQUAL(run(&standard, 1, 2, 1001, &when), LATE_TOTAL);
    CU_ASSERT_EQUAL(when, 120);
    TransferTimes times = standard;
    times.slow_bytes_s = 0;
    CU_ASSERT_EQUAL(run(&times, 1, 2, 0, &when), LATE_TOTAL);
    CU_ASSERT_EQUAL(when, 120);
    times = standard; /* a silent server is late by its first byte, never too slow */
    times.slow_time_ms = 1000;
    CU_ASSERT_EQUAL(run(&times, 1, 999, 0, &when), LATE_FIRST_BYTE);
    times.first_byte_ms = 5000; /* shorter than the time to connect */
    CU_ASSERT_EQUAL(run(&times, 999, 999, 0, &when), LATE_CONNECT);
    CU_ASSERT_EQUAL(when, 5);
}

/* One transfer, which begins at 0 s. */
static void start(TransferClock *clock, TransferTimer *timer)
{
    transfer_clock_init(clock);
    transfer_timer_init(timer);
    CU_ASSERT_EQUAL(transfer_clock_start(clock, timer, &standard, at(0)), RESULT_OK);
}

/* Fast for a minute, then nothing: the last window counts, not the average. */
static void a_transfer_that_stops_is_too_slow(void)
{
    TransferClock clock;
    TransferTimer timer;
    TransferLate late = LATE_NOT;
    start(&clock, &timer);
    transfer_clock_enter(&clock, &timer, PHASE_RECEIVING, at(0));
    int64_t s = 0;
    for (; s < 110 && late == LATE_NOT; s++) {
        timer.bytes += s < 60 ? 100000 : 0;
        (void)transfer_clock_late(&clock, at(s), &late);
    }
    CU_ASSERT_EQUAL(late, LATE_SLOW);
    CU_ASSERT_TRUE(s >= 89 && s <= 99);
    transfer_clock_destroy(&clock);
}

static void a_pause_does_not_count(void)
{
    TransferClock clock;
    TransferTimer timer;
    TransferLate late = LATE_NOT;
    start(&clock, &timer);
    transfer_clock_enter(&clock, &timer, PHASE_RECEIVING, at(1));
    transfer_clock_pause(&clock, &timer, at(10));
    transfer_clock_pause(&clock, &timer, at(20)); /* it is paused */
    CU_ASSERT_EQUAL(transfer_clock_next(&clock).ns, MONO_NEVER.ns);
    CU_ASSERT_PTR_NULL(transfer_clock_late(&clock, at(5000), &late));
    transfer_clock_go_on(&clock, &timer, at(5000));
    transfer_clock_go_on(&clock, &timer, at(6000)); /* it goes on */
    CU_ASSERT_PTR_NULL(transfer_clock_late(&clock, at(5000 + 20), &late));
    CU_ASSERT_PTR_EQUAL(transfer_clock_late(&clock, at(5000 + 29), &late), &timer);
    CU_ASSERT_EQUAL(late, LATE_SLOW);
    transfer_clock_stop(&clock, &timer);
    transfer_clock_destroy(&clock);
}

static void those_that_are_late_come_one_after_the_other(void)
{
    enum { TIMERS = 500 };
    static TransferTimer timers[TIMERS];
    TransferClock clock;
    TransferLate late = LATE_NOT;
    size_t n = 0;
    transfer_clock_init(&clock);
    for (int64_t i = 0; i < TIMERS; i++) {
        transfer_timer_init(&timers[i]);
        CU_ASSERT_EQUAL(transfer_clock_start(&clock, &timers[i], &standard, at(i % 50)), RESULT_OK);
        if (i % 5 == 0) {
            transfer_clock_stop(&clock, &timers[i]); /* it has ended in time */
        }
    }
    for (int64_t s = 0; s < 80; s++) {
        TransferTimer *timer = NULL;
        while ((timer = transfer_clock_late(&clock, at(s), &late)) != NULL) {
            CU_ASSERT_EQUAL(late, LATE_CONNECT);
            CU_ASSERT_EQUAL((timer - timers) % 50 + 20, s);
            n++;
        }
        CU_ASSERT_TRUE(transfer_clock_next(&clock).ns > at(s).ns);
    }
    CU_ASSERT_EQUAL(n, TIMERS * 4 / 5);
    transfer_clock_destroy(&clock);
}

static void time_in_which_a_thread_did_not_run_is_left_out(void)
{
    RunClock clock;
    run_clock_init(&clock, at(0));
    for (int64_t s = 1; s <= 10; s++) {
        CU_ASSERT_EQUAL(run_clock_tick(&clock, at(s)), 0);
    }
    CU_ASSERT_EQUAL(run_clock_tick(&clock, at(12)), 0); /* late: others had the processor */
    CU_ASSERT_EQUAL(run_clock_at(&clock, at(12)).ns, at(12).ns);
    CU_ASSERT_EQUAL(run_clock_tick(&clock, at(77)), 64000); /* stopped for 65 s */
    CU_ASSERT_EQUAL(run_clock_at(&clock, at(77)).ns, at(13).ns);
    CU_ASSERT_EQUAL(run_clock_tick(&clock, at(78)), 0);
    CU_ASSERT_EQUAL(run_clock_at(&clock, at(78)).ns, at(14).ns);
    CU_ASSERT_EQUAL(run_clock_tick(&clock, at(81)), 2000);
    CU_ASSERT_EQUAL(run_clock_at(&clock, at(81)).ns, at(15).ns);
}

UNIT_MAIN("transfer clock", {"each phase has its time", each_phase_has_its_time},
          {"a transfer that stops is too slow", a_transfer_that_stops_is_too_slow},
          {"a pause does not count", a_pause_does_not_count},
          {"those that are late come one after the other",
           those_that_are_late_come_one_after_the_other},
          {"time in which a thread did not run is left out",
           time_in_which_a_thread_did_not_run_is_left_out})
