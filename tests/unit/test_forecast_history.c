/* The past of a crawl out of lines of status.log, beside a list of all of them. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "dice.h"
#include "forecast/forecast_history.h"
#include "unit.h"

#define SEED  20261128u
#define LINES 20000u

static ForecastHistory history;

static void take(const char *line)
{
    forecast_history_take(&history, line, strlen(line));
}

/* The first is the begin, nothing goes back, and there is room for one more. */
static void check_points(void)
{
    CU_ASSERT_TRUE(history.n >= 1 && history.n < FORECAST_POINTS);
    CU_ASSERT_TRUE(history.points[0].at_work_s == 0 && history.points[0].pages == 0);
    for (size_t i = 1; i < history.n; i++) {
        CU_ASSERT_TRUE(history.points[i].at_work_s >= history.points[i - 1].at_work_s);
        CU_ASSERT_TRUE(history.points[i].pages >= history.points[i - 1].pages);
    }
}

static void only_time_at_work_counts_and_the_last_line_is_there(void)
{
    static const char *const states[] = {"running", "paused", "stopping", "asleep", "finished"};
    static const bool at_work[] = {true, false, true, false, true};
    Dice dice = {SEED};
    double elapsed = 0;
    double work = 0;
    forecast_history_begin(&history);
    CU_ASSERT_EQUAL(history.n, 1);
    for (unsigned i = 0; i < LINES; i++) {
        char line[200];
        size_t state = dice_below(&dice, 5);
        double step = (double)dice_below(&dice, 40) / 4;
        elapsed += step;
        work += at_work[state] ? step : 0;
        (void)snprintf(line, sizeof line,
                       "time=x state=%s elapsed_s=%.2f cpu_s=%u pages=%u urls_seen=%u "
                       "urls_queued=%u urls_parked=%u limit=host\n",
                       states[state], elapsed, i, 3 * i, 10 * i, 4 * i, 2 * i);
        take(line);
        const ForecastPoint *last = forecast_history_last(&history);
        CU_ASSERT_TRUE(last->elapsed_s == elapsed && last->at_work_s == work &&
                       last->pages == 3 * i && last->finished == 4 * i);
        if (i % 97 == 0) {
            check_points();
        }
        CU_ASSERT_STRING_EQUAL(history.state, states[state]);
    }
    check_points();
    CU_ASSERT_TRUE(history.n > FORECAST_POINTS / 2); /* and of a long past enough is kept */
    for (size_t i = 1; i < history.n; i++) {
        double gap = history.points[i].at_work_s - history.points[i - 1].at_work_s;
        CU_ASSERT_TRUE(gap < work / 50);
    }
}

static void before_is_the_last_point_that_is_so_far_back(void)
{
    Dice dice = {SEED};
    for (unsigned round = 0; round < 300; round++) {
        const ForecastPoint *last = forecast_history_last(&history); /* of the test before */
        double back = (double)dice_below(&dice, (uint64_t)last->at_work_s + 1000) - 1;
        size_t i = history.n - 1;
        while (i > 0 && last->at_work_s - history.points[i].at_work_s < back) {
            i--;
        }
        CU_ASSERT_PTR_EQUAL(forecast_history_before(&history, back), &history.points[i]);
    }
    CU_ASSERT_PTR_EQUAL(forecast_history_before(&history, HUGE_VAL), &history.points[0]);
}

static void a_run_begins_where_the_cpu_time_falls(void)
{
    forecast_history_begin(&history);
    take("state=running elapsed_s=10 cpu_s=5");
    CU_ASSERT_EQUAL(history.run_begin_s, 0);
    take("state=running elapsed_s=20 cpu_s=9");
    take("state=running elapsed_s=21 cpu_s=0.1");
    CU_ASSERT_EQUAL(history.run_begin_s, 20);
    take("state=running elapsed_s=30 cpu_s=7");
    CU_ASSERT_EQUAL(history.run_begin_s, 20);
}

static void a_line_that_says_no_time_is_passed_over(void)
{
    static const char *const lines[] = {"",
                                        "x",
                                        "elapsed_s=",
                                        "elapsed_s=-1",
                                        "elapsed_s=nan pages=5",
                                        "elapsed_s=inf pages=5",
                                        "elapsed_s=x pages=5",
                                        "pages=7 state=running",
                                        "elapsed_s"};
    forecast_history_begin(&history);
    take("state=running elapsed_s=10 pages=3 urls_seen=9");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        take(lines[i]);
        const ForecastPoint *last = forecast_history_last(&history);
        CU_ASSERT_TRUE(history.n == 2 && last->pages == 3 && last->at_work_s == 10);
    }
    take("state=running elapsed_s=4 pages=4"); /* a clock that went back: no time at work */
    CU_ASSERT_EQUAL(forecast_history_last(&history)->at_work_s, 10);
    take("state=running elapsed_s=6 limit=a_word_that_is_much_too_long urls_queued=50");
    const ForecastPoint *last = forecast_history_last(&history);
    CU_ASSERT_TRUE(last->at_work_s == 12 && last->pages == 4 && last->seen == 9);
    CU_ASSERT_EQUAL(last->finished, 0); /* more queued than seen */
    CU_ASSERT_STRING_EQUAL(last->limit, "");
}

UNIT_MAIN("forecast_history",
          {"only time at work counts, and the last line is there",
           only_time_at_work_counts_and_the_last_line_is_there},
          {"before is the last point that is so far back",
           before_is_the_last_point_that_is_so_far_back},
          {"a run begins where the CPU time falls", a_run_begins_where_the_cpu_time_falls},
          {"a line that says no time is passed over", a_line_that_says_no_time_is_passed_over})
