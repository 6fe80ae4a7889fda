/* What is written on links and around them: by both front ends, and in pieces. */
#include <string.h>

#include "base/memory/buffer.h"
#include "parse/html/html.h"
#include "unit.h"

#define BASE "http://h.test/d/p"

static void describe(Buffer *out, const PageLink *link)
{
    CU_ASSERT_PTR_NOT_NULL_FATAL(link->text);
    (void)buffer_printf(out, "%s%.*s|%.*s", out->length == 0 ? "" : "\n",
                        (int)link->text->anchor_length, link->text->anchor,
                        (int)link->text->around_length, link->text->around);
}

static HtmlInput input_of(const char *html, const char *type)
{
    return (HtmlInput){.body = html,
                       .length = strlen(html),
                       .content_type = type,
                       .url = BASE,
                       .url_length = sizeof BASE - 1};
}

/* Anchor, a bar, and the text around it, a line for each link. */
static void whole(const char *html, const char *type, const HtmlOptions *options, Buffer *out)
{
    HtmlParser *parser = NULL;
    Page page;
    HtmlInput input = input_of(html, type);
    CU_ASSERT_EQUAL_FATAL(html_parser_new(&parser, options), RESULT_OK);
    CU_ASSERT_EQUAL(html_parse(parser, &input, &page), RESULT_OK);
    buffer_reset(out);
    for (size_t i = 0; i < page.n_links; i++) {
        describe(out, &page.links[i]);
    }
    html_parser_delete(parser);
}

static void take(void *context, const PageLink *link, unsigned robots)
{
    (void)robots;
    describe(context, link);
}

static void restart(void *context)
{
    buffer_reset(context);
}

static void in_pieces(const char *html, size_t size, const HtmlOptions *options, Buffer *out)
{
    HtmlParser *parser = NULL;
    Page page;
    HtmlInput input = input_of(html, "text/html; charset=utf-8");
    input.taker = (HtmlLinkTaker){.take = take, .restart = restart, .context = out};
    buffer_reset(out);
    CU_ASSERT_EQUAL_FATAL(html_parser_new(&parser, options), RESULT_OK);
    CU_ASSERT_EQUAL(html_pieces_begin(parser, &input), RESULT_OK);
    do {
        for (size_t at = 0; at < input.length; at += size) {
            size_t n = input.length - at < size ? input.length - at : size;
            html_pieces_feed(parser, html + at, n);
        }
    } while (html_pieces_again(parser));
    CU_ASSERT_EQUAL(html_pieces_end(parser, &page), RESULT_OK);
    html_parser_delete(parser);
}

static void check(const char *html, size_t most, const char *want)
{
    Buffer got;
    buffer_init(&got, BUFFER_NO_LIMIT);
    HtmlOptions options = {.link_text = most};
    whole(html, "text/html; charset=utf-8", &options, &got);
    CU_ASSERT_STRING_EQUAL(buffer_string(&got), want);
    if (strcmp(buffer_string(&got), want) != 0) {
        (void)fprintf(stderr, "%s\n got  %s\n want %s\n", html, buffer_string(&got), want);
    }
    in_pieces(html, 7, &options, &got);
    CU_ASSERT_STRING_EQUAL(buffer_string(&got), want);
    options.use_libxml2 = true;
    whole(html, "text/html; charset=utf-8", &options, &got);
    CU_ASSERT_STRING_EQUAL(buffer_string(&got), want);
    buffer_destroy(&got);
}

static void links_have_their_text_and_what_is_around(void)
{
    check("<p>One <a href=a>two  three</a> four.</p>", 100, "two three|One two three four.");
    check("<p>a<a href=a><b>b</b><i>c</i></a>d", 100, "bc|abcd");
    check("<p>x<p><a href=a>AT&amp;T &lt;&#x41;</a><p>y", 100, "AT&T <A|x AT&T <A y");
    check("<ul><li>n<li><a href=a>m</a><li><a href=b>o</a></ul>", 100, "m|n m o\no|n m o");
    check("<p>in <a href=a>one <a href=b>two</a> three", 100,
          "one|in one two three\ntwo|in one two three");
    check("<p>caf\xc3\xa9 <a href=a>\xe6\x96\x87\xe5\xad\x97</a>", 100,
          "\xe6\x96\x87\xe5\xad\x97|caf\xc3\xa9 \xe6\x96\x87\xe5\xad\x97");
}

static void what_is_not_seen_is_no_text(void)
{
    check("<title>T</title><style>s{}</style><script>var x</script><p>a <a href=a>b</a>"
          "<template>t</template><!-- c --> d",
          100, "b|a b d");
    check("<p>a <a href=a><img src=i alt='the &lt;image&gt;'></a> b", 100,
          "the <image>|a the <image> b\n|a the <image> b");
}

static void texts_are_bounded_and_words_are_whole(void)
{
    check("<p>one two three four <a href=a>five</a> six seven eight nine", 10,
          "five|four five six seven");
    check("<p>x <a href=a>a very long text of a link</a> y", 10, "a very|x a very long text of");
    check("<p>\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9 <a href=a>b</a>", 4,
          "b|\xc3\xa9\xc3\xa9 b");
}

static void xhtml_is_read_alike(void)
{
    static const char html[] =
        "<html xmlns='http://www.w3.org/1999/xhtml'><head><title>T</title></head><body><p>One "
        "<a href='a'>two &amp; three</a> four</p><p>five</p></body></html>";
    Buffer got;
    buffer_init(&got, BUFFER_NO_LIMIT);
    HtmlOptions options = {.link_text = 100};
    whole(html, "application/xhtml+xml", &options, &got);
    CU_ASSERT_STRING_EQUAL(buffer_string(&got), "two & three|One two & three four five");
    buffer_destroy(&got);
}

static void links_of_a_page_of_many_batches_have_theirs(void)
{
    HtmlOptions options = {.link_text = 16};
    Buffer html;
    Buffer got;
    buffer_init(&html, BUFFER_NO_LIMIT);
    buffer_init(&got, BUFFER_NO_LIMIT);
    for (unsigned i = 0; i < 20000; i++) {
        (void)buffer_printf(&html, "<p>n%u <a href=a%u>link %u</a>", i, i, i);
    }
    in_pieces(buffer_string(&html), 65536, &options, &got);
    const char *line = buffer_string(&got);
    for (unsigned i = 0; i < 20000; i++) {
        char want[64];
        (void)snprintf(want, sizeof want, "link %u|", i);
        CU_ASSERT_EQUAL_FATAL(strncmp(line, want, strlen(want)), 0);
        (void)snprintf(want, sizeof want, "n%u link %u", i, i);
        const char *end = strchrnul(line, '\n');
        CU_ASSERT_PTR_NOT_NULL(memmem(line, (size_t)(end - line), want, strlen(want)));
        line = *end == '\0' ? end : end + 1;
    }
    buffer_destroy(&html);
    buffer_destroy(&got);
}

static void without_the_option_there_is_none(void)
{
    HtmlParser *parser = NULL;
    HtmlOptions options = {.link_text = 0};
    Page page;
    HtmlInput input = input_of("<a href=a>b</a>", "text/html");
    CU_ASSERT_EQUAL_FATAL(html_parser_new(&parser, &options), RESULT_OK);
    CU_ASSERT_EQUAL(html_parse(parser, &input, &page), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(page.n_links, 1);
    CU_ASSERT_PTR_NULL(page.links[0].text);
    html_parser_delete(parser);
}

UNIT_MAIN("link_text",
          {"links have their text and what is around", links_have_their_text_and_what_is_around},
          {"what is not seen is no text", what_is_not_seen_is_no_text},
          {"texts are bounded and words are whole", texts_are_bounded_and_words_are_whole},
          {"XHTML is read alike", xhtml_is_read_alike},
          {"links of a page of many batches have theirs",
           links_of_a_page_of_many_batches_have_theirs},
          {"without the option there is none", without_the_option_there_is_none})
