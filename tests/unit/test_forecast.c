/* What a forecast makes of a crawl's past. What it says of real crawls: tests/integration/plan.py.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "forecast/forecast_text.h"
#include "unit.h"

static void take(ForecastHistory *history, const char *state, double elapsed_s, double pages,
                 double seen, double queued)
{
    char line[256];
    int n = snprintf(line, sizeof line,
                     "time=2026-01-31T12:00:00.000Z state=%s elapsed_s=%.1f pages=%.0f bytes=%.0f "
                     "urls_seen=%.0f urls_queued=%.0f urls_parked=0 db_bytes=1000 cpu_s=%.1f "
                     "limit=parser",
                     state, elapsed_s, pages, pages * 1000, seen, queued, elapsed_s);
    forecast_history_take(history, line, (size_t)n);
}

/* ---- the past ----------------------------------------------------------------------------------
 */

static void pauses_are_no_work(void)
{
    ForecastHistory history;
    forecast_history_begin(&history);
    take(&history, "running", 10, 100, 100, 0);
    take(&history, "paused", 1000, 100, 100, 0);
    take(&history, "running", 1010, 200, 200, 0);
    CU_ASSERT_DOUBLE_EQUAL(forecast_history_last(&history)->at_work_s, 20, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(forecast_history_last(&history)->elapsed_s, 1010, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(forecast_history_before(&history, 10)->pages, 100, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(history.run_begin_s, 0, 1e-9);
    const char *again = "elapsed_s=1011 cpu_s=0.1 pages=201"; /* a run of its own */
    forecast_history_take(&history, again, strlen(again));
    CU_ASSERT_DOUBLE_EQUAL(history.run_begin_s, 1010, 1e-9);
}

static void a_long_log_is_thinned(void)
{
    ForecastHistory history;
    forecast_history_begin(&history);
    for (int i = 1; i <= 100000; i++) {
        take(&history, "running", i, i * 10.0, i * 20.0, i * 10.0);
    }
    CU_ASSERT_TRUE(history.n < FORECAST_POINTS && history.n > FORECAST_POINTS / 4);
    CU_ASSERT_DOUBLE_EQUAL(forecast_history_last(&history)->pages, 1e6, 1e-9);
    double quarter = forecast_history_before(&history, 25000)->at_work_s;
    CU_ASSERT_TRUE(quarter <= 75000 && quarter > 74000);
}

/* ---- what is queued ----------------------------------------------------------------------------
 */

static void load_host(ForecastLoad *load, uint64_t address, double urls, double host_s,
                      double address_s, double room)
{
    HostLoad host = {.pace = {.address = address, .host_s = host_s, .address_s = address_s},
                     .urls = urls,
                     .requests = 1,
                     .pages = 1,
                     .room = room};
    CU_ASSERT_EQUAL_FATAL(forecast_load_add(load, &host), RESULT_OK);
}

static void hosts_of_an_address_take_turns(void)
{
    ForecastLoad load = {.hosts = NULL};
    double all = 0;
    load_host(&load, 7, 10, 0.5, 1, -1);
    load_host(&load, 0, 10, 3, 1, -1); /* addresses are not known: each has its own */
    load_host(&load, 0, 10, 3, 1, -1);
    load_host(&load, 7, 30, 0.5, 1, -1);
    load_host(&load, 8, 1000, 2, 1, 5); /* may have five pages more */
    forecast_load_sort(&load);
    CU_ASSERT_DOUBLE_EQUAL(forecast_load_fetched(&load, 1, 0, &all), 0, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(all, 65, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(forecast_load_seconds(&load, 1, all), 40, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(forecast_load_fetched(&load, 1, 10, &all), 10 + 20.0 / 3 + 5, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(forecast_load_seconds(&load, 1, 10 + 20.0 / 3 + 5), 10, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(forecast_load_seconds(&load, 2, 1e9), 80, 1e-9);
    ForecastSlowest slowest = forecast_load_slowest(&load);
    CU_ASSERT_DOUBLE_EQUAL(slowest.host_s, 30, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(slowest.address_s, 40, 1e-9);
    CU_ASSERT_TRUE(slowest.address_hosts == 2 && slowest.address->pace.address == 7);
    forecast_load_destroy(&load);
}

/* Ten requests a second, and each URL takes two. */
static void retries_take_time_and_refusals_do_not(void)
{
    ForecastLoad load = {.hosts = NULL};
    double all = 0;
    HostLoad host = {.pace = {.host_s = 0.1, .address_s = 0.1},
                     .urls = 100,
                     .requests = 2,
                     .pages = 0.5,
                     .room = -1};
    CU_ASSERT_EQUAL_FATAL(forecast_load_add(&load, &host), RESULT_OK);
    CU_ASSERT_DOUBLE_EQUAL(forecast_load_seconds(&load, 1, 1e9), 20, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(forecast_load_fetched(&load, 1, 10, &all), 25, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(all, 50, 1e-9);
    forecast_load_destroy(&load);
}

/* Before half of the time that the host is busy ten of its hundred URLs fail: when it is as likely
 * as not that none is late, 0.69 of them may be. */
static void the_last_url_that_fails_is_waited_for(void)
{
    ForecastLoad load = {.hosts = NULL};
    HostLoad host = {.pace = {.host_s = 0.1, .address_s = 0.1},
                     .urls = 100,
                     .requests = 2,
                     .pages = 0.5,
                     .failing = 0.1,
                     .room = -1};
    CU_ASSERT_EQUAL_FATAL(forecast_load_add(&load, &host), RESULT_OK);
    load.share[FETCH_BROKEN] = 1;
    load.chain_s[FETCH_BROKEN] = 60;
    double late = 20 * log(2) / 10;
    CU_ASSERT_DOUBLE_EQUAL(forecast_load_end(&load, 1, 0.5), 80 - late, 0.1);
    CU_ASSERT_TRUE(forecast_load_end(&load, 1, 0.05) < 80 - 2 * late);
    CU_ASSERT_TRUE(forecast_load_end(&load, 1, 0.95) > 80 - late / 2);
    load.hosts[0].wait_s = 7;
    CU_ASSERT_DOUBLE_EQUAL(forecast_load_end(&load, 1, 0.5), 87 - late, 0.1);
    CU_ASSERT_EQUAL_FATAL(forecast_load_add(&load, &host), RESULT_OK);
    load.hosts[1].wait_s = 7; /* of two hosts one is late more often */
    CU_ASSERT_DOUBLE_EQUAL(forecast_load_end(&load, 1, 0.5), 87 - late / 2, 0.1);
    load.share[FETCH_BROKEN] = load.share[FETCH_SERVER] = 0.5; /* those who wait longer decide */
    load.chain_s[FETCH_SERVER] = 5;
    CU_ASSERT_DOUBLE_EQUAL(forecast_load_end(&load, 1, 0.5), 87 - late, 0.1);
    forecast_load_destroy(&load);
}

/* Those that have failed already need their requests, and the time until the last of them. */
static void urls_that_have_failed_are_no_others(void)
{
    ForecastLoad load = {.hosts = NULL};
    double all = 0;
    HostLoad host = {.pace = {.host_s = 0.1, .address_s = 0.1},
                     .requests = 1,
                     .pages = 1,
                     .failing = 0.1,
                     .retries = 50,
                     .retry_s = 3,
                     .room = -1,
                     .queued = 20};
    CU_ASSERT_EQUAL_FATAL(forecast_load_add(&load, &host), RESULT_OK);
    CU_ASSERT_DOUBLE_EQUAL(forecast_load_end(&load, 1, 0.5), 5, 0.01);
    (void)forecast_load_fetched(&load, 1, 5, &all);
    CU_ASSERT_DOUBLE_EQUAL(all, 0, 1e-9);
    load.hosts[0].retry_s = 30;
    CU_ASSERT_DOUBLE_EQUAL(forecast_load_end(&load, 1, 0.5), 30.1, 0.01);
    forecast_load_destroy(&load);
}

/* ---- forecasts ---------------------------------------------------------------------------------
 */

typedef struct World {
    Config config;
    ForecastHistory history;
    ForecastLoad load;
    ForecastInput input;
} World;

static void world_open(World *world)
{
    CU_ASSERT_EQUAL_FATAL(config_init(&world->config), RESULT_OK);
    forecast_history_begin(&world->history);
    world->load = (ForecastLoad){.hosts = NULL};
    world->input = (ForecastInput){.history = &world->history,
                                   .load = &world->load,
                                   .config = &world->config,
                                   .directory_bytes = 1e6,
                                   .database_bytes = 1000,
                                   .disk_free = 1e15,
                                   .limits_hold = true};
}

static void world_close(World *world)
{
    config_destroy(&world->config);
    forecast_load_destroy(&world->load);
}

static void a_limit_is_met_at_the_rate_of_lately(void)
{
    World world;
    Forecast f;
    world_open(&world);
    for (int i = 1; i <= 100; i++) { /* ten pages a second, each brings two URLs */
        take(&world.history, "running", i, i * 10.0, i * 20.0, i * 10.0);
    }
    load_host(&world.load, 1, 1000, 0.01, 0.01, -1);
    forecast_make(&f, &world.input);
    CU_ASSERT_FALSE(isfinite(f.seconds_left[GROWTH_TREND])); /* and none less than before */
    CU_ASSERT_TRUE(f.has_end && f.first == FORECAST_DISK);
    world.config.crawl_max_pages = 3000;
    world.config.crawl_max_bytes = 4000000;
    world.config.crawl_max_duration = 1000000;
    forecast_make(&f, &world.input);
    CU_ASSERT_EQUAL(f.first, FORECAST_MAX_PAGES);
    CU_ASSERT_DOUBLE_EQUAL(f.ends[FORECAST_MAX_PAGES].seconds, 200, 0.1);
    CU_ASSERT_DOUBLE_EQUAL(f.ends[FORECAST_MAX_BYTES].seconds, 300, 0.1);
    CU_ASSERT_DOUBLE_EQUAL(f.ends[FORECAST_MAX_DURATION].seconds, 900, 0.1);
    CU_ASSERT_DOUBLE_EQUAL(f.bytes, 2e6, 1);
    CU_ASSERT_STRING_EQUAL(f.bound, "parser");
    world.input.limits_hold = false; /* of a run that is over */
    forecast_make(&f, &world.input);
    CU_ASSERT_EQUAL(f.first, FORECAST_DISK);
    world_close(&world);
}

static void the_slowest_host_decides_when_nothing_is_left(void)
{
    World world;
    Forecast f;
    world_open(&world);
    for (int i = 1; i <= 100; i++) { /* all known from the beginning */
        take(&world.history, "running", i, i * 10.0, 1600, 1600 - i * 10.0);
    }
    load_host(&world.load, 1, 500, 0.1, 0.1, -1);
    load_host(&world.load, 2, 100, 5, 1, -1);
    forecast_load_sort(&world.load);
    forecast_make(&f, &world.input);
    CU_ASSERT_EQUAL(f.first, FORECAST_NOTHING_LEFT);
    CU_ASSERT_DOUBLE_EQUAL(f.pages, 600, 1);
    CU_ASSERT_DOUBLE_EQUAL(f.rate_seconds, 60, 0.1);
    CU_ASSERT_DOUBLE_EQUAL(f.ends[FORECAST_NOTHING_LEFT].seconds, 500, 0.1);
    CU_ASSERT_DOUBLE_EQUAL(f.slowest.host_s, 500, 0.1);
    world_close(&world);
}

/* Links to all URLs of a world alike: the more are known, the fewer are new. */
static void a_falling_trend_leads_to_the_end_of_a_world(void)
{
    const double all = 100000;
    World world;
    Forecast f;
    world_open(&world);
    double known = 10;
    double finished = 0;
    for (int i = 1; finished < all * 0.3; i++) {
        finished += 100;
        known += 100 * 8 * (1 - known / all);
        take(&world.history, "running", i, finished, known, known - finished);
    }
    load_host(&world.load, 1, known - finished, 0.001, 0.001, -1);
    forecast_make(&f, &world.input);
    double left = all - finished;
    CU_ASSERT_TRUE(fabs(f.pages_left[GROWTH_TREND] / left - 1) < 0.1);
    CU_ASSERT_TRUE(f.pages_left[GROWTH_NONE] < left && f.pages_left[GROWTH_STEADY] >= left);
    world_close(&world);
}

static void a_forecast_fits_on_a_screen(void)
{
    World world;
    Forecast f;
    Buffer out;
    world_open(&world);
    buffer_init(&out, BUFFER_NO_LIMIT);
    for (int i = 1; i <= 100; i++) {
        take(&world.history, "running", i, i * 1e6, i * 2e6, i * 1e6);
    }
    world.config.crawl_max_pages = 300000000;
    world.config.crawl_max_bytes = INT64_C(1000000000000);
    world.config.crawl_max_duration = 10000000;
    world.config.crawl_max_total_duration = 20000000;
    load_host(&world.load, 1, 1e8, 5, 1, -1);
    forecast_make(&f, &world.input);
    const ForecastSubject subject = {.directory = "my-crawl",
                                     .is_running = true,
                                     .slowest_host = "http://www.example.org",
                                     .slowest_address = "http://www.example.org"};
    CU_ASSERT_EQUAL(forecast_write(&f, &world.input, &subject, REPORT_AS_TEXT, &out), RESULT_OK);
    size_t lines = 0;
    for (const char *line = buffer_string(&out); *line != '\0'; lines++) {
        size_t n = strcspn(line, "\n");
        CU_ASSERT_TRUE(n <= 100);
        line += n + 1;
    }
    CU_ASSERT_TRUE(lines <= 40);
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&out), "politeness"));
    buffer_reset(&out);
    CU_ASSERT_EQUAL(forecast_write(&f, &world.input, &subject, REPORT_AS_JSON, &out), RESULT_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&out), "\"ends_by\": "));
    buffer_destroy(&out);
    world_close(&world);
}

static void a_crawl_without_a_past_has_a_forecast(void)
{
    World world;
    Forecast f;
    Buffer out;
    world_open(&world);
    buffer_init(&out, BUFFER_NO_LIMIT);
    forecast_make(&f, &world.input);
    CU_ASSERT_DOUBLE_EQUAL(f.rate, 0, 1e-9);
    load_host(&world.load, 1, 100, 5, 1, -1);
    forecast_make(&f, &world.input);
    CU_ASSERT_DOUBLE_EQUAL(f.polite_seconds, 0, 1e-9); /* no rate: no end is told */
    CU_ASSERT_FALSE(f.has_end);
    const ForecastSubject subject = {
        .directory = "new", .slowest_host = "a", .slowest_address = "a"};
    CU_ASSERT_EQUAL(forecast_write(&f, &world.input, &subject, REPORT_AS_TEXT, &out), RESULT_OK);
    CU_ASSERT_PTR_NULL(strstr(buffer_string(&out), "inf"));
    CU_ASSERT_PTR_NULL(strstr(buffer_string(&out), "nan"));
    buffer_destroy(&out);
    world_close(&world);
}

UNIT_MAIN("forecast", {"pauses are no work", pauses_are_no_work},
          {"a long log is thinned", a_long_log_is_thinned},
          {"hosts of an address take turns", hosts_of_an_address_take_turns},
          {"retries take time and refusals do not", retries_take_time_and_refusals_do_not},
          {"the last URL that fails is waited for", the_last_url_that_fails_is_waited_for},
          {"URLs that have failed are no others", urls_that_have_failed_are_no_others},
          {"a limit is met at the rate of lately", a_limit_is_met_at_the_rate_of_lately},
          {"the slowest host decides when nothing is left",
           the_slowest_host_decides_when_nothing_is_left},
          {"a falling trend leads to the end of a world",
           a_falling_trend_leads_to_the_end_of_a_world},
          {"a forecast fits on a screen", a_forecast_fits_on_a_screen},
          {"a crawl without a past has a forecast", a_crawl_without_a_past_has_a_forecast})
