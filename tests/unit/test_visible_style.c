/* What style sheets say of an element: selectors, the cascade, imports, and the bound of steps. */
#include <stdlib.h>
#include <string.h>

#include "parse/visible/visible_style.h"
#include "unit.h"

static VisibleStyles styles;
static const char page[] = " class='a b' id=c title=t data-x='one two'>";

static HtmlSlice slice(const char *text)
{
    return (HtmlSlice){.bytes = text, .length = strlen(text)};
}

/* A tag whose attributes are those of the page above, or none. */
static HtmlTag tag_of(const char *name, bool has_attributes)
{
    size_t n = strlen(name);
    HtmlTag tag = {.key = html_name_key_of(name, n), .attributes = has_attributes ? page : NULL};
    tag.id = html_tag_of_key(tag.key);
    if (has_attributes) {
        tag.present = 1u << HTML_ATTR_CLASS | 1u << HTML_ATTR_ID;
        tag.values[HTML_ATTR_CLASS] = (HtmlSlice){page + 8, 3};
        tag.values[HTML_ATTR_ID] = (HtmlSlice){page + 16, 1};
    }
    return tag;
}

/* The display that a sheet gives to <p class='a b' id=c ...>, the second child of a <div> in
 * <body>, whose first one is <b>; -1: it says nothing. */
static int display_by(const char *sheet)
{
    visible_styles_init(&styles);
    visible_styles_begin(&styles, page + sizeof page - 1, 100000);
    visible_styles_add(&styles, slice(sheet), slice(""), slice(""));
    HtmlTag html = tag_of("html", false);
    HtmlTag body = tag_of("body", false);
    HtmlTag div = tag_of("div", false);
    HtmlTag b = tag_of("b", false);
    HtmlTag p = tag_of("p", true);
    visible_styles_root(&styles, 0, &html);
    visible_styles_root(&styles, 1, &body);
    uint32_t outer = visible_styles_open(&styles, 1, &div);
    visible_styles_close(&styles, visible_styles_open(&styles, outer, &b));
    uint32_t element = visible_styles_open(&styles, outer, &p);
    VisibleStyle style;
    visible_styles_of(&styles, element, &p, &style);
    int display =
        visible_style_has(&style, VISIBLE_DISPLAY) ? (int)style.value[VISIBLE_DISPLAY] : -1;
    CU_ASSERT_FALSE(styles.failed || styles.is_over);
    visible_styles_destroy(&styles);
    return display;
}

static void selectors_match_what_they_say(void)
{
    static const char *const yes[] = {"p",
                                      "*",
                                      ".a",
                                      ".b.a",
                                      "#c",
                                      "p#c.a",
                                      "div p",
                                      "body>div>p",
                                      "div>p",
                                      "b+p",
                                      "b~p",
                                      "[title]",
                                      "[title=t]",
                                      "[data-x~=two]",
                                      "[data-x^=one]",
                                      "[data-x$=two]",
                                      "[data-x*='e t']",
                                      ":nth-child(2)",
                                      ":nth-child(2n)",
                                      "p:nth-of-type(1)",
                                      ":not(b)",
                                      ":is(b,p)",
                                      "html p",
                                      "q,p",
                                      ":root p",
                                      "P"};
    static const char *const no[] = {"b",
                                     ".c",
                                     "#a",
                                     "p>p",
                                     "b p",
                                     "p+b",
                                     "div+p",
                                     "body>p",
                                     "[title=x]",
                                     "[data-x~=on]",
                                     ":nth-child(1)",
                                     ":nth-child(2n+1)",
                                     ":not(p)",
                                     ":is(b,i)",
                                     "p:hover",
                                     "p:last-child",
                                     "p:root",
                                     "::before",
                                     "p:nth-of-type(2)",
                                     ".A"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        char sheet[64];
        (void)snprintf(sheet, sizeof sheet, "%s{display:none}", yes[i]);
        if (display_by(sheet) != VISIBLE_BOX_NONE) {
            (void)fprintf(stderr, "%s\n", sheet);
            CU_FAIL("it does not match");
        }
    }
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        char sheet[64];
        (void)snprintf(sheet, sizeof sheet, "%s{display:none}", no[i]);
        if (display_by(sheet) != -1) {
            (void)fprintf(stderr, "%s\n", sheet);
            CU_FAIL("it matches");
        }
    }
}

static void the_cascade_is_that_of_the_standard(void)
{
    CU_ASSERT_EQUAL(display_by("p{display:block}p{display:none}"), VISIBLE_BOX_NONE);
    CU_ASSERT_EQUAL(display_by(".a{display:none}p{display:block}"), VISIBLE_BOX_NONE);
    CU_ASSERT_EQUAL(display_by("#c{display:none}.a.b.a{display:block}"), VISIBLE_BOX_NONE);
    CU_ASSERT_EQUAL(display_by("p{display:none!important}#c{display:block}"), VISIBLE_BOX_NONE);
    CU_ASSERT_EQUAL(display_by("p{display:none}@layer x{#c{display:block}}"), VISIBLE_BOX_NONE);
    CU_ASSERT_EQUAL(display_by("@media print{p{display:none}}"), -1);
    CU_ASSERT_EQUAL(display_by("p{color:red}"), -1);
}

static unsigned n_loads;

static bool load(void *context, HtmlSlice base, HtmlSlice reference, HtmlSlice *text,
                 HtmlSlice *url)
{
    (void)context;
    (void)base;
    n_loads++;
    *url = reference;
    *text = slice("@import 'again.css';p{display:none}");
    return reference.length != 7 || memcmp(reference.bytes, "missing", 7) != 0;
}

static void sheets_import_others_and_never_without_end(void)
{
    visible_styles_init(&styles);
    visible_styles_begin(&styles, page + sizeof page - 1, 100000);
    styles.load = load;
    n_loads = 0;
    visible_styles_link(&styles, slice("missing"), slice(""));
    CU_ASSERT_EQUAL(styles.n_sheets, 0);
    visible_styles_link(&styles, slice("x.css"), slice("print")); /* of another medium */
    CU_ASSERT_EQUAL(styles.n_sheets, 0);
    visible_styles_link(&styles, slice("x.css"), slice(""));
    CU_ASSERT_TRUE(styles.n_sheets >= 1 && styles.n_sheets <= VISIBLE_SHEETS_MAX);
    CU_ASSERT_TRUE(n_loads <= VISIBLE_SHEETS_MAX + 4);
    CU_ASSERT_FALSE(styles.failed);
    for (unsigned i = 0; i < VISIBLE_SHEETS_MAX + 9; i++) {
        visible_styles_add(&styles, slice("p{display:none}"), slice(""), slice(""));
    }
    CU_ASSERT_EQUAL(styles.n_sheets, VISIBLE_SHEETS_MAX);
    visible_styles_destroy(&styles);
}

static void matching_has_a_bound_behind_which_sheets_hold_no_more(void)
{
    static char sheet[20000];
    size_t n = 0;
    while (n + 64 < sizeof sheet) {
        n += (size_t)snprintf(sheet + n, sizeof sheet - n, "i *+* *~* p{display:none}");
    }
    visible_styles_init(&styles);
    visible_styles_begin(&styles, page + sizeof page - 1, 10); /* a page of ten bytes */
    visible_styles_add(&styles, slice(sheet), slice(""), slice(""));
    HtmlTag p = tag_of("p", false);
    VisibleStyle style;
    for (unsigned i = 0; i < 100000 && !styles.is_over; i++) {
        uint32_t element = visible_styles_open(&styles, 1, &p);
        visible_styles_of(&styles, element, &p, &style);
        visible_styles_close(&styles, element);
    }
    CU_ASSERT_TRUE(styles.is_over);
    uint32_t element = visible_styles_open(&styles, 1, &p);
    visible_styles_of(&styles, element, &p, &style);
    CU_ASSERT_FALSE(visible_style_has(&style, VISIBLE_DISPLAY));
    visible_styles_destroy(&styles);
}

UNIT_MAIN("visible_style", {"selectors match what they say", selectors_match_what_they_say},
          {"the cascade is that of the standard", the_cascade_is_that_of_the_standard},
          {"sheets import others and never without end",
           sheets_import_others_and_never_without_end},
          {"matching has a bound behind which sheets hold no more",
           matching_has_a_bound_behind_which_sheets_hold_no_more})
