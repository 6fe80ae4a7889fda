/* What a page says of itself for programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/buffer.h"
#include "parse/visible/visible.h"
#include "unit.h"

static bool was_cut;

/* A list of a page; static until the next call. */
static const char *list_of(VisibleDataKind kind, const char *body, size_t most)
{
    static char text[65536];
    VisibleReader *reader = NULL;
    VisibleOptions options = {.data_bytes = most};
    VisibleInput input = {
        .body = body, .length = strlen(body), .content_type = "text/html; charset=utf-8"};
    VisiblePage page;
    if (visible_reader_new(&reader, &options) != RESULT_OK) {
        abort();
    }
    CU_ASSERT_EQUAL(visible_read(reader, &input, &page), RESULT_OK);
    (void)snprintf(text, sizeof text, "%.*s", (int)page.data[kind].length, page.data[kind].bytes);
    was_cut = page.data_cut;
    visible_reader_delete(reader);
    return text;
}

static void check(VisibleDataKind kind, const char *body, const char *expected)
{
    const char *found = list_of(kind, body, 4096);
    if (strcmp(found, expected) != 0) {
        (void)fprintf(stderr, "%s\n  found    %s\n  expected %s\n", body, found, expected);
        CU_FAIL("another list");
    }
    CU_ASSERT(!was_cut);
}

static void items_have_properties(void)
{
    check(VISIBLE_MICRODATA, "<p>nothing", "[]");
    check(
        VISIBLE_MICRODATA,
        "<div itemscope itemtype='http://s.org/A  http://s.org/B' itemid=urn:1>"
        "<b itemprop=name>Tom &amp; <i>Jerry</i></b><meta itemprop=name content='x &lt; y'>"
        "<a itemprop=url href='/a?b&amp;c'>text</a><time itemprop=when>now</time>"
        "<time itemprop='when at' datetime=2026>x</time><data itemprop=n value=7>seven</data>"
        "<img itemprop=image src=i.png></div>",
        "[{\"type\": [\"http://s.org/A\", \"http://s.org/B\"], \"id\": \"urn:1\", \"properties\": "
        "{\"name\": [\"Tom & Jerry\", \"x < y\"], \"url\": [\"/a?b&c\"], \"when\": [\"now\", "
        "\"2026\"], \"at\": [\"2026\"], \"n\": [\"7\"], \"image\": [\"i.png\"]}}]");
}

static void items_hold_items(void)
{
    check(VISIBLE_MICRODATA,
          "<body itemscope><p itemprop=a>1<p itemprop=a>2<div itemprop=by itemscope>"
          "<span itemprop=name>N</span></div><div itemscope><b itemprop=x>X</b></div>"
          "<ul><li itemprop=l>one<li itemprop=l>two</ul>",
          "[{\"properties\": {\"a\": [\"1\", \"2\"], \"by\": [{\"properties\": {\"name\": "
          "[\"N\"]}}], \"l\": [\"one\", \"two\"]}}, {\"properties\": {\"x\": [\"X\"]}}]");
    check(VISIBLE_MICRODATA,
          "<head itemscope><title itemprop=name>T &amp; t</title><body><b itemprop=name>no</b>",
          "[{\"properties\": {\"name\": [\"T & t\"]}}]");
}

static void items_refer_to_elements(void)
{
    check(
        VISIBLE_MICRODATA,
        "<p id=one>text <b itemprop=a>A</b></p><div itemscope itemref='two one'></div>"
        "<p id=two itemprop=b>B</p><div id=three itemscope><b itemprop=c>C</b></div>",
        "[{\"properties\": {\"a\": [\"A\"], \"b\": [\"B\"]}}, {\"properties\": {\"c\": [\"C\"]}}]");
    check(VISIBLE_MICRODATA,
          "<div itemscope itemref=x></div><div id=x itemprop=p itemscope itemref=x></div>",
          "[{\"properties\": {\"p\": [{\"properties\": {}}]}}]");
    check(
        VISIBLE_MICRODATA,
        "<div itemscope itemref=x></div><div id=x><div itemprop=p itemscope itemref=x></div></div>",
        "[{\"properties\": {\"p\": [{\"properties\": {}}]}}]");
    check(VISIBLE_MICRODATA,
          "<div itemscope itemref=x></div><div id=x itemprop=p itemscope itemref=y></div>"
          "<div id=y itemprop=q itemscope itemref=x></div>",
          "[{\"properties\": {\"p\": [{\"properties\": {\"q\": [{\"properties\": {\"p\": "
          "[\"ERROR\"]}}]}}]}}]");
}

static void what_is_hidden_counts_and_templates_do_not(void)
{
    check(VISIBLE_MICRODATA,
          "<div itemscope><span itemprop=a style='display:none'>hidden</span><template><b "
          "itemprop=a>t</b></template></div><template><div itemscope></div></template>",
          "[{\"properties\": {\"a\": [\"hidden\"]}}]");
    check(VISIBLE_JSON_LD, "<template><script type=application/ld+json>1</script></template>",
          "[]");
}

static void json_ld_is_as_it_stands(void)
{
    check(VISIBLE_JSON_LD,
          "<script type='application/LD+json; charset=utf-8'>{\"a\": \"&amp;</b>\"}\n</script>"
          "<script>1</script><body><script type=application/ld+json>{broken</script>",
          "[\"{\\\"a\\\": \\\"&amp;</b>\\\"}\\n\", \"{broken\"]");
}

static void meta_elements_and_alternates(void)
{
    check(
        VISIBLE_OPENGRAPH,
        "<meta property=og:title content='A &amp; B'><meta name=twitter:card content=s>"
        "<meta name=description content=d><meta property=title content=t>"
        "<meta property=article:tag content=1><meta property=article:tag content=2>",
        "[{\"property\": \"og:title\", \"content\": \"A & B\"}, {\"property\": \"twitter:card\", "
        "\"content\": \"s\"}, {\"property\": \"article:tag\", \"content\": \"1\"}, {\"property\": "
        "\"article:tag\", \"content\": \"2\"}]");
    check(VISIBLE_HREFLANG,
          "<link rel='Alternate' hreflang=de href=/de/?a&amp;b><link rel=alternate href=/feed>"
          "<link rel=next hreflang=fr href=/fr/>",
          "[{\"hreflang\": \"de\", \"href\": \"/de/?a&b\"}]");
}

static void lists_are_bounded(void)
{
    Buffer page = {.limit = BUFFER_NO_LIMIT};
    for (int i = 0; i < 40; i++) {
        (void)buffer_printf(&page,
                            "<meta property=og:a content=%020d><div itemscope><b itemprop=a>"
                            "%020d</b></div>",
                            i, i);
    }
    const char *list = list_of(VISIBLE_OPENGRAPH, buffer_string(&page), 1024);
    CU_ASSERT(was_cut);
    CU_ASSERT(strlen(list) <= 1024 && strlen(list) > 900);
    CU_ASSERT_STRING_EQUAL(list + strlen(list) - 3, "\"}]");
    list = list_of(VISIBLE_MICRODATA, buffer_string(&page), 1024);
    CU_ASSERT(was_cut && strlen(list) > 100 && strlen(list) <= 1024);
    CU_ASSERT_STRING_EQUAL(list + strlen(list) - 3, "}}]");
    buffer_destroy(&page);
}

/* Each item looks through all that come behind it, and each name through all before it. */
static void hostile_pages_end(void)
{
    Buffer page = {.limit = BUFFER_NO_LIMIT};
    for (int i = 0; i < 2000; i++) {
        (void)buffer_printf(&page, "<div id=x%d itemprop=p%d itemscope itemref='", i, i);
        for (int k = 0; k < 100; k++) {
            (void)buffer_printf(&page, "x%d ", (i * 7 + k) % 2000);
        }
        (void)buffer_append_string(&page, "'></div><div itemscope itemref='x1 x2'></div>");
    }
    const char *list = list_of(VISIBLE_MICRODATA, buffer_string(&page), (size_t)4 << 20);
    CU_ASSERT(was_cut);
    CU_ASSERT_EQUAL(list[0], '[');
    buffer_destroy(&page);
}

UNIT_MAIN("visible_data", {"items have properties", items_have_properties},
          {"items hold items", items_hold_items},
          {"items refer to elements", items_refer_to_elements},
          {"hidden text counts, templates do not", what_is_hidden_counts_and_templates_do_not},
          {"JSON-LD is as it stands", json_ld_is_as_it_stands},
          {"meta elements and alternates", meta_elements_and_alternates},
          {"lists are bounded", lists_are_bounded}, {"hostile pages end", hostile_pages_end})
