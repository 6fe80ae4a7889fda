/* Pages that come in pieces: links and digests are those of the whole page. */
#include <stdlib.h>
#include <string.h>

#include "base/memory/buffer.h"
#include "dice.h"
#include "parse/html/html.h"
#include "unit.h"

#define BASE "http://h.test/d/p"

typedef struct Taken {
    Buffer links;
    unsigned restarts;
} Taken;

static void take(void *context, const PageLink *link, unsigned robots)
{
    Taken *taken = context;
    (void)robots;
    (void)buffer_printf(&taken->links, "%s %s\n", link_kind_name((LinkKind)link->kind), link->url);
}

static void restart(void *context)
{
    Taken *taken = context;
    buffer_reset(&taken->links);
    taken->restarts++;
}

static HtmlInput input_of(const Buffer *body, const char *type, Taken *taken)
{
    buffer_init(&taken->links, BUFFER_NO_LIMIT);
    taken->restarts = 0;
    return (HtmlInput){.body = buffer_string(body),
                       .length = body->length,
                       .content_type = type,
                       .url = BASE,
                       .url_length = sizeof BASE - 1,
                       .taker = {.take = take, .restart = restart, .context = taken}};
}

static HtmlParser *new_parser(void)
{
    HtmlParser *parser = NULL;
    HtmlOptions options = {.forms = true, .styles = true};
    CU_ASSERT_EQUAL_FATAL(html_parser_new(&parser, &options), RESULT_OK);
    return parser;
}

static void feed(HtmlParser *parser, const HtmlInput *input, size_t longest_piece, Page *page)
{
    Dice dice = {.state = longest_piece};
    CU_ASSERT_EQUAL_FATAL(html_pieces_begin(parser, input), RESULT_OK);
    do {
        for (size_t i = 0; i < input->length;) {
            size_t left = input->length - i;
            size_t n = 1 + dice_below(&dice, longest_piece);
            n = n < left ? n : left;
            html_pieces_feed(parser, input->body + i, n);
            i += n;
        }
    } while (html_pieces_again(parser));
    CU_ASSERT_EQUAL(html_pieces_end(parser, page), RESULT_OK);
}

/* The page whole and in pieces of different lengths. */
static void check_same(const Buffer *body, const char *type)
{
    static const size_t pieces[] = {1, 7, 100, 5000, 1000000};
    Taken whole;
    Page page;
    HtmlParser *parser = new_parser();
    HtmlInput input = input_of(body, type, &whole);
    CU_ASSERT_EQUAL(html_parse(parser, &input, &page), RESULT_OK);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        Taken taken;
        Page other;
        HtmlParser *reader = new_parser();
        HtmlInput again = input_of(body, type, &taken);
        feed(reader, &again, pieces[i], &other);
        CU_ASSERT_STRING_EQUAL(buffer_string(&taken.links), buffer_string(&whole.links));
        CU_ASSERT_STRING_EQUAL(other.encoding, page.encoding);
        CU_ASSERT_EQUAL(other.robots, page.robots);
        CU_ASSERT_EQUAL(other.simhash, page.simhash);
        CU_ASSERT_EQUAL(other.text_bytes, page.text_bytes);
        CU_ASSERT_EQUAL(memcmp(other.text_digest, page.text_digest, sizeof page.text_digest), 0);
        html_parser_delete(reader);
        buffer_destroy(&taken.links);
    }
    html_parser_delete(parser);
    buffer_destroy(&whole.links);
}

static void check_text(const char *text, const char *type)
{
    Buffer body;
    buffer_init(&body, BUFFER_NO_LIMIT);
    (void)buffer_append_string(&body, text);
    check_same(&body, type);
    buffer_destroy(&body);
}

static void pieces_are_cut_anywhere(void)
{
    static const char *const pages[] = {
        "",
        "<",
        "a &amp; b &lt &copy; &#x41; &#00000000065; <a href='?a=b&amp;c=d'>x</a>",
        "<!DOCTYPE html><title>A &eacute; title</title><base href=/b/><a href=x>1</a><a href=y>2",
        "<!-- <a href=no> --><a href=yes><!--> <a href=also><!--- --!> <a href=too> <!-- no end",
        "<script>var a = '<!-- <script> </script> <a href=no>'; --></script><a href=yes>",
        "<svg><![CDATA[ <a href=no> ]]><a href=in-svg></svg><![CDATA[ > <a href=yes>]]>",
        "<textarea> <a href=no> </textarea ><a href=1 /><a / href=2><a href=3",
        "<?php > <a href=1></ x ><a href=2></><a href=3>",
        "<iframe src=f><a href=no></iframe><plaintext><a href=no>",
        "<style>@import 'a.css'; p { background: url(b.png) }</style><p style='a: url(c&amp;d)'>",
        "<a style=\"background: image-set('e.png' 1x)\" href=f><style>a { b: url(g.png",
        "<frameset><frame src=1><frame src=2></frameset>",
        "<a href=in-body></a><frameset><frame src=1></frameset>",
        "\xEF\xBB\xBF<a href='\xC3\xA9?\xC3\xA9'>\xF0\x9F\x98\x80 \xE2\x82 \xFF</a>",
    };
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        check_text(pages[i], "text/html; charset=utf-8");
        check_text(pages[i], NULL);
        check_text(pages[i], "text/html; charset=shift_jis");
        check_text(pages[i], "text/html; charset=iso-2022-jp");
        check_text(pages[i], "text/html; charset=utf-16le");
    }
    check_text("<a href='\x1B$B%\"\x1B(B'>\x1B$B%\" %#\n%$\x1B(B <a href=x>",
               "text/html; charset=iso-2022-jp");
}

static void many_links_are_taken_in_batches(void)
{
    Buffer body;
    buffer_init(&body, BUFFER_NO_LIMIT);
    for (unsigned i = 0; i < 30000; i++) {
        (void)buffer_printf(&body, "<p>word%u <a href='l%u?x=1&amp;y'>x</a>", i % 7, i);
    }
    check_same(&body, "text/html");
    Taken taken;
    Page page;
    HtmlParser *parser = new_parser();
    HtmlInput input = input_of(&body, "text/html", &taken);
    feed(parser, &input, 60000, &page);
    CU_ASSERT_EQUAL(taken.restarts, 0);
    buffer_destroy(&taken.links);
    /* A base element and an encoding that come last hold for all of it. */
    (void)buffer_append_string(&body,
                               "<meta charset=windows-1251><base href='/late/'>\xCA<a href=z>");
    check_same(&body, "text/html");
    input = input_of(&body, "text/html", &taken);
    feed(parser, &input, 60000, &page);
    CU_ASSERT_TRUE(taken.restarts >= 1 && taken.restarts <= 2);
    static const char first[] = "a http://h.test/late/l0?x=1&y\n";
    CU_ASSERT_EQUAL(strncmp(buffer_string(&taken.links), first, sizeof first - 1), 0);
    CU_ASSERT_STRING_EQUAL(page.encoding, "windows-1251");
    html_parser_delete(parser);
    buffer_destroy(&taken.links);
    buffer_destroy(&body);
}

static void append_times(Buffer *body, const char *text, size_t n)
{
    while (n-- > 0) {
        (void)buffer_append_string(body, text);
    }
}

/* Each token is longer than what may wait (256 Ki). */
static void long_tokens_are_passed_over(void)
{
    Buffer body;
    Taken taken;
    Page page;
    buffer_init(&body, BUFFER_NO_LIMIT);
    (void)buffer_append_string(&body, "<a href=1>1</a><!--");
    append_times(&body, "<a href=no> -- -> ", 30000);
    (void)buffer_append_string(&body, "--><a href=2>2</a><script>");
    append_times(&body, "'<a href=no>' <!-- ", 30000);
    (void)buffer_append_string(&body, "--></script><a href=3>3</a><img src='data:,");
    append_times(&body, "AAAAAAAAAA", 60000);
    (void)buffer_append_string(&body, "><a href=no>' srcset='4.png'><style>");
    append_times(&body, "a > b </styl url(no) ", 40000);
    (void)buffer_append_string(&body, "</style><a href=5 title=");
    append_times(&body, "xyz", 200000);
    (void)buffer_append_string(&body, " rel=nofollow>5</a><textarea>");
    append_times(&body, "<a href=no>", 60000);
    (void)buffer_append_string(&body, "</textarea><! ");
    append_times(&body, "<a href=no ", 60000);
    (void)buffer_append_string(&body, "><svg><![CDATA[");
    append_times(&body, "<a href=no>]]", 60000);
    (void)buffer_append_string(&body, "]]></svg><");
    append_times(&body, "verylongname", 60000);
    (void)buffer_append_string(&body, " href=no><a href=6>6</a>");
    for (size_t piece = 1000; piece < 2000000; piece *= 30) {
        HtmlParser *parser = new_parser();
        HtmlInput input = input_of(&body, "text/html; charset=utf-8", &taken);
        feed(parser, &input, piece, &page);
        CU_ASSERT_STRING_EQUAL(buffer_string(&taken.links),
                               "a http://h.test/d/1\na http://h.test/d/2\na http://h.test/d/3\n"
                               "img http://h.test/d/4.png\na http://h.test/d/5\n"
                               "a http://h.test/d/6\n");
        html_parser_delete(parser);
        buffer_destroy(&taken.links);
    }
    buffer_destroy(&body);
}

static void sheets_are_taken_in_batches(void)
{
    Buffer body;
    Taken taken;
    Page page;
    buffer_init(&body, BUFFER_NO_LIMIT);
    (void)buffer_append_string(&body, "@import 'first.css';");
    for (unsigned i = 0; i < 200000; i++) {
        (void)buffer_printf(&body, "a { b: url(\\%x %u.png) }\n", 'i', i);
    }
    HtmlParser *parser = new_parser();
    HtmlInput input = input_of(&body, "text/css", &taken);
    CU_ASSERT_EQUAL(html_parse_sheet(parser, &input, &page), RESULT_OK);
    CU_ASSERT_EQUAL(page.n_links_dropped, 0);
    size_t n = 0;
    for (const char *p = buffer_string(&taken.links); (p = strchr(p, '\n')) != NULL; p++) {
        n++;
    }
    CU_ASSERT_EQUAL(n, 200001);
    static const char first[] = "style http://h.test/d/first.css\n";
    CU_ASSERT_EQUAL(strncmp(buffer_string(&taken.links), first, sizeof first - 1), 0);
    html_parser_delete(parser);
    buffer_destroy(&taken.links);
    buffer_destroy(&body);
}

UNIT_MAIN("html_pieces", {"pieces are cut anywhere", pieces_are_cut_anywhere},
          {"many links are taken in batches", many_links_are_taken_in_batches},
          {"long tokens are passed over", long_tokens_are_passed_over},
          {"sheets are taken in batches", sheets_are_taken_in_batches})
