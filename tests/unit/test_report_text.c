/* Reports as plain text: tables are aligned, bars have the length of their share. */
#include <string.h>

#include "alloc_fixture.h"
#include "report/write/report_html.h"
#include "report/write/report_text.h"
#include "unit.h"

static ReportRenderer begin(Buffer *out)
{
    ReportRenderer r;
    *out = (Buffer){.limit = 65536};
    CU_ASSERT_EQUAL_FATAL(report_text_renderer(&r, 8, out), RESULT_OK);
    return r;
}

static void ends(ReportRenderer *r, Buffer *out, const char *want)
{
    CU_ASSERT_EQUAL(r->end(r->context), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(out), want);
    buffer_destroy(out);
}

static void titles_are_underlined_and_facts_stand_below_each_other(void)
{
    Buffer out;
    ReportRenderer r = begin(&out);
    r.title(r.context, "abc", "of today");
    r.section(r.context, "de", NULL);
    r.fact(r.context, "pages", "7");
    r.section(r.context, "f", "note\n");
    r.fact(r.context, "much longer", "8");
    ends(&r, &out, "abc\n===\nof today\n\nde\n--\n  pages    7\n\nf\n-\nnote\n  much longer 8\n");
}

static void a_table_is_aligned_and_what_is_empty_in_every_row_is_left_out(void)
{
    static const ReportColumn columns[] = {
        {.name = "n", .is_number = true}, {.name = "empty"}, {.key = "programs"}, {.name = "word"}};
    const char *const rows[][4] = {{"1", "", "x", "a"}, {"100", "", "x", "bcdefg"}};
    Buffer out;
    ReportRenderer r = begin(&out);
    r.table(r.context, columns, 4);
    r.row(r.context, rows[0]);
    r.row(r.context, rows[1]);
    r.table_end(r.context);
    r.table(r.context, columns, 4);
    r.table_end(r.context); /* without rows there is nothing */
    ends(&r, &out, "    n  word\n    1  a\n  100  bcdefg\n");
}

static void a_long_table_comes_in_pieces(void)
{
    static const ReportColumn columns[] = {{.name = "n"}};
    const char *const row[] = {"x"};
    Buffer out;
    ReportRenderer r = begin(&out);
    r.table(r.context, columns, 1);
    for (unsigned i = 0; i < 200; i++) {
        r.row(r.context, row);
    }
    r.table_end(r.context);
    CU_ASSERT_EQUAL(r.end(r.context), RESULT_OK);
    size_t n = 0;
    for (const char *p = buffer_string(&out); (p = strstr(p, "  x\n")) != NULL; p += 4) {
        n++;
    }
    CU_ASSERT_EQUAL(n, 200);
    buffer_destroy(&out);
}

static void a_bar_is_as_long_as_its_share_and_never_nothing(void)
{
    static const struct {
        double share;
        size_t length;
    } rows[] = {{1, 40}, {0.5, 20}, {0.001, 1}, {0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Buffer out;
        ReportRenderer r = begin(&out);
        r.bar(r.context, "a", "1", rows[i].share);
        CU_ASSERT_EQUAL(r.end(r.context), RESULT_OK);
        const char *bar = strchr(buffer_string(&out), '#');
        CU_ASSERT_EQUAL(bar == NULL ? 0 : strspn(bar, "#"), rows[i].length);
        buffer_destroy(&out);
    }
}

static void a_chart_has_heights_between_its_ends(void)
{
    static Series series;
    series_init(&series, 1000);
    for (int i = 0; i < 10; i++) {
        series_add(&series, i * 1000, i);
    }
    ReportChart chart = {
        .name = "growth", .series = &series, .is_rate = false, .unit = CHART_COUNT};
    Buffer out;
    ReportRenderer r = begin(&out);
    r.chart(r.context, &chart);
    CU_ASSERT_EQUAL(r.end(r.context), RESULT_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&out), "growth"));
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&out), "| .:-=+*#%@| most 9\n"));
    buffer_destroy(&out);
}

static void what_finds_no_room_is_told_at_the_end(void)
{
    Buffer out;
    ReportRenderer r = begin(&out);
    out.limit = 10;
    r.note(r.context, "longer than there is room for");
    CU_ASSERT_EQUAL(r.end(r.context), RESULT_LIMIT);
    buffer_destroy(&out);
}

#ifdef ALLOC_CAN_FAIL
static Result write_report(bool is_html, Buffer *out)
{
    static const ReportColumn columns[] = {{.key = "a", .name = "n"}};
    static char longest[3000];
    memset(longest, 'x', sizeof longest - 1);
    const char *const row[] = {longest};
    ReportRenderer r;
    Result rc = is_html ? report_html_renderer(&r, out) : report_text_renderer(&r, 8, out);
    if (rc != RESULT_OK) {
        return rc;
    }
    r.title(r.context, "title", "subtitle");
    for (unsigned i = 0; i < 4; i++) {
        r.section(r.context, "section", longest);
        r.table(r.context, columns, 1);
        r.row(r.context, row);
        r.table_end(r.context);
        r.fact(r.context, "short", "1");
    }
    return r.end(r.context);
}

/* Whichever allocation fails: a report with a hole in it is not taken for a whole one. */
static void without_memory_a_report_is_whole_or_refused(void)
{
    for (int is_html = 0; is_html < 2; is_html++) {
        Buffer want = {.limit = BUFFER_NO_LIMIT};
        CU_ASSERT_EQUAL_FATAL(write_report(is_html == 1, &want), RESULT_OK);
        bool was_reached = true;
        unsigned refused = 0;
        for (long n = 1; was_reached; n++) {
            Buffer out = {.limit = BUFFER_NO_LIMIT};
            alloc_fail_at = n;
            Result rc = write_report(is_html == 1, &out);
            was_reached = alloc_fail_at == 0;
            alloc_fail_at = 0;
            refused += rc == RESULT_MEMORY;
            CU_ASSERT_TRUE(rc == RESULT_MEMORY ||
                           (rc == RESULT_OK && strcmp(buffer_string(&out), want.data) == 0));
            buffer_destroy(&out);
        }
        CU_ASSERT_TRUE(refused > 5);
        buffer_destroy(&want);
    }
}
#else
static void without_memory_a_report_is_whole_or_refused(void)
{
}
#endif

UNIT_MAIN("report_text",
          {"titles are underlined and facts stand below each other",
           titles_are_underlined_and_facts_stand_below_each_other},
          {"a table is aligned and what is empty in every row is left out",
           a_table_is_aligned_and_what_is_empty_in_every_row_is_left_out},
          {"a long table comes in pieces", a_long_table_comes_in_pieces},
          {"a bar is as long as its share and never nothing",
           a_bar_is_as_long_as_its_share_and_never_nothing},
          {"a chart has heights between its ends", a_chart_has_heights_between_its_ends},
          {"what finds no room is told at the end", what_finds_no_room_is_told_at_the_end},
          {"without memory a report is whole or refused",
           without_memory_a_report_is_whole_or_refused})
