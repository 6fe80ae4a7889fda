#include <stdio.h>
#include <string.h>

#include "base/thread/rate_gate.h"
#include "fetch/site/cut_rules.h"
#include "unit.h"

static CutReason judge(const CutRules *rules, int status, const char *type, int64_t told)
{
    char text[256];
    HttpHeader header;
    (void)snprintf(text, sizeof text, "HTTP/1.1 %d OK\r\n%s%s%s\r\n", status,
                   type == NULL ? "" : "Content-Type: ", type == NULL ? "" : type,
                   type == NULL ? "" : "\r\n");
    CU_ASSERT_EQUAL_FATAL(http_header_parse(&header, text, strlen(text)), RESULT_OK);
    return cut_rules_judge(rules, status, &header, told);
}

static void nothing_is_cut_by_default(void)
{
    CutRules rules = {.most_bytes = 0};
    CU_ASSERT_EQUAL(judge(&rules, 404, "video/mp4", INT64_MAX), CUT_NOT);
    CU_ASSERT_EQUAL(judge(&rules, 200, NULL, -1), CUT_NOT);
}

static void lengths_are_what_the_header_tells(void)
{
    CutRules rules = {.most_bytes = 100};
    CU_ASSERT_EQUAL(judge(&rules, 200, NULL, 101), CUT_LENGTH);
    CU_ASSERT_EQUAL(judge(&rules, 200, NULL, 100), CUT_NOT);
    CU_ASSERT_EQUAL(judge(&rules, 200, NULL, -1), CUT_NOT);
}

static void an_expression_decides(void)
{
    static const char text[] = "StatusCategory(2) and MIMEIsOneOf(text/html)";
    Filter *filter = NULL;
    FilterScratch *scratch = NULL;
    FilterError error;
    Url url;
    url_init(&url);
    FilterOptions options = {.available = FILTER_HAS_STATUS | FILTER_HAS_TYPE};
    CU_ASSERT_EQUAL_FATAL(filter_compile(&filter, text, strlen(text), &options, &error), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(filter_scratch_new(&scratch), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(url_parse(&url, NULL, "http://h/", 9), RESULT_OK);
    CutRules rules = {.filter = filter, .scratch = scratch, .url = &url};
    CU_ASSERT_EQUAL(judge(&rules, 200, "text/html; charset=utf-8", -1), CUT_NOT);
    CU_ASSERT_EQUAL(judge(&rules, 404, "text/html", -1), CUT_FILTER);
    CU_ASSERT_EQUAL(judge(&rules, 200, "text/plain", -1), CUT_FILTER);
    CU_ASSERT_EQUAL(judge(&rules, 200, NULL, -1), CUT_FILTER);
    filter_delete(filter);
    CU_ASSERT_EQUAL(filter_compile(&filter, "IsProbablyBinary()", 18, &options, &error),
                    RESULT_INVALID); /* there is no body yet */
    filter_scratch_delete(scratch);
    url_destroy(&url);
}

/* ---- the rate of all bytes ---- */

static MonoTime at(int64_t ms)
{
    return (MonoTime){.ns = INT64_C(1000000000) + ms * 1000000};
}

static void a_rate_holds_on_average(void)
{
    RateGate gate;
    rate_gate_init(&gate, 1000);
    int64_t ms = 0;
    size_t total = 0;
    while (ms < 100000) { /* whatever one piece is as large as */
        if (rate_gate_is_open(&gate, at(ms))) {
            size_t piece = 1 + total % 4096;
            rate_gate_take(&gate, piece, at(ms));
            total += piece;
        } else {
            int64_t next = (rate_gate_time(&gate).ns - at(0).ns) / 1000000 + 1;
            CU_ASSERT_TRUE_FATAL(next > ms);
            ms = next;
        }
    }
    CU_ASSERT_TRUE(total > 95000 && total < 106000);
}

static void no_rate_is_no_limit(void)
{
    RateGate gate;
    rate_gate_init(&gate, 0);
    rate_gate_take(&gate, SIZE_MAX / 2, at(0));
    CU_ASSERT_TRUE(rate_gate_is_open(&gate, at(0)));
    rate_gate_set(&gate, 10);
    rate_gate_take(&gate, 100, at(0));
    CU_ASSERT_FALSE(rate_gate_is_open(&gate, at(9000)));
    CU_ASSERT_TRUE(rate_gate_is_open(&gate, at(10000)));
    rate_gate_set(&gate, 20); /* debts are forgiven */
    CU_ASSERT_TRUE(rate_gate_is_open(&gate, at(0)));
}

UNIT_MAIN("cut rules and rates", {"nothing is cut by default", nothing_is_cut_by_default},
          {"lengths are what the header tells", lengths_are_what_the_header_tells},
          {"an expression decides", an_expression_decides},
          {"a rate holds on average", a_rate_holds_on_average},
          {"no rate is no limit", no_rate_is_no_limit})
