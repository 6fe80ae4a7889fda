#include "parse/http/http_header.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

#define NOW   INT64_C(784111777) /* Sun, 06 Nov 1994 08:49:37 GMT */
#define TODAY "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"

static HttpFreshness read_answer(unsigned status, const char *fields, double heuristic)
{
    char text[512];
    HttpHeader header;
    int n = snprintf(text, sizeof text, "HTTP/1.1 %u X\r\n%s\r\n", status, fields);
    CU_ASSERT_EQUAL_FATAL(http_header_parse(&header, text, (size_t)n), RESULT_OK);
    return http_freshness_of(&header, NOW, heuristic);
}

static const struct {
    const char *fields;
    int64_t fresh_s;
} answers[] = {
    {"", 0},
    {"Cache-Control: max-age=86400, immutable\r\n", 86400},
    {"Cache-Control: public\r\nCache-Control: max-age=60\r\n", 60},
    {"Cache-Control: max-age=60\r\nAge: 20\r\n" TODAY, 40},
    {"Cache-Control: max-age=60\r\nAge: 100\r\n", 0},
    {"Cache-Control: max-age=60\r\nAge: soon\r\n", 0},
    {"Cache-Control: max-age=60\r\nDate: Sun, 06 Nov 1994 08:49:07 GMT\r\n", 30},
    {"Cache-Control: s-maxage=60\r\n", 0},
    {"Cache-Control: max-age=60, s-maxage=600\r\n", 60},
    {"Cache-Control: no-cache, max-age=60\r\n", 0},
    {"Cache-Control: no-cache=\"Set-Cookie\", max-age=60\r\n", 60},
    {"Cache-Control: no-store\r\n", 0},
    {"Cache-Control: no-store, max-age=60\r\n", 60},
    {TODAY "Expires: Sun, 06 Nov 1994 09:49:37 GMT\r\n", 3600},
    {"Date: Sun, 06 Nov 1994 08:48:37 GMT\r\nExpires: Sun, 06 Nov 1994 09:49:37 GMT\r\n", 3600},
    {TODAY "Expires: Sun, 06 Nov 1994 09:49:37 GMT\r\nCache-Control: max-age=5\r\n", 5},
    {TODAY "Expires: 0\r\n", 0},
    {TODAY "Expires: Sun, 06 Nov 1993 09:49:37 GMT\r\n", 0},
    {"Cache-Control: max-age=999999999999999999999\r\n", HTTP_MAX_SECONDS},
    {"Cache-Control: max-age=-1\r\n", 0},
    {"Age: 99999999999999999999999999999999\r\nCache-Control: max-age=60\r\n", 0},
    {TODAY "Last-Modified: Sun, 06 Nov 1994 08:32:57 GMT\r\n", 0},
};

static void what_is_promised_less_its_age_is_fresh(void)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        HttpFreshness found = read_answer(200, answers[i].fields, 0);
        if (found.fresh_s != answers[i].fresh_s) {
            (void)fprintf(stderr, "%s: %lld\n", answers[i].fields, (long long)found.fresh_s);
        }
        CU_ASSERT_EQUAL(found.fresh_s, answers[i].fresh_s);
        CU_ASSERT_EQUAL(found.ends_s, 0);
    }
}

static void what_is_not_promised_may_be_guessed(void)
{
    const char *modified = TODAY "Last-Modified: Sun, 06 Nov 1994 08:32:57 GMT\r\n";
    CU_ASSERT_EQUAL(read_answer(200, modified, 0.1).fresh_s, 100);
    CU_ASSERT_EQUAL(read_answer(403, modified, 0.1).fresh_s, 0);
    CU_ASSERT_EQUAL(
        read_answer(200, TODAY "Last-Modified: Sun, 06 Nov 1904 08:32:57 GMT\r\n", 0.5).fresh_s, 0);
    CU_ASSERT_EQUAL(
        read_answer(200, TODAY "Last-Modified: Sun, 06 Nov 1984 08:32:57 GMT\r\n", 0.5).fresh_s,
        30 * 86400);
}

static void redirects_errors_and_ends_have_times_of_their_own(void)
{
    CU_ASSERT_EQUAL(read_answer(301, "Retry-After: 120\r\n", 0).fresh_s, 120);
    CU_ASSERT_EQUAL(read_answer(200, "Retry-After: 120\r\n", 0).fresh_s, 0);
    CU_ASSERT_EQUAL(read_answer(404, "Cache-Control: max-age=60\r\n", 0).fresh_s, 60);
    CU_ASSERT_EQUAL(read_answer(500, "Cache-Control: max-age=60\r\n", 0).fresh_s, 0);
    CU_ASSERT_EQUAL(read_answer(200, "Sunset: Sun, 06 Nov 1994 08:49:38 GMT\r\n", 0).ends_s,
                    NOW + 1);
    CU_ASSERT_EQUAL(read_answer(200, "Sunset: never\r\n", 0).ends_s, 0);
}

UNIT_MAIN("http_freshness",
          {"what is promised, less its age, is fresh", what_is_promised_less_its_age_is_fresh},
          {"what is not promised may be guessed", what_is_not_promised_may_be_guessed},
          {"redirects, errors and ends have times of their own",
           redirects_errors_and_ends_have_times_of_their_own})
