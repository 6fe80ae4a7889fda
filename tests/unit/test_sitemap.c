#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/memory/buffer.h"
#include "base/core/clock.h"
#include "parse/sitemap/sitemap.h"
#include "parse/sitemap/sitemap_xml.h"
#include "unit.h"
#include "zlib_fixture.h"

#define HEAD "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
#define OPEN HEAD "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">"

/* What one parse gave: addresses separated by blanks, and the last entry's hints. */
typedef struct Found {
    Buffer urls;
    SitemapReport report;
    Result result;
    char lastmod[64];
    int64_t lastmod_s;
    SitemapFrequency changefreq;
    double priority;
    bool is_sitemap;
    uint64_t stop_after; /* 0: never */
} Found;

static bool collect(void *context, const SitemapEntry *entry)
{
    Found *found = context;
    CU_ASSERT_EQUAL(strlen(entry->loc), entry->loc_length);
    (void)buffer_printf(&found->urls, "%s%s", found->urls.length > 0 ? " " : "", entry->url->href);
    (void)snprintf(found->lastmod, sizeof found->lastmod, "%s", entry->lastmod);
    found->lastmod_s = entry->lastmod_s;
    found->changefreq = entry->changefreq;
    found->priority = entry->priority;
    found->is_sitemap = entry->is_sitemap;
    return found->stop_after == 0 || found->report.n_entries < found->stop_after;
}

static void parse_with(Found *found, const SitemapOptions *options, const char *body, size_t length,
                       bool is_truncated)
{
    SitemapParser *parser = NULL;
    CU_ASSERT_EQUAL_FATAL(sitemap_parser_new(&parser, options), RESULT_OK);
    SitemapInput input = {.body = body,
                          .length = length,
                          .is_truncated = is_truncated,
                          .url = "http://h.test/d/sitemap.xml",
                          .url_length = 27};
    buffer_reset(&found->urls);
    found->result = sitemap_parse(parser, &input, collect, found, &found->report);
    sitemap_parser_delete(parser);
}

static Found new_found(void)
{
    Found found = {.lastmod_s = 0};
    buffer_init(&found.urls, BUFFER_NO_LIMIT);
    return found;
}

/* Parses text and compares the addresses. */
static void expect(const char *body, size_t length, const char *urls)
{
    Found found = new_found();
    parse_with(&found, &SITEMAP_OPTIONS_DEFAULT, body, length, false);
    CU_ASSERT_STRING_EQUAL(buffer_string(&found.urls), urls);
    if (strcmp(buffer_string(&found.urls), urls) != 0) {
        (void)fprintf(stderr, "%.300s\n got  %s\n want %s\n", body, buffer_string(&found.urls),
                      urls);
    }
    buffer_destroy(&found.urls);
}

static void expect_text(const char *body, const char *urls)
{
    expect(body, strlen(body), urls);
}

static void urlsets_give_addresses_and_hints(void)
{
    static const char body[] =
        OPEN "<url><loc> http://h.test/a?x=1&amp;y=2#f\n</loc><lastmod>2005-01-01</lastmod>"
             "<changefreq>Monthly</changefreq><priority>0.8</priority></url></urlset>";
    Found found = new_found();
    parse_with(&found, &SITEMAP_OPTIONS_DEFAULT, body, strlen(body), false);
    CU_ASSERT_EQUAL(found.result, RESULT_OK);
    CU_ASSERT_EQUAL(found.report.kind, SITEMAP_URLSET);
    CU_ASSERT_EQUAL(found.report.n_entries, 1);
    CU_ASSERT_FALSE(found.report.is_broken);
    CU_ASSERT_STRING_EQUAL(buffer_string(&found.urls), "http://h.test/a?x=1&y=2");
    CU_ASSERT_STRING_EQUAL(found.lastmod, "2005-01-01");
    CU_ASSERT_EQUAL(found.lastmod_s, 1104537600);
    CU_ASSERT_EQUAL(found.changefreq, SITEMAP_MONTHLY);
    CU_ASSERT_DOUBLE_EQUAL(found.priority, 0.8, 1e-9);
    CU_ASSERT_FALSE(found.is_sitemap);
    CU_ASSERT_STRING_EQUAL(sitemap_frequency_name(SITEMAP_HOURLY), "hourly");
    static const char bare[] = OPEN "<url><loc>http://h.test/b</loc><priority>high</priority>"
                                    "<changefreq>now</changefreq></url></urlset>";
    parse_with(&found, &SITEMAP_OPTIONS_DEFAULT, bare, strlen(bare), false);
    CU_ASSERT_EQUAL(found.lastmod_s, SITEMAP_NO_DATE);
    CU_ASSERT_EQUAL(found.changefreq, SITEMAP_FREQUENCY_NONE);
    CU_ASSERT_TRUE(found.priority < 0.0);
    buffer_destroy(&found.urls);
}

static void namespaces_and_prefixes_do_not_matter(void)
{
    expect_text("<urlset><url><loc>http://h.test/1</loc></url></urlset>", "http://h.test/1");
    expect_text(
        "<s:urlset xmlns:s=\"u\" xmlns:image=\"i\"><s:url><image:image><image:loc>http://h.test/i"
        "</image:loc></image:image><s:loc>http://h.test/2</s:loc><image:loc>http://h.test/j"
        "</image:loc></s:url></s:urlset>",
        "http://h.test/2");
    expect_text("<s:urlset><s:url><s:loc>http://h.test/3</s:loc></s:url></s:urlset>",
                "http://h.test/3");
    expect_text("<URLSET><Url><LOC>http://h.test/4</LOC></Url></URLSET>", "http://h.test/4");
    expect_text(OPEN "<url><video:video xmlns:video=\"v\"><loc>http://h.test/no</loc></video:video>"
                     "<loc><url><![CDATA[http://h.test/5?a&b]]></url></loc></url></urlset>",
                "http://h.test/5?a&b");
    expect_text(
        "<urlset xmlns:s=\"s\"><s:url><s:loc>http://h.test/8</s:loc><s:url/></s:url><s:url><loc>"
        "http://h.test/9</loc><x:url/></s:url></urlset>",
        "http://h.test/8 http://h.test/9");
    expect_text("\xEF\xBB\xBF \n" OPEN "<url><loc>http://h.test/6</loc></url></urlset>",
                "http://h.test/6");
    expect_text("<html><body><url><loc>http://h.test/7</loc></url></body></html>", "");
}

static void an_index_gives_sitemaps(void)
{
    static const char body[] =
        HEAD "<sitemapindex><sitemap><loc>http://h.test/1.xml.gz</loc><lastmod>"
             "2024-05-06T07:08:09Z</lastmod></sitemap><sitemap>http://h.test/x"
             "</sitemap><url><loc>http://h.test/u</loc></url></sitemapindex>";
    Found found = new_found();
    parse_with(&found, &SITEMAP_OPTIONS_DEFAULT, body, strlen(body), false);
    CU_ASSERT_EQUAL(found.report.kind, SITEMAP_INDEX);
    CU_ASSERT_TRUE(found.is_sitemap);
    CU_ASSERT_EQUAL(found.lastmod_s, 1714979289);
    CU_ASSERT_STRING_EQUAL(buffer_string(&found.urls), "http://h.test/1.xml.gz");
    buffer_destroy(&found.urls);
}

static void feeds_give_their_items(void)
{
    expect_text(
        "<rss version=\"2.0\"><channel><link>http://h.test/</link><item><link>http://h.test/1"
        "</link><guid>http://h.test/g</guid><a:link xmlns:a=\"a\" href=\"x\"/></item><item>"
        "<guid>http://h.test/2</guid></item><item><guid isPermaLink=\"false\">http://h.test/3"
        "</guid></item><item><link>/d4</link></item><item><guid>tag:5</guid></item>"
        "</channel></rss>",
        "http://h.test/1 http://h.test/2 http://h.test/d4");
    expect_text(
        "<rdf:RDF xmlns:rdf=\"r\" xmlns=\"s\"><channel><link>http://h.test/</link></channel>"
        "<item rdf:about=\"x\"><link>http://h.test/1</link></item></rdf:RDF>",
        "http://h.test/1");
    expect_text(
        "<feed xmlns=\"http://www.w3.org/2005/Atom\"><link href=\"http://h.test/\"/><entry>"
        "<link rel=\"edit\" href=\"/e\"/><link href=\"/1?a=b&amp;c=d\"/><link rel=\"alternate\" "
        "href=\"/2\"/></entry><entry><link rel=\"Alternate\" href=\"3\"/></entry><entry/></feed>",
        "http://h.test/1?a=b&c=d http://h.test/d/3");
    expect_text(/* xml:base of the feed, of an entry, of a link */
                "<feed xmlns=\"http://www.w3.org/2005/Atom\" "
                "xml:base=\"http://h.test/blog/\"><entry>"
                "<link href=\"1\"/></entry><entry xml:base=\"2026/\"><link "
                "href=\"2\"/></entry><entry>"
                "<link xml:base=\"/x/\" href=\"3\"/></entry><entry><link "
                "href=\"4\"/></entry></feed>",
                "http://h.test/blog/1 http://h.test/blog/2026/2 http://h.test/x/3 "
                "http://h.test/blog/4");
    Found found = new_found();
    static const char rss[] =
        "<rss><item><link>http://h.test/1</link><pubDate>Thu, 17 Dec 2009 12:04:56"
        " +0200</pubDate></item></rss>";
    parse_with(&found, &SITEMAP_OPTIONS_DEFAULT, rss, strlen(rss), false);
    CU_ASSERT_EQUAL(found.lastmod_s, 1261044296);
    static const char atom[] = "<feed><entry><updated>2009-12-17T12:04:56+02:00</updated>"
                               "<link href='/1'/></entry></feed>";
    parse_with(&found, &SITEMAP_OPTIONS_DEFAULT, atom, strlen(atom), false);
    CU_ASSERT_EQUAL(found.lastmod_s, 1261044296);
    buffer_destroy(&found.urls);
}

static void plain_lists_are_read_line_by_line(void)
{
    expect_text(
        "http://h.test/1\r\n  HTTPS://h.test/2  \rwww.h.test/3\n\nftp://h.test/4\nhttp://h.test/5",
        "http://h.test/1 https://h.test/2 http://h.test/5");
    expect_text("\xEF\xBB\xBFhttp://h.test/a&b;c", "http://h.test/a&b;c");
    expect_text("nothing here\n", "");
    expect_text("", "");
    static const char utf16[] = "\xFE\xFF\0h\0t\0t\0p\0:\0/\0/\0h\0/\0\xE9\0\n";
    expect(utf16, sizeof utf16 - 1, "http://h/%C3%A9");
    Found found = new_found();
    parse_with(&found, &SITEMAP_OPTIONS_DEFAULT, "http://h.test/1\nhttp://h.test/2", 31, true);
    CU_ASSERT_STRING_EQUAL(buffer_string(&found.urls), "http://h.test/1");
    CU_ASSERT_TRUE(found.report.is_broken);
    buffer_destroy(&found.urls);
}

static void broken_files_keep_what_came_before(void)
{
    static const char body[] = OPEN "<url><loc>http://h.test/1</loc></url><url><loc>http://h.test/2"
                                    "</loc><lastmod>2005-01-01</lastmod></url></urlset>";
    const char *first_end = strstr(body, "1</loc>") + 1;
    const char *second_end = strstr(body, "2</loc>") + 1;
    for (size_t cut = 0; cut < sizeof body; cut++) {
        const char *at = body + cut;
        const char *urls = at > second_end  ? "http://h.test/1 http://h.test/2"
                           : at > first_end ? "http://h.test/1"
                                            : "";
        char *copy = malloc(cut + 1); /* exact, for the sanitizers */
        CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
        memcpy(copy, body, cut);
        copy[cut] = '\0';
        expect(copy, cut, urls);
        free(copy);
    }
    expect_text(OPEN
                "<url><loc>http://h.test/1</loc></url></url><url><loc>http://h.test/2</loc></url>",
                "http://h.test/1");
    expect_text(OPEN
                "<url><loc>http://h.test/1</loc><url><loc>http://h.test/2</loc></url></urlset>",
                "http://h.test/1 http://h.test/2");
    expect_text(
        "<sitemapindex><sitemap><loc>http://h.test/1</loc><loc>http://h.test/2</loc></sitemap>"
        "</sitemapindex>",
        "http://h.test/1 http://h.test/2");
    expect_text(OPEN "<url><loc>http://h.test/1</loc></url><url><loc>http://h.test/<<</loc></url>",
                "http://h.test/1");
}

static void an_error_does_not_change_the_addresses_behind_it(void)
{
    expect_text(OPEN "<url><title>a&nbsp;b</title><loc>http://h.test/?a&amp;b&lt;&#38;c</loc></url>"
                     "<url><loc>http://h.test/&e;</loc></url>"
                     "<url><loc>http://h.test/?&quot;&apos;&gt;&AMP;</loc></url>"
                     "<url><loc>http://h.test/?d&amp;amp;e</loc></url></urlset>",
                "http://h.test/?a&b%3C&c http://h.test/?d&amp;e");
}

static void careless_bytes_are_mended(void)
{
    expect_text(OPEN "<url><loc>http://h.test/?a=1&b=2&amp;c=3&</loc></url></urlset>",
                "http://h.test/?a=1&b=2&c=3&");
    expect_text(OPEN "<url><loc><![CDATA[http://h.test/?a=1&amp;b=2]]></loc></url><!-- & -- <x -->"
                     "<url><loc>http://h.test/&#x61;&#98;</loc></url></urlset>",
                "http://h.test/?a=1&amp;b=2 http://h.test/ab");
    expect_text(OPEN "<url><loc>http://h.test/\xE9t\xC3\xA9</loc></url></urlset>",
                "http://h.test/%EF%BF%BDt%C3%A9");
    expect_text(OPEN "<url><news>\x01\x02\x7F</news><loc>http://h.test/1</loc></url></urlset>",
                "http://h.test/1");
    expect_text(
        "<?xml version='1.0' encoding='ISO-8859-1'?><urlset><url><loc>http://h.test/\xE9</loc>"
        "</url></urlset>",
        "http://h.test/%C3%A9");
    expect_text(
        "<?xml version='1.0' encoding='UTF-16'?><urlset><url><loc>http://h.test/8</loc></url>"
        "</urlset>",
        "http://h.test/8");
    static const char utf16[] =
        "<\0u\0r\0l\0s\0e\0t\0>\0<\0u\0r\0l\0>\0<\0l\0o\0c\0>\0h\0t\0t\0p\0:\0/\0"
        "/\0h\0/\0=\xD8\xA9\xDC<\0/\0l\0o\0c\0>\0";
    expect(utf16, sizeof utf16 - 1, "http://h/%F0%9F%92%A9");
}

static void the_declared_encoding_is_decoded_as_a_browser_would(void)
{
    static const struct {
        const char *label;
        const char *bytes;
        const char *path;
    } cases[] = {{"gb2312", "\xD6\xD0", "%E4%B8%AD"},
                 {"x-sjis", "\x83\x5C", "%E3%82%BD"}, /* the second byte is a backslash */
                 {"big5", "\xA5\x5C", "%E5%8A%9F"},
                 {"euc-kr", "\xC7\xD1", "%ED%95%9C"},
                 {"koi8-r", "\xC4", "%D0%B4"},
                 {"latin1", "\x80", "%E2%82%AC"},
                 {"iso-2022-jp", "\x1B$B%=\x1B(B", "%E3%82%BD"},
                 {"utf-16le", "\xC3\xA9", "%C3%A9"}, /* it cannot be, since this was read */
                 {"U-TF8", "\xC3\xA9\xCF", "%C3%A9%EF%BF%BD"},
                 {"hz-gb-2312", "\xC3\xA9", "%C3%A9"},
                 {"", "\xC3\xA9", "%C3%A9"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        char expected[128];
        (void)snprintf(text, sizeof text,
                       "<?xml version='1.0' encoding='%s'?><urlset><url><loc>http://h/%s</loc>"
                       "<lastmod>%s</lastmod></url></urlset>",
                       cases[i].label, cases[i].bytes, cases[i].bytes);
        (void)snprintf(expected, sizeof expected, "http://h/%s", cases[i].path);
        expect_text(text, expected);
    }
}

/* Reads a file of many addresses in which characters lie across the ends of all blocks. */
static void no_character_is_lost_between_two_blocks(void)
{
    Buffer text;
    Buffer expected;
    buffer_init(&text, BUFFER_NO_LIMIT);
    buffer_init(&expected, BUFFER_NO_LIMIT);
    (void)buffer_append_string(&text, "<?xml version='1.0' encoding='gbk'?><urlset>");
    for (int i = 0; i < 9000; i++) {
        (void)buffer_printf(&text, "<url><loc>http://h/%d\xD6\xD0%.*s</loc></url>", i, i % 7,
                            "aaaaaaa");
        (void)buffer_printf(&expected, "%shttp://h/%d%%E4%%B8%%AD%.*s", i == 0 ? "" : " ", i, i % 7,
                            "aaaaaaa");
    }
    (void)buffer_append_string(&text, "</urlset>");
    expect(text.data, text.length, expected.data);
    buffer_destroy(&text);
    buffer_destroy(&expected);
}

static double hint(double priority, int64_t lastmod_s, SitemapFrequency frequency)
{
    const int64_t now_s = 1700000000;
    SitemapEntry entry = {.priority = priority, .lastmod_s = lastmod_s, .changefreq = frequency};
    return log2(sitemap_hint_factor(&entry, now_s));
}

static void hints_shift_an_entry_by_a_level_at_most(void)
{
    const int64_t now_s = 1700000000;
    const int64_t day_s = 86400;
    CU_ASSERT_DOUBLE_EQUAL(hint(-1, SITEMAP_NO_DATE, SITEMAP_FREQUENCY_NONE), 0, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(hint(0.5, SITEMAP_NO_DATE, SITEMAP_WEEKLY), 0, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(hint(1, SITEMAP_NO_DATE, SITEMAP_MONTHLY), 1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(hint(0, SITEMAP_NO_DATE, SITEMAP_FREQUENCY_NONE), -1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(hint(0.8, SITEMAP_NO_DATE, SITEMAP_FREQUENCY_NONE), 0.6, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(hint(-1, now_s - 6 * day_s, SITEMAP_FREQUENCY_NONE), 0.25, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(hint(-1, now_s + day_s, SITEMAP_FREQUENCY_NONE), 0.25, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(hint(-1, now_s + 2 * day_s, SITEMAP_FREQUENCY_NONE), 0, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(hint(-1, INT64_MAX, SITEMAP_FREQUENCY_NONE), 0, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(hint(-1, now_s - 30 * day_s, SITEMAP_FREQUENCY_NONE), 0, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(hint(-1, now_s - 366 * day_s, SITEMAP_FREQUENCY_NONE), -0.25, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(hint(-1, SITEMAP_NO_DATE, SITEMAP_ALWAYS), 0.25, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(hint(-1, SITEMAP_NO_DATE, SITEMAP_DAILY), 0.125, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(hint(-1, SITEMAP_NO_DATE, SITEMAP_NEVER), -0.25, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(hint(1, now_s, SITEMAP_HOURLY), 1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(hint(0, 0, SITEMAP_NEVER), -1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(hint(0.25, now_s, SITEMAP_HOURLY), 0, 1e-9);
}

static void entities_and_bombs_are_refused(void)
{
    static const char bomb[] =
        "<?xml version=\"1.0\"?><!DOCTYPE urlset [<!-- don't ]> --><!ENTITY a \"http://h.test/>]\">"
        "<!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\"><!ENTITY x SYSTEM \"file:///etc/hostname\">"
        "<!ATTLIST url k CDATA \"v\">]><urlset><url><loc>&a;</loc></url><url><loc>http://h.test/&b;"
        "</loc></url><url><loc>http://h.test/&x;</loc></url><url><title>&b;</title><loc>"
        "http://h.test/1</loc></url></urlset>";
    Found found = new_found();
    parse_with(&found, &SITEMAP_OPTIONS_DEFAULT, bomb, strlen(bomb), false);
    CU_ASSERT_STRING_EQUAL(buffer_string(&found.urls), "http://h.test/1");
    CU_ASSERT_EQUAL(found.report.n_rejected, 3);
    buffer_destroy(&found.urls);
    expect_text(
        "<!DOCTYPE rss PUBLIC \"-//x//EN\" \"http://x/y.dtd\"><rss><item><link>http://h.test/1"
        "</link></item></rss>",
        "http://h.test/1");
}

static void large_files_are_streamed_and_bounded(void)
{
    Buffer body;
    Buffer packed;
    buffer_init(&body, BUFFER_NO_LIMIT);
    buffer_init(&packed, BUFFER_NO_LIMIT);
    (void)buffer_append_string(&body, OPEN);
    for (int i = 0; i < 20000; i++) {
        (void)buffer_printf(&body, "<url><loc>http://h.test/%05d?a&b&amp;c\xC3\xA9</loc></url>\n",
                            i);
    }
    (void)buffer_append_string(&body, "</urlset>");
    zlib_fixture_pack(&packed, 31, body.data, body.length);
    Found found = new_found();
    parse_with(&found, &SITEMAP_OPTIONS_DEFAULT, packed.data, packed.length, false);
    CU_ASSERT_EQUAL(found.result, RESULT_OK);
    CU_ASSERT_EQUAL(found.report.n_entries, 20000);
    CU_ASSERT_EQUAL(found.report.n_rejected, 0);
    CU_ASSERT_FALSE(found.report.is_broken);
    CU_ASSERT_EQUAL(found.urls.length, 20000 * 32 - 1); /* "http://h.test/00000?a&b&c%C3%A9 " */

    parse_with(&found, &SITEMAP_OPTIONS_DEFAULT, packed.data, packed.length / 2, false);
    CU_ASSERT_EQUAL(found.result, RESULT_OK);
    CU_ASSERT_TRUE(found.report.is_broken);
    CU_ASSERT_TRUE(found.report.n_entries > 5000 && found.report.n_entries < 15000);

    SitemapOptions options = SITEMAP_OPTIONS_DEFAULT;
    options.max_entries = 100;
    parse_with(&found, &options, packed.data, packed.length, false);
    CU_ASSERT_EQUAL(found.result, RESULT_LIMIT);
    CU_ASSERT_EQUAL(found.report.n_entries, 100);
    options = SITEMAP_OPTIONS_DEFAULT;
    options.max_bytes = 100000;
    parse_with(&found, &options, packed.data, packed.length, false);
    CU_ASSERT_EQUAL(found.result, RESULT_LIMIT);
    CU_ASSERT_TRUE(found.report.n_entries > 1800 && found.report.n_entries < 1900);
    uint64_t n_packed = found.report.n_entries;
    parse_with(&found, &options, body.data, body.length, false);
    CU_ASSERT_EQUAL(found.result, RESULT_LIMIT);
    CU_ASSERT_EQUAL(found.report.n_entries, n_packed);
    found.stop_after = 7;
    parse_with(&found, &SITEMAP_OPTIONS_DEFAULT, packed.data, packed.length, false);
    CU_ASSERT_EQUAL(found.result, RESULT_OK);
    CU_ASSERT_EQUAL(found.report.n_entries, 7);

    buffer_reset(&packed);
    char *blanks = malloc((size_t)8 << 20);
    CU_ASSERT_PTR_NOT_NULL_FATAL(blanks);
    memset(blanks, ' ', (size_t)8 << 20);
    zlib_fixture_pack(&packed, 31, blanks, (size_t)8 << 20);
    options = SITEMAP_OPTIONS_DEFAULT;
    options.max_ratio = 100;
    parse_with(&found, &options, packed.data, packed.length, false);
    CU_ASSERT_EQUAL(found.result, RESULT_LIMIT);
    free(blanks);
    buffer_destroy(&found.urls);
    buffer_destroy(&body);
    buffer_destroy(&packed);
}

static void names_cost_no_more_the_more_there_are(void)
{
    Buffer body;
    buffer_init(&body, BUFFER_NO_LIMIT);
    (void)buffer_append_string(&body, OPEN "<url><loc>http://h.test/1</loc></url>");
    for (int i = 0; i < 300000; i++) {
        (void)buffer_printf(&body, "<n%d:a%d/>", i, i);
    }
    (void)buffer_append_string(&body, "<url><loc>http://h.test/2</loc></url></urlset>");
    Found found = new_found();
    int64_t start = cpu_thread_ns();
    parse_with(&found, &SITEMAP_OPTIONS_DEFAULT, body.data, body.length, false);
    CU_ASSERT_TRUE(cpu_thread_ns() - start < INT64_C(1000000000));
    CU_ASSERT_EQUAL(found.result, RESULT_OK);
    CU_ASSERT_FALSE(found.report.is_broken);
    CU_ASSERT_STRING_EQUAL(buffer_string(&found.urls), "http://h.test/1 http://h.test/2");
    buffer_destroy(&found.urls);
    buffer_destroy(&body);
}

static void what_is_not_well_formed_is_said(void)
{
    static const char *const bodies[] = {
        OPEN "<url><loc>http://h.test/1</loc></urls></urlset>",
        OPEN "<url><loc>http://h.test/1</loc></url></url></urlset>",
        OPEN "<url><loc>http://h.test/1</loc></url>",
        OPEN "<url><loc>http://h.test/1</loc><news>1 < 2</news></url></urlset>"};
    Found found = new_found();
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        parse_with(&found, &SITEMAP_OPTIONS_DEFAULT, bodies[i], strlen(bodies[i]), false);
        CU_ASSERT_TRUE(found.report.is_broken);
        CU_ASSERT_STRING_EQUAL(buffer_string(&found.urls), "http://h.test/1");
    }
    buffer_destroy(&found.urls);
}

static void a_page_of_html_is_told_by_its_root(void)
{
    static const char *const pages[] = {
        "<html>", HEAD "<html>",
        "\n" HEAD "<!-- <urlset> -->\n<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0\">\n<h:html x>",
        "<!DOCTYPE urlset><br/>"};
    Found found = new_found();
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        Buffer body;
        buffer_init(&body, BUFFER_NO_LIMIT);
        (void)buffer_append_string(&body, pages[i]);
        for (int n = 0; n < 10000; n++) {
            (void)buffer_printf(&body, "<n%d/>", n);
        }
        parse_with(&found, &SITEMAP_OPTIONS_DEFAULT, body.data, body.length, false);
        CU_ASSERT_EQUAL(found.result, RESULT_INVALID);
        CU_ASSERT_EQUAL(found.report.kind, SITEMAP_UNKNOWN);
        buffer_destroy(&body);
    }
    static const char *const maps[] = {
        "<!DOCTYPE html><URLSET>", "<!DOCTYPE x [<!ELEMENT x (y)>]><urlset>",
        HEAD "<!-- <html> --><?x <html>?><s:urlset xmlns:s=\"http://s.test/\">"};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        char body[256];
        (void)snprintf(body, sizeof body, "%s<url><loc>http://h.test/1</loc></url>", maps[i]);
        parse_with(&found, &SITEMAP_OPTIONS_DEFAULT, body, strlen(body), false);
        CU_ASSERT_EQUAL(found.report.kind, SITEMAP_URLSET);
    }
    buffer_destroy(&found.urls);
}

static void foreign_schemes_and_long_addresses_are_rejected(void)
{
    SitemapOptions options = SITEMAP_OPTIONS_DEFAULT;
    options.max_url_bytes = 30;
    static const char body[] = OPEN
        "<url><loc>mailto:a@b</loc></url><url><loc>/relative</loc></url><url><loc></loc></url>"
        "<url><loc>javascript:1</loc></url><url><loc>http://</loc></url><url><loc>      http://"
        "h.test/123456789012345\n       </loc></url><url><loc>http://h.test/1234567890123456789"
        "</loc></url></urlset>";
    Found found = new_found();
    parse_with(&found, &options, body, strlen(body), false);
    CU_ASSERT_STRING_EQUAL(buffer_string(&found.urls), "http://h.test/123456789012345");
    CU_ASSERT_EQUAL(found.report.n_rejected, 5);
    Buffer line;
    buffer_init(&line, BUFFER_NO_LIMIT);
    (void)buffer_append_string(&line, "http://h.test/");
    for (int i = 0; i < 10000; i++) {
        (void)buffer_append_char(&line, 'a');
    }
    (void)buffer_append_string(&line, "\nhttp://h.test/b");
    parse_with(&found, &options, line.data, line.length, false);
    CU_ASSERT_STRING_EQUAL(buffer_string(&found.urls), "http://h.test/b");
    CU_ASSERT_EQUAL(found.report.n_rejected, 1);
    buffer_destroy(&line);
    buffer_destroy(&found.urls);
}

static int64_t date(const char *text)
{
    int64_t seconds = -1;
    return sitemap_date(text, strlen(text), &seconds) ? seconds : -1;
}

static void dates_may_be_short(void)
{
    CU_ASSERT_EQUAL(date("2005"), 1104537600);
    CU_ASSERT_EQUAL(date("2005-01"), 1104537600);
    CU_ASSERT_EQUAL(date("2005-01-01T00:00Z"), 1104537600);
    CU_ASSERT_EQUAL(date("2005-01-01T01:00:00.25+01:00"), 1104537600);
    CU_ASSERT_EQUAL(date("2004-12-31 19:00:00 -0500"), 1104537600);
    CU_ASSERT_EQUAL(date("Sat, 01 Jan 2005 00:00:00 GMT"), 1104537600);
    CU_ASSERT_EQUAL(date("2005-13-01"), -1);
    CU_ASSERT_EQUAL(date("2005-01-01T99:00Z"), -1);
    CU_ASSERT_EQUAL(date("20050101"), -1);
    CU_ASSERT_EQUAL(date("today"), -1);
    CU_ASSERT_EQUAL(date(""), -1);
}

static void white_space_of_unicode_is_no_part_of_an_address(void)
{
    static const char *const blanks[] = {"\xC2\xA0",
                                         "\xE2\x80\x83",
                                         "\xE3\x80\x80",
                                         "\xE2\x80\xA8",
                                         "\xC2\x85",
                                         "\xEF\xBB\xBF",
                                         " \xE2\x80\xAF \xE2\x81\x9F",
                                         "\n\xC2\xA0\t",
                                         "\xE1\x9A\x80"};
    for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++) {
        char body[512];
        (void)snprintf(body, sizeof body,
                       HEAD "<sitemapindex><sitemap><loc>%shttp://h.test/a%s</loc></sitemap>"
                            "<sitemap><loc>%shttp://h.test/%%C2%%A0</loc></sitemap></sitemapindex>",
                       blanks[i], blanks[i], blanks[i]);
        expect_text(body, "http://h.test/a http://h.test/%C2%A0");
        (void)snprintf(body, sizeof body,
                       OPEN "<url><loc>%shttp://h.test/a%sb%s</loc></url></urlset>", blanks[0],
                       blanks[0], blanks[i]);
        expect_text(body, "http://h.test/a%C2%A0b");
        (void)snprintf(body, sizeof body, "%shttp://h.test/1%s\n%s\nhttp://h.test/2\n", blanks[i],
                       blanks[i], blanks[i]);
        if (strchr(blanks[i], '\n') == NULL) {
            expect_text(body, "http://h.test/1 http://h.test/2");
        }
    }
}

static void a_root_is_known_before_the_file_is_read(void)
{
    static const char *const may_be[] = {"<urlset>",
                                         "<x:SitemapIndex a='b'>",
                                         "<?xml?><!-- <html> --><rss/",
                                         "<!DOCTYPE rdf><a:RDF ",
                                         "<feed\n",
                                         "<",
                                         "<urls",
                                         "<!-- never ended",
                                         "<?xml",
                                         ""};
    static const char *const others[] = {
        "<html>",   "<!DOCTYPE html><html>", "<urlsets>", "<rss:x>", "<!--><svg>", "< urlset>",
        "</urlset>"};
    for (size_t i = 0; i < sizeof may_be / sizeof *may_be; i++) {
        CU_ASSERT_TRUE(sitemap_xml_may_be(may_be[i], strlen(may_be[i])));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CU_ASSERT_FALSE(sitemap_xml_may_be(others[i], strlen(others[i])));
    }
}

UNIT_MAIN("sitemap",
          {"a root is known before the file is read", a_root_is_known_before_the_file_is_read},
          {"urlsets give addresses and hints", urlsets_give_addresses_and_hints},
          {"namespaces and prefixes do not matter", namespaces_and_prefixes_do_not_matter},
          {"an index gives sitemaps", an_index_gives_sitemaps},
          {"feeds give their items", feeds_give_their_items},
          {"plain lists are read line by line", plain_lists_are_read_line_by_line},
          {"broken files keep what came before", broken_files_keep_what_came_before},
          {"an error does not change the addresses behind it",
           an_error_does_not_change_the_addresses_behind_it},
          {"careless bytes are mended", careless_bytes_are_mended},
          {"the declared encoding is decoded as a browser would",
           the_declared_encoding_is_decoded_as_a_browser_would},
          {"hints shift an entry by a level at most", hints_shift_an_entry_by_a_level_at_most},
          {"no character is lost between two blocks", no_character_is_lost_between_two_blocks},
          {"entities and bombs are refused", entities_and_bombs_are_refused},
          {"large files are streamed and bounded", large_files_are_streamed_and_bounded},
          {"names cost no more the more there are", names_cost_no_more_the_more_there_are},
          {"what is not well-formed is said", what_is_not_well_formed_is_said},
          {"a page of HTML is told by its root", a_page_of_html_is_told_by_its_root},
          {"foreign schemes and long addresses are rejected",
           foreign_schemes_and_long_addresses_are_rejected},
          {"dates may be short", dates_may_be_short},
          {"white space of Unicode is no part of an address",
           white_space_of_unicode_is_no_part_of_an_address})
