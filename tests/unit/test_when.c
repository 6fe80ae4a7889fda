#include "crawl/when.h"
#include "unit.h"

static const WallTime now = {INT64_C(1769905845000000)}; /* 2026-02-01 00:30:45 */

static void points_in_time_are_read(void)
{
    static const struct {
        const char *text;
        int64_t s; /* since 1970; -1: refused */
    } samples[] = {
        {"2026-01-31", 1769817600},
        {"2026-01-31T12:00", 1769860800},
        {"2026-01-31 12:00:05", 1769860805},
        {"2026-01-31T12:00:05Z", 1769860805},
        {"now", 1769905845},
        {"45s", 1769905800},
        {"1h", 1769902245},
        {"2d", 1769733045},
        {"", -1},
        {"2026-02-30", -1},
        {"2026-13-01", -1},
        {"2026-01-31T25:00", -1},
        {"2026-01-31T12", -1},
        {"2026-01-31x", -1},
        {"yesterday", -1},
        {"-5s", -1},
        {"1969-01-01", -1},
        {"2026-01-31T12:00:00+01", -1},
    };
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        WallTime out = {0};
        Result rc = when_parse(samples[i].text, now, &out);
        CU_ASSERT_EQUAL(rc, samples[i].s < 0 ? RESULT_INVALID : RESULT_OK);
        CU_ASSERT_TRUE(rc != RESULT_OK || out.us == samples[i].s * 1000000);
    }
}

static void days_are_read(void)
{
    WallTime from;
    WallTime until;
    CU_ASSERT_EQUAL(when_parse_day("2026-01-31", now, &from, &until), RESULT_OK);
    CU_ASSERT_TRUE(from.us == INT64_C(1769817600000000) && until.us == INT64_C(1769904000000000));
    CU_ASSERT_EQUAL(when_parse_day("today", now, &from, &until), RESULT_OK);
    CU_ASSERT_EQUAL(from.us, INT64_C(1769904000000000));
    CU_ASSERT_EQUAL(when_parse_day("yesterday", now, &from, &until), RESULT_OK);
    CU_ASSERT_EQUAL(from.us, INT64_C(1769817600000000));
    CU_ASSERT_EQUAL(when_parse_day("2026-01-31T12:00", now, &from, &until), RESULT_INVALID);
    CU_ASSERT_EQUAL(when_parse_day("tomorrow", now, &from, &until), RESULT_INVALID);
}

UNIT_MAIN("when", {"points in time are read", points_in_time_are_read},
          {"days are read", days_are_read})
