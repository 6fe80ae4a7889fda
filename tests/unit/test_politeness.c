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

static void an_answer_costs_the_delays_and_halves_what_failures_were(void)
{
    PolitenessOptions options = options_of();
    FetchEnd end = end_of(FETCH_OK);
    unsigned tries = 2;
    HostHealth health = {.failures = 3, .last = FETCH_TIMEOUT, .rested_ms = 7001};
    PolitenessVerdict verdict = politeness_judge(&options, &end, &health, &tries);
    CU_ASSERT_EQUAL(verdict.host_wait_ms, 5000);
    CU_ASSERT_EQUAL(verdict.ip_wait_ms, 1000);
    CU_ASSERT_FALSE(verdict.retry || verdict.drop_url || verdict.drop_host || verdict.park_host);
    CU_ASSERT_EQUAL(verdict.tries, 0);
    CU_ASSERT_EQUAL(tries, 0);
    CU_ASSERT_EQUAL(health.failures, 1);
    CU_ASSERT_EQUAL(health.rested_ms, 3500);
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
             {FETCH_HTTP2, 0, 2, false},          {FETCH_BAD_PORT, 0, 0, true},
             {FETCH_SERVER, 5000, 2, false},      {FETCH_COOKIE, 0, 2, false},
             {FETCH_STALE, 0, 4, false}};

/* A wall is the host's: there are no tries of a URL. */
static void a_host_that_walls_rests_ever_longer_and_is_parked_at_last(void)
{
    PolitenessOptions options = options_of();
    HostHealth health = {.failures = 0};
    unsigned tries = 0;
    FetchEnd end = end_of(FETCH_WALL);
    options.rest_max_ms = HOUR;
    for (unsigned i = 0; i + 1 < POLITENESS_WALLS; i++) {
        PolitenessVerdict verdict = politeness_judge(&options, &end, &health, &tries);
        int64_t wait = i < 3 ? 10 * MINUTE << i : HOUR;
        CU_ASSERT_EQUAL(verdict.host_wait_ms, wait);
        CU_ASSERT_FALSE(verdict.retry || verdict.drop_url || verdict.drop_host);
        CU_ASSERT_FALSE(verdict.park_host);
    }
    CU_ASSERT_TRUE(politeness_judge(&options, &end, &health, &tries).park_host);
    health = (HostHealth){.failures = 3, .last = FETCH_WALL, .extra_ms = HOUR};
    end = end_of(FETCH_OK);
    CU_ASSERT_EQUAL(politeness_judge(&options, &end, &health, &tries).host_wait_ms, 5000);
    CU_ASSERT_EQUAL(health.failures, 0);
    end = end_of(FETCH_WALL);
    end.retry_after_ms = 20 * MINUTE;
    CU_ASSERT_EQUAL(politeness_judge(&options, &end, &health, &tries).host_wait_ms, 20 * MINUTE);
}

static void every_class_waits_doubles_and_ends_as_the_table_says(void)
{
    PolitenessOptions options = options_of();
    /* FETCH_OK, FETCH_LOCAL and FETCH_PROXY are no failures of the host; FETCH_WALL is above. */
    CU_ASSERT_EQUAL(sizeof table / sizeof *table, FETCH_CLASSES - 4);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        FetchEnd end = end_of(table[i].class);
        HostHealth health = {.failures = 0};
        unsigned tries = 0;
        PolitenessVerdict verdict;
        for (unsigned n = 0; n < table[i].retries; n++) {
            bool is_of_url = table[i].class == FETCH_SERVER || table[i].class == FETCH_BROKEN;
            int64_t wait = is_of_url ? 0 : table[i].wait_ms << n;
            verdict = politeness_judge(&options, &end, &health, &tries);
            CU_ASSERT_EQUAL(verdict.url_wait_ms, is_of_url ? table[i].wait_ms << n : 0);
            int64_t left = (table[i].wait_ms << table[i].retries) - (table[i].wait_ms << n);
            CU_ASSERT_EQUAL(verdict.url_left_ms, is_of_url ? left : 0);
            CU_ASSERT_TRUE(verdict.retry && !verdict.drop_url && !verdict.drop_host);
            CU_ASSERT_EQUAL(verdict.host_wait_ms, wait > 5000 ? wait : 5000);
            CU_ASSERT_EQUAL(verdict.ip_wait_ms, 1000);
            CU_ASSERT_TRUE(verdict.tries == n + 1 && tries == n + 1);
            if (table[i].class != FETCH_HTTP2 && table[i].class != FETCH_STALE &&
                table[i].class != FETCH_COOKIE) {
                CU_ASSERT_EQUAL(health.failures, is_of_url ? 1 : n + 1); /* one URL says it once */
                CU_ASSERT_EQUAL(health.last, table[i].class);
            }
        }
        verdict = politeness_judge(&options, &end, &health, &tries);
        CU_ASSERT_FALSE(verdict.retry || verdict.park_host);
        CU_ASSERT_EQUAL(verdict.drop_host, table[i].drops_host);
        CU_ASSERT_EQUAL(verdict.drop_url, !table[i].drops_host);
        CU_ASSERT_TRUE(verdict.host_wait_ms >= 5000);
        CU_ASSERT_EQUAL(verdict.tries, table[i].retries + 1);
        CU_ASSERT_EQUAL(tries, 0);
    }
}

static void a_proxy_that_fails_costs_no_host_anything(void)
{
    PolitenessOptions options = options_of();
    FetchEnd end = end_of(FETCH_PROXY);
    HostHealth health = {.failures = 2, .rested_ms = 7};
    unsigned tries = 1;
    for (unsigned n = 0; n < 1000; n++) {
        PolitenessVerdict verdict = politeness_judge(&options, &end, &health, &tries);
        CU_ASSERT_TRUE(verdict.retry && !verdict.drop_host && !verdict.park_host);
        CU_ASSERT_EQUAL(verdict.host_wait_ms, 30000);
    }
    CU_ASSERT_TRUE(health.failures == 2 && health.rested_ms == 7 && tries == 1);
}

static void recovery_is_as_gradual_as_the_decline(void)
{
    PolitenessOptions options = options_of();
    FetchEnd bad = end_of(FETCH_TIMEOUT);
    FetchEnd good = end_of(FETCH_OK);
    HostHealth health = {.failures = 0};
    unsigned tries = 0;
    for (int64_t wait = MINUTE; wait <= 4 * MINUTE; wait *= 2) {
        CU_ASSERT_EQUAL(politeness_judge(&options, &bad, &health, &tries).host_wait_ms, wait);
    }
    for (int64_t wait = 2 * MINUTE; wait > 5000; wait /= 2) {
        CU_ASSERT_EQUAL(politeness_judge(&options, &good, &health, &tries).host_wait_ms, wait);
    }
    CU_ASSERT_EQUAL(politeness_judge(&options, &good, &health, &tries).host_wait_ms, 5000);
    CU_ASSERT_TRUE(health.failures == 0 && health.extra_ms == 0);
    CU_ASSERT_EQUAL(politeness_judge(&options, &bad, &health, &tries).host_wait_ms, MINUTE);
    /* One success among failures does not start the doubling anew. */
    for (int i = 0; i < 3; i++) {
        (void)politeness_judge(&options, &bad, &health, &tries);
    }
    (void)politeness_judge(&options, &good, &health, &tries);
    CU_ASSERT_EQUAL(health.failures, 2);
    CU_ASSERT_EQUAL(politeness_judge(&options, &bad, &health, &tries).host_wait_ms, 4 * MINUTE);
}

/* It is not slow because it was away; but its failures are not forgotten at once. */
static void a_host_that_is_back_has_its_own_delay(void)
{
    const FetchClass away[] = {FETCH_DNS, FETCH_REFUSED, FETCH_NO_ROUTE};
    PolitenessOptions options = options_of();
    FetchEnd good = end_of(FETCH_OK);
    for (size_t i = 0; i < 3; i++) {
        FetchEnd bad = end_of(away[i]);
        HostHealth health = {.failures = 0};
        unsigned tries = 0;
        int64_t first = politeness_judge(&options, &bad, &health, &tries).host_wait_ms;
        int64_t second = politeness_judge(&options, &bad, &health, &tries).host_wait_ms;
        CU_ASSERT_EQUAL(second, 2 * first);
        CU_ASSERT_EQUAL(politeness_judge(&options, &good, &health, &tries).host_wait_ms, 5000);
        CU_ASSERT_TRUE(health.failures == 1 && health.extra_ms == 0);
        CU_ASSERT_EQUAL(politeness_judge(&options, &bad, &health, &tries).host_wait_ms, second);
    }
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
        unsigned n = 0;
        bool over = false;
        while (!over && n < 100) {
            FetchEnd end = end_of(classes[dice_below(&dice, 5)]);
            PolitenessVerdict verdict = politeness_judge(&options, &end, &health, &tries);
            over = verdict.drop_url || verdict.drop_host;
            CU_ASSERT_TRUE(over != verdict.retry);
            n++;
        }
        CU_ASSERT_TRUE(over && n <= 6); /* the most patient class has five retries */
    }
}

/* Each URL has its own tries; the host stays as ill as it was, and rests ever longer. */
static void failures_of_several_urls_of_a_host_count_together(void)
{
    PolitenessOptions options = options_of();
    FetchEnd end = end_of(FETCH_BROKEN);
    HostHealth health = {.failures = POLITENESS_URL_FAILURES};
    int64_t wait = MINUTE;
    for (int url = 0; url < 3; url++) {
        unsigned tries = 0;
        for (int i = 0; i < 3; i++, wait *= 2) {
            PolitenessVerdict verdict = politeness_judge(&options, &end, &health, &tries);
            CU_ASSERT_EQUAL(verdict.retry, i < 2);
            CU_ASSERT_EQUAL(verdict.drop_url, i == 2);
            CU_ASSERT_EQUAL(verdict.host_wait_ms, wait);
            CU_ASSERT_EQUAL(verdict.url_wait_ms > wait, verdict.retry); /* another goes first */
        }
    }
    CU_ASSERT_EQUAL(health.failures, 9 + POLITENESS_URL_FAILURES);
}

/* While others answer, each URL that fails waits by itself, and longer each time. */
static void a_url_that_fails_does_not_stop_its_host(void)
{
    static const FetchClass classes[] = {FETCH_BROKEN, FETCH_SERVER};
    PolitenessOptions options = options_of();
    FetchEnd good = end_of(FETCH_OK);
    for (size_t c = 0; c < 2; c++) {
        FetchEnd bad = end_of(classes[c]);
        HostHealth health = {.failures = 0};
        unsigned tries = 0;
        unsigned other = 0;
        int64_t wait = options.rules[classes[c]].wait_ms;
        for (unsigned i = 0; i < 100; i++, wait *= 2) {
            PolitenessVerdict verdict = politeness_judge(&options, &bad, &health, &tries);
            CU_ASSERT_EQUAL(verdict.host_wait_ms, 5000);
            CU_ASSERT_EQUAL(verdict.url_wait_ms, verdict.retry ? wait : 0);
            wait = verdict.retry ? wait : options.rules[classes[c]].wait_ms / 2;
            CU_ASSERT_EQUAL(politeness_judge(&options, &good, &health, &other).host_wait_ms, 5000);
        }
        /* It is the host's when robots.txt fails, and behind some others in a row. */
        bad.robots = true;
        CU_ASSERT_EQUAL(politeness_judge(&options, &bad, &health, &tries).url_wait_ms, 0);
        bad.robots = false;
        health = (HostHealth){.failures = 0};
        for (unsigned i = 0; i < POLITENESS_URL_FAILURES; i++) {
            tries = 0;
            CU_ASSERT_TRUE(politeness_judge(&options, &bad, &health, &tries).url_wait_ms > 0);
        }
        tries = 0;
        PolitenessVerdict last = politeness_judge(&options, &bad, &health, &tries);
        CU_ASSERT_EQUAL(last.host_wait_ms, options.rules[classes[c]].wait_ms);
        CU_ASSERT_TRUE(last.url_wait_ms > last.host_wait_ms); /* another URL is asked for first */
    }
}

/* Each seventh URL fails, at every try. A host of 5 000 of them is asked as often as one without
 * failures, but for a tenth of the time. */
static void urls_that_always_fail_cost_their_host_little(void)
{
    enum { ALL = 5000 };
    static int64_t ready_ms[ALL];
    static unsigned tries[ALL];
    PolitenessOptions options = options_of();
    FetchEnd good = end_of(FETCH_OK);
    FetchEnd bad = end_of(FETCH_BROKEN);
    HostHealth health = {.failures = 0};
    int64_t now_ms = 0;
    int64_t requests = 0;
    size_t next = 0;
    while (next < ALL) {
        size_t url = next; /* a retry that is ready goes before a new URL */
        for (size_t i = 0; i < next && url == next; i++) {
            url = ready_ms[i] > 0 && ready_ms[i] <= now_ms ? i : url;
        }
        bool fails = url % 7 == 3 || url % 91 == 4; /* sometimes two in a row */
        PolitenessVerdict verdict =
            politeness_judge(&options, fails ? &bad : &good, &health, &tries[url]);
        ready_ms[url] = verdict.retry ? now_ms + verdict.url_wait_ms : 0;
        now_ms += verdict.host_wait_ms;
        requests++;
        next += url == next;
    }
    CU_ASSERT_TRUE(requests > ALL * 5 / 4);
    CU_ASSERT_TRUE((double)now_ms < 1.1 * 5000 * (double)requests);
}

/* At the end of a crawl a host has nothing but dead links left: they say nothing new of it, and end
 * by their own tries. A host that has others left, which fail, too, may be down: it rests. */
static void dead_links_alone_do_not_stop_their_host(void)
{
    static const FetchClass classes[] = {FETCH_BROKEN, FETCH_SERVER};
    PolitenessOptions options = options_of();
    for (size_t c = 0; c < 2; c++) {
        FetchEnd end = end_of(classes[c]);
        HostHealth health = {.failures = 0};
        const RetryRule *rule = &options.rules[classes[c]];
        for (unsigned i = 0; i < POLITENESS_URL_FAILURES + 2; i++) {
            unsigned tries = 0;
            (void)politeness_judge(&options, &end, &health, &tries);
        }
        HostHealth before = health;
        CU_ASSERT_EQUAL(before.extra_ms, 2 * rule->wait_ms);
        end.only_failed = true;
        for (unsigned i = 0; i < 100; i++) {
            unsigned tries = 1;
            unsigned n = 1;
            PolitenessVerdict verdict;
            while ((verdict = politeness_judge(&options, &end, &health, &tries)).retry) {
                CU_ASSERT_EQUAL(verdict.host_wait_ms, before.extra_ms);
                CU_ASSERT_EQUAL(verdict.url_wait_ms, rule->wait_ms << n++);
            }
            CU_ASSERT_TRUE(verdict.drop_url && n == rule->retries);
            CU_ASSERT_EQUAL(health.failures, before.failures);
            CU_ASSERT_EQUAL(health.rested_ms, before.rested_ms);
        }
        unsigned tries = 0; /* a URL that has not failed before says something */
        CU_ASSERT_EQUAL(politeness_judge(&options, &end, &health, &tries).host_wait_ms,
                        2 * before.extra_ms);
        end.only_failed = false; /* and so does each while there are others */
        tries = 1;
        CU_ASSERT_EQUAL(politeness_judge(&options, &end, &health, &tries).host_wait_ms,
                        4 * before.extra_ms);
    }
}

/* A page that has answered well tells dead links from a host that is down. */
static void a_page_that_answered_well_is_asked_before_the_host_is_blamed(void)
{
    PolitenessOptions options = options_of();
    FetchEnd bad = end_of(FETCH_SERVER);
    FetchEnd check = end_of(FETCH_OK);
    HostHealth health = {.failures = 0};
    unsigned in_a_row = 0;
    unsigned checks = 0;
    unsigned none = 0;
    bad.can_check = true;
    check.check = true;
    for (unsigned i = 0; i < 1000; i++) { /* dead links: the host is asked as ever */
        unsigned tries = 0;
        PolitenessVerdict verdict = politeness_judge(&options, &bad, &health, &tries);
        CU_ASSERT_EQUAL(verdict.host_wait_ms, 5000);
        CU_ASSERT_TRUE(verdict.retry && verdict.url_wait_ms > 0);
        in_a_row++;
        if (verdict.check) {
            verdict = politeness_judge(&options, &check, &health, &none);
            CU_ASSERT_EQUAL(verdict.host_wait_ms, 5000);
            CU_ASSERT_TRUE(in_a_row <= (POLITENESS_URL_FAILURES << checks) + 1);
            checks += checks < POLITENESS_CHECKS;
            in_a_row = 0;
        }
    }
    CU_ASSERT_EQUAL(checks, POLITENESS_CHECKS);
    CU_ASSERT_TRUE(health.rested_ms == 0);
    health.extra_ms = HOUR; /* of a time when no such page was known */
    health.last = FETCH_SERVER;
    CU_ASSERT_EQUAL(politeness_judge(&options, &check, &health, &none).host_wait_ms, 5000);
    /* The host goes down: its rests begin with the first of the table, the page is asked again
     * behind each, for ever, and no URL loses a try. */
    PolitenessVerdict verdict = {.check = false};
    while (!verdict.check) {
        unsigned tries = 0;
        verdict = politeness_judge(&options, &bad, &health, &tries);
    }
    unsigned tries = 0;
    check.class = FETCH_SERVER;
    for (unsigned i = 0; i < 12; i++) {
        verdict = politeness_judge(&options, &check, &health, &tries);
        CU_ASSERT_EQUAL(verdict.host_wait_ms, 5000 << i);
        CU_ASSERT_TRUE(verdict.retry && verdict.url_wait_ms == 0);
        CU_ASSERT_FALSE(verdict.drop_url || verdict.drop_host || verdict.park_host);
    }
    options.park_after_ms = 6 * HOUR;
    CU_ASSERT_TRUE(politeness_judge(&options, &check, &health, &tries).park_host);
    check.class = FETCH_OK; /* it is up again, and recovers as it declined */
    int64_t last = politeness_judge(&options, &check, &health, &tries).host_wait_ms;
    CU_ASSERT_TRUE(last > 5000);
    check.check = false;
    CU_ASSERT_EQUAL(politeness_judge(&options, &check, &health, &tries).host_wait_ms, last / 2);
}

static void rests_have_an_end(void)
{
    PolitenessOptions options = options_of();
    FetchEnd end = end_of(FETCH_BUSY);
    HostHealth health = {.failures = 0};
    options.rest_max_ms = HOUR;
    options.tries_max = 1;
    int64_t last = 0;
    for (int i = 0; i < 40; i++) {
        unsigned tries = 0;
        last = politeness_judge(&options, &end, &health, &tries).host_wait_ms;
        CU_ASSERT_TRUE(last <= HOUR);
    }
    CU_ASSERT_EQUAL(last, HOUR);
}

static void a_host_that_has_rested_in_vain_is_parked(void)
{
    static const FetchClass classes[] = {FETCH_TIMEOUT, FETCH_SLOW,   FETCH_BROKEN,
                                         FETCH_BUSY,    FETCH_SERVER, FETCH_TIMEOUT};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        PolitenessOptions options = options_of();
        FetchEnd end = end_of(classes[i]);
        HostHealth health = {.failures = 0};
        int64_t rested = 0;
        unsigned n = 0;
        unsigned given_up = 0;
        unsigned tries = 0;
        options.rest_max_ms = 6 * HOUR;
        options.park_after_ms = 6 * HOUR;
        PolitenessVerdict verdict = {.park_host = false};
        while (!verdict.park_host && n < 100) {
            verdict = politeness_judge(&options, &end, &health, &tries);
            rested += verdict.host_wait_ms;
            given_up += verdict.drop_url;
            n++;
            tries = fetch_class_is_of_url(classes[i]) ? 0 : tries; /* of another URL */
        }
        CU_ASSERT_TRUE(verdict.park_host && !verdict.drop_host);
        CU_ASSERT_TRUE(rested >= 6 * HOUR && rested < 24 * HOUR);
        CU_ASSERT_TRUE(n >= 4 && n <= 18 && given_up <= 7);
    }
    /* One that recovers now and then is not. */
    PolitenessOptions options = options_of();
    FetchEnd bad = end_of(FETCH_TIMEOUT);
    FetchEnd good = end_of(FETCH_OK);
    HostHealth health = {.failures = 0};
    options.park_after_ms = 6 * HOUR;
    for (int i = 0; i < 1000; i++) {
        unsigned tries = 0;
        CU_ASSERT_FALSE(politeness_judge(&options, &bad, &health, &tries).park_host);
        CU_ASSERT_FALSE(politeness_judge(&options, &good, &health, &tries).park_host);
    }
}

static void server_errors_slow_a_host_when_they_are_repeated(void)
{
    PolitenessOptions options = options_of();
    FetchEnd bad = end_of(FETCH_SERVER);
    FetchEnd good = end_of(FETCH_OK);
    HostHealth health = {.failures = 0};
    unsigned tries = 0;
    for (int i = 0; i < 5; i++) { /* a page here and there is broken: tried again, no more */
        tries = 0;
        PolitenessVerdict verdict = politeness_judge(&options, &bad, &health, &tries);
        CU_ASSERT_TRUE(verdict.retry && verdict.host_wait_ms == 5000);
        CU_ASSERT_EQUAL(politeness_judge(&options, &good, &health, &tries).host_wait_ms, 5000);
    }
    options.rules[FETCH_SERVER].wait_ms = 20000;
    int64_t waits[] = {5000, 5000, 5000, 5000, 20000, 40000, 80000, 160000};
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        tries = 0; /* of another URL */
        CU_ASSERT_EQUAL(politeness_judge(&options, &bad, &health, &tries).host_wait_ms, waits[i]);
    }
    CU_ASSERT_EQUAL(politeness_judge(&options, &good, &health, &tries).host_wait_ms, 80000);
}

static void tries_are_capped_whatever_the_table_says(void)
{
    PolitenessOptions options = options_of();
    FetchEnd end = end_of(FETCH_BUSY);
    unsigned tries = 0;
    HostHealth health = {.failures = 0};
    options.tries_max = 2;
    CU_ASSERT_TRUE(politeness_judge(&options, &end, &health, &tries).retry);
    CU_ASSERT_TRUE(politeness_judge(&options, &end, &health, &tries).drop_url);
    options.tries_max = 1;
    CU_ASSERT_TRUE(politeness_judge(&options, &end, &health, &tries).drop_url);
}

static void retry_after_slows_the_host_as_long_as_it_says(void)
{
    PolitenessOptions options = options_of();
    HostHealth health = {.failures = 0};
    FetchEnd end = end_of(FETCH_BUSY);
    unsigned tries = 0;
    end.retry_after_ms = 120000;
    CU_ASSERT_EQUAL(politeness_judge(&options, &end, &health, &tries).host_wait_ms, 120000);
    end.retry_after_ms = 2000; /* never less than the host's delay */
    CU_ASSERT_EQUAL(politeness_judge(&options, &end, &health, &tries).host_wait_ms, 5000);
    end.retry_after_ms = 0; /* or a time that has passed: says nothing, the table does */
    CU_ASSERT_EQUAL(politeness_judge(&options, &end, &health, &tries).host_wait_ms, 120000);
    end.retry_after_ms = HOUR;
    PolitenessVerdict verdict = politeness_judge(&options, &end, &health, &tries);
    CU_ASSERT_TRUE(verdict.host_wait_ms == HOUR && !verdict.park_host);
    end.retry_after_ms = HOUR + 1; /* beyond the bound: set aside, with its URLs */
    verdict = politeness_judge(&options, &end, &health, &tries);
    CU_ASSERT_TRUE(verdict.park_host && !verdict.drop_host);
    end.retry_after_ms = 90000; /* the last failure of a URL slows the host like the others */
    health.failures = 0;
    tries = 5;
    verdict = politeness_judge(&options, &end, &health, &tries);
    CU_ASSERT_TRUE(verdict.drop_url);
    CU_ASSERT_EQUAL(verdict.host_wait_ms, 90000);
    health.failures = 5; /* it was obeyed in vain: the table's rest, when that is longer */
    CU_ASSERT_EQUAL(politeness_judge(&options, &end, &health, &tries).host_wait_ms, 30000 << 5);
    end = end_of(FETCH_BROKEN); /* it belongs to 429 and 503 alone */
    end.retry_after_ms = 10;
    health.failures = POLITENESS_URL_FAILURES;
    CU_ASSERT_EQUAL(politeness_judge(&options, &end, &health, &tries).host_wait_ms, MINUTE);
}

/* What a server asks for is no measure of how ill it is: recovery goes by the table. */
static void recovery_from_a_long_retry_after_goes_by_the_table(void)
{
    PolitenessOptions options = options_of();
    HostHealth health = {.failures = 0};
    FetchEnd busy = end_of(FETCH_BUSY);
    FetchEnd good = end_of(FETCH_OK);
    unsigned tries = 0;
    busy.retry_after_ms = HOUR;
    (void)politeness_judge(&options, &busy, &health, &tries);
    CU_ASSERT_EQUAL(politeness_judge(&options, &good, &health, &tries).host_wait_ms, 15000);
    busy.retry_after_ms = 6000;
    for (int i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(politeness_judge(&options, &busy, &health, &tries).host_wait_ms, 6000);
    }
    CU_ASSERT_EQUAL(politeness_judge(&options, &good, &health, &tries).host_wait_ms, 5000);
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
    unsigned tries = 0;
    HostHealth health = {.failures = 0};
    options.crawl_delay_max_ms = 300000;
    end.crawl_delay_ms = 200000;
    CU_ASSERT_EQUAL(politeness_judge(&options, &end, &health, &tries).host_wait_ms, 200000);
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
    unsigned tries = 0;
    HostHealth health = {.failures = 0};
    end.robots = true;
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_TRUE(politeness_judge(&options, &end, &health, &tries).retry);
    }
    CU_ASSERT_TRUE(politeness_judge(&options, &end, &health, &tries).drop_host);
}

static void no_wait_ever_overflows(void)
{
    PolitenessOptions options = options_of();
    unsigned tries = 0;
    HostHealth health = {.failures = 0};
    Buffer error;
    buffer_init(&error, 1000);
    CU_ASSERT_EQUAL(politeness_parse_rules(options.rules, "timeout 365d 20", &error), RESULT_OK);
    FetchEnd end = end_of(FETCH_TIMEOUT);
    int64_t before = 0;
    for (int i = 0; i < 20; i++) {
        PolitenessVerdict verdict = politeness_judge(&options, &end, &health, &tries);
        CU_ASSERT_TRUE(verdict.retry && verdict.host_wait_ms >= before);
        before = verdict.host_wait_ms;
    }
    options.rules[FETCH_TIMEOUT].wait_ms = INT64_MAX / 2;
    health.failures = 15;
    CU_ASSERT_TRUE(politeness_judge(&options, &end, &health, &tries).host_wait_ms >
                   INT64_C(31536000000));
    health.failures = 4000000000u; /* a record from disk may say anything */
    health.rested_ms = INT64_MAX;
    CU_ASSERT_TRUE(politeness_judge(&options, &end, &health, &tries).host_wait_ms > 0);
    CU_ASSERT_TRUE(health.rested_ms > 0);
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
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&error),
                                  "'dsn' is not a class of errors; the classes are: "
                                  "busy no-name dns"));
    buffer_destroy(&error);
}

static void what_this_machine_could_not_do_costs_nothing(void)
{
    PolitenessOptions options = options_of();
    FetchEnd end = end_of(FETCH_LOCAL);
    HostHealth health = {.failures = 2, .last = FETCH_TIMEOUT, .extra_ms = 77, .rested_ms = 700};
    unsigned tries = 2;
    for (int i = 0; i < 100; i++) {
        PolitenessVerdict verdict = politeness_judge(&options, &end, &health, &tries);
        CU_ASSERT_TRUE(verdict.retry);
        CU_ASSERT_FALSE(verdict.drop_url || verdict.drop_host || verdict.park_host);
        CU_ASSERT_EQUAL(verdict.host_wait_ms, 5000);
        CU_ASSERT_EQUAL(verdict.tries, 2);
    }
    CU_ASSERT_EQUAL(tries, 2);
    CU_ASSERT_EQUAL(health.failures, 2);
    CU_ASSERT_EQUAL(health.last, FETCH_TIMEOUT);
    CU_ASSERT_EQUAL(health.extra_ms, 77);
    CU_ASSERT_EQUAL(health.rested_ms, 700);
}

static void an_address_that_fails_is_no_failure_while_there_is_another(void)
{
    PolitenessOptions options = options_of();
    FetchEnd end = end_of(FETCH_REFUSED);
    HostHealth health = {.failures = 1};
    unsigned tries = 1;
    end.elsewhere = true;
    PolitenessVerdict verdict = politeness_judge(&options, &end, &health, &tries);
    CU_ASSERT_TRUE(verdict.retry);
    CU_ASSERT_EQUAL(verdict.host_wait_ms, 0);
    CU_ASSERT_EQUAL(verdict.ip_wait_ms, 1000);
    CU_ASSERT_EQUAL(health.failures, 1);
    CU_ASSERT_EQUAL(tries, 1);
}

static void the_longest_delay_binds(void)
{
    CU_ASSERT_STRING_EQUAL(politeness_what_binds(500, 0, 501), "politeness.ip_delay");
    CU_ASSERT_STRING_EQUAL(politeness_what_binds(501, -1, 501), "politeness.host_delay");
    CU_ASSERT_STRING_EQUAL(politeness_what_binds(500, 600, 501), "Crawl-delay");
    CU_ASSERT_STRING_EQUAL(politeness_what_binds(500, 600, 601), "politeness.ip_delay");
    CU_ASSERT_STRING_EQUAL(politeness_what_binds(600, 600, 1), "politeness.host_delay");
}

/* ---- learned pace ---- */

static LearnedPace learn_often(LearnedPace pace, unsigned n, int64_t took_ms)
{
    while (n-- > 0) {
        pace = politeness_learn(pace, 5000, 400, took_ms, true);
    }
    return pace;
}

static void steady_answers_shorten_the_delay_step_by_step(void)
{
    LearnedPace pace = learn_often((LearnedPace){0}, POLITENESS_STEADY - 1, 20);
    CU_ASSERT_EQUAL(pace.delay_ms, 0);
    pace = learn_often(pace, 1, 20);
    CU_ASSERT_EQUAL(pace.delay_ms, 3750);
    pace = learn_often(pace, POLITENESS_STEADY, 20);
    CU_ASSERT_EQUAL(pace.delay_ms, 2813);
    pace = learn_often(pace, 200, 20);
    CU_ASSERT_EQUAL(pace.delay_ms, 400); /* politeness.least */
    pace = learn_often((LearnedPace){0}, 200, 100);
    CU_ASSERT_EQUAL(pace.delay_ms, 1000); /* ten times an answer */
    pace = learn_often((LearnedPace){0}, 200, 700);
    CU_ASSERT_EQUAL(pace.delay_ms, 0); /* of 5 s nothing is left to learn */
}

static void a_slow_or_bad_answer_gives_the_whole_delay_back(void)
{
    LearnedPace fast = learn_often((LearnedPace){0}, 200, 20);
    LearnedPace pace = politeness_learn(fast, 5000, 400, 91, true);
    CU_ASSERT_EQUAL(pace.delay_ms, 0);
    CU_ASSERT_EQUAL(pace.steady, 0);
    CU_ASSERT_EQUAL(politeness_learn(fast, 5000, 400, 90, true).delay_ms, 400);
    CU_ASSERT_EQUAL(politeness_learn(fast, 5000, 400, 20, false).delay_ms, 0);
    CU_ASSERT_TRUE(politeness_is_good(304) && politeness_is_good(404));
    CU_ASSERT_FALSE(politeness_is_good(403) || politeness_is_good(503) || politeness_is_good(-4));
    /* Answers that grow slowly are steady, and the delay grows with them at once. */
    for (int i = 0; i < 50; i++) {
        fast = politeness_learn(fast, 5000, 400, 60, true);
    }
    CU_ASSERT_TRUE(fast.delay_ms >= 600);
    CU_ASSERT_EQUAL(politeness_learn(fast, 300, 400, 60, true).delay_ms,
                    0); /* a shorter host_delay */
}

/* A host that answers slowly by day, and one answer in a hundred slowly by night, for a week. */
static void it_is_asked_mostly_in_the_hours_in_which_it_answers_fast(void)
{
    unsigned asked[24] = {0};
    unsigned by_night = 0;
    Dice dice = {.state = 1};
    LearnedPace pace = {0};
    int64_t now_ms = 0;
    while (now_ms < 7 * 24 * INT64_C(3600000)) {
        int64_t hour = now_ms / 3600000 % 24;
        bool is_slow = (hour >= 8 && hour < 20) || dice_below(&dice, 100) == 0;
        int64_t took_ms = (is_slow ? 500 : 30) + (int64_t)dice_below(&dice, 20);
        pace = politeness_learn(pace, 5000, 1000, took_ms, true);
        CU_ASSERT_TRUE(pace.delay_ms == 0 || (pace.delay_ms >= 1000 && pace.delay_ms < 5000));
        asked[hour]++;
        by_night += hour < 8 || hour >= 20;
        now_ms += took_ms + (pace.delay_ms == 0 ? 5000 : pace.delay_ms);
    }
    for (size_t hour = 9; hour < 20; hour++) {
        CU_ASSERT_TRUE(asked[hour] > 600 * 7 && asked[hour] < 720 * 7); /* as configured */
        CU_ASSERT_TRUE(asked[(hour + 12) % 24] > 2 * asked[hour]);
    }
    CU_ASSERT_TRUE(by_night > 2 * 12 * 7 * 650);
}

UNIT_MAIN(
    "politeness",
    {"it is asked mostly in the hours in which it answers fast",
     it_is_asked_mostly_in_the_hours_in_which_it_answers_fast},
    {"steady answers shorten the delay step by step",
     steady_answers_shorten_the_delay_step_by_step},
    {"a slow or bad answer gives the whole delay back",
     a_slow_or_bad_answer_gives_the_whole_delay_back},
    {"the longest delay binds", the_longest_delay_binds},
    {"an address that fails is no failure while there is another",
     an_address_that_fails_is_no_failure_while_there_is_another},
    {"an answer costs the delays and halves what failures were",
     an_answer_costs_the_delays_and_halves_what_failures_were},
    {"what this machine could not do costs nothing", what_this_machine_could_not_do_costs_nothing},
    {"a host that walls rests ever longer, and is parked at last",
     a_host_that_walls_rests_ever_longer_and_is_parked_at_last},
    {"every class waits, doubles and ends as the table says",
     every_class_waits_doubles_and_ends_as_the_table_says},
    {"a proxy that fails costs no host anything", a_proxy_that_fails_costs_no_host_anything},
    {"recovery is as gradual as the decline", recovery_is_as_gradual_as_the_decline},
    {"a host that is back has its own delay", a_host_that_is_back_has_its_own_delay},
    {"alternating errors end, too", alternating_errors_end_too},
    {"failures of several URLs of a host count together",
     failures_of_several_urls_of_a_host_count_together},
    {"URLs that always fail cost their host little", urls_that_always_fail_cost_their_host_little},
    {"a URL that fails does not stop its host", a_url_that_fails_does_not_stop_its_host},
    {"dead links alone do not stop their host", dead_links_alone_do_not_stop_their_host},
    {"a page that answered well is asked before the host is blamed",
     a_page_that_answered_well_is_asked_before_the_host_is_blamed},
    {"rests have an end", rests_have_an_end},
    {"a host that has rested in vain is parked", a_host_that_has_rested_in_vain_is_parked},
    {"server errors slow a host when they are repeated",
     server_errors_slow_a_host_when_they_are_repeated},
    {"tries are capped whatever the table says", tries_are_capped_whatever_the_table_says},
    {"Retry-After slows the host as long as it says",
     retry_after_slows_the_host_as_long_as_it_says},
    {"recovery from a long Retry-After goes by the table",
     recovery_from_a_long_retry_after_goes_by_the_table},
    {"Crawl-delay counts up to its cap", crawl_delay_counts_up_to_its_cap},
    {"slow answers stretch the delay when wanted", slow_answers_stretch_the_delay_when_wanted},
    {"a robots.txt that cannot be had costs the host",
     a_robots_txt_that_cannot_be_had_costs_the_host},
    {"no wait ever overflows", no_wait_ever_overflows},
    {"rules are changed by words", rules_are_changed_by_words})
