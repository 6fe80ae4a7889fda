/* How often politeness lets a host be asked: each rule by itself, and bounds over random ones. */
#include <math.h>

#include "dice.h"
#include "rules/host_delays.h"
#include "unit.h"

#define SEED   20261128u
#define ROUNDS 5000u

static const Config plain = {
    .politeness_host_delay = 1000, .politeness_ip_delay = 500, .politeness_crawl_delay_max = 30000};

static double host_s(const Config *config, const HostRecord *record)
{
    return host_delays_host_s(config, record, 200);
}

static void each_delay_by_itself(void)
{
    static const HostRecord unknown = {.state = HOST_ACTIVE};
    HostRecord known = {.fetches = 4, .fetch_ms = 400};
    Config config = plain;
    CU_ASSERT_DOUBLE_EQUAL(host_s(&config, &unknown), 1.2, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(host_s(&config, &known), 1.1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(host_delays_address_s(&config, &known, 200), 0.6, 1e-9);
    known.crawl_delay_ms = 7000;
    CU_ASSERT_DOUBLE_EQUAL(host_s(&config, &known), 7.1, 1e-9);
    known.crawl_delay_ms = 700; /* less than ours */
    CU_ASSERT_DOUBLE_EQUAL(host_s(&config, &known), 1.1, 1e-9);
    known.crawl_delay_ms = UINT32_MAX; /* at most politeness.crawl_delay_max */
    CU_ASSERT_DOUBLE_EQUAL(host_s(&config, &known), 30.1, 1e-9);
    known.crawl_delay_ms = 0;
    known.learned_ms = 50;
    CU_ASSERT_DOUBLE_EQUAL(host_s(&config, &known), 1.1, 1e-9);
    config.politeness_learned = true;
    CU_ASSERT_DOUBLE_EQUAL(host_s(&config, &known), 0.15, 1e-9);
    config.politeness_adaptive_factor = 3; /* of a fetch's 100 ms */
    CU_ASSERT_DOUBLE_EQUAL(host_s(&config, &known), 0.4, 1e-9);
}

static void a_burst_shares_the_pause_behind_it(void)
{
    HostRecord record = {.fetches = 1, .fetch_ms = 100};
    Config config = plain;
    config.politeness_keep_alive_time = 399; /* 1 + 3 pages */
    CU_ASSERT_DOUBLE_EQUAL(host_s(&config, &record), 0.35, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(host_delays_address_s(&config, &record, 200), 0.225, 1e-9);
    record.crawl_delay_ms = 1; /* who asks for a delay has no bursts */
    CU_ASSERT_DOUBLE_EQUAL(host_s(&config, &record), 1.1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(host_delays_address_s(&config, &record, 200), 0.6, 1e-9);
    record = (HostRecord){.fetches = 1000000, .fetch_ms = 1}; /* no fetch takes no time */
    CU_ASSERT_DOUBLE_EQUAL(host_s(&config, &record), 1 / 400.0, 1e-6);
}

static void no_figures_give_a_pace_that_is_none(void)
{
    Dice dice = {SEED};
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t bits = dice_below(&dice, 32);
        Config config = {.politeness_host_delay = (int64_t)(dice_next(&dice) >> 33 >> bits),
                         .politeness_ip_delay = (int64_t)(dice_next(&dice) >> 33 >> bits),
                         .politeness_crawl_delay_max = (int64_t)dice_below(&dice, 100000),
                         .politeness_keep_alive_time = (int64_t)dice_below(&dice, 5000),
                         .politeness_learned = dice_below(&dice, 2) == 0,
                         .politeness_adaptive_factor = (double)dice_below(&dice, 100)};
        HostRecord record = {
            .fetches = (uint32_t)(dice_next(&dice) >> 32 >> bits),
            .fetch_ms = dice_next(&dice) >> 4 >> bits,
            .crawl_delay_ms = (uint32_t)dice_below(&dice, 3) == 0 ? 0 : (uint32_t)dice_next(&dice)};
        double typical_ms = (double)dice_below(&dice, 3000);
        double fetch_s =
            record.fetches > 0 ? (double)record.fetch_ms / record.fetches / 1e3 : typical_ms / 1e3;
        double of_host = host_delays_host_s(&config, &record, typical_ms);
        double of_address = host_delays_address_s(&config, &record, typical_ms);
        CU_ASSERT_TRUE(isfinite(of_host) && of_host >= fetch_s);
        CU_ASSERT_TRUE(isfinite(of_address) && of_address >= fetch_s);
        if (record.crawl_delay_ms > 0) { /* what the site asks for is never shared by a burst */
            double asked_ms =
                fmin(record.crawl_delay_ms, (double)config.politeness_crawl_delay_max);
            CU_ASSERT_TRUE(of_host >= asked_ms / 1e3);
        }
    }
}

UNIT_MAIN("host_delays", {"each delay by itself", each_delay_by_itself},
          {"a burst shares the pause behind it", a_burst_shares_the_pause_behind_it},
          {"no figures give a pace that is none", no_figures_give_a_pace_that_is_none})
