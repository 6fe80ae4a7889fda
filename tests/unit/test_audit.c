/* The audit, on logs written here: every breach is found, and nothing else is. */
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "store/pages/page_db_read.h"
#include "store/pages/page_db_open.h"
#include "audit/audit.h"
#include "audit/audit_text.h"
#include "folder_fixture.h"
#include "store_fixture.h"
#include "unit.h"

static char folder[FOLDER_BYTES];
static FILE *log_file;

static void begin(void)
{
    char path[128];
    folder_make(folder);
    (void)snprintf(path, sizeof path, "%s/crawl.log", folder);
    log_file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(log_file);
}

static void configure(const char *text)
{
    folder_put(folder, "config.ini", text, strlen(text));
}

/* A request of url at ip in [start, end] ms of the monotonic clock, which began with the day. The
 * rest are its annotations behind mono:. */
static void request(const char *url, const char *ip, int start, int end, const char *rest)
{
    char when[2][CLOCK_TEXT_BYTES];
    WallTime day = {INT64_C(1769860800000000)}; /* 2026-01-31 12:00 */
    WallTime from = {day.us + start * INT64_C(1000)};
    WallTime to = {day.us + end * INT64_C(1000)};
    bool robots = strstr(url, "robots.txt") != NULL;
    (void)fprintf(
        log_file, "%s   200 500 %s %s - text/html fetch-0 %s+%d - - ip:%s,mono:%d-%d%s%s\n",
        wall_format_iso(to, when[0]), url, robots ? "P" : "L", wall_format_compact(from, when[1]),
        end - start, ip, start, end, *rest == '\0' ? "" : ",", rest);
}

static void raw(const char *line)
{
    (void)fputs(line, log_file);
}

static AuditOptions everything(void)
{
    return (AuditOptions){.directory = folder, .from = {INT64_MIN}, .until = {INT64_MAX}};
}

static void run_with(Audit *audit, const AuditOptions *options, PageDB *db)
{
    Buffer error;
    buffer_init(&error, 4096);
    CU_ASSERT_EQUAL_FATAL(fflush(log_file), 0);
    Result rc = audit_run(audit, options, db, &error);
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "%s\n", buffer_string(&error));
    }
    CU_ASSERT_EQUAL_FATAL(rc, RESULT_OK);
    buffer_destroy(&error);
}

static void end(Audit *audit)
{
    audit_destroy(audit);
    CU_ASSERT_EQUAL(fclose(log_file), 0);
    folder_remove(folder);
}

/* The breaches are exactly these. */
static bool only(const Audit *audit, AuditBreach breach, uint64_t n)
{
    return audit->findings.count[breach] == n && audit_findings_total(&audit->findings) == n;
}

#define A "http://a.test/"
#define B "http://b.test/"

static void a_pause_one_millisecond_too_short_is_found(void)
{
    for (int gap = 99; gap <= 101; gap++) {
        Audit audit;
        AuditOptions options = everything();
        begin();
        request(A "1", "10.0.0.1", 1000, 1010, "owes:100/20");
        request(A "2", "10.0.0.1", 1010 + gap, 1200, "wait:100/100,owes:100/20");
        run_with(&audit, &options, NULL);
        CU_ASSERT_TRUE(gap < 100 ? only(&audit, BREACH_HOST_PAUSE, 1)
                                 : only(&audit, BREACH_HOST_PAUSE, 0));
        if (gap < 100) {
            const AuditFinding *finding = audit.findings.kept;
            CU_ASSERT_TRUE(finding->asked == 100 && finding->found == 99);
            CU_ASSERT_TRUE(finding->place.line == 2 && finding->before.line == 1);
            CU_ASSERT_STRING_EQUAL(finding->subject, "http://a.test");
        }
        end(&audit);
    }
}

static void what_is_owed_is_known_without_the_line_of_the_next_request(void)
{
    Audit audit;
    AuditOptions options = everything();
    begin();
    request(A "1", "10.0.0.1", 0, 10, "owes:60000/20"); /* 429 with Retry-After */
    request(A "2", "10.0.0.1", 60009, 60020, "owes:100/20");
    run_with(&audit, &options, NULL);
    CU_ASSERT_TRUE(only(&audit, BREACH_HOST_PAUSE, 1));
    CU_ASSERT_EQUAL(audit.findings.kept[0].asked, 60000);
    end(&audit);
}

static void addresses_are_judged_across_hosts(void)
{
    Audit audit;
    AuditOptions options = everything();
    begin();
    request(A "1", "10.0.0.1", 0, 10, "owes:100/20");
    request(B "1", "10.0.0.1", 29, 40, "owes:100/20"); /* 19 ms */
    request(A "2", "10.0.0.2", 200, 300, "owes:100/20");
    request(B "2", "10.0.0.2", 299, 400, "owes:100/20"); /* at once */
    request(B "3", "10.0.0.3", 500, 510, "owes:100/20"); /* another address */
    run_with(&audit, &options, NULL);
    CU_ASSERT_EQUAL(audit.findings.count[BREACH_IP_PAUSE], 1);
    CU_ASSERT_EQUAL(audit.findings.count[BREACH_AT_ONCE], 1);
    CU_ASSERT_EQUAL(audit_findings_total(&audit.findings), 2);
    end(&audit);
}

/* Two requests that overlap, with the end of a third between their ends, in any order of lines. */
static void the_order_of_lines_does_not_matter(void)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const int times[3][2] = {{0, 100}, {150, 160}, {90, 170}};
    for (size_t o = 0; o < 6; o++) {
        Audit audit;
        AuditOptions options = everything();
        begin();
        for (size_t i = 0; i < 3; i++) {
            const int *time = times[orders[o][i]];
            request(A, "10.0.0.1", time[0], time[1], "owes:20/20");
        }
        run_with(&audit, &options, NULL);
        CU_ASSERT_TRUE(audit.findings.count[BREACH_AT_ONCE] >= 1);
        CU_ASSERT_TRUE(audit.findings.count[BREACH_HOST_PAUSE] >= 1);
        end(&audit);
    }
}

static void a_line_that_states_less_than_is_due_is_found(void)
{
    Audit audit;
    AuditOptions options = everything();
    begin();
    configure("[politeness]\nhost_delay = 100ms\nip_delay = 20ms\n[site \"b.test\"]\n"
              "host_delay = 70ms\n");
    request(A "1", "10.0.0.1", 0, 10, "owes:100/20");
    request(A "2", "10.0.0.1", 200, 210, "wait:50/190,owes:100/20"); /* 100 were left to it */
    run_with(&audit, &options, NULL);
    CU_ASSERT_TRUE(only(&audit, BREACH_OWED, 1));
    end(&audit);
    /* And of lines that do not say what they leave, the configuration does. */
    begin();
    configure("[politeness]\nhost_delay = 100ms\nip_delay = 20ms\n[site \"b.test\"]\n"
              "host_delay = 70ms\n");
    request(A "1", "10.0.0.1", 0, 10, "");
    request(A "2", "10.0.0.1", 109, 120, "");
    request(B "1", "10.0.0.2", 0, 10, "");
    request(B "2", "10.0.0.2", 80, 90, "");
    request(B "3", "10.0.0.3", 500, 510, "");
    request("http://c.test/", "10.0.0.3", 529, 530, "");
    run_with(&audit, &options, NULL);
    CU_ASSERT_EQUAL(audit.findings.count[BREACH_HOST_PAUSE], 1);
    CU_ASSERT_EQUAL(audit.findings.count[BREACH_IP_PAUSE], 1);
    CU_ASSERT_EQUAL(audit_findings_total(&audit.findings), 2);
    end(&audit);
}

static void a_stated_pause_must_be_that_of_the_times(void)
{
    Audit audit;
    AuditOptions options = everything();
    begin();
    request(A "1", "10.0.0.1", 0, 10, "owes:100/20");
    request(A "2", "10.0.0.1", 120, 130, "wait:100/110,owes:100/20");
    request(A "3", "10.0.0.1", 240, 250, "wait:100/120,owes:100/20");   /* 110 */
    request(A "4", "10.0.0.1", 900, 910, "wait:100/99,owes:100/20");    /* admits it */
    request(A "6", "10.0.0.1", 2000, 2010, "wait:100/150,owes:100/20"); /* "5" is not in the log */
    run_with(&audit, &options, NULL);
    CU_ASSERT_EQUAL(audit.findings.count[BREACH_STATED], 1);
    CU_ASSERT_EQUAL(audit.findings.count[BREACH_HOST_PAUSE], 1);
    CU_ASSERT_EQUAL(audit_findings_total(&audit.findings), 2);
    CU_ASSERT_EQUAL(audit.pauses.missing, 2);
    end(&audit);
}

static void clocks_of_two_boots_are_not_compared(void)
{
    Audit audit;
    AuditOptions options = everything();
    begin();
    request(A "1", "10.0.0.1", 5000000, 5000010, "owes:5000/1000,boot:aaaa");
    /* The machine was restarted: its clock begins anew, an hour later. */
    raw("2026-01-31T14:30:00.010Z 200 5 " A "2 L - - w 20260131143000000+10 - - "
        "ip:10.0.0.1,mono:3000-3010,owes:5000/1000,boot:bbbb\n");
    raw("2026-01-31T14:30:05.020Z 200 5 " A "3 L - - w 20260131143005010+10 - - "
        "ip:10.0.0.1,mono:8010-8020,owes:5000/1000\n");
    run_with(&audit, &options, NULL);
    CU_ASSERT_TRUE(only(&audit, BREACH_HOST_PAUSE, 0));
    CU_ASSERT_EQUAL(audit.pauses.by_wall_clock, 2);
    CU_ASSERT_EQUAL(audit.pauses.judged_hosts, 2);
    end(&audit);
    /* Logs of older versions do not name boots. */
    begin();
    request(A "1", "10.0.0.1", 5000000, 5000010, "owes:5000/1000");
    raw("2026-01-31T14:30:00.010Z 200 5 " A "2 L - - w 20260131143000000+10 - - "
        "ip:10.0.0.1,mono:3000-3010,owes:5000/1000\n");
    run_with(&audit, &options, NULL);
    CU_ASSERT_TRUE(only(&audit, BREACH_HOST_PAUSE, 0));
    CU_ASSERT_EQUAL(audit.pauses.by_wall_clock, 2);
    end(&audit);
}

static void a_redirected_robots_txt_counts_for_who_fetched_it(void)
{
    Audit audit;
    AuditOptions options = everything();
    begin();
    request("https://a.test/1", "10.0.0.1", 0, 10, "owes:100/20");
    request("https://a.test/robots.txt", "10.0.0.1", 50, 60, "owes:100/20,as:http://a.test");
    request(A "1", "10.0.0.1", 160, 170, "wait:100/100,owes:100/20");
    run_with(&audit, &options, NULL);
    CU_ASSERT_TRUE(only(&audit, BREACH_HOST_PAUSE, 0));
    CU_ASSERT_EQUAL(audit.counts.hosts, 2);
    end(&audit);
}

static void only_what_is_asked_about_is_counted_and_found(void)
{
    Audit audit;
    AuditOptions options = everything();
    IpRanges ranges = {.n_ranges = 0};
    Buffer error;
    buffer_init(&error, 100);
    CU_ASSERT_EQUAL(ip_ranges_parse(&ranges, "10.0.0.2", &error), RESULT_OK);
    for (int i = 0; i < 5; i++) {
        begin();
        request(A "1", "10.0.0.1", 0, 10, "owes:100/20");
        request(A "2", "10.0.0.1", 50, 60, "owes:100/20"); /* a breach of A */
        request("http://www.b.test:81/1", "10.0.0.2", 0, 10, "owes:100/20");
        raw("2026-02-01T00:00:00.010Z 200 5 http://www.b.test:81/2 L - - w 20260201000000000+10 - "
            "- "
            "ip:10.0.0.2,mono:43200000-43200010,owes:100/20\n");
        raw("2026-02-01T00:00:00.020Z -9998 - http://www.b.test:81/3 L - - w 20260201000000020+0 - "
            "- "
            "robots:1,rule:x\n");
        options = everything();
        switch (i) {
        case 0:
            options.host = "*.b.test";
            break;
        case 1:
            options.host = "http://www.b.test:81";
            break;
        case 2:
            options.ips = &ranges;
            break;
        case 3:
            options.host = "A.test";
            break;
        default:
            options.from = (WallTime){INT64_C(1769904000000000)}; /* 2026-02-01 */
            break;
        }
        run_with(&audit, &options, NULL);
        CU_ASSERT_TRUE(only(&audit, BREACH_HOST_PAUSE, i == 3 ? 1 : 0));
        CU_ASSERT_EQUAL(audit.counts.requests, i == 4 ? 1 : 2);
        CU_ASSERT_EQUAL(audit.counts.hosts, 1);
        CU_ASSERT_EQUAL(audit.counts.addresses, 1);
        CU_ASSERT_EQUAL(audit.counts.refused, i == 2 || i == 3 ? 0 : 1);
        end(&audit);
    }
    ip_ranges_destroy(&ranges);
    buffer_destroy(&error);
}

static void what_cannot_be_proven_is_told(void)
{
    Audit audit;
    AuditOptions options = everything();
    begin();
    request(A "1", "10.0.0.1", 0, 10, "robots:1");
    request(A "2", "10.0.0.1", 500, 510, "robots:1"); /* nothing says what was owed */
    raw("2026-02-01T00:00:00.010Z 200 5 " A " L - - w 20260201000000000+10 - - robots:1\n");
    raw("2026-02-01T00:00:0\n");
    run_with(&audit, &options, NULL);
    CU_ASSERT_TRUE(only(&audit, BREACH_HOST_PAUSE, 0));
    CU_ASSERT_EQUAL(audit.counts.not_judged_by_robots, 2);
    CU_ASSERT_EQUAL(audit.pauses.not_owed, 2);
    CU_ASSERT_EQUAL(audit.counts.without_times, 1);
    CU_ASSERT_EQUAL(audit.counts.unreadable, 1);
    CU_ASSERT_EQUAL(audit.unreadable.line, 4);
    end(&audit);
}

/* ---- robots.txt ----------------------------------------------------------------------------- */

/* The database of a crawl that saw two contents of a.test's robots.txt. */
static PageDB *two_versions(StoreFixture *f)
{
    static const char first[] = "User-agent: *\nDisallow: /old/\n";
    static const char second[] = "User-agent: *\nDisallow: /new/\nCrawl-delay: 3\n";
    PageDBOptions options = {.read_only = true};
    PageDB *db = NULL;
    uint32_t host = 0;
    store_fixture_open(f);
    MDB_txn *txn = store_fixture_begin(f, false);
    CU_ASSERT_EQUAL(page_db_host_add(f->store.db, txn, "http://a.test", 13, &host), 0);
    HostRows *hosts = f->store.hosts;
    CU_ASSERT_EQUAL(store_fixture_put_robots(hosts, txn, host, first, sizeof first - 1), RESULT_OK);
    CU_ASSERT_EQUAL(host_rows_keep_robots(hosts, txn, host, 1), RESULT_OK);
    CU_ASSERT_EQUAL(store_fixture_put_robots(hosts, txn, host, second, sizeof second - 1),
                    RESULT_OK);
    HostRecord record = {.robots_version = 2};
    CU_ASSERT_EQUAL(host_rows_put(hosts, txn, host, &record), RESULT_OK);
    store_fixture_commit(f, txn);
    store_fixture_close(f, false);
    CU_ASSERT_EQUAL_FATAL(page_db_open(&db, f->path, &options), 0);
    return db;
}

static void pages_are_judged_by_the_robots_txt_of_their_time(void)
{
    Audit audit;
    StoreFixture f;
    AuditOptions options = everything();
    begin();
    request(A "robots.txt", "10.0.0.1", 0, 10, "owes:0/0,robots:1");
    request(A "new/1", "10.0.0.1", 100, 110, "owes:0/0,robots:1");
    request(A "old/1", "10.0.0.1", 200, 210, "owes:0/0,robots:1"); /* forbidden */
    request(A "robots.txt", "10.0.0.1", 300, 310, "owes:3000/0,robots:2");
    request(A "old/2", "10.0.0.1", 4000, 4010, "owes:3000/0,robots:2");
    request(A "%6eew/2", "10.0.0.1", 8000, 8010, "owes:3000/0,robots:2"); /* forbidden */
    request(A "3", "10.0.0.1", 12000, 12010, "owes:3000/0,robots:3");     /* not known */
    request(A "4", "10.0.0.1", 16000, 16010, "owes:3000/0,robots:0");     /* before it was known */
    run_with(&audit, &options, two_versions(&f));
    CU_ASSERT_EQUAL(audit.findings.count[BREACH_FORBIDDEN], 2);
    CU_ASSERT_EQUAL(audit.findings.count[BREACH_NO_ROBOTS], 1);
    CU_ASSERT_EQUAL(audit_findings_total(&audit.findings), 3);
    CU_ASSERT_EQUAL(audit.counts.judged_by_robots, 4);
    CU_ASSERT_EQUAL(audit.counts.not_judged_by_robots, 1);
    CU_ASSERT_STRING_EQUAL(audit.findings.kept[0].subject, A "old/1");
    CU_ASSERT_STRING_EQUAL(audit.findings.kept[0].rule, "Disallow: /old/");
    CU_ASSERT_EQUAL(audit.findings.kept[0].asked, 1);
    end(&audit);
    folder_remove(f.path);
}

static void less_than_crawl_delay_is_found(void)
{
    Audit audit;
    StoreFixture f;
    AuditOptions options = everything();
    begin();
    configure("[politeness]\nhost_delay = 1s\ncrawl_delay_max = 2s\nip_delay = 0\n");
    /* The lines do not say what they leave: Crawl-delay counts, up to its bound. */
    request(A "1", "10.0.0.1", 0, 10, "robots:1");
    request(A "2", "10.0.0.1", 1010, 1020, "robots:2");
    request(A "3", "10.0.0.1", 3019, 3030, "robots:2");
    request(A "4", "10.0.0.1", 5030, 5040, "robots:2");
    run_with(&audit, &options, two_versions(&f));
    CU_ASSERT_TRUE(only(&audit, BREACH_HOST_PAUSE, 1));
    CU_ASSERT_EQUAL(audit.findings.kept[0].asked, 2000);
    CU_ASSERT_EQUAL(audit.findings.kept[0].place.line, 3);
    end(&audit);
    folder_remove(f.path);
}

/* The configuration is older than the log. */
static void configure_before(const char *text)
{
    char path[128];
    struct timespec times[2] = {{.tv_sec = 1769800000}, {.tv_sec = 1769800000}};
    configure(text);
    (void)snprintf(path, sizeof path, "%s/config.ini", folder);
    CU_ASSERT_EQUAL_FATAL(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Four requests in 23 ms, the last two within one, and lines in no order; then the pause. */
static void write_burst(void)
{
    request(A "1", "10.0.0.1", 0, 10, "owes:0/0,burst:1,mono-us:900-9100");
    request(A "4", "10.0.0.1", 22, 23, "wait:0/0,owes:100/20,burst:4,mono-us:22500-22800");
    request(A "3", "10.0.0.1", 22, 23, "wait:0/0,owes:0/0,burst:3,mono-us:22100-22400");
    request(A "2", "10.0.0.1", 9, 20, "wait:0/0,owes:0/0,burst:2,mono-us:9200-19800");
    request(A "5", "10.0.0.1", 123, 130, "wait:100/100,owes:100/20");
}

static void a_burst_is_as_long_as_the_configuration_allows(void)
{
    for (int keep_alive_ms = 22; keep_alive_ms >= 21; keep_alive_ms--) {
        char text[160];
        Audit audit;
        AuditOptions options = everything();
        begin();
        (void)snprintf(text, sizeof text,
                       "[politeness]\nhost_delay = 100ms\nip_delay = 20ms\n"
                       "[site \"a.test\"]\nkeep_alive_time = %dms\n",
                       keep_alive_ms);
        configure_before(text);
        write_burst();
        run_with(&audit, &options, NULL);
        CU_ASSERT_EQUAL(audit.findings.count[BREACH_OWED], keep_alive_ms == 22 ? 0 : 2);
        CU_ASSERT_TRUE(only(&audit, BREACH_OWED, keep_alive_ms == 22 ? 0 : 2));
        CU_ASSERT_EQUAL(audit.findings.count[BREACH_AT_ONCE], 0);
        end(&audit);
    }
}

/* One long request, and short ones beside it: never more than two. */
static void so_many_at_once_as_the_section_of_the_host_says(void)
{
    for (int connections = 1; connections <= 3; connections++) {
        char text[200];
        Audit audit;
        AuditOptions options = everything();
        begin();
        (void)snprintf(text, sizeof text,
                       "[politeness]\nhost_delay = 100ms\nip_delay = 20ms\n[site \"a.test\"]\n"
                       "host_delay = 0\nip_delay = 0\nconnections = %d\n",
                       connections);
        configure_before(text);
        request(A "1", "10.0.0.1", 0, 1, "owes:0/0,mono-us:100-900");
        request(A "3", "10.0.0.1", 1, 2, "wait:0/0,owes:0/0,burst:1,at-once:3,mono-us:1000-1900");
        request(A "4", "10.0.0.1", 1, 3, "wait:0/0,owes:0/0,burst:2,at-once:3,mono-us:1950-2900");
        request(A "5", "10.0.0.1", 2, 4, "wait:0/0,owes:0/0,burst:3,at-once:3,mono-us:2950-3900");
        request(A "2", "10.0.0.1", 1, 9, "wait:0/0,owes:0/0,burst:4,at-once:3,mono-us:1000-8900");
        request(A "6", "10.0.0.1", 9, 10, "wait:0/0,owes:0/0,mono-us:8950-9900");
        run_with(&audit, &options, NULL);
        CU_ASSERT_EQUAL(audit.findings.count[BREACH_AT_ONCE], connections == 1 ? 1 : 0);
        CU_ASSERT_EQUAL(audit_findings_total(&audit.findings) == 0, connections > 1);
        end(&audit);
    }
}

static void an_overlap_within_a_burst_is_found_to_the_microsecond(void)
{
    for (int start = 9100; start >= 9099; start--) {
        char words[80];
        Audit audit;
        AuditOptions options = everything();
        begin();
        request(A "1", "10.0.0.1", 0, 10, "owes:0/0,burst:1,mono-us:900-9100");
        (void)snprintf(words, sizeof words, "wait:0/0,owes:100/20,burst:2,mono-us:%d-19800", start);
        request(A "2", "10.0.0.1", 9, 20, words);
        run_with(&audit, &options, NULL);
        CU_ASSERT_EQUAL(audit.findings.count[BREACH_AT_ONCE], start < 9100);
        end(&audit);
    }
}

static void a_complaint_is_answered_with_every_request_and_the_robots_txt_in_force(void)
{
    Audit audit;
    StoreFixture f;
    AuditOptions options = everything();
    AuditRequests requests = {.audit = &audit};
    char *text = NULL;
    size_t length = 0;
    begin();
    request(A "robots.txt", "10.0.0.1", 0, 10, "owes:100/20,robots:1");
    request(A "new/1", "10.0.0.1", 5110, 5120, "wait:100/5100,owes:100/20,robots:1");
    request(B "no", "10.0.0.1", 8960, 8970, "owes:100/20,robots:1");
    request(A "old/2", "10.0.0.1", 9000, 9025, "owes:100/20,robots:2");
    options.host = "a.test";
    requests.out = open_memstream(&text, &length);
    CU_ASSERT_PTR_NOT_NULL_FATAL(requests.out);
    options.sink = audit_requests_sink(&requests);
    run_with(&audit, &options, two_versions(&f));
    CU_ASSERT_EQUAL(requests.result, RESULT_OK);
    CU_ASSERT_EQUAL(fclose(requests.out), 0);
    const char *first = strstr(text, "    | Disallow: /old/\n");
    const char *second = strstr(text, "    | Disallow: /new/\n");
    const char *page = strstr(text, "2026-01-31 12:00:05.110      5.100s");
    CU_ASSERT_PTR_NOT_NULL_FATAL(page);
    CU_ASSERT(first != NULL && first < page && second > page);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, A "robots.txt\n"));
    CU_ASSERT(strstr(page, A "new/1\n") < second && second < strstr(text, A "old/2\n"));
    CU_ASSERT_PTR_NULL(strstr(text, "b.test"));
    free(text);
    end(&audit);
    folder_remove(f.path);
}

/* ---- the window ----------------------------------------------------------------------------- */

static void the_window_sorts_what_is_nearly_sorted(void)
{
    AuditWindow window;
    AuditFetch out;
    int64_t last = -1;
    size_t n = 0;
    size_t n_all = 3 * AUDIT_WINDOW;
    bool sorted = true;
    heap_init(&window);
    for (size_t i = 0; i < n_all; i++) {
        /* Every thousandth is late by nearly a window. */
        size_t end = i % 1000 == 0 && i >= AUDIT_WINDOW ? i - AUDIT_WINDOW + 5 : i;
        AuditFetch fetch = {.mono_end = (int64_t)end};
        CU_ASSERT_EQUAL(audit_window_push(&window, &fetch), RESULT_OK);
        if (window.count > AUDIT_WINDOW && audit_window_pop(&window, &out)) {
            sorted = sorted && out.mono_end >= last;
            last = out.mono_end;
            n++;
        }
    }
    while (audit_window_pop(&window, &out)) {
        sorted = sorted && out.mono_end >= last;
        last = out.mono_end;
        n++;
    }
    CU_ASSERT_TRUE(sorted);
    CU_ASSERT_EQUAL(n, n_all);
    heap_destroy(&window);
}

/* The delay goes from 100 to 10 ms at 12:00:02. What is found when a request that owes `owes` is
 * followed by one that was owed `owed` and comes after `gap` ms, `start` ms after noon. */
static uint64_t found_around_a_change(int start, const char *owes, int owed, int gap)
{
    static const char log[] =
        "2026-01-31T12:00:02.000Z INFO main config: changed key=politeness.host_delay "
        "old=\"100ms\" "
        "new=\"10ms\" from=\"operator\" uid=0 pid=7\n"
        "2026-01-31T12:00:08.000Z INFO main x: \"config: changed key=politeness.host_delay "
        "old=\"1ms\" new=\"1ms\"\"\n";
    Audit audit;
    char rest[64];
    AuditOptions options = everything();
    begin();
    folder_put(folder, "ragno.log", log, sizeof log - 1);
    request(A "1", "10.0.0.1", start, start + 10, owes);
    (void)snprintf(rest, sizeof rest, "wait:%d/%d,owes:10/5", owed, gap);
    request(A "2", "10.0.0.1", start + 10 + gap, start + 20 + gap, rest);
    run_with(&audit, &options, NULL);
    uint64_t n = audit_findings_total(&audit.findings);
    CU_ASSERT_EQUAL(audit.delays.changes.n, 1);
    end(&audit);
    return n;
}

static void a_delay_that_an_operator_shortens_is_no_breach(void)
{
    CU_ASSERT_EQUAL(found_around_a_change(1950, "owes:100/5", 10, 10), 0);
    CU_ASSERT_EQUAL(found_around_a_change(1950, "owes:100/5", 100, 100), 0);
    CU_ASSERT_EQUAL(found_around_a_change(1950, "owes:100/5", 10, 9), 1); /* sooner than either */
    CU_ASSERT_EQUAL(found_around_a_change(1950, "owes:100/5", 9, 9), 1); /* owed less than either */
    CU_ASSERT_EQUAL(found_around_a_change(1950, "owes:100/5", 100, 99), 1); /* as it says itself */
    CU_ASSERT_EQUAL(found_around_a_change(1950, "owes:101/5", 10, 10),
                    1); /* a rest after a failure */
    CU_ASSERT_EQUAL(found_around_a_change(500, "owes:100/5", 10, 10), 1);  /* long before it */
    CU_ASSERT_EQUAL(found_around_a_change(8000, "owes:100/5", 10, 10), 1); /* long after it */
}

UNIT_MAIN("audit",
          {"a delay that an operator shortens is no breach",
           a_delay_that_an_operator_shortens_is_no_breach},
          {"a pause one millisecond too short is found",
           a_pause_one_millisecond_too_short_is_found},
          {"what is owed is known without the line of the next request",
           what_is_owed_is_known_without_the_line_of_the_next_request},
          {"addresses are judged across hosts", addresses_are_judged_across_hosts},
          {"the order of lines does not matter", the_order_of_lines_does_not_matter},
          {"a line that states less than is due is found",
           a_line_that_states_less_than_is_due_is_found},
          {"a stated pause must be that of the times", a_stated_pause_must_be_that_of_the_times},
          {"clocks of two boots are not compared", clocks_of_two_boots_are_not_compared},
          {"a redirected robots.txt counts for who fetched it",
           a_redirected_robots_txt_counts_for_who_fetched_it},
          {"only what is asked about is counted and found",
           only_what_is_asked_about_is_counted_and_found},
          {"what cannot be proven is told", what_cannot_be_proven_is_told},
          {"pages are judged by the robots.txt of their time",
           pages_are_judged_by_the_robots_txt_of_their_time},
          {"less than Crawl-delay is found", less_than_crawl_delay_is_found},
          {"a burst is as long as the configuration allows",
           a_burst_is_as_long_as_the_configuration_allows},
          {"so many at once as the section of the host says",
           so_many_at_once_as_the_section_of_the_host_says},
          {"an overlap within a burst is found to the microsecond",
           an_overlap_within_a_burst_is_found_to_the_microsecond},
          {"a complaint is answered with every request and the robots.txt in force",
           a_complaint_is_answered_with_every_request_and_the_robots_txt_in_force},
          {"the window sorts what is nearly sorted", the_window_sorts_what_is_nearly_sorted})
