/* Hours: spans of a day, and how long it is until the next one; zones beside what the C library
 * makes of them. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/core/hours.h"
#include "parse/robots/robots.h"
#include "unit.h"

#define MINUTE INT64_C(60000)

/* A day in 2026 at a time of the day. */
static WallTime at(int hour, int minute, int second)
{
    int64_t s = INT64_C(20500) * 86400 + hour * 3600 + minute * 60 + second;
    return (WallTime){s * 1000000};
}

static bool add(Hours *hours, const char *text)
{
    return hours_add(hours, text, strlen(text));
}

static void spans_are_open_from_their_first_minute_to_before_their_last(void)
{
    Hours hours = {.is_limited = false};
    CU_ASSERT_EQUAL(hours_wait_ms(&hours, at(3, 0, 0)), 0);
    CU_ASSERT_TRUE(add(&hours, "0600-0845"));
    CU_ASSERT_EQUAL(hours_wait_ms(&hours, at(5, 59, 30)), MINUTE / 2);
    CU_ASSERT_EQUAL(hours_wait_ms(&hours, at(6, 0, 0)), 0);
    CU_ASSERT_EQUAL(hours_wait_ms(&hours, at(8, 44, 59)), 0);
    CU_ASSERT_EQUAL(hours_wait_ms(&hours, at(8, 45, 0)), (24 * 60 - 165) * MINUTE);
    CU_ASSERT_TRUE(add(&hours, " 12:00 - 13:00 UTC"));
    CU_ASSERT_EQUAL(hours_wait_ms(&hours, at(8, 45, 0)), 195 * MINUTE);
}

static void a_span_may_pass_midnight(void)
{
    Hours hours = {.is_limited = false};
    CU_ASSERT_TRUE(add(&hours, "2300-0100"));
    CU_ASSERT_EQUAL(hours_wait_ms(&hours, at(23, 30, 0)), 0);
    CU_ASSERT_EQUAL(hours_wait_ms(&hours, at(0, 59, 59)), 0);
    CU_ASSERT_EQUAL(hours_wait_ms(&hours, at(1, 0, 0)), 22 * 60 * MINUTE);
}

static void a_whole_day_is_no_limit(void)
{
    static const char *const texts[] = {"0000-2400", "0000-0000", "6:00-6:00"};
    for (size_t i = 0; i < 3; i++) {
        Hours hours = {.is_limited = false};
        CU_ASSERT_TRUE(add(&hours, texts[i]));
        for (int hour = 0; hour < 24; hour++) {
            CU_ASSERT_EQUAL(hours_wait_ms(&hours, at(hour, 17, 3)), 0);
        }
    }
}

static void what_cannot_be_read_changes_nothing(void)
{
    static const char *const texts[] = {"",          "0600",      "0600-",     "-0845",
                                        "2500-0800", "0660-0800", "600-800",   "06:0-08:00",
                                        "2401-0100", "a600-0800", "0600/0800", ":06-08:00"};
    Hours hours = {.is_limited = false};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CU_ASSERT_FALSE(add(&hours, texts[i]));
    }
    CU_ASSERT_FALSE(hours.is_limited);
}

static void closed(const char *text, int64_t expected)
{
    Robots *robots = NULL;
    CU_ASSERT_EQUAL_FATAL(robots_parse(text, strlen(text), "ragno", &robots), RESULT_OK);
    CU_ASSERT_EQUAL(robots_closed_ms(robots, at(5, 0, 0)), expected);
    robots_delete(robots);
}

static void robots_names_the_hours_of_its_groups(void)
{
    closed("User-agent: *\nDisallow: /x\n", 0);
    closed("User-agent: *\nVisit-time: 0600-0845\nDisallow: /x\n", 60 * MINUTE);
    closed("User-agent: *\nDisallow: /x\nVisit-time: 0600-0845 # UT\nVisit-time: 0530-0540\n",
           30 * MINUTE);
    closed("User-agent: other\nVisit-time: 0600-0845\nUser-agent: *\nDisallow: /x\n", 0);
    closed("User-agent: *\nVisit-time: 0600-0845\n\nUser-agent: ragno\nDisallow: /x\n", 0);
    closed("User-agent: *\nVisit-time: at night\n", 0);
}

/* ---- zones ---- */

static const Hours *hours_of(HoursBook *book, const char *text)
{
    const Hours *hours = NULL;
    const char *why = "";
    CU_ASSERT_EQUAL_FATAL(hours_book_get(book, text, &hours, &why), RESULT_OK);
    return hours;
}

/* A time in universal time. */
static WallTime utc(int year, int month, int day, int hour, int minute)
{
    struct tm tm = {.tm_year = year - 1900,
                    .tm_mon = month - 1,
                    .tm_mday = day,
                    .tm_hour = hour,
                    .tm_min = minute};
    return (WallTime){timegm(&tm) * INT64_C(1000000)};
}

static void the_clocks_of_a_place_count(void)
{
    HoursBook book = {.list = NULL};
    const Hours *rome = hours_of(&book, "01:00-06:00 Europe/Rome");
    /* 02:00 universal time is 03:00 in winter, and 04:00 in summer. */
    CU_ASSERT_EQUAL(hours_wait_ms(rome, utc(2026, 1, 10, 2, 0)), 0);
    CU_ASSERT_EQUAL(hours_wait_ms(rome, utc(2026, 1, 10, 4, 59)), 0);
    CU_ASSERT_EQUAL(hours_wait_ms(rome, utc(2026, 1, 10, 5, 0)), 19 * 60 * MINUTE);
    CU_ASSERT_EQUAL(hours_wait_ms(rome, utc(2026, 7, 10, 4, 0)), 19 * 60 * MINUTE);
    CU_ASSERT_EQUAL(hours_wait_ms(rome, utc(2026, 7, 9, 22, 30)), 30 * MINUTE);
    CU_ASSERT_PTR_EQUAL(rome, hours_of(&book, "01:00-06:00 Europe/Rome"));
    CU_ASSERT_PTR_NULL(hours_of(&book, ""));
    const Hours *nepal =
        hours_of(&book, "00:00-00:15, 12:00-13:00 Asia/Kathmandu"); /* 5:45 ahead */
    CU_ASSERT_EQUAL(hours_wait_ms(nepal, utc(2026, 3, 1, 18, 0)), 15 * MINUTE);
    CU_ASSERT_EQUAL(hours_wait_ms(nepal, utc(2026, 3, 1, 6, 20)), 0);
    hours_book_destroy(&book);
}

static void a_day_on_which_clocks_change_is_kept(void)
{
    HoursBook book = {.list = NULL};
    /* On 2026-03-29 02:00 is followed by 03:00 in Rome, at 01:00 universal time. */
    const Hours *night = hours_of(&book, "02:15-02:45 Europe/Rome");
    CU_ASSERT_EQUAL(hours_wait_ms(night, utc(2026, 3, 28, 1, 20)), 0);
    CU_ASSERT_EQUAL(hours_wait_ms(night, utc(2026, 3, 29, 0, 30)), (23 * 60 + 45) * MINUTE);
    const Hours *morning = hours_of(&book, "03:00-04:00 Europe/Rome");
    CU_ASSERT_EQUAL(hours_wait_ms(morning, utc(2026, 3, 29, 0, 30)), 30 * MINUTE);
    /* On 2026-10-25 the hour from 02:00 on comes twice: at 00:00 and 01:00 universal time. */
    const Hours *twice = hours_of(&book, "02:00-03:00 Europe/Rome");
    CU_ASSERT_EQUAL(hours_wait_ms(twice, utc(2026, 10, 24, 23, 59)), MINUTE);
    CU_ASSERT_EQUAL(hours_wait_ms(twice, utc(2026, 10, 25, 0, 30)), 0);
    CU_ASSERT_EQUAL(hours_wait_ms(twice, utc(2026, 10, 25, 1, 30)), 0);
    CU_ASSERT_EQUAL(hours_wait_ms(twice, utc(2026, 10, 25, 2, 0)), 23 * 60 * MINUTE);
    const Hours *late = hours_of(&book, "03:00-04:00 Europe/Rome");
    CU_ASSERT_EQUAL(hours_wait_ms(late, utc(2026, 10, 25, 0, 0)), 2 * 60 * MINUTE);
    hours_book_destroy(&book);
}

static void texts_that_say_nothing_are_refused(void)
{
    static const char *const texts[] = {"Europe/Rome",
                                        "01:00-06:00 Europe/Rom",
                                        "01:00-06:00,",
                                        "01:00-06:00 7",
                                        "1-6",
                                        "01:00-06:00 ../passwd",
                                        "01:00-06:00 /etc",
                                        "01:00-06:00 tzdata.zi",
                                        "01:00-06:00-07:00"};
    HoursBook book = {.list = NULL};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const Hours *hours = NULL;
        const char *why = NULL;
        CU_ASSERT_EQUAL(hours_book_get(&book, texts[i], &hours, &why), RESULT_INVALID);
        CU_ASSERT_PTR_NOT_NULL(why);
        CU_ASSERT_PTR_NULL(hours_book_find(&book, texts[i]));
    }
    hours_book_destroy(&book);
}

static void work_lasts_over_the_hours_that_are_closed(void)
{
    HoursBook book = {.list = NULL};
    const Hours *hours = hours_of(&book, "01:00-06:00");
    CU_ASSERT_DOUBLE_EQUAL(hours_share(hours), 5.0 / 24, 1e-9);
    CU_ASSERT_EQUAL(hours_last_ms(hours, at(1, 0, 0), 60 * MINUTE), 60 * MINUTE);
    CU_ASSERT_EQUAL(hours_last_ms(hours, at(1, 0, 0), 301 * MINUTE), (24 * 60 + 1) * MINUTE);
    CU_ASSERT_EQUAL(hours_last_ms(hours, at(5, 30, 0), 60 * MINUTE), (60 + 19 * 60) * MINUTE);
    CU_ASSERT_EQUAL(hours_last_ms(hours, at(0, 0, 30), 1000), 60 * MINUTE - 29000);
    hours_book_destroy(&book);
}

/* Each instant, in each zone of a list, as localtime_r has it, and each change where it says one
 * is. */
static void zones_are_those_of_the_c_library(void)
{
    static const char *const zones[] = {"Europe/Rome",
                                        "America/New_York",
                                        "Australia/Lord_Howe",
                                        "Asia/Kathmandu",
                                        "Europe/Dublin",
                                        "America/Nuuk",
                                        "Africa/Casablanca",
                                        "Asia/Tehran",
                                        "Pacific/Apia",
                                        "America/Sao_Paulo",
                                        "UTC",
                                        "Antarctica/Troll"};
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        TimeZone *zone = NULL;
        CU_ASSERT_EQUAL_FATAL(time_zone_open(&zone, zones[i]), RESULT_OK);
        (void)setenv("TZ", zones[i], 1);
        tzset();
        int n_wrong = 0;
        int64_t until = 0;
        for (int64_t t = 0; t < INT64_C(4102444800) && n_wrong == 0;
             t += 49 * 3600 + 61) { /* to 2100 */
            struct tm tm;
            time_t when = (time_t)t;
            int32_t ahead = time_zone_ahead_s(zone, t, &until);
            n_wrong += localtime_r(&when, &tm) == NULL || tm.tm_gmtoff != ahead || until <= t;
            when = (time_t)(until - 1);
            n_wrong += until < INT64_C(4102444800) &&
                       (localtime_r(&when, &tm) == NULL || tm.tm_gmtoff != ahead);
        }
        CU_ASSERT_EQUAL(n_wrong, 0);
        time_zone_delete(zone);
    }
    (void)unsetenv("TZ");
    tzset();
}

/* A file with no times but its rule, as some systems have them. */
static void a_slim_file_goes_by_its_rule(void)
{
    char file[256] = {0};
    char *p = file;
    for (int i = 0; i < 2; i++) {
        memcpy(p, "TZif2", 5);
        p[39] = 1; /* one type, */
        p[43] = 4; /* of four letters */
        p += 44;
        memcpy(p, "\0\0\x0e\x10\0\0CET", 10); /* an hour ahead */
        p += 10;
    }
    memcpy(p, "\nCET-1CEST,M3.5.0,M10.5.0/3\n", 29);
    TimeZone *zone = NULL;
    int64_t until = 0;
    CU_ASSERT_EQUAL_FATAL(time_zone_parse(&zone, file, (size_t)(p - file) + 28), RESULT_OK);
    CU_ASSERT_EQUAL(time_zone_ahead_s(zone, utc(2026, 3, 29, 0, 59).us / 1000000, &until), 3600);
    CU_ASSERT_EQUAL(until, utc(2026, 3, 29, 1, 0).us / 1000000);
    CU_ASSERT_EQUAL(time_zone_ahead_s(zone, until, &until), 7200);
    CU_ASSERT_EQUAL(until, utc(2026, 10, 25, 1, 0).us / 1000000);
    time_zone_delete(zone);
    CU_ASSERT_EQUAL(time_zone_parse(&zone, file, (size_t)(p - file) + 27),
                    RESULT_INVALID); /* cut */
    memcpy(p, "\nCET-1CEST,M3.5.0,M13.5.0/3\n", 29);
    CU_ASSERT_EQUAL(time_zone_parse(&zone, file, (size_t)(p - file) + 28), RESULT_INVALID);
}

UNIT_MAIN("hours",
          {"spans are open from their first minute to before their last",
           spans_are_open_from_their_first_minute_to_before_their_last},
          {"a span may pass midnight", a_span_may_pass_midnight},
          {"a whole day is no limit", a_whole_day_is_no_limit},
          {"what cannot be read changes nothing", what_cannot_be_read_changes_nothing},
          {"robots names the hours of its groups", robots_names_the_hours_of_its_groups},
          {"the clocks of a place count", the_clocks_of_a_place_count},
          {"a day on which clocks change is kept", a_day_on_which_clocks_change_is_kept},
          {"texts that say nothing are refused", texts_that_say_nothing_are_refused},
          {"work lasts over the hours that are closed", work_lasts_over_the_hours_that_are_closed},
          {"zones are those of the C library", zones_are_those_of_the_c_library},
          {"a slim file goes by its rule", a_slim_file_goes_by_its_rule})
