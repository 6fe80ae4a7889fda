#include "fetch/outage/outage.h"
#include "unit.h"

#define SECOND INT64_C(1000000000)

static MonoTime at(int64_t s)
{
    return (MonoTime){(1000 + s) * SECOND};
}

static bool fails(Outage *outage, uint64_t who, int64_t began, int64_t now)
{
    OutageFailure failure = {.who = who, .was_well = true, .has_canary = true, .began = at(began)};
    return outage_failed(outage, &failure, at(now));
}

static void answered(Outage *outage, int64_t now)
{
    (void)outage_answered(outage, at(now));
}

static void while_others_answer_a_host_is_excused_once(void)
{
    Outage outage;
    outage_init(&outage);
    for (uint64_t host = 1; host < 1000; host++) {
        int64_t s = (int64_t)host * 10;
        answered(&outage, s);
        CU_ASSERT_TRUE(fails(&outage, host, s - 20, s + 1));
        answered(&outage, s + 2);
        CU_ASSERT_FALSE(fails(&outage, host, s + 2, s + 2));
        CU_ASSERT_EQUAL(outage.state, OUTAGE_CLEAR);
    }
    CU_ASSERT_EQUAL(outage_report(&outage).n_excused, 999);
}

static void a_time_out_in_which_nobody_answered_is_suspect_at_once(void)
{
    Outage outage;
    outage_init(&outage);
    answered(&outage, 0);
    CU_ASSERT_TRUE(fails(&outage, 7, 1, 21));
    CU_ASSERT_EQUAL(outage.state, OUTAGE_SUSPECTED);
    CU_ASSERT_EQUAL(outage_report(&outage).since.ns, at(21).ns);
    CU_ASSERT_TRUE(outage_canary(&outage, false, at(22)));
    CU_ASSERT_EQUAL(outage.state, OUTAGE_OUT);
    for (int64_t s = 30; s < 5000; s += 10) {
        CU_ASSERT_TRUE(fails(&outage, (uint64_t)s, s - 20, s));
        CU_ASSERT_FALSE(outage_canary(&outage, false, at(s)));
    }
    CU_ASSERT_EQUAL(outage_report(&outage).since.ns, at(21).ns);
    CU_ASSERT_EQUAL(outage_report(&outage).n_outages, 1);
    CU_ASSERT_TRUE(outage_answered(&outage, at(5000)));
    CU_ASSERT_EQUAL(outage.state, OUTAGE_CLEAR);
    CU_ASSERT_EQUAL(outage_report(&outage).since.ns, MONO_NEVER.ns);
}

static void quick_failures_are_suspect_when_three_hosts_fail_in_a_row(void)
{
    Outage outage;
    outage_init(&outage);
    for (uint64_t s = 1; s < 10; s++) {
        answered(&outage, 10 * (int64_t)s + 2);
        CU_ASSERT_TRUE(fails(&outage, 10 * s, 10 * (int64_t)s + 2, 10 * (int64_t)s + 2));
        CU_ASSERT_TRUE(fails(&outage, 10 * s + 1, 10 * (int64_t)s + 2, 10 * (int64_t)s + 2));
        CU_ASSERT_EQUAL(outage.state, OUTAGE_CLEAR);
    }
    answered(&outage, 200);
    CU_ASSERT_TRUE(fails(&outage, 1, 199, 201));
    CU_ASSERT_TRUE(fails(&outage, 2, 199, 202));
    CU_ASSERT_EQUAL(outage.state, OUTAGE_CLEAR);
    CU_ASSERT_TRUE(fails(&outage, 3, 199, 203));
    CU_ASSERT_EQUAL(outage.state, OUTAGE_SUSPECTED);
    CU_ASSERT_EQUAL(outage_report(&outage).since.ns, at(201).ns);
}

/* A seed list of dead hosts: the canary hears somebody, and they are charged. */
static void dead_hosts_in_a_row_are_charged_when_the_canary_sings(void)
{
    enum { HOSTS = 1000 };
    static uint64_t tries[HOSTS];
    Outage outage;
    unsigned charged = 0;
    unsigned canaries = 0;
    outage_init(&outage);
    answered(&outage, 0);
    for (int64_t s = 0; s < 300 && charged < HOSTS; s += 5) { /* each is asked every 5 seconds */
        for (uint64_t host = 0; host < HOSTS; host++) {
            int64_t now = s + (int64_t)host / 200;
            if (tries[host] < 100) {
                tries[host]++;
                bool is_charged = !fails(&outage, host * 977 + 1, now, now);
                charged += is_charged;
                tries[host] = is_charged ? 100 + tries[host] : tries[host];
            }
            if (outage.state == OUTAGE_SUSPECTED) {
                canaries++;
                MonoTime then = mono_add_ms(at(now), 1);
                CU_ASSERT_TRUE(outage_canary(&outage, true, then));
            }
        }
    }
    CU_ASSERT_EQUAL(charged, HOSTS);
    for (unsigned host = 0; host < HOSTS; host++) {
        CU_ASSERT_TRUE(tries[host] <= 103);
    }
    CU_ASSERT_TRUE(canaries <= 20);
    CU_ASSERT_EQUAL(outage_report(&outage).n_outages, 0);
}

/* The last host of a crawl is dead: it is not excused for ever. */
static void the_last_host_is_charged_when_the_canary_sings(void)
{
    Outage outage;
    outage_init(&outage);
    answered(&outage, 0);
    CU_ASSERT_TRUE(fails(&outage, 5, 10, 10));
    CU_ASSERT_EQUAL(outage.state, OUTAGE_CLEAR);
    CU_ASSERT_TRUE(fails(&outage, 5, 15, 15));
    CU_ASSERT_EQUAL(outage.state, OUTAGE_SUSPECTED);
    CU_ASSERT_TRUE(outage_canary(&outage, true, at(16)));
    CU_ASSERT_FALSE(fails(&outage, 5, 20, 20));
    CU_ASSERT_EQUAL(outage.state, OUTAGE_CLEAR);
}

static void nobody_is_suspected_without_a_canary_or_by_hosts_that_were_ill(void)
{
    Outage outage;
    outage_init(&outage);
    answered(&outage, 0);
    for (uint64_t host = 1; host < 100; host++) {
        OutageFailure failure = {.who = host, .was_well = host % 2 == 0, .began = at(10)};
        failure.has_canary = !failure.was_well;
        CU_ASSERT_FALSE(outage_failed(&outage, &failure, at(30)));
    }
    CU_ASSERT_EQUAL(outage.state, OUTAGE_CLEAR);
    CU_ASSERT_FALSE(outage_canary(&outage, false, at(31))); /* it was sent too long ago */
}

UNIT_MAIN("outage",
          {"while others answer, a host is excused once",
           while_others_answer_a_host_is_excused_once},
          {"a time-out in which nobody answered is suspect at once",
           a_time_out_in_which_nobody_answered_is_suspect_at_once},
          {"quick failures are suspect when three hosts fail in a row",
           quick_failures_are_suspect_when_three_hosts_fail_in_a_row},
          {"dead hosts in a row are charged when the canary sings",
           dead_hosts_in_a_row_are_charged_when_the_canary_sings},
          {"the last host is charged when the canary sings",
           the_last_host_is_charged_when_the_canary_sings},
          {"nobody is suspected without a canary, or by hosts that were ill",
           nobody_is_suspected_without_a_canary_or_by_hosts_that_were_ill})
