#include <string.h>

#include "frontier/visit/politeness.h"
#include "dice.h"
#include "unit.h"

#define MINUTE INT64_C(60000)
#define HOUR   (60 * MINUTE)

static PolitenessOptions options_of(void)
{
    PolitenessOptions options = {.host_delay_ms = 5000,
                                 .ip_delay_ms = 1000,
                                 .crawl_delay_max_ms = 300000,
                                 .retry_after_max_ms = HOUR};
    politeness_default_rules(options.rules);
    return options;
}

static FetchEnd end_of(FetchClass class)
{
    return (FetchEnd){.class = class,
                      .duration_ms = 100,
                      .retry_after_ms = -1,
                      .crawl_delay_ms = -1,
                      .host_delay_ms = 5000};
}

static void an_answer_costs_the_delays_and_forgets_failures(void)
{
    PolitenessOptions options = options_of();
    FetchEnd end = end_of(FETCH_OK);
    HostHealth health = {.failures = 3, .last = FETCH_TIMEOUT};
    PolitenessVerdict verdict = politeness_judge(&options, &end, &health);
    CU_ASSERT_EQUAL(verdict.host_wait_ms, 5000);
    CU_ASSERT_EQUAL(verdict.ip_wait_ms, 1000);
    CU_ASSERT_FALSE(verdict.retry || verdict.drop_url || verdict.drop_host);
    CU_ASSERT_EQUAL(health.failures, 0);
}

/* The retry table, written down a second time. */
static const struct {
    FetchClass class;
    int64_t wait_ms;
    unsigned retries;
    bool drops_host;
} table[] = {{FETCH_BUSY, 30000, 5, false},       {FETCH_NO_NAME, 0, 0, true},
             {FETCH_DNS, 5 * MINUTE, 3, true},    {FETCH_REFUSED, 10 * MINUTE, 4, true},
             {FETCH_NO_ROUTE, HOUR, 4, true},     {FETCH_CONNECT_TIME, 10 * MINUTE, 3, true},
             {FETCH_TLS, HOUR, 1, true},          {FETCH_TIMEOUT, MINUTE, 3, false},
             {FETCH_SLOW, 10 * MINUTE, 1, false}, {FETCH_BROKEN, MINUTE, 2, false},
             {FETCH_PRIVATE, 0, 0, true},         {FETCH_ROBOTS_ERROR, 5 * MINUTE, 5, true},
             {FETCH_HTTP2, 0, 2, false},          {FETCH_BAD_PORT, 0, 0, true}};

static void every_class_waits_doubles_and_ends_as_the_table_says(void)
{
    PolitenessOptions options = options_of();
    CU_ASSERT_EQUAL(sizeof table / sizeof *table, FETCH_CLASSES - 1);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        FetchEnd end = end_of(table[i].class);
        HostHealth health = {.failures = 0};
        PolitenessVerdict verdict;
        for (unsigned n = 0; n < table[i].retries; n++) {
            int64_t wait = table[i].wait_ms << n;
            verdict = politeness_judge(&options, &end, &health);
            CU_ASSERT_TRUE(verdict.retry && !verdict.drop_url && !verdict.drop_host);
            CU_ASSERT_EQUAL(verdict.host_wait_ms, wait > 5000 ? wait : 5000);
            CU_ASSERT_EQUAL(verdict.ip_wait_ms, 1000);
            CU_ASSERT_EQUAL(health.failures, n + 1);
            CU_ASSERT_EQUAL(health.last, table[i].class);
        }
        verdict = politeness_judge(&options, &end, &health);
        CU_ASSERT_FALSE(verdict.retry);
        CU_ASSERT_EQUAL(verdict.drop_host, table[i].drops_host);
        CU_ASSERT_EQUAL(verdict.drop_url, !table[i].drops_host);
        CU_ASSERT_TRUE(verdict.host_wait_ms >= 5000);
    }
}

static void a_success_starts_the_doubling_anew(void)
{
    PolitenessOptions options = options_of();
    FetchEnd bad = end_of(FETCH_TIMEOUT);
    FetchEnd good = end_of(FETCH_OK);
    HostHealth health = {.failures = 0};
    (void)politeness_judge(&options, &bad, &health);
    CU_ASSERT_EQUAL(politeness_judge(&options, &bad, &health).host_wait_ms, 2 * MINUTE);
    (void)politeness_judge(&options, &good, &health);
    CU_ASSERT_EQUAL(politeness_judge(&options, &bad, &health).host_wait_ms, MINUTE);
}

static void alternating_errors_end_too(void)
{
    PolitenessOptions options = options_of();
    static const FetchClass classes[] = {FETCH_TIMEOUT, FETCH_REFUSED, FETCH_BROKEN, FETCH_BUSY,
                                         FETCH_DNS};
    for (uint64_t seed = 0; seed < 200; seed++) {
        Dice dice = {seed};
        HostHealth health = {.failures = 0};
        unsigned tries = 0;
        bool over = false;
        while (!over && tries < 100) {
            FetchEnd end = end_of(classes[dice_below(&dice, 5)]);
            PolitenessVerdict verdict = politeness_judge(&options, &end, &health);
            over = verdict.drop_url || verdict.drop_host;
            CU_ASSERT_TRUE(over != verdict.retry);
            tries++;
        }
        CU_ASSERT_TRUE(over && tries <= 6); /* the most patient class has five retries */
    }
}

static void the_next_url_of_a_host_starts_afresh(void)
{
    PolitenessOptions options = options_of();
    FetchEnd end = end_of(FETCH_BROKEN);
    HostHealth health = {.failures = 0};
    for (int url = 0; url < 3; url++) {
        CU_ASSERT_TRUE(politeness_judge(&options, &end, &health).retry);
        CU_ASSERT_TRUE(politeness_judge(&options, &end, &health).retry);
        PolitenessVerdict verdict = politeness_judge(&options, &end, &health);
        CU_ASSERT_TRUE(verdict.drop_url);
        CU_ASSERT_EQUAL(verdict.host_wait_ms, 5000);
        CU_ASSERT_EQUAL(health.failures, 0);
    }
}

static void tries_are_capped_whatever_the_table_says(void)
{
    PolitenessOptions options = options_of();
    FetchEnd end = end_of(FETCH_BUSY);
    HostHealth health = {.failures = 0};
    options.tries_max = 2;
    CU_ASSERT_TRUE(politeness_judge(&options, &end, &health).retry);
    CU_ASSERT_TRUE(politeness_judge(&options, &end, &health).drop_url);
    options.tries_max = 1;
    CU_ASSERT_TRUE(politeness_judge(&options, &end, &health).drop_url);
}

static void retry_after_slows_the_host_within_bounds(void)
{
    PolitenessOptions options = options_of();
    HostHealth health = {.failures = 0};
    FetchEnd end = end_of(FETCH_BUSY);
    end.retry_after_ms = 120000;
    CU_ASSERT_EQUAL(politeness_judge(&options, &end, &health).host_wait_ms, 120000);
    end.retry_after_ms = 10 * HOUR;
    CU_ASSERT_EQUAL(politeness_judge(&options, &end, &health).host_wait_ms, HOUR);
    end.retry_after_ms = 0; /* never less than the host's delay */
    CU_ASSERT_EQUAL(politeness_judge(&options, &end, &health).host_wait_ms, 5000);
    end.retry_after_ms = 90000; /* the last failure of a URL slows the host like the others */
    health.failures = 5;
    PolitenessVerdict verdict = politeness_judge(&options, &end, &health);
    CU_ASSERT_TRUE(verdict.drop_url);
    CU_ASSERT_EQUAL(verdict.host_wait_ms, 90000);
    end = end_of(FETCH_BROKEN); /* it belongs to 429 and 503 alone */
    end.retry_after_ms = 10;
    health.failures = 0;
    CU_ASSERT_EQUAL(politeness_judge(&options, &end, &health).host_wait_ms, MINUTE);
}

static void crawl_delay_counts_up_to_its_cap(void)
{
    PolitenessOptions options = options_of();
    CU_ASSERT_EQUAL(politeness_host_delay(&options, 5000, -1, 0), 5000);
    CU_ASSERT_EQUAL(politeness_host_delay(&options, 5000, 0, 0), 5000);
    CU_ASSERT_EQUAL(politeness_host_delay(&options, 5000, 3000, 0), 5000);
    CU_ASSERT_EQUAL(politeness_host_delay(&options, 5000, 20000, 0), 20000);
    CU_ASSERT_EQUAL(politeness_host_delay(&options, 5000, 86400000, 0), 300000);
    options.crawl_delay_max_ms = 0;
    CU_ASSERT_EQUAL(politeness_host_delay(&options, 5000, 86400000, 0), 5000);
    FetchEnd end = end_of(FETCH_TIMEOUT); /* it holds after failures, too */
    HostHealth health = {.failures = 0};
    options.crawl_delay_max_ms = 300000;
    end.crawl_delay_ms = 200000;
    CU_ASSERT_EQUAL(politeness_judge(&options, &end, &health).host_wait_ms, 200000);
}

static void slow_answers_stretch_the_delay_when_wanted(void)
{
    PolitenessOptions options = options_of();
    CU_ASSERT_EQUAL(politeness_host_delay(&options, 5000, -1, 60000), 5000);
    options.adaptive_factor = 10;
    CU_ASSERT_EQUAL(politeness_host_delay(&options, 5000, -1, 400), 5000);
    CU_ASSERT_EQUAL(politeness_host_delay(&options, 5000, -1, 60000), 600000);
    CU_ASSERT_TRUE(politeness_host_delay(&options, 5000, -1, INT64_MAX) > 0);
}

static void a_robots_txt_that_cannot_be_had_costs_the_host(void)
{
    PolitenessOptions options = options_of();
    FetchEnd end = end_of(FETCH_TIMEOUT);
    HostHealth health = {.failures = 0};
    end.robots = true;
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_TRUE(politeness_judge(&options, &end, &health).retry);
    }
    CU_ASSERT_TRUE(politeness_judge(&options, &end, &health).drop_host);
}

static void no_wait_ever_overflows(void)
{
    PolitenessOptions options = options_of();
    HostHealth health = {.failures = 0};
    Buffer error;
    buffer_init(&error, 1000);
    CU_ASSERT_EQUAL(politeness_parse_rules(options.rules, "timeout 365d 20", &error), RESULT_OK);
    FetchEnd end = end_of(FETCH_TIMEOUT);
    int64_t before = 0;
    for (int i = 0; i < 20; i++) {
        PolitenessVerdict verdict = politeness_judge(&options, &end, &health);
        CU_ASSERT_TRUE(verdict.retry && verdict.host_wait_ms >= before);
        before = verdict.host_wait_ms;
    }
    options.rules[FETCH_TIMEOUT].wait_ms = INT64_MAX / 2;
    health.failures = 15;
    CU_ASSERT_TRUE(politeness_judge(&options, &end, &health).host_wait_ms > INT64_C(31536000000));
    health.failures = 4000000000u; /* a record from disk may say anything */
    CU_ASSERT_TRUE(politeness_judge(&options, &end, &health).drop_url);
    buffer_destroy(&error);
}

static void rules_are_changed_by_words(void)
{
    RetryRule rules[FETCH_CLASSES];
    Buffer error;
    buffer_init(&error, 10000);
    politeness_default_rules(rules);
    CU_ASSERT_EQUAL(
        politeness_parse_rules(rules, " dns 10s 7 drop, timeout  2m 0 ,, busy 1 2", &error),
        RESULT_OK);
    CU_ASSERT_TRUE(rules[FETCH_DNS].wait_ms == 10000 && rules[FETCH_DNS].retries == 7 &&
                   rules[FETCH_DNS].drops_host);
    CU_ASSERT_TRUE(rules[FETCH_TIMEOUT].wait_ms == 2 * MINUTE &&
                   rules[FETCH_TIMEOUT].retries == 0 && !rules[FETCH_TIMEOUT].drops_host);
    CU_ASSERT_TRUE(rules[FETCH_BUSY].wait_ms == 1000 && rules[FETCH_BUSY].retries == 2);
    CU_ASSERT_EQUAL(rules[FETCH_TLS].wait_ms, HOUR);
    CU_ASSERT_EQUAL(politeness_parse_rules(rules, "", &error), RESULT_OK);
    static const char *const bad[] = {
        "dsn 1m 1",     "ok 1m 1",   "dns",           "dns 1m",           "dns 1x 3",  "dns -1s 3",
        "dns 1m three", "dns 1m 21", "dns 1m 1 dorp", "dns 1m 1 drop it", "dns 1m -1", "dns 1m 1x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        buffer_reset(&error);
        CU_ASSERT_EQUAL(politeness_parse_rules(rules, bad[i], &error), RESULT_INVALID);
        CU_ASSERT_TRUE(error.length > 0);
    }
    buffer_reset(&error);
    (void)politeness_parse_rules(rules, "dsn 1m 1", &error);
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&error), "'dsn' is no class of error; there are: "
                                                         "busy no-name dns"));
    buffer_destroy(&error);
}

UNIT_MAIN("politeness",
          {"an answer costs the delays and forgets failures",
           an_answer_costs_the_delays_and_forgets_failures},
          {"every class waits, doubles and ends as the table says",
           every_class_waits_doubles_and_ends_as_the_table_says},
          {"a success starts the doubling anew", a_success_starts_the_doubling_anew},
          {"alternating errors end, too", alternating_errors_end_too},
          {"the next URL of a host starts afresh", the_next_url_of_a_host_starts_afresh},
          {"tries are capped whatever the table says", tries_are_capped_whatever_the_table_says},
          {"Retry-After slows the host within bounds", retry_after_slows_the_host_within_bounds},
          {"Crawl-delay counts up to its cap", crawl_delay_counts_up_to_its_cap},
          {"slow answers stretch the delay when wanted",
           slow_answers_stretch_the_delay_when_wanted},
          {"a robots.txt that cannot be had costs the host",
           a_robots_txt_that_cannot_be_had_costs_the_host},
          {"no wait ever overflows", no_wait_ever_overflows},
          {"rules are changed by words", rules_are_changed_by_words})
