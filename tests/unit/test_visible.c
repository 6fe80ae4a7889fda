/* Visible text. What Chromium's innerText says of the same documents was the model of every
 * expected text here: tests/interop/browser_text.py --cases. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/buffer.h"
#include "parse/visible/visible.h"
#include "unit.h"

#define URL "http://h.test/d/p.html"

typedef struct Case {
    const char *body;
    const char *text;
} Case;

static VisibleReader *new_reader(size_t memory_bytes)
{
    VisibleReader *reader = NULL;
    VisibleOptions options = {.memory_bytes = memory_bytes, .main_text = true, .styles = true};
    if (visible_reader_new(&reader, &options) != RESULT_OK) {
        abort();
    }
    return reader;
}

static Result read_page(VisibleReader *reader, const char *body, size_t length,
                        const char *content_type, VisiblePage *page)
{
    VisibleInput input = {.body = body,
                          .length = length,
                          .content_type = content_type,
                          .url = URL,
                          .url_length = sizeof URL - 1};
    return visible_read(reader, &input, page);
}

static bool is_text(const VisiblePage *page, const char *text)
{
    return page->length == strlen(text) && memcmp(page->text, text, page->length) == 0;
}

static void check_cases(const Case *cases, size_t n)
{
    VisibleReader *reader = new_reader(0);
    for (size_t i = 0; i < n; i++) {
        char body[1024];
        int length = snprintf(body, sizeof body, "<!doctype html><meta charset=utf-8><body>%s",
                              cases[i].body);
        /* The end of the document is the end of what may be read. */
        char *exact = malloc((size_t)length);
        if (exact == NULL) {
            abort();
        }
        memcpy(exact, body, (size_t)length);
        VisiblePage page;
        CU_ASSERT_EQUAL(read_page(reader, exact, (size_t)length, "text/html", &page), RESULT_OK);
        if (!is_text(&page, cases[i].text)) {
            (void)printf("\n%s\n  is      \"%.*s\"\n  must be \"%s\"\n", cases[i].body,
                         (int)page.length, page.text, cases[i].text);
            CU_FAIL("another text");
        }
        free(exact);
    }
    visible_reader_delete(reader);
}

static void white_space_collapses(void)
{
    static const Case cases[] = {
        {"a\n\n b\t c", "a b c"},
        {"<b>a </b> <i> b</i>c", "a bc"},
        {"<b>a</b>\n<i>b</i>", "a b"},
        {"<div>a </div> <div> b</div>", "a\nb"},
        {"a<span></span> <span></span>b", "a b"},
        {"x <br> y", "x\ny"},
        {"x<br>\ny<br> z", "x\ny\nz"},
        {"a&#32;&#32;b&#10;c", "a b c"},
        {"&#13;\t<b>a</b>", "a"},
        {"a<wbr>b&shy;c&nbsp;&nbsp;d", "ab\xC2\xAD"
                                       "c\xC2\xA0\xC2\xA0"
                                       "d"},
        {"<div>a&nbsp;</div><div>&nbsp;b</div>", "a\xC2\xA0\n\xC2\xA0"
                                                 "b"},
        {"\xE6\x97\xA5\xE6\x9C\xAC\n\xE8\xAA\x9E", "\xE6\x97\xA5\xE6\x9C\xAC \xE8\xAA\x9E"},
        {"<!-- a -->b<!-- c --> d", "b d"},
        {"<p>one \n two   three, and a line of more than sixteen bytes   \n  four</p>",
         "one two three, and a line of more than sixteen bytes four"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

static void blocks_have_lines_of_their_own(void)
{
    static const Case cases[] = {
        {"<div>a<div>b</div>c</div>", "a\nb\nc"},
        {"a<ul></ul>b", "a\nb"},
        {"<h1>H</h1><h2>I</h2>x", "H\nI\nx"},
        {"<center>c</center>x", "c\nx"},
        {"<address>ad</address>x<blockquote>bq</blockquote>y", "ad\nx\nbq\ny"},
        {"<fieldset><legend>leg</legend>fs</fieldset>x", "leg\nfs\nx"},
        {"<form>f<label>lab</label></form>x", "flab\nx"},
        {"a<hr>b", "a\nb"},
        {"<figure>a<figcaption>b</figcaption></figure>c", "a\nb\nc"},
        {"<main>a</main><nav>b</nav><aside>c</aside>", "a\nb\nc"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

static void paragraphs_have_an_empty_line_around_them(void)
{
    static const Case cases[] = {
        {"<p>a<p>b<div>c</div>d</p>e", "a\n\nb\n\nc\nd\n\ne"},
        {"<p>a</p> <p></p> <p>b</p>", "a\n\nb"},
        {"<p>a</p>b", "a\n\nb"},
        {"a</p>b", "a\n\nb"},
        {"<p>x<table><tr><td>t</table>y", "x\n\nt\ny"},
        {"<p style=\"display:inline\">a</p>b", "a\n\nb"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

static void br_is_a_line_feed(void)
{
    static const Case cases[] = {
        {"<div>a<br></div><div>b</div>", "a\n\nb"},
        {"<div>a<br><br>b</div>c", "a\n\nb\nc"},
        {"<p>a<br></p><p>b</p>", "a\n\n\nb"},
        {"<div><br></div>x", "\n\nx"},
        {"a</br>b", "a\nb"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

static void pre_keeps_white_space(void)
{
    static const Case cases[] = {
        {"<pre>\na\n  b\n\n</pre>x", "a\n  b\n\n\nx"},
        {"<pre>\n\na\tb   </pre>x", "\na\tb   \nx"},
        {"<pre> a <b> b </b> c</pre>", " a  b  c"},
        {"<pre>a<br>b</pre>x", "a\nb\nx"},
        {"<pre>\r\na\r\nb\rc</pre>", "a\nb\nc"},
        {"<pre>a <span style=\"white-space:normal\">b   c</span>  d</pre>", "a b c  d"},
        {"<listing>\na\nb</listing>x", "a\nb\nx"},
        {"<xmp>a <b>\n c &amp;</xmp>x", "a <b>\n c &amp;\nx"},
        {"<plaintext>a <b>", "a <b>"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

static void cells_are_apart_by_tabs_and_rows_by_lines(void)
{
    static const Case cases[] = {
        {"<table><caption>cap</caption><tr><td>a<td>b<tr><td>c<td>d</table>e",
         "cap\na\tb\nc\td\ne"},
        {"<table><thead><tr><th>h1<th>h2</thead><tbody><tr><td>a</td><td><p>b</p></td></tr></"
         "tbody><tfoot><tr><td>f</tfoot></table>e",
         "h1\th2\na\t\n\nb\n\n\nf\ne"},
        {"<table><tr><td></td><td>b</table>", "\tb"},
        {"<table><tr><td><table><tr><td>i1<td>i2<tr><td>i3</table><td>b</table>",
         "i1\ti2\ni3\n\tb"},
        {"<table><tr><td>a </td> <td> b</td></tr> <tr><td>c</td></tr></table>", "a\tb\nc"},
        {"<table><tr hidden><td>h</td></tr><tr><td>a</td><td hidden>x</td></tr></table>y", "a\ny"},
        {"<table><td>a<td>b</table>", "a\tb"},
        {"<td>a</td><td>b</td>", "ab"},
        {"<table>foster<tr><td>a</table>", "foster\na"},
        {"<table><tr><td>a<table><tr><td>b</table></table><table><tr><td>c</table>", "a\nb\nc"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

static void items_and_terms_end_by_themselves(void)
{
    static const Case cases[] = {
        {"<ul><li>a<li>b<ul><li>c</ul></ul>d", "a\nb\nc\nd"},
        {"<dl><dt>t<dd>d<dt>t2<dd>d2</dl>", "t\nd\nt2\nd2"},
        {"<ul><li>a</li>text<li>b</ul>", "a\ntext\nb"},
        {"<dl><dt>a<dd>b<dl><dt>c<dd>d</dl><dt>e</dl>", "a\nb\nc\nd\ne"},
        {"<ul><li><p>a</p><li><p>b</p></ul>", "a\n\nb"},
        {"<ruby>a<rt>b<rp>c<rt>d</ruby>e", "abde"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

static void what_is_hidden_is_no_text(void)
{
    static const Case cases[] = {
        {"<div hidden>no</div>yes", "yes"},
        {"<span style=\"display:none\">no</span>yes", "yes"},
        {"<div style=\"color: red; DISPLAY : none !important\">no</div>yes", "yes"},
        {"<div style=\"visibility:hidden\">no<span "
         "style=\"visibility:visible\">but</span></div>yes",
         "butyes"},
        {"<div hidden style=\"display:block\">d</div>x", "d\nx"},
        {"<span hidden>a<div>b</span>c</div>d", ""},
        {"<p hidden>a<p>b", "b"},
        {"<b hidden>a<i>b</b>c</i>d", "cd"},
        {"<div popover>p</div>x", "x"},
        {"<dialog>dlg</dialog>x<dialog open>dlg2</dialog>y", "x\ndlg2\ny"},
        {"<span style=\"background: url(x;display:none)\">a</span>", "a"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

static void closed_details_show_their_summary(void)
{
    static const Case cases[] = {
        {"<details><summary>sum</summary>closed</details>x", "sum\nx"},
        {"<details open><summary>sum</summary>open</details>x", "sum\nopen\nx"},
        {"<details>nosum</details>x", "x"},
        {"<details><summary>s1</summary><summary>s2</summary>x</details>b", "s1\nb"},
        {"<details><div><summary>in</summary></div></details>b", "b"},
        {"<details><details open><summary>s</summary>t</details></details>b", "b"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

static void what_is_not_rendered_is_no_text(void)
{
    static const Case cases[] = {
        {"<noscript>ns</noscript>x", "x"},
        {"<template>tpl</template><script>s</script><style>.a{}</style>x", "x"},
        {"<video>vid</video><audio>aud</audio><canvas>can</canvas>x", "x"},
        {"<iframe>if</iframe>x", "x"},
        {"<noframes>nf</noframes><noembed>ne</noembed>x", "x"},
        {"<datalist><option>dl</datalist>x", "x"},
        {"<progress>50%</progress><meter>m</meter>x", "x"},
        {"x<textarea>inside</textarea>y", "xy"},
        {"<title>t</title>x", "x"},
        {"<object>fallback</object>x", "fallbackx"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

static void form_controls_are_in_the_line(void)
{
    static const Case cases[] = {
        {"a <img> b", "a  b"},
        {"a<img>b", "ab"},
        {"a <input> b", "a  b"},
        {"x <input type=hidden> y", "x y"},
        {"a <button> x </button> b", "a x b"},
        {"<button>b1</button><button>b2</button>", "b1b2"},
        {"<select><option>one<option>two<optgroup label=G><option>three</optgroup></select>x",
         "one\ntwo\nthree\nx"},
        {"x<select> q <option>one<option>two</select>y", "x\none\ntwo\ny"},
        {"<span style=\"display:inline-block\"> a </span> <span style=\"display:inline-block\"> b "
         "</span>",
         "a b"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

static void styles_make_blocks(void)
{
    static const Case cases[] = {
        {"<span style=\"display:block\">s</span>x", "s\nx"},
        {"<span style=\"float:left\">s</span>x", "s\nx"},
        {"<span style=\"position:absolute\">s</span>x", "s\nx"},
        {"<div style=\"display:inline\">s</div>x", "sx"},
        {"<div style=\"display:flex\"><span>a</span><span>b</span></div>c", "a\nb\nc"},
        {"<li style=\"display:inline\">a</li><li style=\"display:inline\">b</li>", "ab"},
        {"<div style=\"white-space:pre-line\">a   b\n  c</div>", "a b\nc"},
        {"<div style=\"white-space:pre\">a\nb</div>x", "a\nb\nx"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

static void drawings_and_formulas_have_text(void)
{
    static const Case cases[] = {
        {"<svg><title>t</title><text>svgtext</text><desc>d</desc></svg>x", "svgtext\nx"},
        {"a<svg><text>s1</text><text>s2</text></svg>b", "a\ns1\ns2\nb"},
        {"<svg><g>no</g><text>a<tspan>b</tspan></text><foreignObject><p>f</p></foreignObject></"
         "svg>x",
         "ab\n\nf\n\nx"},
        {"<p>a<svg><text>b</text></svg>c</p>", "a\nb\nc"},
        {"<math><mn>1</mn><mo>=</mo><annotation>an</annotation></math>y", "1\n=\ny"},
        {"<svg><text><![CDATA[a<b]]></text></svg>", "a<b"},
        {"<div><svg><text>a</div>b", "a\nb"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

static void misnested_tags_close_what_a_browser_closes(void)
{
    static const Case cases[] = {
        {"<b>x<p>y</b>z</p>w", "x\n\nyz\n\nw"},
        {"<a href=1>x<a href=2>y</a>z", "xyz"},
        {"<p>a<ul><li>b</ul>c</p>d", "a\n\nb\nc\n\nd"},
        {"<p>a<div>b</p>c</div>d", "a\n\nb\n\nc\nd"},
        {"<h1>a<h2>b</h1>c", "a\nb\nc"},
        {"<div><span>a</div>b</span>c", "a\nbc"},
        {"<table><tr><td><div>a<td>b</table>c", "a\n\tb\nc"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

/* ---- the page of one document ---- */

static VisiblePage read_with(VisibleReader *reader, const char *body, const char *content_type)
{
    VisiblePage page;
    CU_ASSERT_EQUAL(read_page(reader, body, strlen(body), content_type, &page), RESULT_OK);
    return page;
}

static bool same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void a_page_says_what_it_is(void)
{
    VisibleReader *reader = new_reader(0);
    VisiblePage page = read_with(
        reader,
        "<html lang=' de-AT'><head><title>A &amp;\n  B</title><title>C</title>"
        "<meta property=og:description content=og><meta name=Description content=' one\n two '>"
        "<meta name=description content=three><base href=/e/>"
        "<link rel='x Canonical' href='q?a=1&amp;b=2#f'><link rel=canonical href=other>"
        "</head><body>t",
        NULL);
    CU_ASSERT(same(page.title, "A & B"));
    CU_ASSERT(same(page.description, "one two"));
    CU_ASSERT(same(page.canonical, "http://h.test/e/q?a=1&b=2"));
    CU_ASSERT(same(page.language, "de-AT"));
    CU_ASSERT(same(page.encoding, "windows-1252"));
    page = read_with(reader, "<meta property=og:description content=og>", NULL);
    CU_ASSERT(same(page.description, "og"));
    page = read_with(reader, "x", NULL);
    CU_ASSERT(page.title == NULL && page.description == NULL && page.canonical == NULL &&
              page.language == NULL && page.n_headings == 0);
    page = read_with(reader, "<link rel=canonical href='mailto:x'>", NULL);
    CU_ASSERT(page.canonical == NULL);
    page = read_with(reader, "<template><title>no</title></template><svg><title>no</title></svg>",
                     NULL);
    CU_ASSERT(page.title == NULL);
    page = read_with(reader, "<title></title><title>second</title>", NULL);
    CU_ASSERT(same(page.title, ""));
    visible_reader_delete(reader);
}

static void headings_are_parts_of_the_text(void)
{
    VisibleReader *reader = new_reader(0);
    VisiblePage page = read_with(reader,
                                 "<p>x<h1> A <b>b</b> </h1><h2>C<br>D</h2><h3 hidden>no</h3>"
                                 "<h6>last",
                                 NULL);
    static const char *const texts[] = {"A b", "C\nD", "", "last"};
    static const unsigned levels[] = {1, 2, 3, 6};
    CU_ASSERT_EQUAL_FATAL(page.n_headings, 4);
    for (size_t i = 0; i < 4; i++) {
        VisibleHeading heading = visible_heading(reader, i);
        CU_ASSERT_EQUAL(heading.level, levels[i]);
        CU_ASSERT(heading.length == strlen(texts[i]) &&
                  memcmp(heading.text, texts[i], heading.length) == 0);
    }
    visible_reader_delete(reader);
}

static void the_encoding_is_the_browsers(void)
{
    VisibleReader *reader = new_reader(0);
    VisiblePage page = read_with(reader, "<p>\xE9t\xE9", "text/html; charset=iso-8859-1");
    CU_ASSERT(is_text(&page, "\xC3\xA9t\xC3\xA9"));
    page = read_with(reader, "<meta charset=shift_jis>\x83\x65", NULL);
    CU_ASSERT(is_text(&page, "\xE3\x83\x86"));
    page = read_with(reader,
                     "\xEF\xBB\xBF"
                     "a\xFF",
                     "text/html; charset=gbk");
    CU_ASSERT(is_text(&page, "a\xEF\xBF\xBD"));
    page = read_with(reader, "a", "text/html; charset=utf-8");
    CU_ASSERT(is_text(&page, "a"));
    /* A meta that the sniffing does not reach. */
    Buffer late;
    buffer_init(&late, BUFFER_NO_LIMIT);
    (void)buffer_append_string(&late, "<!--");
    for (unsigned i = 0; i < 300; i++) {
        (void)buffer_append_string(&late, "12345678");
    }
    (void)buffer_append_string(&late, "--><meta charset=utf-8><title>\xC3\xA9</title>\xC3\xA9");
    page = read_with(reader, late.data, NULL);
    CU_ASSERT(is_text(&page, "\xC3\xA9"));
    CU_ASSERT(same(page.title, "\xC3\xA9"));
    buffer_destroy(&late);
    visible_reader_delete(reader);
}

static void xhtml_closes_elements_by_a_slash(void)
{
    VisibleReader *reader = new_reader(0);
    static const char body[] = "<html><head><script src='x'/><title/></head><body><div hidden=''/>"
                               "a<p/>b<![CDATA[<c>]]></body></html>";
    VisiblePage page = read_with(reader, body, "application/xhtml+xml");
    CU_ASSERT(is_text(&page, "a\n\nb<c>"));
    page = read_with(reader, body, "text/html");
    CU_ASSERT(is_text(&page, ""));
    visible_reader_delete(reader);
}

static void a_frameset_has_no_text(void)
{
    VisibleReader *reader = new_reader(0);
    VisiblePage page = read_with(reader,
                                 "<title>t</title><frameset><frame src=a><noframes>no</noframes>"
                                 "</frameset>x",
                                 NULL);
    CU_ASSERT(is_text(&page, ""));
    CU_ASSERT(same(page.title, "t"));
    page = read_with(reader, "x<frameset>y", NULL);
    CU_ASSERT(is_text(&page, "xy"));
    visible_reader_delete(reader);
}

static void hidden_by_html_or_body_is_not_hidden(void)
{
    VisibleReader *reader = new_reader(0);
    VisiblePage page =
        read_with(reader, "<html hidden><body style='display:none;visibility:hidden'>x", NULL);
    CU_ASSERT(is_text(&page, "x"));
    visible_reader_delete(reader);
}

/* ---- bounds ---- */

static void any_depth_is_read_in_linear_time(void)
{
    VisibleReader *reader = new_reader(0);
    static const char *const tags[] = {
        "<div>",      "<b>",    "<table>",    "<svg>",           "<li>",
        "<a href=x>", "<p><b>", "<template>", "<table><tr><td>", "<details>"};
    for (size_t t = 0; t < sizeof tags / sizeof *tags; t++) {
        Buffer deep;
        buffer_init(&deep, BUFFER_NO_LIMIT);
        for (unsigned i = 0; i < 200000; i++) {
            (void)buffer_append_string(&deep, tags[t]);
        }
        VisiblePage page;
        CU_ASSERT_EQUAL(read_page(reader, deep.data, deep.length, NULL, &page), RESULT_OK);
        for (unsigned i = 0; i < 200000; i++) {
            (void)buffer_append_string(&deep, "</div></x></p>");
        }
        CU_ASSERT_EQUAL(read_page(reader, deep.data, deep.length, NULL, &page), RESULT_OK);
        buffer_destroy(&deep);
    }
    visible_reader_delete(reader);
}

static void too_deep_elements_leave_what_is_around_them(void)
{
    VisibleReader *reader = new_reader(0);
    Buffer deep;
    buffer_init(&deep, BUFFER_NO_LIMIT);
    for (unsigned i = 0; i < 600; i++) {
        (void)buffer_append_string(&deep, "<div>");
    }
    (void)buffer_append_string(&deep, "in");
    for (unsigned i = 0; i < 600; i++) {
        (void)buffer_append_string(&deep, "</div>");
    }
    (void)buffer_append_string(&deep, "<span hidden>no</span>out");
    VisiblePage page = read_with(reader, deep.data, NULL);
    CU_ASSERT(is_text(&page, "in\nout"));
    buffer_destroy(&deep);
    visible_reader_delete(reader);
}

static void a_document_beyond_the_memory_is_cut(void)
{
    VisibleReader *reader = new_reader(4096);
    Buffer large;
    buffer_init(&large, BUFFER_NO_LIMIT);
    for (unsigned i = 0; i < 2000; i++) {
        (void)buffer_append_string(&large, "word ");
    }
    VisiblePage page;
    CU_ASSERT_EQUAL(read_page(reader, large.data, large.length, NULL, &page), RESULT_LIMIT);
    CU_ASSERT_EQUAL(page.length, 4096);
    /* The same when it has to be decoded. */
    (void)memcpy(large.data, "\xE9", 1);
    CU_ASSERT_EQUAL(read_page(reader, large.data, large.length, NULL, &page), RESULT_LIMIT);
    CU_ASSERT(page.length > 0 && page.length <= 4096);
    page = read_with(reader, "short", NULL);
    CU_ASSERT(is_text(&page, "short"));
    buffer_destroy(&large);
    visible_reader_delete(reader);
}

static void references_never_need_more_room_than_there_is(void)
{
    VisibleReader *reader = new_reader(0);
    static const char *const longest[] = {"&nGt;", "&acE;", "&#9;", "&#x10FFFF;",
                                          "&lt",   "&",     "&amp"};
    for (size_t t = 0; t < sizeof longest / sizeof *longest; t++) {
        Buffer page_text;
        buffer_init(&page_text, BUFFER_NO_LIMIT);
        for (unsigned i = 0; i < 5000; i++) {
            (void)buffer_append_string(&page_text, longest[t]);
        }
        VisiblePage page;
        CU_ASSERT_EQUAL(read_page(reader, page_text.data, page_text.length, NULL, &page),
                        RESULT_OK);
        buffer_destroy(&page_text);
    }
    visible_reader_delete(reader);
}

static void style_elements_count(void)
{
    static const Case cases[] = {
        {"<style>.n{display:none}</style>a<b class=n>b</b>c", "ac"},
        {"<style>/* b{display:none} */ i/**/{display:none}</style><b>a</b><i>b</i>", "a"},
        {"<style>b{color:red;;display:none}i{background:url(a;b);display:none}"
         "u{content:\"}\";display:none}</style><b>a</b><i>b</i><u>c</u>d",
         "d"},
        {"<style>div{visibility:hidden}div p{visibility:visible}</style>x<div>a<p>b</p>c</div>",
         "x\n\nb"},
        {"<p>a <i style=\"visibility:hidden\">x</i> b</p>", "a  b"},
        {"<style>[hidden]{display:inline}</style><b hidden>a</b>c", "ac"},
        {"<style>p{white-space:pre}</style><p>a  b", "a  b"},
        {"<style>body{white-space:pre}p{white-space:initial}</style><body>a  b<p>c  d",
         "a  b\n\nc d"},
        {"<style>br{display:none}</style>a<br>b", "ab"},
        {"<style>img{display:block}i{float:left}</style>a<img>b<i>c</i>", "a\nb\nc"},
        {"<style>td{display:block}</style><table><tr><td>a<td>b</table>", "a\nb"},
        {"<style>.t{display:table}.r{display:table-row}.c{display:table-cell}</style><div "
         "class=t><div class=r><div class=c>a</div><div class=c>b</div></div><div class=r><div "
         "class=c>c</div></div></div>",
         "a\tb\nc"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

static void selectors_choose_elements(void)
{
    static const Case cases[] = {
        {"<style>ul a+a{display:none}</style><ul><a>1</a><a>2</a><b>3</b><a>4</a></ul>", "134"},
        {"<style>i~b{display:none}</style><b>1</b><i>2</i><b>3</b><u>4</u><b>5</b>", "124"},
        {"<style>li:nth-child(2n+1){display:none}</style><ul><li>a<li>b<li>c<li>d</ul>", "b\nd"},
        {"<style>p:first-of-type{display:none}</style><div><b>x</b><p>a<p>b</div>", "x\n\nb"},
        {"<style>div :not(.k){display:none}</style><div><b class=k>a</b><b>b</b></div>", "a"},
        {"<style>div :is(.k,#m){display:none}</style><div><b class=k>a</b><b "
         "id=m>b</b><b>c</b></div>",
         "c"},
        {"<style>[data-a=\"1\"]{display:none}[title~=q]{display:none}</style><b data-a=1>a</b><b "
         "data-a=2>b</b><b title=\"p q\">c</b>",
         "b"},
        {"<style>.a\\:b{display:none}.\\31 x{display:none}</style><b class=\"a:b\">a</b><b "
         "class=1x>b</b>c",
         "c"},
        {"<style>b:hover,i{display:none}u:before{display:none}</style><b>a</b><i>b</i><u>c</u>",
         "ac"},
        {"<style>body>b{display:none}html i{display:none}:root u{display:none}</style>"
         "<b>a</b><i>b</i><u>c</u>d",
         "d"},
        {"<style>div>div>p,section p{display:none}</style><div><div><i><p>a</p></i><p>b</p></div>"
         "</div><section><b><p>c</p></b></section>d",
         "a\n\nd"},
        {"<style>td.n{display:none}</style><table><tr><td>a<td class=n>b<td>c</table>", "a\tc"},
        {"<style>b:last-child{display:none}</style><b>a</b>", "a"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

static void the_cascade_decides(void)
{
    static const Case cases[] = {
        {"<style>b{display:none!important}#m{display:inline}</style><b id=m "
         "style=\"display:inline\">a</b>c",
         "c"},
        {"<style>#m{display:none}b.k.l{display:inline}</style><b id=m class=\"k l\">a</b>c", "c"},
        {"<style>b{display:none}b{display:inline}</style><b>a</b>c", "ac"},
        {"<style>b{display:inline}</style><style>b{display:none}</style><b>a</b>c", "c"},
        {"<style>@layer x{#m{display:none}} b{display:inline}</style><b id=m>a</b>c", "ac"},
        {"<style>@media print{b{display:none}}@media screen and (min-width:40em){i{display:none}}"
         "@media (max-width:600px){u{display:none}}</style><b>a</b><i>b</i><u>c</u>",
         "ac"},
        {"<style>@media (600px <= width < 1500px){b{display:none}}@media not all and "
         "(min-width:100px){i{display:none}}@media (width > 2000px) or (height < "
         "9000px){u{display:none}}</style><b>a</b><i>b</i><u>c</u>",
         "b"},
        {"<style>@media (1280px >= width >= 1280px){b{display:none}}@media (1280px > width)"
         "{i{display:none}}</style><b>a</b><i>b</i>",
         "b"},
        {"<style media=print>b{display:none}</style><style media=screen>i{display:none}</style>"
         "<b>a</b><i>b</i>",
         "a"},
        {"<style>@supports (display:grid){b{display:none}}@supports not (display:grid)"
         "{i{display:none}}</style><b>a</b><i>b</i>",
         "b"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

static void letters_get_another_case(void)
{
    static const Case cases[] = {
        {"<style>p{text-transform:capitalize}</style><p>ab cd-ef g'h 1st (x) &eacute;t&eacute;",
         "Ab Cd-Ef G'h 1st (X) \xC3\x89t\xC3\xA9"},
        {"<style>b{text-transform:uppercase}</style><b>stra&szlig;e &#x3c3;</b>x",
         "STRASSE \xCE\xA3x"},
        {"<style>h1{text-transform:lowercase}h1 b{text-transform:none}</style><h1>AB <b>CD</b> "
         "EF</h1>",
         "ab CD ef"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

/* Two sheets, one of which imports the other. */
static bool load_sheet(void *context, HtmlSlice base, HtmlSlice reference, HtmlSlice *text,
                       HtmlSlice *url)
{
    static const char outer[] = "@import \"in.css\"; b{display:none}";
    static const char inner[] = "i{display:none}";
    unsigned *n_loaded = context;
    ++*n_loaded;
    if (base.length == 0) {
        CU_ASSERT(reference.length == 21 &&
                  memcmp(reference.bytes, "http://h.test/d/o.css", 21) == 0);
        *text = (HtmlSlice){.bytes = outer, .length = sizeof outer - 1};
        *url = (HtmlSlice){.bytes = "http://h.test/c/o.css", .length = 21};
        return true;
    }
    CU_ASSERT(base.length == 21 && memcmp(base.bytes, "http://h.test/c/o.css", 21) == 0);
    *text = (HtmlSlice){.bytes = inner, .length = sizeof inner - 1};
    *url = reference;
    return reference.length == 6 && memcmp(reference.bytes, "in.css", 6) == 0;
}

static void linked_sheets_are_loaded(void)
{
    unsigned n_loaded = 0;
    VisibleReader *reader = NULL;
    VisibleOptions options = {.styles = true, .load = load_sheet, .load_context = &n_loaded};
    CU_ASSERT_EQUAL(visible_reader_new(&reader, &options), RESULT_OK);
    VisiblePage page =
        read_with(reader, "<link rel=stylesheet href=o.css><b>a</b><i>b</i><u>c</u>", NULL);
    CU_ASSERT(is_text(&page, "c"));
    CU_ASSERT_EQUAL(n_loaded, 2);
    page = read_with(reader,
                     "<link rel='alternate stylesheet' href=o.css><link rel=stylesheet media=print "
                     "href=o.css><b>a</b>",
                     NULL);
    CU_ASSERT(is_text(&page, "a"));
    CU_ASSERT_EQUAL(n_loaded, 2);
    visible_reader_delete(reader);
}

static void matching_has_a_bound(void)
{
    VisibleReader *reader = new_reader(0);
    Buffer text;
    buffer_init(&text, BUFFER_NO_LIMIT);
    (void)buffer_append_string(&text, "<style>");
    for (unsigned i = 0; i < 3000; i++) {
        (void)buffer_append_string(&text, "*~*~b~i{display:none}");
    }
    (void)buffer_append_string(&text, "</style>");
    for (unsigned i = 0; i < 20000; i++) {
        (void)buffer_append_string(&text, "<i>x</i>");
    }
    VisiblePage page;
    CU_ASSERT_EQUAL(read_page(reader, text.data, text.length, NULL, &page), RESULT_OK);
    CU_ASSERT(page.styles_cut);
    CU_ASSERT_EQUAL(page.length, 20000);
    page = read_with(reader, "<style>b{display:none}</style><b>a</b>c", NULL);
    CU_ASSERT(is_text(&page, "c") && !page.styles_cut);
    buffer_destroy(&text);
    visible_reader_delete(reader);
}

/* Each bracket was a call of its own: a page could end the process. */
static void brackets_of_media_queries_have_a_bound(void)
{
    VisibleReader *reader = new_reader(0);
    Buffer text;
    buffer_init(&text, BUFFER_NO_LIMIT);
    (void)buffer_append_string(&text, "<style>@media ");
    for (unsigned i = 0; i < 100000; i++) {
        (void)buffer_append_string(&text, "(");
    }
    (void)buffer_append_string(&text, "{b{display:none}}</style><style>@media print");
    for (unsigned i = 0; i < 100000; i++) {
        (void)buffer_append_string(&text, " or print");
    }
    (void)buffer_append_string(&text, "{b{display:none}}</style><b>a</b>");
    VisiblePage page;
    CU_ASSERT_EQUAL(read_page(reader, text.data, text.length, NULL, &page), RESULT_OK);
    CU_ASSERT(is_text(&page, "a"));
    buffer_destroy(&text);
    visible_reader_delete(reader);
}

static void markdown_is_what(const char *body, const char *expected, bool main_text)
{
    VisibleReader *reader = NULL;
    VisibleOptions options = {.markdown = true, .main_text = main_text};
    Buffer out;
    buffer_init(&out, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(visible_reader_new(&reader, &options), RESULT_OK);
    VisiblePage page;
    (void)read_page(reader, body, strlen(body), "text/html; charset=utf-8", &page);
    CU_ASSERT_EQUAL(visible_page_markdown(reader, &out), RESULT_OK);
    if (out.length != strlen(expected) || memcmp(buffer_string(&out), expected, out.length) != 0) {
        (void)printf("\n%s\n  is      \"%.*s\"\n  must be \"%s\"\n", body, (int)out.length,
                     buffer_string(&out), expected);
        CU_FAIL("another text");
    }
    visible_reader_delete(reader);
    buffer_destroy(&out);
}

static void a_page_is_markdown(void)
{
    static const Case cases[] = {
        {"<h1>T <em>i</em></h1><p>A <b>b </b>c <i>d</i><br>e", "# T *i*\n\nA **b** c *d*\\\ne"},
        {"<p><a href='x(1)?a=1&amp;b'>l <b>m</b></a> <a>n</a> <a href=x></a>o <a "
         "href='mailto:'>p</a>",
         "[l **m**](http://h.test/d/x\\(1\\)?a=1&b) n o p"},
        {"<p>2*3 a_b [x] &amp;lt; <br># no<br>1. no<br>- no<br>-v 9.10",
         "2\\*3 a\\_b \\[x\\] \\&lt;\\\n\\# "
         "no\\\n1\\. no\\\n\\- no\\\n-v 9.10"},
        {"<ul><li>a<li>b<ol start=3><li>c<li><p>d<p>e</ol></ul>f",
         "- a\n- b\n  3. c\n  4. d\n\n     e\n\nf"},
        {"<blockquote><p>a<p>b</blockquote>c", "> a\n>\n> b\n\nc"},
        {"<p>x <code>a`b</code> <code>`c</code>", "x ``a`b`` `` `c ``"},
        {"x<pre class=language-c>\nint a;\n\n  b;\n</pre>y", "x\n\n```c\nint a;\n\n  b;\n```\n\ny"},
        {"<pre>```</pre>", "````\n```\n````"},
        {"<table><tr><th>A<tr><td>1|2<td>b<br>c</table>d",
         "| A | |\n|---|---|\n| 1\\|2 | b c |\n\nd"},
        {"<table><tr><td><h2>a</h2>b<td>c<tr><td>d</table>", "## a\n\nb\n\nc\n\nd"},
        {"a<hr>b<div hidden>c</div>", "a\n\n---\n\nb"},
        {"<b><p>a<p>b</b>", "**a**\n\n**b**"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        markdown_is_what(cases[i].body, cases[i].text, false);
    }
    markdown_is_what(
        "<nav><a href=/>n</a></nav><main><h1>T</h1><p>one two three four five six seven "
        "eight nine ten <b>eleven</b></main><footer>f</footer>",
        "# T\n\none two three four five six seven eight nine ten **eleven**", true);
}

UNIT_MAIN(
    "visible",
    {"runs of white space are one space, none at the ends of lines", white_space_collapses},
    {"blocks have lines of their own", blocks_have_lines_of_their_own},
    {"paragraphs have an empty line around them", paragraphs_have_an_empty_line_around_them},
    {"<br> is a line feed", br_is_a_line_feed},
    {"<pre> keeps white space, but for a line feed at its start", pre_keeps_white_space},
    {"cells are apart by tabs, rows by line feeds", cells_are_apart_by_tabs_and_rows_by_lines},
    {"list items and terms end by themselves", items_and_terms_end_by_themselves},
    {"what is hidden is no text", what_is_hidden_is_no_text},
    {"of closed details the first summary is seen", closed_details_show_their_summary},
    {"scripts, styles, templates, noscript and the like are no text",
     what_is_not_rendered_is_no_text},
    {"form controls and images stand in the line", form_controls_are_in_the_line},
    {"style attributes make blocks", styles_make_blocks},
    {"style elements count", style_elements_count},
    {"selectors choose elements", selectors_choose_elements},
    {"important, place, specificity, layer and media decide", the_cascade_decides},
    {"letters get another case", letters_get_another_case},
    {"linked sheets are loaded, with what they import", linked_sheets_are_loaded},
    {"matching selectors has a bound", matching_has_a_bound},
    {"brackets of media queries have a bound", brackets_of_media_queries_have_a_bound},
    {"a page is Markdown", a_page_is_markdown},
    {"drawings and formulas have text", drawings_and_formulas_have_text},
    {"misnested tags close what a browser closes", misnested_tags_close_what_a_browser_closes},
    {"a page says what it is", a_page_says_what_it_is},
    {"headings are parts of the text", headings_are_parts_of_the_text},
    {"the encoding is the browser's", the_encoding_is_the_browsers},
    {"XHTML closes elements by a slash", xhtml_closes_elements_by_a_slash},
    {"a frameset has no text", a_frameset_has_no_text},
    {"what <html> or <body> hide is not hidden", hidden_by_html_or_body_is_not_hidden},
    {"any depth is read in linear time", any_depth_is_read_in_linear_time},
    {"too deep elements leave what is around them", too_deep_elements_leave_what_is_around_them},
    {"a document beyond the memory is cut", a_document_beyond_the_memory_is_cut},
    {"references never need more room than there is",
     references_never_need_more_room_than_there_is})
