/* Main text: what of a page is left without its navigation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/buffer.h"
#include "parse/visible/visible.h"
#include "unit.h"

#define SENTENCE                                                                                   \
    "The crawler asks the server for a page, reads its links, and comes back a week later. "
#define PARAGRAPH SENTENCE SENTENCE SENTENCE
#define MENU                                                                                       \
    "<ul><li><a href=a>Home page</a><li><a href=b>All our products</a><li><a href=c>About us</a>"  \
    "<li><a href=d>Contact</a></ul>"

/* The main text of a page, or "" when there is none; static until the next call. */
static const char *main_of(const char *body)
{
    static char text[8192];
    VisibleReader *reader = NULL;
    VisibleOptions options = {.main_text = true};
    VisibleInput input = {
        .body = body, .length = strlen(body), .content_type = "text/html; charset=utf-8"};
    VisiblePage page;
    if (visible_reader_new(&reader, &options) != RESULT_OK) {
        abort();
    }
    CU_ASSERT_EQUAL(visible_read(reader, &input, &page), RESULT_OK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(page.main_text);
    (void)snprintf(text, sizeof text, "%.*s", (int)page.main_length, page.main_text);
    visible_reader_delete(reader);
    return text;
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

static void what_says_it_is_main_is_believed(void)
{
    const char *text = main_of("<header>Site</header>" MENU "<main><h1>T</h1><p>" PARAGRAPH
                               "<aside>beside</aside></main><footer>" PARAGRAPH "</footer>");
    CU_ASSERT(strncmp(text, "T\n\nThe crawler", 14) == 0);
    CU_ASSERT(!has(text, "Site") && !has(text, "products") && !has(text, "beside"));
    CU_ASSERT_EQUAL(strlen(text), strlen("T\n\n") + strlen(PARAGRAPH) - 1);
    CU_ASSERT(strncmp(main_of("<div>x</div><div role=main><p>" PARAGRAPH "</div>"), "The", 3) == 0);
    /* Unless there is hardly anything in it. */
    text = main_of("<main>Loading</main><div><p>" PARAGRAPH "</div>");
    CU_ASSERT(has(text, "The crawler"));
}

static void the_densest_element_is_main(void)
{
    const char *text = main_of(
        "<div>" MENU "</div><div><h2>Before</h2><p>" PARAGRAPH "<p>short<pre>x = 1\ny = 2</pre>"
        "<table><tr><td>a<td>b</table><p>" PARAGRAPH "</div><div>" MENU "</div>"
        "<div>Copyright</div>");
    CU_ASSERT(!has(text, "products") && !has(text, "Copyright"));
    CU_ASSERT(has(text, "Before") && has(text, "short") && has(text, "x = 1\ny = 2") &&
              has(text, "a\tb"));
}

static void the_headline_before_it_belongs_to_it(void)
{
    const char *text =
        main_of("<div>" MENU "</div><h1>Headline</h1><div>by somebody</div><div><p>" PARAGRAPH
                "<p>" PARAGRAPH "</div>");
    CU_ASSERT(strncmp(text, "Headline\nby somebody\n", 21) == 0);
}

static void navigation_in_it_is_left_out(void)
{
    const char *text = main_of("<div><p>" PARAGRAPH "<div>" MENU "</div><p>" PARAGRAPH "</div>");
    CU_ASSERT(has(text, "The crawler") && !has(text, "products"));
    text = main_of("<article><header><h1>Title of it</h1></header><p>" PARAGRAPH
                   "<footer>signed</footer></article>");
    CU_ASSERT(has(text, "Title of it") && has(text, "signed"));
    text = main_of("<header><h1>Site</h1></header><div><p>" PARAGRAPH "</div>");
    CU_ASSERT(!has(text, "Site"));
}

static void a_list_of_links_is_its_own_main_text(void)
{
    const char *text = main_of("<nav>menu</nav><div>" MENU "</div>");
    CU_ASSERT(has(text, "products") && !has(text, "menu"));
}

static void a_page_without_text_has_none(void)
{
    CU_ASSERT_STRING_EQUAL(main_of(""), "");
    CU_ASSERT_STRING_EQUAL(main_of("<nav>menu</nav>"), "");
    CU_ASSERT_STRING_EQUAL(main_of("<p>one"), "one");
}

/* Scripts without blanks between words have words all the same. */
static void han_characters_are_counted(void)
{
    Buffer page;
    buffer_init(&page, BUFFER_NO_LIMIT);
    (void)buffer_append_string(&page, "<div>" MENU "</div><div><p>");
    for (unsigned i = 0; i < 120; i++) {
        (void)buffer_append_string(&page, "\xE6\xBC\xA2");
    }
    (void)buffer_append_string(&page, "</div>");
    const char *text = main_of(page.data);
    CU_ASSERT(has(text, "\xE6\xBC\xA2") && !has(text, "products"));
    buffer_destroy(&page);
}

UNIT_MAIN("visible_main", {"what says it is main is believed", what_says_it_is_main_is_believed},
          {"the densest element is main", the_densest_element_is_main},
          {"the headline before it belongs to it", the_headline_before_it_belongs_to_it},
          {"navigation in it is left out", navigation_in_it_is_left_out},
          {"a list of links is its own main text", a_list_of_links_is_its_own_main_text},
          {"a page without text has none", a_page_without_text_has_none},
          {"Han characters are counted", han_characters_are_counted})
