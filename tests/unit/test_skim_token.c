/* Attributes, raw text, scripts and comments of HTML, each read by itself. */
#include <string.h>

#include "parse/text/skim_token.h"
#include "unit.h"

static const uint32_t href_and_id = UINT32_C(1) << HTML_ATTR_HREF | UINT32_C(1) << HTML_ATTR_ID;

/* What is left behind the tag; -1: the text ends within it. */
static int read_tag(const char *text, HtmlTag *tag)
{
    memset(tag, 0, sizeof *tag);
    const char *end = text + strlen(text);
    const char *p = skim_attributes(text, end, href_and_id, tag);
    return p == NULL ? -1 : (int)(end - p);
}

static bool value_is(const HtmlTag *tag, HtmlAttributeId id, const char *want)
{
    return html_tag_has(tag, id) && tag->values[id].length == strlen(want) &&
           memcmp(tag->values[id].bytes, want, strlen(want)) == 0;
}

static void an_attribute_is_read_with_its_quotes(void)
{
    HtmlTag tag;
    CU_ASSERT_EQUAL(read_tag(" href='a>b' ID=\"c'd\">rest", &tag), 4);
    CU_ASSERT_TRUE(value_is(&tag, HTML_ATTR_HREF, "a>b"));
    CU_ASSERT_TRUE(value_is(&tag, HTML_ATTR_ID, "c'd"));
    CU_ASSERT_FALSE(tag.self_closing);
    CU_ASSERT_EQUAL(read_tag(" HREF = x/y/>", &tag), 0); /* the slash is of the bare value */
    CU_ASSERT_TRUE(value_is(&tag, HTML_ATTR_HREF, "x/y/"));
    CU_ASSERT_FALSE(tag.self_closing);
    CU_ASSERT_EQUAL(read_tag("/>", &tag), 0);
    CU_ASSERT_TRUE(tag.self_closing);
    CU_ASSERT_EQUAL(read_tag(" / href>", &tag), 0);
    CU_ASSERT_FALSE(tag.self_closing);
    CU_ASSERT_TRUE(value_is(&tag, HTML_ATTR_HREF, ""));
}

static void of_two_attributes_of_a_name_the_first_counts_and_others_do_not(void)
{
    HtmlTag tag;
    CU_ASSERT_EQUAL(read_tag(" href=1 href=2 =href=3 title=4 hrefs=5>", &tag), 0);
    CU_ASSERT_TRUE(value_is(&tag, HTML_ATTR_HREF, "1"));
    CU_ASSERT_EQUAL(tag.present, UINT32_C(1) << HTML_ATTR_HREF);
}

static void a_tag_that_the_text_ends_within_is_none(void)
{
    static const char whole[] = " href = 'a' id=b c>";
    HtmlTag tag;
    for (size_t n = 0; n + 1 < sizeof whole; n++) {
        memset(&tag, 0, sizeof tag);
        const char *end = whole + n;
        CU_ASSERT_PTR_NULL(skim_attributes(whole, end, href_and_id, &tag));
    }
    CU_ASSERT_EQUAL(read_tag(whole, &tag), 0);
}

static void an_attribute_is_found_by_its_name(void)
{
    static const char text[] = " data-x=1 Data-Y='two' z>data-w=3";
    const char *end = text + strlen(text);
    HtmlSlice value;
    CU_ASSERT_TRUE(skim_value(text, end, "data-y", &value));
    CU_ASSERT_TRUE(value.length == 3 && memcmp(value.bytes, "two", 3) == 0);
    CU_ASSERT_TRUE(skim_value(text, end, "Z", &value));
    CU_ASSERT_EQUAL(value.length, 0);
    static const char *const missing[] = {"data", "data-", "data-w", ""};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        CU_ASSERT_FALSE(skim_value(text, end, missing[i], &value));
        CU_ASSERT_EQUAL(value.length, 0);
    }
    CU_ASSERT_FALSE(skim_value(NULL, NULL, "z", &value));
    CU_ASSERT_FALSE(skim_value(text, text + 9, "data-x", &value)); /* it ends within the tag */
}

static size_t raw_end(const char *text, const char *name)
{
    HtmlSlice slice = {.bytes = name, .length = strlen(name)};
    return (size_t)(skim_raw_end(text, text + strlen(text), slice) - text);
}

static void raw_text_ends_with_its_own_end_tag_alone(void)
{
    CU_ASSERT_EQUAL(raw_end("a</b></title>", "title"), 5);
    CU_ASSERT_EQUAL(raw_end("</titles></TITLE x>", "title"), 9);
    CU_ASSERT_EQUAL(raw_end("x</title/", "title"), 1);
    CU_ASSERT_EQUAL(raw_end("x</title", "title"), 8); /* nothing behind the name: the end */
    CU_ASSERT_EQUAL(raw_end("< /title>", "title"), 9);
    CU_ASSERT_EQUAL(raw_end("", "title"), 0);
}

static const struct {
    const char *text;
    size_t end;
} scripts[] = {{"x</script>", 1},
               {"<!--</script>", 4},
               {"<!--<script></script></script>", 21},
               {"<!--<script></script>--></script>", 24},
               {"<!--<scripts></script>", 13},
               {"<!--<script>--></script>", 15},
               {"<!--></script>", 5},
               {"<!--><script></script>x</script>", 13},
               {"<!--->x</script>", 7},
               {"<!--<script>", 12},
               {"<!--<SCRIPT/></script >y</script\n", 24},
               {"</scrip></script", 16},
               {"<script></script>", 8}};

static void an_escaped_script_hides_an_end_tag(void)
{
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        const char *text = scripts[i].text;
        const char *end = text + strlen(text);
        CU_ASSERT_EQUAL(skim_script_end(text, end) - text, (long)scripts[i].end);
        /* The same in two steps, wherever the first one is to stop. */
        for (const char *limit = text; limit <= end; limit++) {
            SkimScript script = {.state = SKIM_SCRIPT_PLAIN, .dashes = text};
            const char *p = skim_script_scan(&script, text, limit, end);
            if (p >= limit) {
                p = skim_script_scan(&script, p, end, end);
            }
            CU_ASSERT_EQUAL(p - text, (long)scripts[i].end);
        }
    }
}

static void a_comment_ends_where_the_standard_says(void)
{
    static const struct {
        const char *text;
        size_t end;
    } rows[] = {{">x", 1},     {"->x", 2},  {"-->x", 3},   {"a-->x", 4},
                {"a--!>x", 5}, {"--!>", 4}, {"-!>-->", 6}, {"!>-->", 5},
                {"a->", 3},    {"a--", 3},  {"", 0},       {"->-->", 2},
                {"a>b-->", 6}, {"--->", 4}, {"a--x>", 5},  {"-a->", 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char whole[32]; /* its beginning is no part of its end */
        (void)snprintf(whole, sizeof whole, "<!--%s", rows[i].text);
        const char *text = whole + 4;
        size_t end = (size_t)(skim_comment_end(text, text + strlen(text)) - text);
        if (end != rows[i].end) {
            (void)fprintf(stderr, "'%s': %zu\n", text, end);
            CU_FAIL("another end");
        }
    }
}

UNIT_MAIN("skim_token",
          {"an attribute is read with its quotes", an_attribute_is_read_with_its_quotes},
          {"of two attributes of a name the first counts and others do not",
           of_two_attributes_of_a_name_the_first_counts_and_others_do_not},
          {"a tag that the text ends within is none", a_tag_that_the_text_ends_within_is_none},
          {"an attribute is found by its name", an_attribute_is_found_by_its_name},
          {"raw text ends with its own end tag alone", raw_text_ends_with_its_own_end_tag_alone},
          {"an escaped script hides an end tag", an_escaped_script_hides_an_end_tag},
          {"a comment ends where the standard says", a_comment_ends_where_the_standard_says})
