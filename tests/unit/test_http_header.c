#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/buffer.h"
#include "parse/http/http_header.h"

#include "unit.h"

/* ---- http header ---- */

static bool is(const char *bytes, size_t length, const char *expected)
{
    return length == strlen(expected) && memcmp(bytes, expected, length) == 0;
}

static HttpHeader parsed(const char *text)
{
    HttpHeader header;
    CU_ASSERT_EQUAL_FATAL(http_header_parse(&header, text, strlen(text)), RESULT_OK);
    return header;
}

static void the_status_line_is_read(void)
{
    HttpHeader h = parsed("HTTP/1.1 404 Not Found\r\nA: b\r\n\r\nbody");
    CU_ASSERT_EQUAL(h.status, 404);
    CU_ASSERT_EQUAL(h.version, 11);
    CU_ASSERT_EQUAL(h.bytes, 32);
    CU_ASSERT_TRUE(h.is_complete);
    h = parsed("HTTP/2 200\n");
    CU_ASSERT_EQUAL(h.status, 200);
    CU_ASSERT_EQUAL(h.version, 20);
    CU_ASSERT_FALSE(h.is_complete);
    CU_ASSERT_EQUAL(h.bytes, 11);
    const char *const bad[] = {"",
                               "HTTP/1.1",
                               "HTTP/1.1 20\r\n\r\n",
                               "<html>",
                               "HTTP/1.1 abc\r\n",
                               "HTTP/1.1 2000 OK\r\n",
                               "HTTP/1.1 099 x\r\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        HttpHeader header;
        CU_ASSERT_EQUAL(http_header_parse(&header, bad[i], strlen(bad[i])), RESULT_INVALID);
    }
}

static void interim_responses_are_skipped(void)
{
    HttpHeader h = parsed("\r\nHTTP/1.1 100 Continue\r\nX: 1\r\n\r\nHTTP/1.1 103 Early\r\n\r\n"
                          "HTTP/1.1 200 OK\r\nX: 2\r\n\r\nHTTP/1.1 500 in the body\r\n\r\n");
    HttpField f;
    CU_ASSERT_EQUAL(h.status, 200);
    CU_ASSERT_TRUE(http_header_find(&h, "x", &f));
    CU_ASSERT_TRUE(is(f.value, f.value_length, "2"));
    h = parsed("HTTP/1.1 100 Continue\r\n\r\n");
    CU_ASSERT_EQUAL(h.status, 100);
}

static void fields_are_found_among_junk(void)
{
    HttpHeader h =
        parsed("HTTP/1.1 200 OK\r\nno colon here\r\n: no name\r\nContent-TYPE :\t text/html "
               " \r\nFolded: one\r\n  two\r\n\tthree\nEmpty:\r\nLast: a:b\r\n\r\n");
    size_t position = 0;
    HttpField f;
    const char *const names[] = {"Content-TYPE", "Folded", "Empty", "Last"};
    for (size_t i = 0; i < 4; i++) {
        CU_ASSERT_TRUE_FATAL(http_header_next(&h, &position, &f));
        CU_ASSERT_TRUE(is(f.name, f.name_length, names[i]));
    }
    CU_ASSERT_TRUE(is(f.value, f.value_length, "a:b"));
    CU_ASSERT_FALSE(http_header_next(&h, &position, &f));
    CU_ASSERT_FALSE(http_header_next(&h, &position, &f));
    CU_ASSERT_TRUE(http_header_find(&h, "content-type", &f));
    CU_ASSERT_TRUE(is(f.value, f.value_length, "text/html"));
    HttpField missing = {.value = NULL, .value_length = 7};
    CU_ASSERT_FALSE(http_header_find(&h, "content", &missing));
    CU_ASSERT(missing.value == NULL && missing.value_length == 7);
    CU_ASSERT_TRUE(http_header_find(&h, "folded", &f));
}

static bool is_page(const char *type, const char *body)
{
    HttpContentType t = http_header_content_type(type, strlen(type));
    return http_header_is_page(&t, body, strlen(body));
}

static void the_body_decides_where_the_type_does_not(void)
{
    static const char xhtml[] =
        "<?xml version='1.0'?>\n<html xmlns='http://www.w3.org/1999/xhtml'>";
    CU_ASSERT_TRUE(is_page("text/html", "no tag"));
    CU_ASSERT_TRUE(is_page("Application/XHTML+xml; charset=utf-8", ""));
    CU_ASSERT_TRUE(is_page("", " \n<p>"));
    CU_ASSERT_TRUE(is_page("*/*", "<!doctype html>"));
    CU_ASSERT_TRUE(is_page("unknown/unknown", "\xef\xbb\xbf<p>"));
    CU_ASSERT_TRUE(is_page("application/unknown;x=y", "<p>"));
    CU_ASSERT_TRUE(is_page("text/xml", xhtml));
    CU_ASSERT_TRUE(is_page("application/xml", xhtml));
    CU_ASSERT_FALSE(is_page("*/*", "GIF89a"));
    CU_ASSERT_FALSE(is_page("", ""));
    CU_ASSERT_FALSE(is_page("text/xml", "<feed xmlns='http://www.w3.org/2005/Atom'>"));
    CU_ASSERT_FALSE(is_page("text/xml", "<svg:html xmlns:h='http://www.w3.org/1999/xhtml'>"));
    CU_ASSERT_FALSE(is_page("text/plain", "<p>"));
    CU_ASSERT_FALSE(is_page("image/*", "<p>"));
}

static void content_types_are_split(void)
{
    static const struct {
        const char *value, *type;
    } cases[] = {
        {"text/html; charset=utf-8", "text/html"},
        {"Text/HTML;Charset=\"ISO-8859-1\"", "Text/HTML"},
        {"text/html ; a=b; charset = 'x' ;charset=y", "text/html"},
        {"text/html,text/html;charset=z", "text/html"},
        {"text/html; charset=", "text/html"},
        {"; charset=koi8-r", NULL},
        {"html", NULL},
        {"text/xml; charset=\"utf", "text/xml"},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        HttpContentType t = http_header_content_type(cases[i].value, strlen(cases[i].value));
        CU_ASSERT_EQUAL(t.type == NULL, cases[i].type == NULL);
        CU_ASSERT_TRUE(t.type == NULL || is(t.type, t.type_length, cases[i].type));
    }
    HttpContentType t = http_header_content_type("TEXT/html;x", 11);
    CU_ASSERT_TRUE(http_header_is_type(&t, "text/html"));
    CU_ASSERT_FALSE(http_header_is_type(&t, "text/htm"));
}

static int64_t date(const char *text)
{
    int64_t seconds = -1;
    return http_header_date(text, strlen(text), &seconds) ? seconds : -1;
}

static void dates_come_in_three_forms(void)
{
    CU_ASSERT_EQUAL(date("Sun, 06 Nov 1994 08:49:37 GMT"), 784111777);
    CU_ASSERT_EQUAL(date("Sunday, 06-Nov-94 08:49:37 GMT"), 784111777);
    CU_ASSERT_EQUAL(date("Sun Nov  6 08:49:37 1994"), 784111777);
    CU_ASSERT_EQUAL(date("Sun, 06 Nov 1994 10:49:37 +0200"), 784111777);
    CU_ASSERT_EQUAL(date("Sun, 06 Nov 1994 08:19:37 -0030"), 784111777);
    CU_ASSERT_EQUAL(date("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
    CU_ASSERT_EQUAL(date("Thu, 29 Feb 2024 12:00:00 GMT"), 1709208000);
    CU_ASSERT_EQUAL(date("Tue, 19 Jan 2038 03:14:08 GMT"), INT64_C(2147483648));
    CU_ASSERT_EQUAL(date("0"), -1);
    CU_ASSERT_EQUAL(date("yesterday"), -1);
    CU_ASSERT_EQUAL(date("Sun, 06 Nov 1994"), -1);
    CU_ASSERT_EQUAL(date("Sun, 32 Nov 1994 08:49:37 GMT"), -1);
    CU_ASSERT_EQUAL(date("Sun, 06 Nov 1994 25:49:37 GMT"), -1);
    CU_ASSERT_EQUAL(date("Sun, 06 Nov 1994 08:49: GMT"), -1);
    CU_ASSERT_EQUAL(date("06 06 06 08:49:37 Nov"), -1);
}

static int64_t retry(const char *text)
{
    return http_header_retry_after(text, strlen(text), 784111777);
}

static void retry_after_is_seconds_or_a_date(void)
{
    CU_ASSERT_EQUAL(retry("120"), 120);
    CU_ASSERT_EQUAL(retry(" 0 "), 0);
    CU_ASSERT_EQUAL(retry("1.5"), 2);
    CU_ASSERT_EQUAL(retry("99999999999999999999"), HTTP_MAX_SECONDS);
    CU_ASSERT_EQUAL(retry("Sun, 06 Nov 1994 08:50:37 GMT"), 60);
    CU_ASSERT_EQUAL(retry("Sun, 06 Nov 1994 08:00:00 GMT"), 0);
    CU_ASSERT_EQUAL(retry("-5"), -1);
    CU_ASSERT_EQUAL(retry("soon"), -1);
    CU_ASSERT_EQUAL(retry(""), -1);
}

static void cache_control_is_read(void)
{
    HttpCacheControl c = HTTP_CACHE_CONTROL_NONE;
    static const char value[] = "public, MAX-AGE=\"3600\", no-cache=\"set-cookie, x\"";
    http_header_cache_control(value, strlen(value), &c);
    CU_ASSERT_EQUAL(c.max_age_s, 3600);
    CU_ASSERT_FALSE(c.no_cache);
    http_header_cache_control("no-store,max-age=5,no-cache", 27, &c);
    CU_ASSERT_EQUAL(c.max_age_s, 3600);
    CU_ASSERT_TRUE(c.no_cache);
    CU_ASSERT_TRUE(c.no_store);
    c = HTTP_CACHE_CONTROL_NONE;
    http_header_cache_control("max-age=x, s-maxage=7, max-agent=3", 34, &c);
    CU_ASSERT_EQUAL(c.max_age_s, -1);
}

static void links_are_stepped_through(void)
{
    static const char value[] =
        " </a,b;c>; rel=next; title=\"x, <y>; z\"; type=text/html, junk <http://h/2> ;REL=\"up "
        "canonical\" ; anchor=\"#x\",<>;rel=self, <broken";
    size_t position = 0;
    HttpLink link;
    CU_ASSERT_TRUE(http_header_next_link(value, strlen(value), &position, &link));
    CU_ASSERT_TRUE(is(link.uri, link.uri_length, "/a,b;c"));
    CU_ASSERT_TRUE(is(link.rel, link.rel_length, "next"));
    CU_ASSERT_TRUE(is(link.type, link.type_length, "text/html"));
    CU_ASSERT_FALSE(link.has_anchor);
    CU_ASSERT_TRUE(http_header_next_link(value, strlen(value), &position, &link));
    CU_ASSERT_TRUE(is(link.uri, link.uri_length, "http://h/2"));
    CU_ASSERT_TRUE(is(link.rel, link.rel_length, "up canonical"));
    CU_ASSERT_PTR_NULL(link.type);
    CU_ASSERT_TRUE(link.has_anchor);
    CU_ASSERT_TRUE(http_header_next_link(value, strlen(value), &position, &link));
    CU_ASSERT_EQUAL(link.uri_length, 0);
    CU_ASSERT_FALSE(http_header_next_link(value, strlen(value), &position, &link));
    position = 0;
    CU_ASSERT_TRUE(http_header_next_link("<x>", 3, &position, &link));
    CU_ASSERT_PTR_NULL(link.rel);
}

static void refresh_follows_the_html_standard(void)
{
    static const struct {
        const char *value, *uri; /* NULL: ignored */
        int64_t seconds;
    } cases[] = {
        {"5; url=/x", "/x", 5},
        {"0;URL='http://h/a b' x", "http://h/a b", 0},
        {" 3 , /y", "/y", 3},
        {"2.75;url = \"/z", "/z", 2},
        {"7", "", 7},
        {"1 url=/w", "/w", 1},
        {"4;urlx=/q", "urlx=/q", 4},
        {".5;url=/p", "/p", 0},
        {"url=/x", NULL, 0},
        {"5x;url=/x", NULL, 0},
        {"", NULL, 0},
        {"1;", "", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t seconds = 0;
        const char *uri = NULL;
        size_t n = 0;
        bool is_valid =
            http_header_refresh(cases[i].value, strlen(cases[i].value), &seconds, &uri, &n);
        CU_ASSERT_EQUAL(is_valid, cases[i].uri != NULL);
        if (is_valid && cases[i].uri != NULL) {
            CU_ASSERT_EQUAL(seconds, cases[i].seconds);
            CU_ASSERT_TRUE(is(uri, n, cases[i].uri));
        }
    }
}

static void several_lines_of_a_list_are_one(void)
{
    static const char text[] =
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nX: y\r\n"
        "content-encoding:  br, zstd \r\nOne: 1\r\nCONTENT-ENCODING:\r\n\r\n";
    HttpHeader header;
    HttpField field;
    Buffer scratch;
    buffer_init(&scratch, 100);
    CU_ASSERT_EQUAL_FATAL(http_header_parse(&header, text, sizeof text - 1), RESULT_OK);
    CU_ASSERT_TRUE(http_header_find_list(&header, "Content-Encoding", &scratch, &field));
    CU_ASSERT_EQUAL(field.value_length, strlen("gzip, br, zstd, "));
    CU_ASSERT_NSTRING_EQUAL(field.value, "gzip, br, zstd, ", field.value_length);
    CU_ASSERT_TRUE(http_header_find_list(&header, "one", &scratch, &field));
    CU_ASSERT_TRUE(field.value_length == 1 && *field.value == '1' && scratch.length == 0);
    CU_ASSERT_FALSE(http_header_find_list(&header, "Two", &scratch, &field));
    buffer_destroy(&scratch);
    buffer_init(&scratch, 5); /* no room: the first line is all */
    CU_ASSERT_TRUE(http_header_find_list(&header, "Content-Encoding", &scratch, &field));
    CU_ASSERT_NSTRING_EQUAL(field.value, "gzip", field.value_length);
    buffer_destroy(&scratch);
}

static void codings_are_those_that_a_body_still_has(void)
{
    static const struct {
        const char *fields;
        const char *codings; /* NULL: none */
    } cases[] = {
        {"", NULL},
        {"Transfer-Encoding: chunked\r\n", NULL},
        {"Content-Encoding: br\r\nTransfer-Encoding: Chunked\r\n", "br"},
        {"Transfer-Encoding: gzip, chunked\r\n", "gzip"},
        {"X-Archive-Orig-Transfer-Encoding:  gzip ,chunked\r\n", "gzip"},
        {"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", "gzip"},
        {"Transfer-Encoding: gzip,, br ,chunked\r\nContent-Encoding: zstd\r\n", "zstd, gzip, br"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        HttpHeader header;
        HttpField field = {.value = NULL, .value_length = 0};
        Buffer scratch;
        buffer_init(&scratch, 256);
        int n = snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\n%s\r\n", cases[i].fields);
        CU_ASSERT_EQUAL_FATAL(http_header_parse(&header, text, (size_t)n), RESULT_OK);
        bool has_coding = http_header_codings(&header, &scratch, &field);
        CU_ASSERT_EQUAL(has_coding, cases[i].codings != NULL);
        CU_ASSERT_TRUE(!has_coding ||
                       (field.value_length == strlen(cases[i].codings) &&
                        memcmp(field.value, cases[i].codings, field.value_length) == 0));
        buffer_destroy(&scratch);
    }
}

/* ---- http freshness ---- */

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

UNIT_MAIN("http_header", {"the status line is read", the_status_line_is_read},
          {"interim responses are skipped", interim_responses_are_skipped},
          {"fields are found among junk", fields_are_found_among_junk},
          {"content types are split", content_types_are_split},
          {"the body decides where the type does not", the_body_decides_where_the_type_does_not},
          {"dates come in three forms", dates_come_in_three_forms},
          {"Retry-After is seconds or a date", retry_after_is_seconds_or_a_date},
          {"Cache-Control is read", cache_control_is_read},
          {"links are stepped through", links_are_stepped_through},
          {"Refresh follows the HTML standard", refresh_follows_the_html_standard},
          {"several lines of a list are one", several_lines_of_a_list_are_one},
          {"codings are those that a body still has", codings_are_those_that_a_body_still_has},
          {"what is promised, less its age, is fresh", what_is_promised_less_its_age_is_fresh},
          {"what is not promised may be guessed", what_is_not_promised_may_be_guessed},
          {"redirects, errors and ends have times of their own",
           redirects_errors_and_ends_have_times_of_their_own})
