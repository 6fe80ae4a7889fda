/* What is queued, and how long politeness makes it last: hosts that are put there by hand. */
#include <math.h>

#include "dice.h"
#include "forecast/forecast_load.h"
#include "unit.h"

static HostLoad host_of(uint64_t address, double urls, double host_s, double address_s)
{
    return (HostLoad){.pace = {.address = address, .host_s = host_s, .address_s = address_s},
                      .urls = urls,
                      .requests = 1,
                      .pages = 1,
                      .room = -1,
                      .queued = (uint32_t)urls};
}

static ForecastLoad load_of(const HostLoad *hosts, size_t n)
{
    ForecastLoad load = {.hosts = NULL};
    for (size_t i = 0; i < n; i++) {
        CU_ASSERT_EQUAL(forecast_load_add(&load, &hosts[i]), RESULT_OK);
    }
    forecast_load_sort(&load);
    return load;
}

static void nothing_lasts_no_time(void)
{
    ForecastLoad load = {.hosts = NULL};
    double all = 7;
    forecast_load_sort(&load);
    CU_ASSERT_EQUAL(forecast_load_fetched(&load, 1, 100, &all), 0);
    CU_ASSERT_EQUAL(all, 0);
    CU_ASSERT_EQUAL(forecast_load_seconds(&load, 1, 10), 0);
    CU_ASSERT_EQUAL(forecast_load_end(&load, 1, 0.5), 0);
    CU_ASSERT_PTR_NULL(forecast_load_slowest(&load).host);
    forecast_load_destroy(&load);
}

static void hosts_of_one_address_take_turns_and_others_do_not(void)
{
    const HostLoad hosts[] = {host_of(5, 10, 2, 1), host_of(0, 5, 4, 1), host_of(5, 30, 0.1, 1),
                              host_of(0, 10, 3, 1)};
    ForecastLoad load = load_of(hosts, 4);
    double all = 0;
    CU_ASSERT_DOUBLE_EQUAL(load.urls, 55, 1e-9);
    /* The address: 40 requests, a second each; the others 20 s and 30 s by themselves. */
    CU_ASSERT_DOUBLE_EQUAL(forecast_load_seconds(&load, 1, 55), 40, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(forecast_load_fetched(&load, 1, 20, &all), 20 + 5 + 20 / 3.0, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(all, 55, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(forecast_load_seconds(&load, 2, 110), 80, 1e-6);
    ForecastSlowest slowest = forecast_load_slowest(&load);
    CU_ASSERT_PTR_NOT_NULL_FATAL(slowest.host);
    CU_ASSERT_DOUBLE_EQUAL(slowest.host_s, 30, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(slowest.address_s, 40, 1e-6);
    CU_ASSERT_EQUAL(slowest.address_hosts, 2);
    CU_ASSERT_DOUBLE_EQUAL(slowest.address_urls, 40, 1e-6);
    forecast_load_destroy(&load);
}

static void a_limit_of_pages_ends_a_host(void)
{
    HostLoad host = host_of(0, 100, 1, 1);
    host.room = 10;
    host.pages = 0.5;
    ForecastLoad load = load_of(&host, 1);
    double all = 0;
    CU_ASSERT_DOUBLE_EQUAL(forecast_load_fetched(&load, 1, 1e9, &all), 10, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(forecast_load_seconds(&load, 1, 10), 20, 1e-6);
    load.hosts[0].room = 0;
    CU_ASSERT_EQUAL(forecast_load_fetched(&load, 1, 1e9, &all), 0);
    load.hosts[0].pages = 0; /* of a host that has given none */
    CU_ASSERT_EQUAL(forecast_load_fetched(&load, 1, 1e9, &all), 0);
    CU_ASSERT_DOUBLE_EQUAL(forecast_load_seconds(&load, 1, 1), 100, 1e-6);
    forecast_load_destroy(&load);
}

static void waits_and_retries_are_behind_the_work(void)
{
    HostLoad host = host_of(0, 10, 1, 1);
    host.wait_s = 100;
    ForecastLoad load = load_of(&host, 1);
    CU_ASSERT_DOUBLE_EQUAL(forecast_load_end(&load, 1, 0.5), 110, 1e-6);
    load.hosts[0].retry_s = 500;
    CU_ASSERT_DOUBLE_EQUAL(forecast_load_end(&load, 1, 0.5), 501, 1e-6);
    load.hosts[0].retry_s = 0;
    load.hosts[0].failing = 0.5; /* five of them, each of which waits for an hour */
    load.share[FETCH_SERVER] = 1;
    load.chain_s[FETCH_SERVER] = 3600;
    double likely = forecast_load_end(&load, 1, 0.5);
    double sure = forecast_load_end(&load, 1, 0.99);
    CU_ASSERT_TRUE(likely > 3700 && likely < sure && sure <= 3710 + 1);
    load.hosts[0].failing = 0;
    CU_ASSERT_TRUE(forecast_load_end(&load, 1, 0.5) < 111);
    forecast_load_destroy(&load);
}

/* More time never gives fewer pages, and the time for a number of pages gives that number. */
static void time_and_pages_are_inverse_to_each_other(void)
{
    Dice dice = {.state = 12};
    for (unsigned round = 0; round < 100; round++) {
        ForecastLoad load = {.hosts = NULL};
        for (size_t n = 1 + dice_below(&dice, 6); n > 0; n--) {
            HostLoad host =
                host_of(dice_below(&dice, 3), (double)(1 + dice_below(&dice, 50)),
                        0.1 * (double)dice_below(&dice, 30), 0.1 * (double)dice_below(&dice, 9));
            host.room = dice_below(&dice, 3) == 0 ? (double)dice_below(&dice, 40) : -1;
            host.pages = 0.25 * (double)dice_below(&dice, 5);
            host.wait_s = (double)dice_below(&dice, 20);
            (void)forecast_load_add(&load, &host);
        }
        forecast_load_sort(&load);
        double all = 0;
        double before = 0;
        for (double s = 0; s < 200; s += 7) {
            double now = forecast_load_fetched(&load, 1, s, &all);
            CU_ASSERT_TRUE(now >= before - 1e-9 && now <= all + 1e-9);
            before = now;
        }
        double half_s = forecast_load_seconds(&load, 1, all / 2);
        CU_ASSERT_TRUE(forecast_load_fetched(&load, 1, half_s, &all) >= all / 2 * (1 - 1e-4));
        CU_ASSERT_TRUE(half_s <= forecast_load_seconds(&load, 1, all) + 1e-6);
        forecast_load_destroy(&load);
    }
}

UNIT_MAIN("forecast_load", {"nothing lasts no time", nothing_lasts_no_time},
          {"hosts of one address take turns and others do not",
           hosts_of_one_address_take_turns_and_others_do_not},
          {"a limit of pages ends a host", a_limit_of_pages_ends_a_host},
          {"waits and retries are behind the work", waits_and_retries_are_behind_the_work},
          {"time and pages are inverse to each other", time_and_pages_are_inverse_to_each_other})
