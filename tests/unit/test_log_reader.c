/* Reading crawl.log: its lines, and the files they are in. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "folder_fixture.h"
#include "logs/crawl_log_line.h"
#include "logs/log_reader.h"
#include "unit.h"

static const char whole[] =
    "2026-11-22T07:57:00.682Z   200 12897 http://a.test/x LE http://a.test/ text/html fetch-1 "
    "20261122075700680+2 sha1:KVZJ - ip:127.16.1.1,mono:1928845-1928848,wait:100/101,owes:100/20,"
    "boot:0c51e7bd,robots:7,dup:http://a.test/y%2C1,error:timeout,retry:2,trunc:time,"
    "rule:Disallow:_/x,no-store,host-dropped";

static Result parse(const char *text, CrawlLogLine *line, const char **why)
{
    return crawl_log_line_parse(text, strlen(text), line, why);
}

static void a_line_is_taken_apart(void)
{
    CrawlLogLine line;
    const char *why = NULL;
    char ip[IP_ADDRESS_TEXT_BYTES];
    CU_ASSERT_EQUAL_FATAL(parse(whole, &line, &why), RESULT_OK);
    CU_ASSERT_EQUAL(line.end.us, INT64_C(1795334220682000));
    CU_ASSERT_EQUAL(line.start.us, INT64_C(1795334220680000));
    CU_ASSERT_EQUAL(line.duration_ms, 2);
    CU_ASSERT_EQUAL(line.status, 200);
    CU_ASSERT_EQUAL(line.bytes, 12897);
    CU_ASSERT_TRUE(log_text_is(line.url, "http://a.test/x"));
    CU_ASSERT_TRUE(log_text_is(line.path, "LE"));
    CU_ASSERT_TRUE(log_text_is(line.referrer, "http://a.test/"));
    CU_ASSERT_TRUE(log_text_is(line.mime, "text/html"));
    CU_ASSERT_TRUE(log_text_is(line.worker, "fetch-1"));
    CU_ASSERT_TRUE(log_text_is(line.digest, "sha1:KVZJ"));
    CU_ASSERT_EQUAL(line.tag.length, 0);
    CU_ASSERT_TRUE(line.was_sent);
    CU_ASSERT_STRING_EQUAL(ip_address_format(&line.address, ip), "127.16.1.1");
    CU_ASSERT_TRUE(line.mono_start == 1928845 && line.mono_end == 1928848);
    CU_ASSERT_TRUE(line.owed == 100 && line.given == 101);
    CU_ASSERT_TRUE(line.owes_host == 100 && line.owes_ip == 20);
    CU_ASSERT_TRUE(line.robots == 7 && line.retry == 2 && line.host_dropped);
    CU_ASSERT_TRUE(log_text_is(line.boot, "0c51e7bd"));
    CU_ASSERT_TRUE(log_text_is(line.error, "timeout"));
    CU_ASSERT_TRUE(log_text_is(line.duplicate_of, "http://a.test/y%2C1"));
    CU_ASSERT_TRUE(log_text_is(line.truncated, "time"));
    CU_ASSERT_TRUE(log_text_is(line.rule, "Disallow:_/x"));
}

static void a_refusal_was_not_sent(void)
{
    CrawlLogLine line;
    const char *why = NULL;
    CU_ASSERT_EQUAL(parse("2026-11-22T07:57:00.943Z -9998 - http://a.test/p LL - - fetch-0 "
                          "20261122075700943+0 - - robots:1,rule:Disallow:_/p",
                          &line, &why),
                    RESULT_OK);
    CU_ASSERT_TRUE(!line.was_sent && line.bytes == -1 && line.status == -9998);
    CU_ASSERT_TRUE(line.owed == -1 && line.owes_ip == -1 && line.retry == -1);
}

static void what_is_no_line_is_refused_with_a_reason(void)
{
    static const struct {
        const char *text;
        const char *why;
    } bad[] = {
        {"", "fewer"},
        {"x", "fewer"},
        {"2026-11-22T07:57:00.943Z 200 1 u p r m w 20261122075700943+0 d t robots:1 more", "more"},
        {"2026-11-22 07:57:00.943Z 200 1 u p r m w 20261122075700943+0 d robots:1", "time"},
        {"2026-13-22T07:57:00.943Z 200 1 u p r m w 20261122075700943+0 d t -", "time"},
        {"2026-11-22T07:57:00.943Z ok 1 u p r m w 20261122075700943+0 d t -", "status"},
        {"2026-11-22T07:57:00.943Z 200 1k u p r m w 20261122075700943+0 d t -", "size"},
        {"2026-11-22T07:57:00.943Z 200 1 u p r m w 20261122075700943 d t -", "START+DURATION"},
        {"2026-11-22T07:57:00.943Z 200 1 u p r m w 20261122075700943+0 d t ip:1.2.3", "ADDRESS"},
        {"2026-11-22T07:57:00.943Z 200 1 u p r m w 20261122075700943+0 d t ip:1.2.3.4,mono:5",
         "mono"},
        {"2026-11-22T07:57:00.943Z 200 1 u p r m w 20261122075700943+0 d t ip:1.2.3.4,mono:5-4",
         "ended before"},
        {"2026-11-22T07:57:00.943Z 200 1 u p r m w 20261122075700943+0 d t wait:5/x", "wait"},
        {"2026-11-22T07:57:00.943Z 200 1 u p r m w 20261122075700943+0 d t "
         "mono:99999999999999999999-5",
         "mono"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CrawlLogLine line;
        const char *why = NULL;
        bool refused = parse(bad[i].text, &line, &why) == RESULT_INVALID;
        CU_ASSERT_TRUE(refused);
        CU_ASSERT_TRUE(refused && why != NULL && strstr(why, bad[i].why) != NULL);
    }
}

static void a_url_cannot_pose_as_annotations(void)
{
    CrawlLogLine line;
    const char *why = NULL;
    CU_ASSERT_EQUAL(parse("2026-11-22T07:57:00.943Z 200 1 http://a.test/ L - - w "
                          "20261122075700943+0 - - ip:1.2.3.4,mono:10-20,owes:5000/1000,robots:3,"
                          "dup:http://a.test/,mono:900-901,owes:0/0,robots:9,ip:9.9.9.9",
                          &line, &why),
                    RESULT_OK);
    CU_ASSERT_TRUE(line.mono_start == 10 && line.owes_host == 5000 && line.robots == 3);
    CU_ASSERT_EQUAL(line.address.bytes[12], 1);
}

static bool origin_is(const char *url, const char *origin, const char *host)
{
    char scratch[LOG_ORIGIN_BYTES];
    LogText text = {url, strlen(url)};
    return log_text_is(log_text_origin(text, scratch), origin) &&
           log_text_is(log_text_host(text), host);
}

static void origins_and_hosts_of_urls(void)
{
    CU_ASSERT_TRUE(origin_is("http://a.test/x?y//z", "http://a.test", "a.test"));
    CU_ASSERT_TRUE(origin_is("https://a.test:81?x", "https://a.test:81", "a.test"));
    CU_ASSERT_TRUE(origin_is("http://[::1]:80/", "http://[::1]:80", "[::1]"));
    CU_ASSERT_TRUE(origin_is("http://u:p@a.test:1/@x", "http://a.test:1", "a.test"));
    CU_ASSERT_TRUE(origin_is("http://a.test", "http://a.test", "a.test"));
    CU_ASSERT_TRUE(origin_is("dns:a.test", "", ""));
    CU_ASSERT_TRUE(origin_is("", "", ""));
}

/* ---- files ---------------------------------------------------------------------------------- */

static char folder[FOLDER_BYTES];

static void put(const char *name, const char *bytes, size_t length)
{
    folder_put(folder, name, bytes, length);
}

static void put_gz(const char *name, const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    gzFile file = gzopen(path, "wb");
    CU_ASSERT_FATAL(file != NULL && gzwrite(file, text, (unsigned)strlen(text)) > 0);
    CU_ASSERT_EQUAL(gzclose(file), Z_OK);
}

static size_t pack_zst(const char *text, char *packed, size_t room)
{
    return ZSTD_compress(packed, room, text, strlen(text), 3);
}

static void set_up(void)
{
    folder_make(folder);
}

static void tear_down(void)
{
    folder_remove(folder);
}

/* All lines, each as FILE:NUMBER:TEXT; and a space. */
static const char *all_lines(char *out, size_t room, bool *damaged)
{
    char path[128];
    LogReader *reader = NULL;
    const char *line = NULL;
    size_t length = 0;
    size_t n = 0;
    out[0] = '\0';
    (void)snprintf(path, sizeof path, "%s/crawl.log", folder);
    CU_ASSERT_EQUAL_FATAL(log_reader_open(&reader, path), RESULT_OK);
    while (log_reader_next(reader, &line, &length)) {
        n += (size_t)snprintf(out + n, room - n, "%u:%llu:%.*s; ", log_reader_file(reader),
                              (unsigned long long)log_reader_line(reader),
                              (int)(length > 20 ? 20 : length), line);
    }
    *damaged = log_reader_problem(reader) != NULL;
    log_reader_close(reader);
    return out;
}

static void predecessors_come_first_whatever_their_compression(void)
{
    char packed[256];
    char out[512];
    bool damaged = true;
    set_up();
    put("crawl.log", "i\nj\nbeing wri", 14);
    put("crawl.log.1", "g\nh", 3); /* its last line was never ended */
    put_gz("crawl.log.2.gz", "e\nf\n");
    put_gz("crawl.log.10.gz", "d\n");
    put("crawl.log-20260102", "c\n", 2);
    put("crawl.log-20260101.zst", packed, pack_zst("a\nb\n", packed, sizeof packed));
    put("crawl.log.bak", "no\n", 3);
    put("crawl.logx", "no\n", 3);
    put("crawl.log.1.tmp", "no\n", 3);
    CU_ASSERT_STRING_EQUAL(
        all_lines(out, sizeof out, &damaged),
        "0:1:a; 0:2:b; 1:1:c; 2:1:d; 3:1:e; 3:2:f; 4:1:g; 4:2:h; 5:1:i; 5:2:j; ");
    CU_ASSERT_FALSE(damaged);
    tear_down();
}

static void a_damaged_predecessor_is_told_and_the_rest_is_read(void)
{
    char packed[256];
    char out[512];
    bool damaged = false;
    set_up();
    put("crawl.log.1.zst", packed, pack_zst("a\nb\n", packed, sizeof packed) - 3);
    put("crawl.log", "c\n", 2);
    (void)all_lines(out, sizeof out, &damaged);
    CU_ASSERT_TRUE(damaged);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "c; "));
    tear_down();
}

static void long_lines_are_passed_over(void)
{
    char out[256];
    bool damaged = true;
    size_t n = (size_t)3 << 20;
    char *text = malloc(n + 16);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    set_up();
    memset(text, 'x', n + 16);
    memcpy(text, "a\n", 2);
    memcpy(text + n, "\nb\n", 3);
    put("crawl.log", text, n + 3);
    CU_ASSERT_STRING_EQUAL(all_lines(out, sizeof out, &damaged), "0:1:a; 0:3:b; ");
    CU_ASSERT_FALSE(damaged);
    /* Lines around the ends of blocks. */
    for (size_t i = 0; i < n; i++) {
        text[i] = i % 1000 == 999 ? '\n' : 'y';
    }
    put("crawl.log", text, n);
    char path[128];
    LogReader *reader = NULL;
    const char *line = NULL;
    size_t length = 0;
    size_t lines = 0;
    (void)snprintf(path, sizeof path, "%s/crawl.log", folder);
    CU_ASSERT_EQUAL_FATAL(log_reader_open(&reader, path), RESULT_OK);
    while (log_reader_next(reader, &line, &length)) {
        lines += length == 999 && line[0] == 'y' && line[998] == 'y';
    }
    CU_ASSERT_EQUAL(lines, n / 1000);
    log_reader_close(reader);
    free(text);
    tear_down();
}

static void a_log_that_is_not_there(void)
{
    LogReader *reader = NULL;
    CU_ASSERT_EQUAL(log_reader_open(&reader, "/tmp/no-such-folder/crawl.log"), RESULT_NOT_FOUND);
    set_up();
    char path[128];
    (void)snprintf(path, sizeof path, "%s/crawl.log", folder);
    CU_ASSERT_EQUAL(log_reader_open(&reader, path), RESULT_NOT_FOUND);
    tear_down();
}

UNIT_MAIN("log_reader", {"a line is taken apart", a_line_is_taken_apart},
          {"a refusal was not sent", a_refusal_was_not_sent},
          {"what is no line is refused with a reason", what_is_no_line_is_refused_with_a_reason},
          {"a URL cannot pose as annotations", a_url_cannot_pose_as_annotations},
          {"origins and hosts of URLs", origins_and_hosts_of_urls},
          {"predecessors come first, whatever their compression",
           predecessors_come_first_whatever_their_compression},
          {"a damaged predecessor is told, and the rest is read",
           a_damaged_predecessor_is_told_and_the_rest_is_read},
          {"long lines are passed over", long_lines_are_passed_over},
          {"a log that is not there", a_log_that_is_not_there})
