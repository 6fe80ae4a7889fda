/* The rules of a browser's tree, told tags by both front ends: they keep the same references. */
#include <stdlib.h>
#include <string.h>

#include "dice.h"
#include "parse/html/html_parser.h"
#include "parse/html/html_tree.h"
#include "unit.h"

static HtmlTree tree;
static Arena arena;
static HtmlOptions options;

static void begin(size_t max_links)
{
    options = (HtmlOptions){.max_links = max_links};
    arena_init(&arena, 4096, SIZE_MAX);
    html_tree_init(&tree, &options, &arena);
    html_tree_begin(&tree);
}

static void end(void)
{
    html_tree_destroy(&tree);
    arena_destroy(&arena);
}

/* The references that were kept, each with a blank, then "|" and the base. */
static const char *kept(char text[1024])
{
    size_t n = 0;
    for (size_t i = 0; i < tree.n_refs; i++) {
        n += (size_t)snprintf(text + n, 1024 - n, "%.*s ", (int)tree.refs[i].length,
                              tree.refs[i].bytes);
    }
    (void)snprintf(text + n, 1024 - n, "|%.*s", tree.has_base ? (int)tree.base.length : 0,
                   tree.has_base ? tree.base.bytes : "");
    return text;
}

static const struct {
    const char *page;
    const char *kept;
} pages[] = {
    {"<a href=1><a href=2>", "1 2 |"},
    {"<template><a href=1><template></template><a href=2></template><a href=3>", "3 |"},
    {"<svg><a href=1></a><circle><a xlink:href=2></svg><a href=3>", "1 2 3 |"},
    {"<svg><desc><a href=1></desc><style>x</style></svg>", "1 |"},
    {"<svg><p><a href=1>", "1 |"},
    {"<math><annotation-xml encoding='text/html'><a href=1></annotation-xml></math>", "1 |"},
    {"<math><mi><a href=1></mi></math><a href=2>", "1 2 |"},
    {"<frameset><frame src=1><a href=2></frameset><a href=3>", "1 |"},
    {"<body><frameset><frame src=1></frameset><a href=3>", "3 |"},
    {"<p>text<frameset><frame src=1></frameset>", "|"},
    {"<base href=b><base href=c><a href=1>", "1 |b"},
    {"<title><a href=1></title><textarea><a href=2></textarea><a href=3>", "3 |"},
    {"<noscript><a href=1></noscript>", "1 |"},
    {"<!-- <a href=1> --><script>'<a href=2>'</script><img src=3>", "3 |"},
    {"", "|"}};

static void what_a_browser_would_keep_is_kept(void)
{
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        char text[1024];
        begin(100);
        skim(pages[i].page, strlen(pages[i].page), &tree, NULL);
        if (strcmp(kept(text), pages[i].kept) != 0) {
            (void)fprintf(stderr, "%s: '%s', expected '%s'\n", pages[i].page, text, pages[i].kept);
            CU_FAIL("other references");
        }
        CU_ASSERT_TRUE(tree.depth <= HTML_TREE_DEPTH && !tree.failed);
        end();
    }
}

static void the_other_front_end_keeps_the_same(void)
{
    HtmlLibxml2 *libxml2 = NULL;
    CU_ASSERT_EQUAL_FATAL(html_libxml2_new(&libxml2), RESULT_OK);
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        char text[1024];
        begin(100);
        CU_ASSERT_EQUAL(html_libxml2_read(libxml2, pages[i].page, strlen(pages[i].page), &tree),
                        RESULT_OK);
        if (strcmp(kept(text), pages[i].kept) != 0) {
            (void)fprintf(stderr, "%s: '%s', expected '%s'\n", pages[i].page, text, pages[i].kept);
            CU_FAIL("other references");
        }
        end();
    }
    html_libxml2_delete(libxml2);
    html_libxml2_delete(NULL);
}

/* Any tags in any order: depth and counts stay within their bounds, and nothing is left open. */
static void any_tags_keep_the_invariants(void)
{
    static const char *const tags[] = {"<template>",
                                       "</template>",
                                       "<svg>",
                                       "</svg>",
                                       "<math>",
                                       "</math>",
                                       "<mi>",
                                       "</mi>",
                                       "<desc>",
                                       "</desc>",
                                       "<p>",
                                       "</p>",
                                       "<a href=1>",
                                       "<form>",
                                       "<font color=x>",
                                       "<title>",
                                       "</title>",
                                       "<g>",
                                       "</g>",
                                       "x",
                                       "<table>",
                                       "<frameset>",
                                       "<body>",
                                       "<foreignobject>",
                                       "</foreignobject>",
                                       "<svg/>",
                                       "<script>",
                                       "</script>"};
    Dice dice = {.state = 44};
    for (unsigned round = 0; round < 300; round++) {
        char page[4096];
        size_t n = 0;
        for (size_t i = dice_below(&dice, 200); i > 0; i--) {
            const char *tag = tags[dice_below(&dice, sizeof tags / sizeof *tags)];
            n += (size_t)snprintf(page + n, sizeof page - n, "%s", tag);
        }
        begin(10);
        skim(page, n, &tree, NULL);
        CU_ASSERT_TRUE(tree.depth <= HTML_TREE_DEPTH);
        CU_ASSERT_TRUE(tree.n_templates <= tree.depth + tree.n_too_deep);
        for (size_t i = 1; i < tree.depth; i++) { /* invariant 2 */
            CU_ASSERT_TRUE(tree.stack[0].space != HTML_SPACE_HTML ||
                           tree.stack[0].id == HTML_TEMPLATE);
        }
        CU_ASSERT_TRUE(tree.n_refs <= tree.refs_limit && !tree.failed);
        end();
    }
}

static void references_beyond_the_limit_and_depth_are_counted(void)
{
    begin(1);
    size_t limit = tree.refs_limit;
    for (size_t i = 0; i < limit + 5; i++) {
        skim("<a href=x>", 10, &tree, NULL);
    }
    CU_ASSERT_EQUAL(tree.n_refs, limit);
    CU_ASSERT_EQUAL(tree.n_dropped, 5);
    end();
    begin(10);
    for (unsigned i = 0; i < HTML_TREE_DEPTH + 3; i++) {
        skim("<svg>", 5, &tree, NULL);
    }
    CU_ASSERT_EQUAL(tree.depth, HTML_TREE_DEPTH);
    CU_ASSERT_EQUAL(tree.n_too_deep, 3);
    end();
}

static void some_tags_end_the_foreign_elements_around_them(void)
{
    HtmlTag tag = {.id = HTML_P};
    CU_ASSERT_TRUE(html_tag_breaks_out(&tag));
    tag.id = HTML_A;
    CU_ASSERT_FALSE(html_tag_breaks_out(&tag));
    tag.id = HTML_FONT;
    CU_ASSERT_FALSE(html_tag_breaks_out(&tag));
    tag.present = 1u << HTML_ATTR_FACE;
    CU_ASSERT_TRUE(html_tag_breaks_out(&tag));
    tag = (HtmlTag){.id = HTML_ANNOTATION_XML, .present = 1u << HTML_ATTR_ENCODING};
    tag.values[HTML_ATTR_ENCODING] = (HtmlSlice){"TEXT/html", 9};
    CU_ASSERT_TRUE(html_tag_encodes_html(&tag));
    tag.values[HTML_ATTR_ENCODING] = (HtmlSlice){"text/htm", 8};
    CU_ASSERT_FALSE(html_tag_encodes_html(&tag));
    tag.present = 0;
    CU_ASSERT_FALSE(html_tag_encodes_html(&tag));
}

UNIT_MAIN("html_tree", {"what a browser would keep is kept", what_a_browser_would_keep_is_kept},
          {"the other front end keeps the same", the_other_front_end_keeps_the_same},
          {"any tags keep the invariants", any_tags_keep_the_invariants},
          {"references beyond the limit and depth are counted",
           references_beyond_the_limit_and_depth_are_counted},
          {"some tags end the foreign elements around them",
           some_tags_end_the_foreign_elements_around_them})
