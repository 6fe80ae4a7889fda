/* XHTML that is served as XML: which types and documents count, and what is taken out of them. */
#include <string.h>

#include "parse/html/html_tree.h"
#include "parse/html/html_xml.h"
#include "unit.h"

#define ROOT "<html xmlns='http://www.w3.org/1999/xhtml'>"

static void types_of_xml_are_told_from_others(void)
{
    static const char *const xml[] = {"application/xhtml+xml", "Application/XHTML+XML; charset=x",
                                      " \ttext/xml", "application/xml;", "text/xml x"};
    static const char *const others[] = {"",         "text/html",         "application/xhtml+xmlx",
                                         "text/xm",  "application/xhtml", "image/svg+xml",
                                         ";text/xml"};
    for (size_t i = 0; i < sizeof xml / sizeof *xml; i++) {
        CU_ASSERT_TRUE(html_xml_is_type(xml[i]));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CU_ASSERT_FALSE(html_xml_is_type(others[i]));
    }
    CU_ASSERT_FALSE(html_xml_is_type(NULL));
}

/* Reads a document; its references, each followed by a blank, and the title behind "|". */
static Result read_document(const char *text, size_t length, char *got, size_t room)
{
    static HtmlTree tree;
    HtmlOptions options = {.max_links = 100};
    Arena arena;
    arena_init(&arena, 4096, SIZE_MAX);
    html_tree_init(&tree, &options, &arena);
    html_tree_begin(&tree);
    Result rc = html_xml_read(text, length, &tree);
    size_t n = 0;
    for (size_t i = 0; i < tree.n_refs; i++) {
        n += (size_t)snprintf(got + n, room - n, "%.*s ", (int)tree.refs[i].length,
                              tree.refs[i].bytes);
    }
    (void)snprintf(got + n, room - n, "|%s", tree.title == NULL ? "" : tree.title);
    html_tree_destroy(&tree);
    arena_destroy(&arena);
    return rc;
}

static void reads(const char *text, const char *want)
{
    char got[512];
    Result rc = read_document(text, strlen(text), got, sizeof got);
    if (rc != RESULT_OK || strcmp(got, want) != 0) {
        (void)fprintf(stderr, "%s: %d '%s', expected '%s'\n", text, (int)rc, got, want);
        CU_FAIL("another reading");
    }
}

static void in_xml_an_empty_script_hides_nothing_and_capitals_are_other_names(void)
{
    reads(ROOT "<head><title>t &amp; u</title></head><body><script/><a href='x?a=1&amp;b'/>"
               "</body></html>",
          "x?a=1&b |t & u");
    reads(ROOT "<title>&amp;lt;</title></html>", "|&lt;");
    reads(ROOT "<A href='1'/><a HREF='2'/><a href='3'/></html>", "3 |");
    reads(ROOT "<![CDATA[<a href='1'/>]]><!-- <a href='2'/> --></html>", "|");
    reads("<x:html xmlns:x='http://www.w3.org/1999/xhtml'><x:a href='1'/><a href='2'/></x:html>",
          "1 |");
}

static void drawings_link_and_templates_do_not(void)
{
    reads(ROOT "<svg xmlns='http://www.w3.org/2000/svg' xmlns:l='http://www.w3.org/1999/xlink'>"
               "<a l:href='1'/></svg><template><p/><a href='2'/><template/><a "
               "href='2'/></template><a href='3'/>"
               "</html>",
          "1 3 |");
    reads(ROOT "<m xmlns='http://www.w3.org/1998/Math/MathML'><a href='1'/></m></html>", "|");
}

static void named_references_are_those_of_html_and_no_entity_is_declared(void)
{
    reads(ROOT "<a href='&auml;&Aacute;'/><a href='&#x41;&quot;&lt;'/></html>",
          "\xC3\xA4\xC3\x81 A\"< |");
    reads("<!DOCTYPE html [<!ENTITY auml \"x\">]>" ROOT "<a href='&auml;'/></html>", "\xC3\xA4 |");
}

static void what_is_no_xhtml_is_refused(void)
{
    static const char *const bad[] = {
        "",
        " ",
        "x",
        "<html><a href='1'/></html>",
        ROOT,
        ROOT "<p></html>",
        ROOT "<a href=1/></html>",
        ROOT "&nosuch;</html>",
        "<svg xmlns='http://www.w3.org/2000/svg'/>",
        "<!DOCTYPE html [<!ENTITY a \"<b/>\"><!ENTITY c \"&a;&a;\">]>" ROOT "&c;&d;</html>"};
    char got[256];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CU_ASSERT_EQUAL(read_document(bad[i], strlen(bad[i]), got, sizeof got), RESULT_INVALID);
    }
}

static void a_title_beyond_its_bound_is_cut(void)
{
    static char text[10000];
    size_t n = (size_t)snprintf(text, sizeof text, ROOT "<head><title>&lt;");
    memset(text + n, 'x', 9000);
    (void)snprintf(text + n + 9000, 64, "</title></head><a href='1'/></html>");
    static char got[8192];
    CU_ASSERT_EQUAL(read_document(text, strlen(text), got, sizeof got), RESULT_OK);
    CU_ASSERT_EQUAL(strncmp(got, "1 |<xxx", 7), 0);
    CU_ASSERT_TRUE(strlen(got) <= HTML_TITLE_BYTES + 3);
}

UNIT_MAIN("html_xml", {"types of XML are told from others", types_of_xml_are_told_from_others},
          {"in XML an empty script hides nothing and capitals are other names",
           in_xml_an_empty_script_hides_nothing_and_capitals_are_other_names},
          {"drawings link and templates do not", drawings_link_and_templates_do_not},
          {"named references are those of HTML and no entity is declared",
           named_references_are_those_of_html_and_no_entity_is_declared},
          {"what is no XHTML is refused", what_is_no_xhtml_is_refused},
          {"a title beyond its bound is cut", a_title_beyond_its_bound_is_cut})
