/* Hours: spans of a day, and how long it is until the next one. */
#include <string.h>

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

UNIT_MAIN("hours",
          {"spans are open from their first minute to before their last",
           spans_are_open_from_their_first_minute_to_before_their_last},
          {"a span may pass midnight", a_span_may_pass_midnight},
          {"a whole day is no limit", a_whole_day_is_no_limit},
          {"what cannot be read changes nothing", what_cannot_be_read_changes_nothing},
          {"robots names the hours of its groups", robots_names_the_hours_of_its_groups})
