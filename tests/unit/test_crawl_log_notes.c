#include <stdio.h>
#include <string.h>

#include "fetch/transfer/fetch_result.h"
#include "folder_fixture.h"
#include "logs/crawl_log_line.h"
#include "page/crawl_log.h"
#include "page/crawl_log_notes.h"
#include "unit.h"

#define LINES 4u

/* A log of three fetches and a refusal, which together have every annotation. */
static void write_log(const char *folder)
{
    CrawlLog *log = NULL;
    const CrawlLogWay way = {.path = "L"};
    CU_ASSERT_EQUAL_FATAL(crawl_log_open(&log, folder, NULL, true, SKIPPED_OFF), RESULT_OK);
    size_t mark = 0;
    CU_ASSERT_EQUAL(crawl_log_begin(log, &mark), RESULT_OK);
    for (unsigned i = 0; i < LINES; i++) {
        FetchResult *fetch = fetch_result_new(i == 3 ? FETCHED_NOTHING : FETCHED_PAGE);
        CU_ASSERT_PTR_NOT_NULL_FATAL(fetch);
        ParsedPage *page = parsed_page_new(fetch);
        CU_ASSERT_PTR_NOT_NULL_FATAL(page);
        fetch->request.url = strdup("http://a.test/");
        fetch->request.has_page = true;
        fetch->request.tries = 2;
        fetch->final = true;
        fetch->cost.start = (MonoTime){.ns = 5000000};
        fetch->cost.end = (MonoTime){.ns = 7000001};
        fetch->cost.owed_ms = 5;
        fetch->cost.given_ms = 6;
        fetch->cost.owes_host_ms = 7;
        fetch->cost.owes_ip_ms = 8;
        fetch->host.robots_version = 9;
        page->verdict.wall = HTTP_WALLS;
        CU_ASSERT_EQUAL(ip_address_parse("192.0.2.1", 9, &fetch->request.address), RESULT_OK);
        if (i == 0) {
            fetch->cost.burst = 3;
            fetch->cost.at_once = 4;
            fetch->cost.pace = (LearnedPace){.delay_ms = 14, .usual_ms = 15, .steady = 16};
            fetch->request.as_origin = strdup("http://b.test");
            fetch->request.check = true;
            fetch->answer.tls.verdict = TLS_EXPIRED;
            fetch->answer.cut = CUT_FILTER;
            fetch->answer.usage.denied = 1;
            (void)snprintf(fetch->answer.price, sizeof fetch->answer.price, "USD 0.01");
            page->verdict.refused_hooks = ~0u;
            (void)snprintf(page->about.language, sizeof page->about.language, "de");
        } else if (i == 1) {
            fetch->final = false;
            fetch->answer.class = FETCH_BROKEN;
            fetch->answer.truncated = TRUNCATED_TIME;
            fetch->host.drop = true;
            page->verdict.wall = WALL_BUSY;
            page->about.bytes_read = 10;
            page->about.unread = true;
            page->links.n_beyond = 11;
            page->links.n_long = 12;
        } else if (i == 2) {
            fetch->request.by_agent = true;
            fetch->request.agent = 13;
            fetch->request.ignores_robots = true;
        } else {
            fetch->answer.refusal = strdup("Disallow: /, x");
        }
        crawl_log_fetch(log, page, &way, i == 1 ? "http://c.test/?a,b" : NULL,
                        i == 1 ? "http://d.test/" : NULL);
        parsed_page_delete(page);
    }
    CU_ASSERT_EQUAL(crawl_log_flush(log), RESULT_OK);
    crawl_log_close(log);
}

static void expect_text(LogText text, const char *word)
{
    CU_ASSERT_TRUE(log_text_is(text, word));
}

static void every_annotation_that_is_written_is_read(void)
{
    char folder[FOLDER_BYTES];
    char path[2 * FOLDER_BYTES];
    char line[LINES][1024];
    CrawlLogLine read[LINES];
    uint64_t seen = 0;
    folder_make(folder);
    write_log(folder);
    (void)snprintf(path, sizeof path, "%s/crawl.log", folder);
    FILE *file = fopen(path, "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    for (unsigned i = 0; i < LINES; i++) {
        const char *why = NULL;
        CU_ASSERT_PTR_NOT_NULL_FATAL(fgets(line[i], sizeof line[i], file));
        CU_ASSERT_EQUAL(crawl_log_line_parse(line[i], strcspn(line[i], "\n"), &read[i], &why),
                        RESULT_OK);
        seen |= read[i].notes;
    }
    (void)fclose(file);
    for (unsigned i = 0; i < CRAWL_LOG_NOTE_COUNT; i++) {
        if ((seen & UINT64_C(1) << i) == 0) {
            (void)fprintf(stderr, "not written, or not read: %s\n", crawl_log_notes[i].name);
            CU_FAIL("an annotation");
        }
    }
    CU_ASSERT_TRUE(read[0].was_sent && read[0].mono_start == 5 && read[0].mono_end == 8);
    CU_ASSERT_TRUE(read[0].us_start == 5000 && read[0].us_end == 7000);
    CU_ASSERT_TRUE(read[0].owed == 5 && read[0].given == 6);
    CU_ASSERT_TRUE(read[0].owes_host == 7 && read[0].owes_ip == 8);
    CU_ASSERT_TRUE(read[0].burst == 3 && read[0].at_once == 4 && read[0].robots == 9);
    expect_text(read[0].as, "http://b.test");
    expect_text(read[0].language, "de");
    CU_ASSERT_TRUE(read[0].boot.length > 0 && read[1].boot.length == 0);
    CU_ASSERT_TRUE(read[1].retry == 2 && read[1].unread && read[1].host_dropped);
    CU_ASSERT_TRUE(read[1].links_beyond == 11 && read[1].links_long == 12);
    expect_text(read[1].error, "broken");
    expect_text(read[1].truncated, "time");
    expect_text(read[1].duplicate_of, "http://c.test/?a%2Cb");
    expect_text(read[1].near, "http://d.test/");
    CU_ASSERT_TRUE(!read[2].was_sent && read[2].robots == -1);
    expect_text(read[3].rule, "Disallow:_/__x");
    folder_remove(folder);
}

/* A line with these annotations. */
static Result parse(const char *notes, CrawlLogLine *line, const char **why)
{
    static char text[1024];
    int n =
        snprintf(text, sizeof text,
                 "2026-01-31T12:00:00.100Z   200 5 http://a.test/ L - - w 20260131120000000+100 "
                 "- - %s",
                 notes);
    return crawl_log_line_parse(text, (size_t)n, line, why);
}

static void what_has_not_its_form_is_refused(void)
{
    static const char *const bad[] = {
        "mono:5", "mono:-", "wait:5/x",  "owes:/5",   "burst:x",    "robots:x",
        "ip:x",   "retry:", "at-once:-", "mono:1-2x", "mono-us:a-b"};
    static const char *const good[] = {"unknown:x", "host-dropped:x", "wait", "wait:-1/5", "", ",,",
                                       "dup:",      "mono:5-9,mono:x"};
    CrawlLogLine line;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *why = NULL;
        CU_ASSERT_EQUAL(parse(bad[i], &line, &why), RESULT_INVALID);
        CU_ASSERT_TRUE(why != NULL && strncmp(why, bad[i], strcspn(bad[i], ":")) == 0);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const char *why = NULL;
        if (*good[i] != '\0') {
            CU_ASSERT_EQUAL(parse(good[i], &line, &why), RESULT_OK);
            CU_ASSERT_FALSE(line.host_dropped);
        }
    }
    CU_ASSERT_TRUE(line.mono_start == 5 && line.mono_end == 9); /* the first counts */
}

UNIT_MAIN("crawl_log_notes",
          {"every annotation that is written is read", every_annotation_that_is_written_is_read},
          {"what has not its form is refused", what_has_not_its_form_is_refused})
