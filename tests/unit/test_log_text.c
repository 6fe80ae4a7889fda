/* What is read out of lines of logs and of status.json: tables of cases, damaged ones most. */
#include <stdio.h>
#include <string.h>

#include "logs/log_text.h"
#include "unit.h"

#define ABSENT (-77.0)

static LogText text_of(const char *string)
{
    return (LogText){string, strlen(string)};
}

static void a_number_has_at_most_eighteen_digits(void)
{
    static const struct {
        const char *text;
        int64_t number; /* -1: none, but for "-1" */
    } cases[] = {{"0", 0},     {"-0", 0},
                 {"007", 7},   {"999999999999999999", 999999999999999999},
                 {"-12", -12}, {"-999999999999999999", -999999999999999999}};
    static const char *const none[] = {"",    "-",    "--1",
                                       "+1",  "1 ",   " 1",
                                       "1.0", "0x1",  "1000000000000000000",
                                       "1a",  "\xb2", "-9223372036854775808"};
    int64_t number = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CU_ASSERT_TRUE(log_text_number(text_of(cases[i].text), &number));
        CU_ASSERT_EQUAL(number, cases[i].number);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        number = 5;
        CU_ASSERT_FALSE(log_text_number(text_of(none[i]), &number));
        CU_ASSERT_EQUAL(number, 5);
    }
    CU_ASSERT_TRUE(log_text_is(text_of("ab"), "ab") && !log_text_is(text_of("ab"), "abc") &&
                   !log_text_is(text_of("ab"), "a") && log_text_is((LogText){NULL, 0}, ""));
}

static void origin_and_host_of_a_url(void)
{
    static const struct {
        const char *url;
        const char *origin;
        const char *host;
    } cases[] = {{"http://a.org/x", "http://a.org", "a.org"},
                 {"http://a.org:81", "http://a.org:81", "a.org"},
                 {"http://u:p@a.org:81/x@y:z", "http://a.org:81", "a.org"},
                 {"http://u@v@a.org?q", "http://a.org", "a.org"},
                 {"http://a.org#f//b", "http://a.org", "a.org"},
                 {"https://[::1]:8/", "https://[::1]:8", "[::1]"},
                 {"https://u@[2001:db8::1]/", "https://[2001:db8::1]", "[2001:db8::1]"},
                 {"http://", "http://", ""},
                 {"http://:80/", "http://:80", ""},
                 {"http:///x", "http://", ""},
                 {"//a", "//a", "a"},
                 {"dns:a.org", "", ""},
                 {"/", "", ""},
                 {"", "", ""}};
    char scratch[LOG_ORIGIN_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        LogText url = text_of(cases[i].url);
        CU_ASSERT_TRUE(log_text_is(log_text_origin(url, scratch), cases[i].origin));
        CU_ASSERT_TRUE(log_text_is(log_text_host(url), cases[i].host));
    }
}

static void an_origin_that_is_too_long_is_none(void)
{
    char url[LOG_ORIGIN_BYTES + 20];
    char scratch[LOG_ORIGIN_BYTES];
    for (int n = LOG_ORIGIN_BYTES - 1; n <= LOG_ORIGIN_BYTES + 1; n++) {
        (void)snprintf(url, sizeof url, "http://u@%0*d/", n - 7, 1);
        LogText origin = log_text_origin(text_of(url), scratch);
        CU_ASSERT_EQUAL(origin.length, (size_t)(n <= LOG_ORIGIN_BYTES ? n : 0));
        CU_ASSERT_TRUE(origin.length == 0 || memcmp(origin.bytes, "http://0", 8) == 0);
    }
}

static void a_field_of_status_json(void)
{
    static const char json[] = "{\"state\": \"pages\", \"pages\": 12, \"pages_more\": 13, "
                               "\"rate\": -1.5, \"word\": \"1.5\", \"nan\": nan, \"none\": null, "
                               "\"empty\": \"\", \"last\": 7}\n";
    CU_ASSERT_TRUE(log_text_is(status_json_get(json, "state"), "pages"));
    CU_ASSERT_EQUAL(status_json_number(json, "pages", ABSENT), 12);
    CU_ASSERT_EQUAL(status_json_number(json, "pages_more", ABSENT), 13);
    CU_ASSERT_EQUAL(status_json_number(json, "rate", ABSENT), -1.5);
    CU_ASSERT_EQUAL(status_json_number(json, "last", ABSENT), 7);
    CU_ASSERT_EQUAL(status_json_number(json, "word", ABSENT), 1.5);
    static const char *const absent[] = {"nan", "none", "empty", "page", "ages", "state", ""};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        CU_ASSERT_EQUAL(status_json_number(json, absent[i], ABSENT), ABSENT);
    }
    for (size_t cut = 0; cut < sizeof json; cut++) { /* while it is being written */
        char part[sizeof json];
        memcpy(part, json, cut);
        part[cut] = '\0';
        LogText last = status_json_get(part, "last");
        CU_ASSERT_TRUE(last.bytes == NULL || last.bytes + last.length <= part + cut);
    }
    CU_ASSERT_EQUAL(status_json_number("", "pages", ABSENT), ABSENT);
}

static void a_key_of_a_line_of_status_log(void)
{
    static const struct {
        const char *line;
        double pages;
    } cases[] = {{"pages=1", 1},
                 {"x=1 pages=2 y=3", 2},
                 {"xpages=1 pages=3", 3},
                 {"pages_x=1", ABSENT},
                 {"pages=", ABSENT},
                 {"pages= x=1", ABSENT},
                 {"pages", ABSENT},
                 {"", ABSENT},
                 {"  pages=4", 4},
                 {"pages=12.50", 12.5},
                 {"pages=-1", -1},
                 {"pages=1.2.3", ABSENT},
                 {"pages=nan", ABSENT},
                 {"pages=inf", ABSENT},
                 {"pages=-inf", ABSENT},
                 {"pages=0x10", ABSENT},
                 {"pages=1e300", ABSENT},
                 {"pages=\t1", ABSENT},
                 {"pages=pages=5", ABSENT},
                 {"pages=6 pages=7", 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char copy[64]; /* no NUL behind it */
        size_t length = strlen(cases[i].line);
        memset(copy, '9', sizeof copy);
        memcpy(copy, cases[i].line, length);
        CU_ASSERT_EQUAL(status_log_number(copy, length, "pages", ABSENT), cases[i].pages);
    }
    char line[200] = "pages=";
    memset(line + 6, '1', 100);
    CU_ASSERT_EQUAL(status_log_number(line, 106, "pages", ABSENT), ABSENT);
    WallTime time = {0};
    static const char dated[] = "time=2026-01-31T12:00:00.123Z pages=1";
    CU_ASSERT_TRUE(status_log_time(dated, sizeof dated - 1, &time));
    CU_ASSERT_FALSE(status_log_time("time=x", 6, &time));
    CU_ASSERT_FALSE(status_log_time("", 0, &time));
}

UNIT_MAIN("log_text",
          {"a number has at most eighteen digits", a_number_has_at_most_eighteen_digits},
          {"origin and host of a URL", origin_and_host_of_a_url},
          {"an origin that is too long is none", an_origin_that_is_too_long_is_none},
          {"a field of status.json", a_field_of_status_json},
          {"a key of a line of status.log", a_key_of_a_line_of_status_log})
