#include <string.h>

#include "base/memory/buffer.h"
#include "parse/html/html.h"
#include "parse/text/html_tags.h"
#include "unit.h"

/* Each case is parsed by the skimmer; where `libxml2` is true the reference front end must agree.
 */
typedef struct Case {
    const char *html;
    const char *want; /* "kind URL" per line; URLs on h.test/d/ are written short */
    bool libxml2;
} Case;

#define BASE "http://h.test/d/p"

static HtmlParser *parser_with(HtmlOptions options)
{
    HtmlParser *parser = NULL;
    options.forms = true;
    options.robots_agent = "ragno";
    CU_ASSERT_EQUAL_FATAL(html_parser_new(&parser, &options), RESULT_OK);
    return parser;
}

static HtmlParser *parser_of(bool use_libxml2)
{
    return parser_with((HtmlOptions){.use_libxml2 = use_libxml2});
}

static Result parse(HtmlParser *parser, const char *html, size_t length, const char *type,
                    Page *page)
{
    HtmlInput input = {.body = html,
                       .length = length,
                       .content_type = type,
                       .url = BASE,
                       .url_length = sizeof BASE - 1};
    return html_parse(parser, &input, page);
}

static void describe(const Page *page, Buffer *out)
{
    static const char prefix[] = "http://h.test/d/";
    buffer_reset(out);
    for (size_t i = 0; i < page->n_links; i++) {
        const char *url = page->links[i].url;
        bool is_short = strncmp(url, prefix, sizeof prefix - 1) == 0;
        CU_ASSERT_EQUAL(strlen(url), page->links[i].length);
        (void)buffer_printf(out, "%s%s %s", i == 0 ? "" : "\n",
                            link_kind_name((LinkKind)page->links[i].kind),
                            is_short ? url + sizeof prefix - 1 : url);
    }
}

static void links_of(HtmlParser *parser, const char *html, const char *want)
{
    Page page;
    Buffer got;
    buffer_init(&got, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(parse(parser, html, strlen(html), "text/html; charset=utf-8", &page),
                    RESULT_OK);
    describe(&page, &got);
    CU_ASSERT_STRING_EQUAL(buffer_string(&got), want);
    if (strcmp(buffer_string(&got), want) != 0) {
        (void)fprintf(stderr, "\n%s\n  got:\n%s\n  expected:\n%s\n", html, buffer_string(&got),
                      want);
    }
    buffer_destroy(&got);
}

static void run(const Case *cases, size_t n)
{
    HtmlParser *skim = parser_of(false);
    HtmlParser *libxml2 = parser_of(true);
    HtmlParser *bare = parser_with((HtmlOptions){.no_digests = true});
    for (size_t i = 0; i < n; i++) {
        links_of(skim, cases[i].html, cases[i].want);
        links_of(bare, cases[i].html, cases[i].want);
        if (cases[i].libxml2) {
            links_of(libxml2, cases[i].html, cases[i].want);
        }
    }
    html_parser_delete(skim);
    html_parser_delete(libxml2);
    html_parser_delete(bare);
}

#define RUN(cases) run(cases, sizeof(cases) / sizeof *(cases))

static void every_kind_of_link_is_found(void)
{
    static const Case cases[] = {
        {"<a href=1>x</a><map><area href=2></map>", "a 1\narea 2", true},
        {"<iframe src=1></iframe><img src=2 srcset='3 1x, 4 2x,5'>",
         "iframe 1\nimg 2\nimg 3\nimg 4\nimg 5", true},
        {"<link rel=next href=1><script src=2></script><embed src=3><object data=4></object>",
         "link 1\nscript 2\nembed 3\nobject 4", true},
        {"<video src=1 poster=2><source src=3 srcset=4><track src=5></video><audio src=6></audio>",
         "media 1\nmedia 2\nmedia 3\nmedia 4\nmedia 5\nmedia 6", true},
        {"<body background=1><form action=2><input type=image src=3 formaction=4>"
         "<input src=no><button formaction=5></button></form>",
         "body 1\nform 2\ninput 3\nform 4\nform 5", true},
        {"<meta http-equiv=Refresh content=\"5; URL='1'\"><meta http-equiv=refresh content='0;2'>"
         "<meta http-equiv=refresh content='7'><meta http-equiv=refresh content='url=no'>"
         "<meta http-equiv=refresh content='.5 , URL = &quot;3&quot; no'>"
         "<meta http-equiv=refresh content='6 urls'>",
         "meta 1\nmeta 2\nmeta 3\nmeta urls", true},
        {"<frameset><frame src=1><noframes><a href=no></noframes></frameset>", "frame 1", true},
        {"<svg><a xlink:href=1></a><a href=2></a><image href=3 /><use href='#x'/>"
         "<use href='s.svg#x'/></svg>",
         "a 1\na 2\nimg 3\nimg s.svg", true},
        {"<a href=javascript:x><a href=mailto:x@y><a href=data:,x><a href=ftp://x/><img src=''>"
         "<a href=''>",
         "a p", true},
        {"<img srcset='a,b 1x, c(d,e) 2x,,, f, data:,g 3x'>", "img a,b\nimg c(d,e)\nimg f", true},
    };
    RUN(cases);
}

static void the_first_base_with_href_rules_the_whole_page(void)
{
    static const Case cases[] = {
        {"<a href=1><base target=x><base href=/b/><base href=/c/><a href=2>",
         "a http://h.test/b/1\na http://h.test/b/2", true},
        {"<base href='javascript:x'><a href=1>", "a 1", true},
        {"<base href='http://['><a href=1>", "a 1", true},
        {"<base href='ftp://x/'><a href=1><a href=http://y/>", "a http://y/", true},
        {"<template><base href=/b/></template><svg><base href=/c/></svg><a href=1>", "a 1", true},
        {"<base href=' //x.test '><a href=#f><a href='?q#f'>",
         "a http://x.test/\na http://x.test/?q", true},
    };
    RUN(cases);
}

static void attributes_are_cut_as_the_standard_says(void)
{
    static const Case cases[] = {
        {"<a title='>' href=\"a'b\"><a href=x/y/>", "a a'b\na x/y/", true},
        {"<a href=1 href=2><A HREF = '3'>", "a 1\na 3", true},
        {"<a/href=1/><a\"href=2><a 'x'href=3><a =href=4 href=5>", "a 1/\na 5", false},
        {"<a href==1><a href=\"\n 2 \t3 \">", "a =1\na 2%203", false},
        {"<a href='?a&amp;b=1&copy=2&#x41;'>", "a p?a&b=1&copy=2A", true},
        {"<a href='1><p>' x=\"'\" y='2'>3</a>", "a 1%3E%3Cp%3E", true},
        {"<a href=1><a href='2", "a 1", false},
        {"<a href=1></a href='2'><a href=3", "a 1", false},
        {"<a:b href=1><abbr href=2><3 href=3>", "", true},
    };
    RUN(cases);
}

static void what_is_no_markup_links_to_nothing(void)
{
    static const Case cases[] = {
        {"<!-- <a href=no> --><!--><a href=1><!---><a href=2><!-- --!><a href=3><!-- x",
         "a 1\na 2\na 3", false},
        {"<![CDATA[<a href=1>]]><svg><![CDATA[<a href=no>]]></svg>", "", false},
        {"<title><a href=no></title><textarea><a href=no></textarea><xmp><a href=no></xmp>"
         "<noembed><a href=no></noembed><style><a href=no></style><iframe><a href=no></iframe>"
         "<noscript><a href=1></noscript>",
         "a 1", true},
        {"<script><a href=no></script x><a href=1><script>'</scripty>'<a href=no></script>", "a 1",
         false},
        {"<script><!--<script></script><a href=no>--></script><a href=1>", "a 1", false},
        {"<script><!--<script></script><a href=no></script><a href=1>", "a 1", false},
        {"<script><!--></script><a href=1>", "a 1", true},
        {"<template><a href=no><template></template><a href=no></template><a href=1>", "a 1", true},
        {"<a href=1><plaintext></plaintext><a href=no>", "a 1", false},
        {"<p>a < b <? <a href=no> ?></ <a href=no>><a href=1>", "a 1", false},
        {"<title>x</titles><a href=no></title/><a href=1>", "a 1", false},
    };
    RUN(cases);
}

static void foreign_content_has_its_own_rules(void)
{
    static const Case cases[] = {
        {"<svg><title><a href=1></title><desc><img src=2></desc></svg>", "a 1\nimg 2", false},
        {"<svg><style><a href=1></style></svg>", "a 1", false},
        {"<svg><g><p><title><a href=no></title></p><a href=1>", "a 1", true},
        {"<math><mi><title><a href=no></title></mi><annotation-xml encoding=TEXT/html><iframe>"
         "<a href=no></iframe></annotation-xml></math><a href=1>",
         "a 1", true},
        {"<svg><g></div><title><a href=1></title>", "a 1", false},
        {"<div><svg><g></div><title><a href=no></title>", "", true},
        {"<svg><foreignObject><span></foreignObject></svg><title><a href=no></title>", "", true},
        {"<svg><font color=x><title><a href=no></title>", "", true},
        {"<svg><font><title><a href=1></title>", "a 1", false},
        {"<button><math><annotation-xml></button><a href=no>", "", false},
        {"<button><math><mrow></button><a href=1>", "a 1", false},
        {"<table><td><math><annotation-xml></td><td><a href=1></table>", "a 1", false},
    };
    RUN(cases);
}

static void framesets_and_bodies_exclude_each_other(void)
{
    static const Case cases[] = {
        {"<p>x<frameset><frame src=no></frameset><a href=1>", "a 1", false},
        {"<div><a href=no></div> <frameset><frame src=1><a href=no><frameset></frameset></frameset>"
         "<frame src=no>",
         "frame 1", false},
        {"<input type=hidden><frameset><frame src=1>", "frame 1", false},
        {"<br><frameset><frame src=no></frameset>", "", false},
        {"<div><base href=/b/></div><frameset><frame src=1></frameset>", "frame 1", false},
        {"<base href=/b/><frameset><frame src=1></frameset>", "frame http://h.test/b/1", true},
        {"<math><mtext><a href=no><frameset><frame src=1></frameset>", "frame 1", false},
        {"<form action=1><form action=no></form><form action=2>", "form 1\nform 2", false},
    };
    RUN(cases);
}

static void encodings_never_lose_the_links(void)
{
    HtmlParser *parser = parser_of(false);
    Page page;
    Buffer got;
    buffer_init(&got, BUFFER_NO_LIMIT);
    static const char russian[] = "<a href='/\xE6?\xE6'>\0<a href=2>";
    CU_ASSERT_EQUAL(parse(parser, russian, sizeof russian - 1, "text/html;charset=cp1251", &page),
                    RESULT_OK);
    describe(&page, &got);
    CU_ASSERT_STRING_EQUAL(buffer_string(&got), "a http://h.test/%D0%B6?%E6\na 2");
    CU_ASSERT_STRING_EQUAL(page.encoding, "windows-1251");
    static const char broken[] = "<a href=1>\xE3\x81\"<a href=\"2\xA4\"><a href=3>";
    CU_ASSERT_EQUAL(parse(parser, broken, sizeof broken - 1, "text/html;charset=gbk", &page),
                    RESULT_OK);
    CU_ASSERT_EQUAL(page.n_links, 3);
    /* A meta that comes after 1 024 bytes still counts, as in a browser. */
    buffer_reset(&got);
    for (int i = 0; i < 300; i++) {
        (void)buffer_append_string(&got, "<!-- -->");
    }
    (void)buffer_append_string(&got, "<meta charset=windows-1251><a href='?\xE6'>");
    CU_ASSERT_EQUAL(parse(parser, got.data, got.length, NULL, &page), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(page.encoding, "windows-1251");
    CU_ASSERT_EQUAL_FATAL(page.n_links, 1);
    CU_ASSERT_STRING_EQUAL(page.links[0].url, "http://h.test/d/p?%E6");
    buffer_destroy(&got);
    html_parser_delete(parser);
}

static void rel_title_and_robots_are_reported(void)
{
    for (int i = 0; i < 2; i++) {
        HtmlParser *parser = parser_of(i == 1);
        static const char html[] =
            "<title>\n A &lt;b&gt;  c\t</title><title>no</title><meta name=ROBOTS "
            "content='noarchive, NoIndex'>"
            "<meta name=otherbot content=nofollow><a rel='x NoFollow ugc' href=1>"
            "<a rel=sponsored href=2><link rel=canonical href=3>";
        Page page;
        CU_ASSERT_EQUAL(parse(parser, html, sizeof html - 1, NULL, &page), RESULT_OK);
        CU_ASSERT_STRING_EQUAL(page.title, "A <b> c");
        CU_ASSERT_EQUAL(page.robots, PAGE_NOINDEX | PAGE_NOARCHIVE);
        CU_ASSERT_EQUAL_FATAL(page.n_links, 3);
        CU_ASSERT_EQUAL(page.links[0].flags, LINK_NOFOLLOW | LINK_UGC);
        CU_ASSERT_EQUAL(page.links[1].flags, LINK_SPONSORED);
        CU_ASSERT_EQUAL(page.links[2].flags, LINK_CANONICAL | LINK_PAGE);
        static const char agent[] = "<meta name=Ragno content=none>";
        CU_ASSERT_EQUAL(parse(parser, agent, sizeof agent - 1, NULL, &page), RESULT_OK);
        CU_ASSERT_EQUAL(page.robots, PAGE_NOINDEX | PAGE_NOFOLLOW);
        CU_ASSERT_PTR_NULL(page.title);
        html_parser_delete(parser);
    }
}

/* Served as XML, a page is XML; when it is not well-formed, it is HTML after all. */
static void xhtml_served_as_xml_is_read_as_xml(void)
{
    HtmlParser *parser = parser_of(false);
    Buffer got;
    buffer_init(&got, BUFFER_NO_LIMIT);
    Page page;
    static const char *const pages[][2] = {
        {"<?xml version='1.0' encoding='koi8-r'?><!DOCTYPE html [<!ENTITY e 'x'>]>"
         "<html xmlns='http://www.w3.org/1999/xhtml'><head><title>a &amp;lt;&eacute;</title>"
         "<script src='1'/></head><body><a href='2?a&amp;copy=1'/><textarea/><A href='no'/>"
         "<a href='3&eacute;'/><![CDATA[<a href='no'/>]]><template><a href='no'/></template>"
         "<svg xmlns='http://www.w3.org/2000/svg' xmlns:x='http://www.w3.org/1999/xlink'>"
         "<a x:href='4'/></svg><z xmlns='' href='no'/></body></html>",
         "script 1\na 2?a&copy=1\na 3%C3%A9\na 4"},
        {"<html xmlns='http://www.w3.org/1999/xhtml'><a href='1'/><p><a href='2'></p></html>",
         "a 1\na 2"},
        {"<html><script src='1'></script><a href='2'/></html>", "script 1\na 2"},
    };
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        CU_ASSERT_EQUAL(
            parse(parser, pages[i][0], strlen(pages[i][0]), "application/xhtml+xml", &page),
            RESULT_OK);
        describe(&page, &got);
        CU_ASSERT_STRING_EQUAL(buffer_string(&got), pages[i][1]);
        if (i == 0) {
            CU_ASSERT_STRING_EQUAL(page.title, "a &lt;\xC3\xA9");
            CU_ASSERT_STRING_EQUAL(page.encoding, "KOI8-R");
            CU_ASSERT(page.text_digest[0] != 0);
        }
    }
    /* As HTML the first one ends in the script that never ends. */
    CU_ASSERT_EQUAL(parse(parser, pages[0][0], strlen(pages[0][0]), "text/html", &page), RESULT_OK);
    CU_ASSERT_EQUAL(page.n_links, 1);
    CU_ASSERT_EQUAL(parse(parser, NULL, 0, "application/xhtml+xml", &page), RESULT_OK);
    CU_ASSERT_EQUAL(page.n_links, 0);
    buffer_destroy(&got);
    html_parser_delete(parser);
}

static void limits_hold(void)
{
    HtmlOptions options = {.max_links = 3, .max_link_bytes = 30};
    HtmlParser *parser = NULL;
    CU_ASSERT_EQUAL_FATAL(html_parser_new(&parser, &options), RESULT_OK);
    Page page;
    static const char html[] = "<a href=1><a href=long-long-long-long-long><a href=2><a href=3>"
                               "<a href=4><a href=5>";
    CU_ASSERT_EQUAL(parse(parser, html, sizeof html - 1, NULL, &page), RESULT_OK);
    CU_ASSERT_EQUAL(page.n_links, 3);
    CU_ASSERT_EQUAL(page.n_links_dropped, 3);
    HtmlInput bad = {
        .body = "", .length = 0, .content_type = NULL, .url = "ftp://x/", .url_length = 8};
    CU_ASSERT_EQUAL(html_parse(parser, &bad, &page), RESULT_INVALID);
    CU_ASSERT_EQUAL(page.n_links, 0);
    html_parser_delete(parser);
    options = (HtmlOptions){.memory_bytes = 4000, .max_link_bytes = 4000};
    CU_ASSERT_EQUAL_FATAL(html_parser_new(&parser, &options), RESULT_OK);
    Buffer many;
    buffer_init(&many, BUFFER_NO_LIMIT);
    for (int i = 0; i < 200; i++) {
        (void)buffer_printf(&many, "<a href=http://host-number-%d.test/>", i);
    }
    CU_ASSERT_EQUAL(parse(parser, many.data, many.length, NULL, &page), RESULT_MEMORY);
    buffer_destroy(&many);
    html_parser_delete(parser);
}

/* Hostile sizes: linear time, no recursion, bounded memory. */
static void huge_things_are_read_in_linear_time(void)
{
    for (int i = 0; i < 2; i++) {
        HtmlParser *parser = parser_of(i == 1);
        Buffer b;
        buffer_init(&b, BUFFER_NO_LIMIT);
        size_t n = i == 1 ? 20000 : 200000;
        for (size_t k = 0; k < n; k++) {
            (void)buffer_append_string(&b, k % 3 == 0 ? "<div><svg>" : "<b><![CDATA[<!--x<");
        }
        Page page;
        CU_ASSERT_EQUAL(parse(parser, b.data, b.length, NULL, &page), RESULT_OK);
        buffer_reset(&b);
        (void)buffer_append_string(&b, "<a href=1 title='");
        for (size_t k = 0; k < n; k++) {
            (void)buffer_append_string(&b, "0123456789");
        }
        (void)buffer_append_string(&b, "'><script><!--");
        for (size_t k = 0; k < n; k++) {
            (void)buffer_append_string(&b, "<script </scrip");
        }
        CU_ASSERT_EQUAL(parse(parser, b.data, b.length, NULL, &page), RESULT_OK);
        CU_ASSERT_EQUAL(page.n_links, 1);
        buffer_destroy(&b);
        html_parser_delete(parser);
    }
}

static void links_that_lead_to_pages_are_told_from_others(void)
{
    static const struct {
        const char *rel;
        const char *type;
        unsigned flags; /* LINK_PAGE, LINK_TO_FEED */
    } cases[] = {{"canonical", "", LINK_PAGE},
                 {"NEXT", "", LINK_PAGE},
                 {"x  prev", "text/html; charset=utf-8", LINK_PAGE},
                 {"alternate", "", LINK_PAGE},
                 {"alternate", " application/XHTML+xml ", LINK_PAGE},
                 {"alternate", "application/rss+xml", LINK_TO_FEED},
                 {"home Alternate", " application/ATOM+xml;type=feed", LINK_TO_FEED},
                 {"feed", "application/atom+xml", LINK_TO_FEED},
                 {"feed", "", 0},
                 {"alternate", "application/rss+xmlx", 0},
                 {"alternate", "application/json+oembed", 0},
                 {"next", "application/rss+xml", 0},
                 {"alternate stylesheet", "application/rss+xml", 0},
                 {"alternate stylesheet", "", 0},
                 {"stylesheet", "text/html", 0},
                 {"contents", "", LINK_PAGE},
                 {"icon", "", 0},
                 {"nextt", "", 0},
                 {"preload", "text/html", 0},
                 {"", "text/html", 0}};
    const unsigned asked = LINK_PAGE | LINK_TO_FEED;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned flags = html_link_flags(cases[i].rel, strlen(cases[i].rel), cases[i].type,
                                         strlen(cases[i].type));
        CU_ASSERT_EQUAL(flags & asked, cases[i].flags);
        char html[128];
        Page page;
        (void)snprintf(html, sizeof html, "<link rel='%s' type='%s' href=x>", cases[i].rel,
                       cases[i].type);
        for (int libxml2 = 0; libxml2 <= 1; libxml2++) {
            HtmlParser *parser = parser_of(libxml2 == 1);
            CU_ASSERT_EQUAL(parse(parser, html, strlen(html), NULL, &page), RESULT_OK);
            CU_ASSERT_EQUAL_FATAL(page.n_links, 1);
            CU_ASSERT_EQUAL(page.links[0].flags & asked, cases[i].flags);
            html_parser_delete(parser);
        }
    }
}

static void digests_are_computed_only_when_somebody_reads_them(void)
{
    static const char html[] = "<p>one two three four five six seven eight nine ten words</p>";
    for (int libxml2 = 0; libxml2 < 2; libxml2++) {
        for (int bare = 0; bare < 2; bare++) {
            Page page;
            HtmlParser *parser =
                parser_with((HtmlOptions){.use_libxml2 = libxml2 == 1, .no_digests = bare == 1});
            CU_ASSERT_EQUAL(parse(parser, html, sizeof html - 1, "text/html", &page), RESULT_OK);
            CU_ASSERT_EQUAL((page.text_digest[0] | page.text_digest[1]) != 0, bare == 0);
            CU_ASSERT_EQUAL(page.text_bytes != 0, bare == 0);
            CU_ASSERT(bare == 0 || page.simhash == 0);
            html_parser_delete(parser);
        }
    }
}

static void the_language_is_what_html_says(void)
{
    static const char *const cases[][2] = {
        {"<!doctype html>\n<html lang=\"en\">", "en"},
        {"<HTML dir=ltr LANG=de-AT>", "de-at"},
        {"<html class=\"a > b\" hidden lang = ' pt-BR\n' x>", "pt-br"},
        {"<html xml:lang='fr' lang='it'>", "it"},
        {"<html xml:lang='fr'>", "fr"},
        {"<html lang='d&#101;'>", "de"},
        {"", NULL},
        {"<html>", NULL},
        {"<html lang", NULL},
        {"<htmlx lang=en>", NULL},
        {"<html data-lang=en>", NULL},
        {"<html><p lang=en>", NULL},
        {"<!-- <html lang=en> -->", NULL},
        {"<html lang='a,error:x'>", NULL},
        {"<html lang='en de'>", NULL},
        {"<html lang='e\xc3\xa9'>", NULL},
        {"<html lang=x>", NULL},
        {"<html lang=123>", NULL},
        {"<html lang='a-language-tag-that-is-longer-than-any'>", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int libxml2 = 0; libxml2 < 2; libxml2++) {
            Page page;
            HtmlParser *parser = parser_of(libxml2 == 1);
            CU_ASSERT_EQUAL(parse(parser, "<html lang=old>", 15, "text/html", &page), RESULT_OK);
            CU_ASSERT_EQUAL(parse(parser, cases[i][0], strlen(cases[i][0]), "text/html", &page),
                            RESULT_OK);
            CU_ASSERT_STRING_EQUAL(page.language == NULL ? "none" : page.language,
                                   cases[i][1] == NULL ? "none" : cases[i][1]);
            html_parser_delete(parser);
        }
    }
    static const char xml[] =
        "<html xmlns='http://www.w3.org/1999/xhtml' xml:lang='ja'><body></body></html>";
    Page page;
    HtmlParser *parser = parser_of(false);
    CU_ASSERT_EQUAL(parse(parser, xml, sizeof xml - 1, "application/xhtml+xml", &page), RESULT_OK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(page.language);
    CU_ASSERT_STRING_EQUAL(page.language, "ja");
    html_parser_delete(parser);
}

/* Each name of the list, in lower case and in capitals, has the key and the slot that it claims. */
static void every_name_is_found_by_its_key(void)
{
    static const struct {
        const char *name;
        unsigned id;
        bool is_tag;
    } names[] = {
#define TAG(word, name, slot, attributes, flags, seen) {name, HTML_##word, true},
        HTML_TAG_LIST(TAG)
#define ATTRIBUTE(word, name, slot) {name, HTML_ATTR_##word, false},
            HTML_ATTRIBUTE_LIST(ATTRIBUTE)};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[32] = "";
        size_t length = strlen(names[i].name);
        CU_ASSERT_FATAL(length <= 16);
        for (size_t k = 0; k < length; k++) {
            char c = names[i].name[k];
            text[k] = (char)(c >= 'a' && c <= 'z' ? c - 32 : c);
        }
        uint64_t key = html_name_key(names[i].name, length, length);
        CU_ASSERT_EQUAL(html_name_key(text, length, sizeof text), key);
        CU_ASSERT_EQUAL(names[i].is_tag ? (unsigned)html_tag_of_key(key)
                                        : (unsigned)html_attribute_of_key(key),
                        names[i].id);
    }
    uint64_t none = html_name_key("blocknote", 9, 9);
    CU_ASSERT_EQUAL(html_tag_of_key(none), HTML_UNKNOWN);
    CU_ASSERT_EQUAL(html_attribute_of_key(none), HTML_ATTRS);
}

UNIT_MAIN("html", {"every name is found by its key", every_name_is_found_by_its_key},
          {"every kind of link is found", every_kind_of_link_is_found},
          {"the first base with href rules the whole page",
           the_first_base_with_href_rules_the_whole_page},
          {"attributes are cut as the standard says", attributes_are_cut_as_the_standard_says},
          {"what is no markup links to nothing", what_is_no_markup_links_to_nothing},
          {"foreign content has its own rules", foreign_content_has_its_own_rules},
          {"framesets and bodies exclude each other", framesets_and_bodies_exclude_each_other},
          {"encodings never lose the links", encodings_never_lose_the_links},
          {"rel, title and robots are reported", rel_title_and_robots_are_reported},
          {"XHTML served as XML is read as XML", xhtml_served_as_xml_is_read_as_xml},
          {"limits hold", limits_hold},
          {"huge things are read in linear time", huge_things_are_read_in_linear_time},
          {"links that lead to pages are told from others",
           links_that_lead_to_pages_are_told_from_others},
          {"the language is what html says", the_language_is_what_html_says},
          {"digests are computed only when somebody reads them",
           digests_are_computed_only_when_somebody_reads_them})
