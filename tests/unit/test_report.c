/* The report's counting and drawing. What it says of a real crawl: tests/integration/report.py. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "folder_fixture.h"
#include "report/tell/report_file.h"
#include "report/count/tally.h"
#include "report/gather/report_graph.h"
#include "report/gather/report.h"
#include "report/write/report_html.h"
#include "report/write/report_writer.h"
#include "report/write/report_words.h"
#include "unit.h"

static void a_tally_counts_by_name_most_first(void)
{
    Tally tally = {.count = 0};
    size_t n = 0;
    tally_add(&tally, "b", 1, 10);
    tally_add(&tally, "aa", 2, 1);
    tally_add(&tally, "b", 1, 5);
    tally_add_many(&tally, "c", 1, 2, 0);
    const TallyRow **rows = tally_sorted(&tally, &n);
    CU_ASSERT_EQUAL_FATAL(n, 3);
    CU_ASSERT_STRING_EQUAL(rows[0]->name, "b");
    CU_ASSERT_TRUE(rows[0]->count == 2 && rows[0]->bytes == 15);
    CU_ASSERT_STRING_EQUAL(rows[1]->name, "c");
    CU_ASSERT_STRING_EQUAL(rows[2]->name, "aa");
    CU_ASSERT_TRUE(tally.count == 5 && tally.bytes == 16);
    free(rows);
    tally_destroy(&tally);
}

static void a_tally_does_not_grow_with_what_the_network_names(void)
{
    Tally tally = {.count = 0};
    size_t n = 0;
    for (unsigned i = 0; i < TALLY_NAMES + 100; i++) {
        char name[16];
        int length = snprintf(name, sizeof name, "n%u", i);
        tally_add(&tally, name, (size_t)length, 1);
    }
    tally_add(&tally, "n5", 2, 1);
    const TallyRow **rows = tally_sorted(&tally, &n);
    CU_ASSERT_EQUAL_FATAL(n, TALLY_NAMES + 1);
    CU_ASSERT_STRING_EQUAL(rows[0]->name, "n5");
    CU_ASSERT_STRING_EQUAL(rows[n - 1]->name, "other");
    CU_ASSERT_EQUAL(rows[n - 1]->count, 100);
    CU_ASSERT_EQUAL(tally.count, TALLY_NAMES + 101);
    free(rows);
    tally_destroy(&tally);
}

static void a_histogram_has_bins_of_doubling_width(void)
{
    Histogram histogram = {.n = 0};
    static const uint64_t values[] = {0, 1, 2, 3, 4, 7, 8, UINT64_MAX};
    for (size_t i = 0; i < 8; i++) {
        histogram_add(&histogram, values[i]);
    }
    CU_ASSERT_EQUAL(histogram.count[0], 1);
    CU_ASSERT_EQUAL(histogram.count[1], 1);
    CU_ASSERT_EQUAL(histogram.count[2], 2);
    CU_ASSERT_EQUAL(histogram.count[3], 2);
    CU_ASSERT_EQUAL(histogram.count[4], 1);
    CU_ASSERT_EQUAL(histogram.count[64], 1);
    CU_ASSERT_TRUE(histogram_from(4) == 8 && histogram_to(4) == 15);
    CU_ASSERT_TRUE(histogram_from(0) == 0 && histogram_to(0) == 0);
    CU_ASSERT_EQUAL(histogram_to(64), UINT64_MAX);
    CU_ASSERT_TRUE(histogram.least == 0 && histogram.most == UINT64_MAX);
}

static void quantiles_are_near_the_truth(void)
{
    Histogram histogram = {.n = 0};
    CU_ASSERT_EQUAL(histogram_quantile(&histogram, 0.5), 0);
    for (uint64_t i = 1; i <= 10000; i++) {
        histogram_add(&histogram, i);
    }
    CU_ASSERT_TRUE(fabs(histogram_quantile(&histogram, 0.5) - 5000) < 50);
    CU_ASSERT_TRUE(fabs(histogram_quantile(&histogram, 0.95) - 9500) < 50);
    CU_ASSERT_EQUAL(histogram_quantile(&histogram, 1), 10000);
}

static void a_series_joins_neighbours_when_time_goes_on(void)
{
    Series series;
    double sum = 0;
    series_init(&series, 10);
    for (int64_t t = 0; t < 100000; t += 10) {
        series_add(&series, 1000000 + t, 1);
    }
    CU_ASSERT_TRUE(series.n <= SERIES_BUCKETS && series.n > SERIES_BUCKETS / 2);
    for (size_t i = 0; i < series.n; i++) {
        sum += series.buckets[i].sum;
        CU_ASSERT_TRUE(fabs(series_rate(&series, i) - 100) < 3);
        CU_ASSERT_EQUAL(series_mean(&series, i), 1);
    }
    CU_ASSERT_EQUAL(sum, 10000);
    CU_ASSERT_EQUAL(series.from_ms, 1000000);
    series_add(&series, 5, 7); /* before the first: it counts as the first */
    CU_ASSERT_TRUE(series_mean(&series, 0) > 1);
}

static void numbers_are_words(void)
{
    char t[WORDS_BYTES];
    CU_ASSERT_STRING_EQUAL(words_count(0, t), "0");
    CU_ASSERT_STRING_EQUAL(words_count(999, t), "999");
    CU_ASSERT_STRING_EQUAL(words_count(1000, t), "1,000");
    CU_ASSERT_STRING_EQUAL(words_count(UINT64_MAX, t), "18,446,744,073,709,551,615");
    CU_ASSERT_STRING_EQUAL(words_bytes(999, t), "999 B");
    CU_ASSERT_STRING_EQUAL(words_bytes(999960, t), "1.0 MB");
    CU_ASSERT_STRING_EQUAL(words_bytes(12345678, t), "12.3 MB");
    CU_ASSERT_STRING_EQUAL(words_share(1, 3, t), "33.3 %");
    CU_ASSERT_STRING_EQUAL(words_share(1, 100000, t), "<0.1 %");
    CU_ASSERT_STRING_EQUAL(words_share(0, 0, t), "");
    CU_ASSERT_STRING_EQUAL(words_ms(12, t), "12 ms");
    CU_ASSERT_STRING_EQUAL(words_ms(1250, t), "1.2 s");
    CU_ASSERT_STRING_EQUAL(words_ms(200e3, t), "3 min 20 s");
    CU_ASSERT_STRING_EQUAL(words_ms(7500e3, t), "2 h 5 min");
    CU_ASSERT_STRING_EQUAL(words_ms(100 * 3600e3, t), "4 d 4 h");
    CU_ASSERT_STRING_EQUAL(words_range(4, 7, t), "4 to 7");
    CU_ASSERT_STRING_EQUAL(words_range(1, 1, t), "1");
    CU_ASSERT_STRING_EQUAL(words_bytes_range(16384, 32767, t), "16 KiB to 32 KiB");
    CU_ASSERT_STRING_EQUAL(words_bytes_range(512, 1023, t), "512 B to 1 KiB");
    CU_ASSERT_STRING_EQUAL(words_bytes_range(0, 0, t), "0 B");
    CU_ASSERT_STRING_EQUAL(words_tick(0, false, t), "0");
    CU_ASSERT_STRING_EQUAL(words_tick(1500, false, t), "1.5k");
    CU_ASSERT_STRING_EQUAL(words_tick(2e6, true, t), "2 MB");
    CU_ASSERT_STRING_EQUAL(words_status(-9998), "forbidden by robots.txt");
    CU_ASSERT_PTR_NULL(words_status(299));
}

static void axes_have_round_steps(void)
{
    CU_ASSERT_EQUAL(chart_step(83, 4), 50);
    CU_ASSERT_EQUAL(chart_step(100, 4), 50);
    CU_ASSERT_EQUAL(chart_step(80, 4), 20);
    CU_ASSERT_EQUAL(chart_step(4, 4), 1);
    CU_ASSERT_DOUBLE_EQUAL(chart_step(0.07, 4), 0.02, 1e-9);
    CU_ASSERT_EQUAL(chart_step(0, 4), 1);
    CU_ASSERT_EQUAL(chart_step((double)NAN, 4), 1);
}

static void a_chart_stays_inside_its_frame_and_breaks_where_nothing_was_measured(void)
{
    Series series;
    Buffer out;
    buffer_init(&out, 65536);
    series_init(&series, 1000);
    series_add(&series, 0, 5);
    series_add(&series, 1000, 10);
    series_add(&series, 8000, 0); /* nothing for seven times as long as usual */
    ReportChart chart = {.name = "a<b", .series = &series, .unit = CHART_COUNT};
    CU_ASSERT_EQUAL(chart_svg(&out, &chart), RESULT_OK);
    const char *line = strstr(buffer_string(&out), "class=line d=\"");
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    CU_ASSERT_NSTRING_EQUAL(line, "class=line d=\"M0.0 50.0L125.0 0.0M1000.0 100.0\"", 47);
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&out), "a&lt;b"));
    CU_ASSERT_PTR_NULL(strstr(buffer_string(&out), "a<b"));
    buffer_destroy(&out);
}

/* Measurements that come more rarely than buckets are one line. */
static void a_line_goes_on_between_measurements(void)
{
    Series series;
    Buffer out;
    buffer_init(&out, 65536);
    series_init(&series, 100);
    for (int64_t t = 0; t <= 4000; t += 1000) {
        series_add(&series, t, 5);
    }
    CU_ASSERT_EQUAL(series_reach(&series), 30);
    ReportChart chart = {.name = "memory", .series = &series, .unit = CHART_COUNT};
    CU_ASSERT_EQUAL(chart_svg(&out, &chart), RESULT_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(
        buffer_string(&out), "line d=\"M0.0 16.7L250.0 16.7L500.0 16.7L750.0 16.7L1000.0 16.7\""));
    buffer_destroy(&out);
}

/* What a hostile server can put into a report stays text. */
static void html_is_escaped_and_loads_nothing(void)
{
    static const ReportColumn columns[] = {
        {"url", "URL", false, true}, {"kind", NULL, false, false}, {"type", "type", false, false}};
    static const char *const rows[][2] = {
        {"http://a.test/\"onclick=\"x", "<script>alert(1)</script>"},
        {"javascript:alert(1)", "a&b"},
        {"http://a.test/1 http://a.test/2", ""},
    };
    Buffer out;
    ReportWriter *to = NULL;
    buffer_init(&out, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL_FATAL(report_writer_new(&to, REPORT_AS_HTML, 10, &out), RESULT_OK);
    report_title(to, "T", "<dir>");
    report_section(to, "S & s", "note");
    report_fact(to, "f", "<f>", REPORT_COUNT(1));
    report_list(to, "list", columns, 3);
    for (size_t i = 0; i < 3; i++) {
        const ReportValue values[] = {REPORT_TEXT(rows[i][0]), REPORT_TEXT("for programs"),
                                      REPORT_TEXT(rows[i][1])};
        report_row(to, values);
    }
    report_list_end(to);
    CU_ASSERT_EQUAL(report_writer_end(to), RESULT_OK);
    const char *text = buffer_string(&out);
    CU_ASSERT_PTR_NULL(strstr(text, "<script"));
    CU_ASSERT_PTR_NULL(strstr(text, "\"onclick"));
    CU_ASSERT_PTR_NULL(strstr(text, "href=\"javascript"));
    CU_ASSERT_PTR_NULL(strstr(text, "src="));
    CU_ASSERT_PTR_NULL(strstr(text, "url("));
    CU_ASSERT_PTR_NULL(strstr(text, "for programs"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "&lt;script&gt;alert(1)&lt;/script&gt;"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "href=\"http://a.test/&quot;onclick=&quot;x\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "http://a.test/1</a><br><a rel=noreferrer"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "<dt>&lt;f&gt;</dt>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "default-src 'none'"));
    buffer_destroy(&out);
}

/* One of everything, to people or to programs. */
static void write_some(ReportForm form, Buffer *out)
{
    static const ReportColumn columns[] = {{"n", "n", true, false},
                                           {"gone", "gone", false, false},
                                           {NULL, "name", false, false},
                                           {"name", NULL, false, false}};
    ReportWriter *to = NULL;
    buffer_reset(out);
    CU_ASSERT_EQUAL_FATAL(report_writer_new(&to, form, 6, out), RESULT_OK);
    report_note(to, "said", "it %s", "is so");
    report_note(to, NULL, "for people");
    report_fact(to, "size", "size", REPORT_BYTES(12345));
    report_fact(to, "status", "status", REPORT_STATUS(404));
    report_fact(to, "part", "part", REPORT_SHARE(1, 4));
    report_fact(to, "end", "end", REPORT_SECONDS((double)INFINITY));
    report_fact(to, "at", "at", REPORT_TIME((WallTime){0}));
    report_fact(to, "hidden", NULL, REPORT_FLAG(true));
    report_object(to, "inner");
    report_fact(to, "ms", "took", REPORT_MS(1500));
    report_object_end(to);
    report_list(to, "rows", columns, 4);
    for (unsigned i = 0; i < 2; i++) {
        const ReportValue values[] = {REPORT_COUNT(i == 0 ? 7 : 1234), REPORT_NONE,
                                      REPORT_TEXT(i == 0 ? "a" : "bb"), REPORT_TEXT("x")};
        report_row(to, values);
    }
    report_list_end(to);
    report_bars(to, "bars", "sizes");
    report_bar(to, "few", REPORT_COUNT(1), 0.001);
    report_bars_end(to);
    CU_ASSERT_EQUAL(report_writer_end(to), RESULT_OK);
}

static void people_and_programs_are_told_the_same(void)
{
    Buffer out;
    buffer_init(&out, BUFFER_NO_LIMIT);
    write_some(REPORT_AS_TEXT, &out);
    CU_ASSERT_STRING_EQUAL(buffer_string(&out),
                           "it is so\nfor people\n  size   12.3 kB\n  status 404 (not found)\n"
                           "  part   1 (25.0 %)\n  end    no end\n  took   1.5 s\n"
                           "      n  name\n      7  a\n  1,234  bb\n  sizes\n"
                           "                   few            1 #\n");
    write_some(REPORT_AS_JSON, &out);
    CU_ASSERT_STRING_EQUAL(
        buffer_string(&out),
        "{\"said\": \"it is so\", \"size\": 12345, \"status\": 404, \"part\": 1, \"end\": null, "
        "\"at\": null, \"hidden\": true, \"inner\": {\"ms\": 1500}, \"rows\": [{\"n\": 7, "
        "\"gone\": null, \"name\": \"x\"}, {\"n\": 1234, \"gone\": null, \"name\": \"x\"}], "
        "\"bars\": [1]}\n");
    buffer_destroy(&out);
}

static void what_is_broken(void)
{
    static const int broken[] = {404, 410, 400, 418, -1, -2, -3, -4, -8};
    static const int whole[] = {200, 301, 401, 403, 407, 429, 451, 500, 503, 0, -50, -9998, -10006};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        CU_ASSERT_TRUE(report_is_broken(broken[i]));
    }
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        CU_ASSERT_FALSE(report_is_broken(whole[i]));
    }
}

static void crawl_log_is_summed_up(void)
{
    static const char text[] =
        "2026-01-31T12:00:00.100Z 200 100 http://a.test/robots.txt P - text/plain w "
        "20260131120000000+100 - - ip:1.2.3.4,mono:0-100,robots:1\n"
        "2026-01-31T12:00:01.100Z 200 5000 http://a.test/1 L - text/html w 20260131120001000+100 - "
        "- "
        "ip:1.2.3.4,mono:1000-1100,robots:1,dup:http://a.test/0\n"
        "2026-01-31T12:00:02.100Z 200 7000 http://a.test/2 L - image/png w 20260131120001800+300 - "
        "- "
        "ip:1.2.3.4,mono:1800-2100,robots:1,trunc:length\n"
        "2026-01-31T12:00:03.100Z 404 300 http://a.test/3 L - text/html w 20260131120003000+100 - "
        "- "
        "ip:1.2.3.4,mono:3000-3100,robots:1\n"
        "2026-01-31T12:00:04.100Z -4 0 http://a.test/4 L - - w 20260131120004000+100 - - "
        "ip:1.2.3.4,mono:4000-4100,robots:1,error:timeout,retry:1\n"
        "2026-01-31T12:00:05.100Z -9998 - http://a.test/5 L - - w 20260131120005100+0 - - "
        "robots:1,rule:Disallow:_/5\n"
        "2026-01-31T12:00:06.100Z -1 - dns:b.test P - - w 20260131120006100+0 - - "
        "robots:0,error:no-name,host-dropped\n"
        "not a line\n";
    char folder[FOLDER_BYTES];
    ReportLog log;
    Buffer missing = {.limit = BUFFER_NO_LIMIT};
    folder_make(folder);
    folder_put(folder, "crawl.log", text, sizeof text - 1);
    CU_ASSERT_EQUAL_FATAL(report_log_read(&log, folder, NULL), RESULT_OK);
    CU_ASSERT_TRUE(log.lines == 8 && log.unreadable == 1);
    CU_ASSERT_TRUE(log.requests == 5 && log.robots_files == 1 && log.pages == 3);
    CU_ASSERT_EQUAL(log.bytes, 12400);
    CU_ASSERT_TRUE(log.duplicates == 1 && log.truncated == 1);
    CU_ASSERT_TRUE(log.statuses.count == 3 && log.types.count == 2 && log.types.bytes == 12000);
    CU_ASSERT_TRUE(log.errors.count == 2 && log.refusals.count == 1);
    CU_ASSERT_STRING_EQUAL(log.largest[0].url, "http://a.test/2");
    CU_ASSERT_STRING_EQUAL(log.largest[1].url, "http://a.test/1");
    CU_ASSERT_PTR_NULL(log.largest[2].url);
    CU_ASSERT_STRING_EQUAL(log.slowest[0].url, "http://a.test/2");
    CU_ASSERT_EQUAL(log.first.us, INT64_C(1769860800000000));
    report_log_destroy(&log);
    CU_ASSERT_EQUAL(report_log_read(&log, "/tmp/no-such-folder", &missing), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&missing),
                           "/tmp/no-such-folder/crawl.log: No such file or directory");
    buffer_destroy(&missing);
    report_log_destroy(&log);
    folder_remove(folder);
}

static void status_log_is_summed_up(void)
{
    static const char text[] =
        "time=2026-01-31T12:00:00.000Z state=running elapsed_s=0.0 urls_queued=1 rss_bytes=100 "
        "active=0 cpu_s=0.5 limit=dns\n"
        "time=2026-01-31T12:00:10.000Z state=running elapsed_s=10.0 urls_queued=9 rss_bytes=200 "
        "active=3 cpu_s=3.0 limit=politeness\n"
        "time=2026-01-31T12:00:14.500Z state=stopped elapsed_s=14.5 urls_queued=9 rss_bytes=200 "
        "active=0 cpu_s=4.0 limit=seeds\n"
        "time=2026-01-31T13:00:00.000Z state=running elapsed_s=14.5 urls_queued=9 rss_bytes=300 "
        "active=3 cpu_s=0.1 limit=dns\n"
        "time=2026-01-31T13:00:05.000Z state=running elapsed_s=19.5 urls_queued=4 rss_bytes=300 "
        "active=3 cpu_s=2.0 limit=dns\n";
    char folder[FOLDER_BYTES];
    ReportWatch watch;
    size_t n = 0;
    folder_make(folder);
    folder_put(folder, "status.log", text, sizeof text - 1);
    CU_ASSERT_EQUAL_FATAL(report_watch_read(&watch, folder, NULL), RESULT_OK);
    CU_ASSERT_TRUE(watch.lines == 5 && watch.runs == 2);
    CU_ASSERT_EQUAL(watch.elapsed_s, 19.5);
    CU_ASSERT_DOUBLE_EQUAL(watch.cpu_s, 6.0, 1e-9);
    CU_ASSERT_STRING_EQUAL(watch.state, "running");
    const TallyRow **rows = tally_sorted(&watch.limits, &n);
    CU_ASSERT_EQUAL_FATAL(n, 2);
    CU_ASSERT_STRING_EQUAL(rows[0]->name, "politeness");
    CU_ASSERT_TRUE(rows[0]->count == 10000 && rows[1]->count == 5000);
    free(rows);
    report_watch_destroy(&watch);
    folder_remove(folder);
}

UNIT_MAIN("report", {"a tally counts by name, most first", a_tally_counts_by_name_most_first},
          {"a tally does not grow with what the network names",
           a_tally_does_not_grow_with_what_the_network_names},
          {"a histogram has bins of doubling width", a_histogram_has_bins_of_doubling_width},
          {"quantiles are near the truth", quantiles_are_near_the_truth},
          {"a series joins neighbours when time goes on",
           a_series_joins_neighbours_when_time_goes_on},
          {"numbers are words", numbers_are_words},
          {"axes have round steps", axes_have_round_steps},
          {"a chart stays inside its frame and breaks where nothing was measured",
           a_chart_stays_inside_its_frame_and_breaks_where_nothing_was_measured},
          {"a line goes on between measurements", a_line_goes_on_between_measurements},
          {"HTML is escaped and loads nothing", html_is_escaped_and_loads_nothing},
          {"people and programs are told the same", people_and_programs_are_told_the_same},
          {"what is broken", what_is_broken}, {"crawl.log is summed up", crawl_log_is_summed_up},
          {"status.log is summed up", status_log_is_summed_up})
