#include "fetch/dns/name_watch.h"

#include <stdio.h>

#include "unit.h"

#define SECOND INT64_C(1000000000)

static MonoTime at(int64_t s)
{
    return (MonoTime){(1000 + s) * SECOND};
}

static const char *name_of(unsigned number)
{
    static char name[32];
    (void)snprintf(name, sizeof name, "h%u.example", number);
    return name;
}

static bool fails(NameWatch *watch, unsigned number, bool is_silence, int64_t asked, int64_t now)
{
    NameFailure failure = {.hostname = name_of(number),
                           .is_silence = is_silence,
                           .was_well = true,
                           .asked = at(asked)};
    return name_watch_failed(watch, &failure, at(now));
}

/* Sends a canary out; how many of its names are asked for. */
static unsigned sing(NameWatch *watch, bool has_address, int64_t now)
{
    const char *names[NAME_WATCH_KNOWN];
    unsigned n = name_watch_take(watch, names, at(now));
    for (unsigned i = 0; i < n; i++) {
        (void)name_watch_heard(watch, has_address, at(now));
    }
    return n;
}

static void a_lie_is_found_out_by_names_that_exist(void)
{
    NameWatch watch;
    name_watch_init(&watch);
    for (unsigned i = 0; i < 20; i++) {
        CU_ASSERT_FALSE(name_watch_answered(&watch, name_of(i), at(0)));
    }
    CU_ASSERT_TRUE(fails(&watch, 100, false, -1, 1));
    CU_ASSERT_TRUE(fails(&watch, 101, false, -1, 1));
    CU_ASSERT_EQUAL(sing(&watch, false, 1), 0); /* nothing is suspected */
    CU_ASSERT_TRUE(fails(&watch, 102, false, -1, 1));
    CU_ASSERT_EQUAL(sing(&watch, false, 1), NAME_WATCH_KNOWN);
    CU_ASSERT_EQUAL(watch.outage.state, OUTAGE_OUT);
    int64_t s = 2;
    unsigned rounds = 0;
    for (; s < 3600; s++) {
        CU_ASSERT_TRUE(fails(&watch, (unsigned)s, false, s, s));
        rounds += sing(&watch, false, s) > 0;
    }
    CU_ASSERT_TRUE(rounds > 200 && rounds < 400);
    s = name_watch_next(&watch).ns / SECOND - 1000;
    CU_ASSERT_EQUAL(sing(&watch, true, s), NAME_WATCH_KNOWN);
    CU_ASSERT_EQUAL(watch.outage.state, OUTAGE_CLEAR);
    CU_ASSERT_EQUAL(name_watch_next(&watch).ns, MONO_NEVER.ns);
    CU_ASSERT_TRUE(fails(&watch, 99999, false, s, s)); /* once */
    (void)name_watch_answered(&watch, name_of(1), at(s + 1));
    CU_ASSERT_FALSE(fails(&watch, 99999, false, s + 2, s + 2));
}

static void silence_from_the_start_is_ours(void)
{
    NameWatch watch;
    name_watch_init(&watch);
    CU_ASSERT_TRUE(fails(&watch, 1, true, 0, 15));
    CU_ASSERT_TRUE(fails(&watch, 2, true, 0, 15));
    CU_ASSERT_EQUAL(sing(&watch, false, 20), 2);
    CU_ASSERT_EQUAL(watch.outage.state, OUTAGE_OUT);
    CU_ASSERT_TRUE(name_watch_answered(&watch, name_of(7), at(30)));
    CU_ASSERT_EQUAL(watch.n_known, 1);
    CU_ASSERT_FALSE(fails(&watch, 1, true, 31, 45)); /* nobody else can be asked */
}

/* Or one name that nobody can resolve would keep a finished crawl alive for ever. */
static void silence_from_the_start_is_ours_for_a_time(void)
{
    NameWatch watch;
    int64_t s = 20;
    unsigned excused = 0;
    name_watch_init(&watch);
    for (unsigned i = 1; i <= 5; i++) {
        CU_ASSERT_TRUE(fails(&watch, i, true, 0, 15));
    }
    for (; s < 600 && (watch.outage.state != OUTAGE_CLEAR || s < 60); s++) {
        (void)sing(&watch, false, s);
    }
    CU_ASSERT_TRUE(s >= 15 + NAME_WATCH_MUTE_MS / 1000 && s < 60 + NAME_WATCH_MUTE_MS / 1000);
    for (int64_t end = s + 3600; s < end; s += 10) {
        excused += fails(&watch, 1 + (unsigned)s % 5, true, s - 10, s);
        (void)sing(&watch, false, s);
    }
    CU_ASSERT_EQUAL(excused, 0);
    CU_ASSERT_EQUAL(watch.outage.state, OUTAGE_CLEAR);
    (void)name_watch_answered(&watch, name_of(7), at(s)); /* and what comes then is believed */
    (void)name_watch_answered(&watch, name_of(8), at(s));
    (void)name_watch_answered(&watch, name_of(9), at(s));
    CU_ASSERT_TRUE(fails(&watch, 100, true, s, s + 15));
}

static void names_that_do_not_exist_are_charged_in_a_crawl_of_few(void)
{
    NameWatch watch;
    name_watch_init(&watch);
    (void)name_watch_answered(&watch, name_of(1), at(0));
    (void)name_watch_answered(&watch, name_of(2), at(0));
    for (unsigned i = 10; i < 100; i++) {
        CU_ASSERT_FALSE(fails(&watch, i, i % 2 == 0, 1, 16));
    }
}

UNIT_MAIN("name watch",
          {"a lie is found out by names that exist", a_lie_is_found_out_by_names_that_exist},
          {"silence from the start is ours", silence_from_the_start_is_ours},
          {"silence from the start is ours for a time", silence_from_the_start_is_ours_for_a_time},
          {"names that do not exist are charged in a crawl of few",
           names_that_do_not_exist_are_charged_in_a_crawl_of_few})
