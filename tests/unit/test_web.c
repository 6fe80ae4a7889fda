/* The parts of the status page that need no crawl: addresses, who may ask, metrics, history, the
 * token. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crawl/run/status.h"
#include "crawl/web/web.h"
#include "crawl/web/web_look.h"
#include "crawl/web/web_metrics.h"
#include "rules/listen_address.h"
#include "unit.h"

static bool listens(const char *text, ListenAddress *address)
{
    Buffer error;
    buffer_init(&error, 4096);
    Result rc = listen_address_parse(address, text, &error);
    CU_ASSERT_TRUE(rc == RESULT_OK ? error.length == 0 : rc == RESULT_INVALID && error.length > 20);
    buffer_destroy(&error);
    return rc == RESULT_OK;
}

static void addresses_are_loopback_or_unix(void)
{
    static const char *const good[] = {
        "127.0.0.1:8088", "127.255.0.9:1", "localhost:0", "[::1]:8088", "::1:8088", "8088", "0"};
    static const char *const bad[] = {"",
                                      "127.0.0.1",
                                      "127.0.0.1:",
                                      ":80",
                                      "0.0.0.0:80",
                                      "[::]:80",
                                      "10.1.2.3:80",
                                      "[::1]",
                                      "x:80",
                                      "127.0.0.1:65536",
                                      "127.0.0.1:-1",
                                      "127.0.0.1:8x",
                                      "unix:",
                                      "[::ffff:8.8.8.8]:80",
                                      "[::1:80",
                                      "99999999999"};
    ListenAddress address;
    struct sockaddr_storage to;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CU_ASSERT_TRUE(listens(good[i], &address) && !address.is_unix);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CU_ASSERT_FALSE(listens(bad[i], &address));
    }
    CU_ASSERT_TRUE(listens("unix:/run/x.sock", &address) && address.is_unix);
    CU_ASSERT_STRING_EQUAL(address.path, "/run/x.sock");
    CU_ASSERT_EQUAL(listen_address_socket(&address, &to), sizeof(struct sockaddr_un));
    CU_ASSERT_TRUE(listens("[::1]:8088", &address) && address.port == 8088);
    CU_ASSERT_EQUAL(listen_address_socket(&address, &to), sizeof(struct sockaddr_in6));
    CU_ASSERT_EQUAL(to.ss_family, AF_INET6);
}

static void a_path_of_any_length_is_taken_or_refused(void)
{
    char text[256] = "unix:";
    ListenAddress address;
    for (size_t n = 1; n < 200; n++) {
        memset(text + 5, 'a', n);
        text[5 + n] = '\0';
        CU_ASSERT_EQUAL(listens(text, &address), n < sizeof address.path);
    }
}

static void hosts_that_name_this_machine_may_ask(void)
{
    CU_ASSERT_TRUE(web_guard_host("localhost", ""));
    CU_ASSERT_TRUE(web_guard_host("LocalHost:1", ""));
    CU_ASSERT_TRUE(web_guard_host("127.0.0.1:8088", ""));
    CU_ASSERT_TRUE(web_guard_host("[::1]:8088", ""));
    CU_ASSERT_TRUE(web_guard_host("a.example:443", " b.example,\ta.example "));
    CU_ASSERT_FALSE(web_guard_host("a.example", ""));
    CU_ASSERT_FALSE(web_guard_host("a.example", "xa.example, a.example.x"));
    CU_ASSERT_FALSE(web_guard_host("", ", ,"));
    CU_ASSERT_FALSE(web_guard_host(":80", ""));
    CU_ASSERT_FALSE(web_guard_host("[::1", ""));
    CU_ASSERT_FALSE(web_guard_host("[::1]x", ""));
    CU_ASSERT_FALSE(web_guard_host("localhost:80:90", ""));
    CU_ASSERT_FALSE(web_guard_host("localhost:80@evil", ""));
    CU_ASSERT_FALSE(web_guard_host("127.0.0.1.evil", ""));
    CU_ASSERT_FALSE(web_guard_host("192.168.0.1", ""));
}

static void origins_are_the_page_itself(void)
{
    CU_ASSERT_TRUE(web_guard_origin("http://localhost:1", "localhost:1"));
    CU_ASSERT_TRUE(web_guard_origin("https://a.example", "A.example"));
    CU_ASSERT_FALSE(web_guard_origin("http://localhost:2", "localhost:1"));
    CU_ASSERT_FALSE(web_guard_origin("http://localhost:1/", "localhost:1"));
    CU_ASSERT_FALSE(web_guard_origin("null", "localhost:1"));
    CU_ASSERT_FALSE(web_guard_origin("", ""));
    CU_ASSERT_FALSE(web_guard_origin("ftp://localhost:1", "localhost:1"));
}

static void a_token_fits_as_a_whole(void)
{
    CU_ASSERT_TRUE(web_guard_token("Bearer 0123456789abcdef", "0123456789abcdef"));
    CU_ASSERT_TRUE(web_guard_token("bearer 0123456789abcdef", "0123456789abcdef"));
    CU_ASSERT_FALSE(web_guard_token("Bearer 0123456789abcde", "0123456789abcdef"));
    CU_ASSERT_FALSE(web_guard_token("Bearer 0123456789abcdef0", "0123456789abcdef"));
    CU_ASSERT_FALSE(web_guard_token("Bearer 1123456789abcdef", "0123456789abcdef"));
    CU_ASSERT_FALSE(web_guard_token("0123456789abcdef", "0123456789abcdef"));
    CU_ASSERT_FALSE(web_guard_token("Bearer ", ""));
    CU_ASSERT_FALSE(web_guard_token("", "0123456789abcdef"));
}

/* A status in which nothing is zero. */
static char *a_status(void)
{
    static const Stats stats;
    StatusSample before = {.mono = {0}};
    StatusSample now = {.mono = {10000000000},
                        .continuous = true,
                        .clustered = true,
                        .stats = &stats,
                        .pages = 12345678901234567};
    Buffer json;
    buffer_init(&json, BUFFER_NO_LIMIT);
    now.by_status[2] = 7;
    now.by_status[0] = 3;
    now.scores.last_ms = 1500;
    now.urls_queued = 5;
    CU_ASSERT_EQUAL(status_json(&before, &now, 77, &json), RESULT_OK);
    return buffer_detach(&json);
}

/* Prometheus wants the samples of a metric in one piece, behind one line of its type. */
static void each_metric_is_one_piece(void)
{
    char *json = a_status();
    Buffer text;
    size_t n = 0;
    buffer_init(&text, BUFFER_NO_LIMIT);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    CU_ASSERT_EQUAL(web_metrics(json, &text), RESULT_OK);
    char type[128] = "";
    const char *all = buffer_string(&text);
    for (const char *line = all; *line != '\0'; line += strcspn(line, "\n") + 1) {
        if (strncmp(line, "# TYPE ", 7) == 0) {
            (void)snprintf(type, sizeof type, "%.*s", (int)strcspn(line + 7, " "), line + 7);
            char again[140];
            (void)snprintf(again, sizeof again, "# TYPE %s ", type);
            CU_ASSERT_PTR_NULL(strstr(line + 1, again));
            n++;
        } else if (*line != '#') {
            size_t length = strcspn(line, "{ ");
            CU_ASSERT_TRUE(length == strlen(type) && memcmp(line, type, length) == 0);
        }
    }
    CU_ASSERT_TRUE(n > 50);
    CU_ASSERT_PTR_NULL(strstr(all, "HELP ragno_ "));
    buffer_destroy(&text);
    free(json);
}

static void metrics_have_all_digits_and_units(void)
{
    char *json = a_status();
    Buffer text;
    buffer_init(&text, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(web_metrics(json, &text), RESULT_OK);
    const char *all = buffer_string(&text);
    CU_ASSERT_PTR_NOT_NULL(strstr(all, "\nragno_pages_total 12345678901234567\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(all, "\nragno_answers_total{class=\"2xx\"} 7\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(all, "\nragno_answers_total{class=\"none\"} 3\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(all, "\nragno_scoring_seconds 1.5\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(all, "\nragno_state{state=\"running\"} 1\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(all, "\nragno_state{state=\"paused\"} 0\n"));
    const char *type = strstr(all, "# TYPE ragno_answers_total counter\n");
    CU_ASSERT_PTR_NOT_NULL_FATAL(type);
    CU_ASSERT_PTR_NULL(strstr(type + 1, "# TYPE ragno_answers_total"));
    buffer_reset(&text);
    CU_ASSERT_EQUAL(web_metrics("{\"limit\": \"something new\"}", &text), RESULT_OK);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(buffer_string(&text), "ragno_limit{limit=\"something new\"} 1\n"));
    CU_ASSERT_PTR_NULL(strstr(buffer_string(&text), "ragno_pages_total"));
    buffer_destroy(&text);
    free(json);
}

/* A directory with a status.log. */
static char *log_with(const char *lines)
{
    char *directory = strdup("/tmp/test_web.XXXXXX");
    char path[256];
    CU_ASSERT_PTR_NOT_NULL_FATAL(directory);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(directory));
    (void)snprintf(path, sizeof path, "%s/status.log", directory);
    FILE *file = fopen(path, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    (void)fputs(lines, file);
    (void)fclose(file);
    return directory;
}

static void forget_log(char *directory)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/status.log", directory);
    (void)unlink(path);
    (void)rmdir(directory);
    free(directory);
}

static void rates_are_what_was_counted_over_the_time_it_took(void)
{
    char *directory =
        log_with("time=2026-01-31T12:00:00.000Z elapsed_s=0.0 pages=0 urls_queued=5 err=0\n"
                 "time=2026-01-31T12:00:02.000Z elapsed_s=2.0 pages=100 urls_queued=7 err=1\n"
                 "nonsense\n"
                 "time=2026-01-31T12:00:02.500Z elapsed_s=2.5 pages=200 urls_queued=9 err=1\n"
                 /* it stood still for an hour, and was started again */
                 "time=2026-01-31T13:00:02.500Z elapsed_s=3.0 pages=200 urls_queued=9 err=1\n");
    Buffer json;
    buffer_init(&json, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(web_history(directory, 1 << 20, &json), RESULT_OK);
    /* An hour in 240 buckets: 16 s each; 200 pages in the 2.5 s that were told of the first. */
    CU_ASSERT_PTR_NOT_NULL(
        strstr(buffer_string(&json), "{\"from\": 1769860800000, \"width_ms\": 16000"));
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&json), "\"pages_s\": [80.00, null, null"));
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&json), "\"err_s\": [0.40, null"));
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&json), "\"urls_queued\": [7.00, null"));
    forget_log(directory);
    buffer_destroy(&json);
}

static void a_log_that_is_not_there_has_no_buckets(void)
{
    Buffer json;
    buffer_init(&json, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(web_history("/nosuch", 1 << 20, &json), RESULT_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&json), "\"pages_s\": []"));
    buffer_destroy(&json);
}

static void a_token_is_made_once_and_kept_from_others(void)
{
    char *directory = log_with("");
    char path[256];
    Buffer token;
    Buffer again;
    Buffer error;
    buffer_init(&token, 4096);
    buffer_init(&again, 4096);
    buffer_init(&error, 4096);
    (void)snprintf(path, sizeof path, "%s/token", directory);
    CU_ASSERT_EQUAL(web_token_read(path, &token, &error), RESULT_OK);
    CU_ASSERT_EQUAL(token.length, 64);
    CU_ASSERT_EQUAL(web_token_read(path, &again, &error), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&token), buffer_string(&again));
    (void)chmod(path, 0640);
    CU_ASSERT_EQUAL(web_token_read(path, &again, &error), RESULT_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&error), "chmod 600"));
    (void)chmod(path, 0600);
    CU_ASSERT_EQUAL(truncate(path, 15), 0);
    buffer_reset(&error);
    CU_ASSERT_EQUAL(web_token_read(path, &again, &error), RESULT_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&error), "15 bytes"));
    (void)unlink(path);
    buffer_reset(&error);
    CU_ASSERT_NOT_EQUAL(web_token_read("/nosuch/token", &again, &error), RESULT_OK);
    CU_ASSERT_TRUE(error.length > 0);
    forget_log(directory);
    buffer_destroy(&token);
    buffer_destroy(&again);
    buffer_destroy(&error);
}

static void the_files_are_in_the_program(void)
{
    const WebFile *page = web_file_find("/");
    CU_ASSERT_PTR_NOT_NULL_FATAL(page);
    CU_ASSERT_TRUE(page->end - page->bytes > 1000);
    CU_ASSERT_EQUAL(strncmp(page->bytes, "<!DOCTYPE html>", 15), 0);
    CU_ASSERT_EQUAL(*page->end, '\0');
    CU_ASSERT_PTR_NOT_NULL(web_file_find("/page.js"));
    CU_ASSERT_PTR_NULL(web_file_find("/page.html"));
}

UNIT_MAIN("web", {"addresses are loopback or Unix", addresses_are_loopback_or_unix},
          {"a path of any length is taken or refused", a_path_of_any_length_is_taken_or_refused},
          {"hosts that name this machine may ask", hosts_that_name_this_machine_may_ask},
          {"origins are the page itself", origins_are_the_page_itself},
          {"a token fits as a whole", a_token_fits_as_a_whole},
          {"each metric is one piece", each_metric_is_one_piece},
          {"metrics have all digits and units", metrics_have_all_digits_and_units},
          {"rates are what was counted over the time it took",
           rates_are_what_was_counted_over_the_time_it_took},
          {"a log that is not there has no buckets", a_log_that_is_not_there_has_no_buckets},
          {"a token is made once and kept from others", a_token_is_made_once_and_kept_from_others},
          {"the files are in the program", the_files_are_in_the_program})
