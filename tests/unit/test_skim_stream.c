/* Tokens of a text that comes in pieces, beside those of the whole text. */
#include <string.h>

#include "dice.h"
#include "parse/html/skim_stream.h"
#include "unit.h"

static uint32_t wants_href(void *context, HtmlTagId id)
{
    (void)context;
    (void)id;
    return UINT32_C(1) << HTML_ATTR_HREF;
}

static void put_slice(Buffer *out, const char *kind, const char *from, size_t length)
{
    (void)buffer_append_string(out, kind);
    (void)buffer_append(out, from, length);
    (void)buffer_append_string(out, "\n");
}

static HtmlTextMode tell_start(void *context, const HtmlTag *tag)
{
    char name[32];
    (void)snprintf(name, sizeof name, "%d%s", (int)tag->id, tag->self_closing ? "/" : "");
    put_slice(context, "start ", name, strlen(name));
    if (html_tag_has(tag, HTML_ATTR_HREF)) {
        put_slice(context, "href ", tag->values[HTML_ATTR_HREF].bytes,
                  tag->values[HTML_ATTR_HREF].length);
    }
    if (tag->id == HTML_SCRIPT) {
        return HTML_TEXT_SCRIPT;
    }
    if (tag->id == HTML_PLAINTEXT) {
        return HTML_TEXT_PLAINTEXT;
    }
    return tag->id == HTML_TITLE ? HTML_TEXT_RCDATA : HTML_TEXT_DATA;
}

static void tell_end(void *context, HtmlTagId id, uint64_t key)
{
    (void)key;
    char name[16];
    (void)snprintf(name, sizeof name, "%d", (int)id);
    put_slice(context, "end ", name, strlen(name));
}

/* Text comes in as many parts as it likes: they are joined. */
static void put_part(Buffer *out, const char *kind, const char *from, const char *to)
{
    char *last = out->length > 0 ? memrchr(out->data, '\n', out->length - 1) : NULL;
    last = last == NULL ? out->data : last + 1;
    bool joins = out->length > 0 && strncmp(last, kind, strlen(kind)) == 0;
    out->length -= joins;
    put_slice(out, joins ? "" : kind, from, (size_t)(to - from));
}

static void tell_text(void *context, const char *from, const char *to, bool decode)
{
    put_part(context, decode ? "text " : "cdata ", from, to);
}

static void tell_raw(void *context, const HtmlTag *tag, HtmlTextMode mode, const char *from,
                     const char *to, bool ended)
{
    (void)tag;
    (void)mode;
    (void)ended;
    put_part(context, "raw ", from, to);
}

static bool has_cdata(void *context)
{
    (void)context;
    return true;
}

static const SkimReader reader = {wants_href, tell_start, tell_end, tell_text, tell_raw, has_cdata};

static const char page[] =
    "a<b href='x>y'>c</b><!-- <i> -- > --><script>if (a<b) '<!--<script></script>--></scripts>'"
    "</script><title>t</t></TITLE ><p/>1 < 2<![CDATA[<x>]]]]>&amp;<!doctype html></1><?php ?>"
    "<a  href=q title=\"a > b\" href=r></a x>\xC3\xA4<br /></><plaintext></plaintext><b>";

static void tokens_are_the_same_wherever_the_text_is_cut(void)
{
    Buffer want = {.limit = BUFFER_NO_LIMIT};
    skim_tokens(page, sizeof page - 1, &reader, &want);
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&want), "href x>y\n"));
    Dice dice = {.state = 11};
    SkimStream stream;
    Buffer got = {.limit = BUFFER_NO_LIMIT};
    skim_stream_init(&stream, &reader, &got);
    for (unsigned round = 0; round < 300; round++) {
        buffer_reset(&got);
        skim_stream_begin(&stream, 0, false);
        for (size_t at = 0; at < sizeof page - 1;) {
            size_t n = round == 0 ? 1 : 1 + (size_t)dice_below(&dice, 40);
            n = n < sizeof page - 1 - at ? n : sizeof page - 1 - at;
            CU_ASSERT_EQUAL(skim_stream_feed(&stream, page + at, n), RESULT_OK);
            at += n;
        }
        CU_ASSERT_FALSE(skim_stream_end(&stream));
        if (strcmp(buffer_string(&got), buffer_string(&want)) != 0) {
            (void)fprintf(stderr, "--- got\n%s--- want\n%s", buffer_string(&got),
                          buffer_string(&want));
            CU_FAIL_FATAL("other tokens");
        }
    }
    skim_stream_destroy(&stream);
    buffer_destroy(&got);
    buffer_destroy(&want);
}

static void a_token_that_is_too_long_loses_its_value_and_memory_stays(void)
{
    SkimStream stream;
    Buffer got = {.limit = BUFFER_NO_LIMIT};
    skim_stream_init(&stream, &reader, &got);
    skim_stream_begin(&stream, 64, false);
    static const char *const parts[] = {"<a title='",  "x", "' href=/short href=2>t<!--", "-",
                                        "--><script>", "y", "</script><a href='",         "z",
                                        "'>end"};
    size_t most = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        for (unsigned n = i % 2 == 0 ? 1 : 5000; n > 0; n--) {
            CU_ASSERT_EQUAL(skim_stream_feed(&stream, parts[i], strlen(parts[i])), RESULT_OK);
            most = stream.window.length > most ? stream.window.length : most;
        }
    }
    CU_ASSERT_FALSE(skim_stream_end(&stream));
    CU_ASSERT_TRUE(most < 256);
    const char *text = buffer_string(&got);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "href /short\ntext t\n"));
    CU_ASSERT_PTR_NULL(strstr(text, "href 2"));
    CU_ASSERT_PTR_NULL(strstr(text, "yy"));
    CU_ASSERT_PTR_NULL(strstr(text, "zz"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "text end\n"));
    skim_stream_destroy(&stream);
    buffer_destroy(&got);
}

static void a_text_that_ends_within_a_tag_says_so_and_tells_nothing_of_it(void)
{
    static const struct {
        const char *text;
        bool within;
        const char *told;
    } rows[] = {{"", false, ""},
                {"a", false, "text a\n"},
                {"a<b href=1", true, "text a\n"},
                {"a</b ", true, "text a\n"},
                {"<!-- x", false, ""},
                {"<", true, "text <\n"}};
    SkimStream stream;
    Buffer got = {.limit = BUFFER_NO_LIMIT};
    skim_stream_init(&stream, &reader, &got);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        buffer_reset(&got);
        skim_stream_begin(&stream, 0, false);
        CU_ASSERT_EQUAL(skim_stream_feed(&stream, rows[i].text, strlen(rows[i].text)), RESULT_OK);
        CU_ASSERT_EQUAL(skim_stream_end(&stream), rows[i].within);
        CU_ASSERT_STRING_EQUAL(buffer_string(&got), rows[i].told);
    }
    skim_stream_destroy(&stream);
    buffer_destroy(&got);
}

static void an_empty_script_of_xhtml_hides_nothing(void)
{
    static const char text[] = "<script/><a href=1>";
    SkimStream stream;
    Buffer got = {.limit = BUFFER_NO_LIMIT};
    skim_stream_init(&stream, &reader, &got);
    for (int is_xml = 0; is_xml < 2; is_xml++) {
        buffer_reset(&got);
        skim_stream_begin(&stream, 0, is_xml == 1);
        CU_ASSERT_EQUAL(skim_stream_feed(&stream, text, sizeof text - 1), RESULT_OK);
        (void)skim_stream_end(&stream);
        CU_ASSERT_EQUAL(strstr(buffer_string(&got), "href 1\n") != NULL, is_xml == 1);
    }
    skim_stream_destroy(&stream);
    buffer_destroy(&got);
}

UNIT_MAIN("skim_stream",
          {"tokens are the same wherever the text is cut",
           tokens_are_the_same_wherever_the_text_is_cut},
          {"a token that is too long loses its value and memory stays",
           a_token_that_is_too_long_loses_its_value_and_memory_stays},
          {"a text that ends within a tag says so and tells nothing of it",
           a_text_that_ends_within_a_tag_says_so_and_tells_nothing_of_it},
          {"an empty script of XHTML hides nothing", an_empty_script_of_xhtml_hides_nothing})
