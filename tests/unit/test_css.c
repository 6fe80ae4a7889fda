/* What a style sheet refers to, and what only looks so. */
#include "parse/css/css.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

typedef struct Found {
    char text[1024]; /* references, with " | " between */
} Found;

static Result take(void *context, const char *bytes, size_t length, bool is_scratch)
{
    Found *found = context;
    size_t used = strlen(found->text);
    (void)is_scratch;
    (void)snprintf(found->text + used, sizeof found->text - used, "%s%.*s", used > 0 ? " | " : "",
                   (int)length, bytes);
    return RESULT_OK;
}

static void expect(const char *sheet, const char *expected)
{
    CssReader reader;
    Found found = {.text = ""};
    css_reader_init(&reader);
    CU_ASSERT_EQUAL(css_read(&reader, sheet, strlen(sheet), true, take, &found), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(found.text, expected);
    css_reader_destroy(&reader);
}

static void urls_with_quotes_and_without(void)
{
    expect("a { background: url(a.png) }", "a.png");
    expect("a { background: url( 'a b.png' ) no-repeat, URL(\"c.png\") }", "a b.png | c.png");
    expect("a{background:url(\n  a.png\t)}b{cursor:url(b.cur),auto}", "a.png | b.cur");
    expect("a { mask: src(\"m.svg\" x) }", "m.svg");
    expect("a { b: url(https://cdn.example/x?y=(1) }", "");
    expect("a { b: url(\"unfinished.png", "unfinished.png");
    expect("a { b: url(unfinished.png", "unfinished.png");
}

static void imports_in_their_place_only(void)
{
    expect(
        "@charset \"utf-8\"; @import \"a.css\"; @import url(b.css) screen; @IMPORT url('c.css');",
        "a.css | b.css | c.css");
    expect("@layer x; @import 'a.css' layer(x) supports(display: grid);", "a.css");
    expect("a { color: red } @import \"late.css\"; @import url(late.css); b { c: url(d) }", "d");
    expect("@import /* here */ \"a.css\";", "a.css");
    expect("@import nonsense \"a.css\";", "");
}

static void declarations_of_an_attribute(void)
{
    CssReader reader;
    Found found = {.text = ""};
    const char *style =
        "background-image: url(&quot;); @import \"x\"; @import url(y); cursor: url(z)";
    css_reader_init(&reader);
    CU_ASSERT_EQUAL(css_read(&reader, style, strlen(style), false, take, &found), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(found.text, "&quot; | z");
    css_reader_destroy(&reader);
}

static void strings_that_are_no_references(void)
{
    expect("a::after { content: \"url(no.png)\" } b { content: 'x' url(yes.png) }", "yes.png");
    expect("@font-face { src: url(a.eot?#iefix) format(\"embedded-opentype\"), local('X') }",
           "a.eot?#iefix");
    expect("@namespace svg url(http://www.w3.org/2000/svg); @namespace \"http://x/\"; a{b:url(c)}",
           "c");
    expect("a { b: image-set(\"a.png\" 1x, \"b.png\" type(\"image/png\") 2x, url(c.png) 3x) }",
           "a.png | b.png | c.png");
    expect("a { b: -webkit-image-set(url('a.png') 1x) }", "a.png");
}

static void comments_hide(void)
{
    expect("/* url(no.png) */ a { b: /* url(no) */ url(yes.png) /* **/ }", "yes.png");
    expect("/* never ends url(no.png)", "");
    expect("/**/a{b:url(x)}/***/", "x");
    expect("a { b: url(/*no*/x) }", "/*no*/x");
}

static void escapes_are_undone(void)
{
    expect("a { b: url(a\\ b.png) }", "a b.png");
    expect("a { b: u\\72 l(a.png) }", "a.png");
    expect("a { b: url(\"a\\\nb.png\") }", "ab.png");
    expect("a { b: url(\"\\000041\\42 c\") }", "ABc");
    expect("a { b: url(\"\\1F600x\\D800y\\0z\") }", "\xF0\x9F\x98\x80x\xEF\xBF\xBDy\xEF\xBF\xBDz");
    expect("a { b: url(a\\", "");
    expect("@\\69mport \"a.css\";", "a.css");
}

static void broken_text_is_passed(void)
{
    expect("a { b: url(a\"b) ; c: url(d) }", "d");
    expect("a { b: url(a b) ; c: url(d) }", "d");
    expect("a { b: url(a\\)b(c) ; c: url(d) }", "d");
    expect("a { b: \"broken\n url(yes) }", "yes");
    expect("a { b: 10url(no) ; c: #url(no2) ; d: 1e3url(no3) }", "");
    expect("", "");
    expect("@", "");
    expect("\\", "");
    expect("url(", "");
    expect("a { b: url() url('') url(#part) url(x) }", "x");
}

static void brackets_within_each_other(void)
{
    char deep[4096] = "a { b: ";
    for (int i = 0; i < 500; i++) {
        (void)snprintf(deep + strlen(deep), sizeof deep - strlen(deep), "f(");
    }
    (void)snprintf(deep + strlen(deep), sizeof deep - strlen(deep), "%s",
                   "\"no\" url(yes) image-set(\"deep\")");
    for (int i = 0; i < 500; i++) {
        (void)snprintf(deep + strlen(deep), sizeof deep - strlen(deep), ")");
    }
    (void)snprintf(deep + strlen(deep), sizeof deep - strlen(deep), "%s", " image-set(\"last\") }");
    expect(deep, "yes | last");
}

static void the_charset_rule(void)
{
    size_t length = 0;
    const char *sheet = "@charset \"windows-1252\"; a {}";
    const char *label = css_charset_label(sheet, strlen(sheet), &length);
    CU_ASSERT_PTR_NOT_NULL_FATAL(label);
    CU_ASSERT_EQUAL(length, 12);
    CU_ASSERT_EQUAL(memcmp(label, "windows-1252", 12), 0);
    CU_ASSERT_PTR_NULL(css_charset_label("@charset \"x\"", 12, &length));
    CU_ASSERT_PTR_NULL(css_charset_label("@charset 'x';", 13, &length));
    CU_ASSERT_PTR_NULL(css_charset_label("", 0, &length));
}

static Result refuse(void *context, const char *bytes, size_t length, bool is_scratch)
{
    (void)bytes;
    (void)length;
    (void)is_scratch;
    ++*(int *)context;
    return RESULT_LIMIT;
}

static void a_sink_may_end_it(void)
{
    CssReader reader;
    int calls = 0;
    css_reader_init(&reader);
    CU_ASSERT_EQUAL(css_read(&reader, "a{b:url(a) url(b)}", 18, true, refuse, &calls),
                    RESULT_LIMIT);
    CU_ASSERT_EQUAL(calls, 1);
    css_reader_destroy(&reader);
}

UNIT_MAIN("css", {"URLs with quotes and without", urls_with_quotes_and_without},
          {"imports in their place only", imports_in_their_place_only},
          {"declarations of an attribute", declarations_of_an_attribute},
          {"strings that are no references", strings_that_are_no_references},
          {"comments hide", comments_hide}, {"escapes are undone", escapes_are_undone},
          {"broken text is passed", broken_text_is_passed},
          {"brackets within each other", brackets_within_each_other},
          {"the charset rule", the_charset_rule}, {"a sink may end it", a_sink_may_end_it})
