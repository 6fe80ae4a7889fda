#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/core/clock.h"
#include "base/memory/buffer.h"
#include "unit.h"

static void bytes_come_back(void)
{
    Buffer b;
    buffer_init(&b, 1000);
    CU_ASSERT_STRING_EQUAL(buffer_string(&b), "");
    CU_ASSERT_EQUAL(buffer_append(&b, "abc", 3), RESULT_OK);
    CU_ASSERT_EQUAL(buffer_printf(&b, "-%d", 42), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&b), "abc-42");
    CU_ASSERT_EQUAL(b.length, 6);
    buffer_destroy(&b);
}

static void the_limit_holds_and_nothing_is_half_written(void)
{
    Buffer b;
    buffer_init(&b, 10);
    CU_ASSERT_EQUAL(buffer_append(&b, "0123456789", 10), RESULT_OK);
    CU_ASSERT_EQUAL(buffer_append_char(&b, 'x'), RESULT_LIMIT);
    CU_ASSERT_EQUAL(buffer_printf(&b, "%s", "yy"), RESULT_LIMIT);
    CU_ASSERT_STRING_EQUAL(buffer_string(&b), "0123456789");
    buffer_reset(&b);
    CU_ASSERT_EQUAL(b.length, 0);
    CU_ASSERT_EQUAL(buffer_append(&b, NULL, SIZE_MAX), RESULT_LIMIT);
    buffer_destroy(&b);
}

static void formatting_grows_the_buffer_or_leaves_it_alone(void)
{
    char text[200];
    Buffer b;
    memset(text, 'z', sizeof text);
    text[sizeof text - 1] = '\0';
    buffer_init(&b, 300);
    for (int i = 0; i < 10; i++) { /* fits what is allocated, or just does not */
        CU_ASSERT_EQUAL(buffer_printf(&b, "%d,%.*s;", i, i * 3, text), RESULT_OK);
    }
    CU_ASSERT_EQUAL(b.length, 30 + 45 * 3);
    CU_ASSERT_STRING_EQUAL(buffer_string(&b) + b.length - 30, "9,zzzzzzzzzzzzzzzzzzzzzzzzzzz;");
    size_t before = b.length;
    CU_ASSERT_EQUAL(buffer_printf(&b, "%s", text), RESULT_LIMIT);
    CU_ASSERT_EQUAL(b.length, before);
    CU_ASSERT_EQUAL(strlen(buffer_string(&b)), before);
    b.limit = before + 2; /* there is more room than may be used */
    CU_ASSERT_EQUAL(buffer_printf(&b, "%s", "abc"), RESULT_LIMIT);
    CU_ASSERT_EQUAL(strlen(buffer_string(&b)), before);
    CU_ASSERT_EQUAL(buffer_printf(&b, "%s", "ab"), RESULT_OK);
    buffer_destroy(&b);
}

static void detached_bytes_belong_to_the_caller(void)
{
    Buffer b;
    buffer_init(&b, BUFFER_NO_LIMIT);
    CU_ASSERT_PTR_NULL(buffer_detach(&b));
    (void)buffer_append_string(&b, "kept");
    char *kept = buffer_detach(&b);
    CU_ASSERT_PTR_NULL(b.data);
    CU_ASSERT_STRING_EQUAL(kept, "kept");
    free(kept);
}

static void code_points_become_utf8(void)
{
    static const uint32_t points[] = {'A', 0x7F, 0x80, 0x7FF, 0x800, 0xFFFF, 0x10000, 0x10FFFF};
    Buffer b;
    buffer_init(&b, 64);
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        CU_ASSERT_EQUAL(buffer_append_code_point(&b, points[i]), RESULT_OK);
    }
    CU_ASSERT_STRING_EQUAL(buffer_string(&b), "A\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF"
                                              "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF");
    buffer_destroy(&b);
}

static void numbers_are_what_printf_says(void)
{
    static const int64_t numbers[] = {0,   1,     -1,        9,         10,       -10,
                                      255, 99999, INT64_MAX, INT64_MIN, 1LL << 53};
    Buffer b;
    buffer_init(&b, 64);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char expected[32];
        (void)snprintf(expected, sizeof expected, "%lld", (long long)numbers[i]);
        buffer_reset(&b);
        CU_ASSERT_EQUAL(buffer_append_number(&b, numbers[i]), RESULT_OK);
        CU_ASSERT_STRING_EQUAL(buffer_string(&b), expected);
    }
    buffer_destroy(&b);
}

static void times_are_what_strftime_says(void)
{
    static const int64_t seconds[] = {0, 59, 951782400, 1709210096, 1798761599, 253402300799};
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        char text[CLOCK_TEXT_BYTES];
        char expected[64];
        struct tm tm;
        time_t s = (time_t)seconds[i];
        WallTime t = {seconds[i] * 1000000 + 7999};
        CU_ASSERT_PTR_NOT_NULL_FATAL(gmtime_r(&s, &tm));
        (void)strftime(expected, sizeof expected, "%Y-%m-%dT%H:%M:%S.007Z", &tm);
        CU_ASSERT_STRING_EQUAL(wall_format_iso(t, text), expected);
        (void)strftime(expected, sizeof expected, "%Y%m%d%H%M%S007", &tm);
        CU_ASSERT_STRING_EQUAL(wall_format_compact(t, text), expected);
    }
}

static void what_is_not_used_is_given_back(void)
{
    Buffer b;
    buffer_init(&b, BUFFER_NO_LIMIT);
    buffer_fit(&b);
    CU_ASSERT_PTR_NULL(b.data);
    CU_ASSERT_EQUAL(buffer_reserve(&b, 10000), RESULT_OK);
    (void)buffer_append_string(&b, "short");
    buffer_fit(&b);
    CU_ASSERT_EQUAL(b.capacity, 6);
    CU_ASSERT_STRING_EQUAL(b.data, "short");
    CU_ASSERT_EQUAL(buffer_append_string(&b, "er"), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(b.data, "shorter");
    buffer_destroy(&b);
}

static void what_fails_in_between_is_undone_at_its_end(void)
{
    Buffer b;
    buffer_init(&b, 10);
    buffer_append_string(&b, "abc");
    CU_ASSERT_EQUAL(buffer_end(&b, 0), RESULT_OK);
    buffer_append_string(&b, "de");
    CU_ASSERT_EQUAL(buffer_append_string(&b, "too long for it"), RESULT_LIMIT);
    buffer_append_char(&b, 'f'); /* has room, but a piece before it is missing */
    CU_ASSERT_EQUAL(buffer_end(&b, 3), RESULT_LIMIT);
    CU_ASSERT_STRING_EQUAL(buffer_string(&b), "abc");
    buffer_append_char(&b, 'd');
    CU_ASSERT_EQUAL(buffer_end(&b, 3), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&b), "abcd");
    CU_ASSERT_EQUAL(buffer_append_string(&b, "too long for it"), RESULT_LIMIT);
    buffer_reset(&b);
    CU_ASSERT_EQUAL(buffer_end(&b, 0), RESULT_OK);
    buffer_destroy(&b);
}

UNIT_MAIN("buffer", {"bytes come back", bytes_come_back},
          {"the limit holds and nothing is half written",
           the_limit_holds_and_nothing_is_half_written},
          {"formatting grows the buffer or leaves it alone",
           formatting_grows_the_buffer_or_leaves_it_alone},
          {"numbers are what printf says", numbers_are_what_printf_says},
          {"times are what strftime says", times_are_what_strftime_says},
          {"code points become UTF-8", code_points_become_utf8},
          {"detached bytes belong to the caller", detached_bytes_belong_to_the_caller},
          {"what is not used is given back", what_is_not_used_is_given_back},
          {"what fails in between is undone at its end",
           what_fails_in_between_is_undone_at_its_end})
