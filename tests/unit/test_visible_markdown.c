/* Markdown of a text and edges that are put there by hand: what is escaped, fenced and nested. */
#include <stdlib.h>
#include <string.h>

#include "parse/visible/visible_markdown.h"
#include "unit.h"

/* Edges as a program: "3<b" begins <b> at byte 3, "5>b" ends it. */
typedef struct Edge {
    uint32_t at;
    HtmlTagId id;
    bool is_end;
    const char *attributes;
} Edge;

static bool resolve(void *context, HtmlSlice reference, Buffer *out)
{
    (void)context;
    (void)buffer_append_string(out, "http://h/");
    return buffer_append(out, reference.bytes, reference.length) == RESULT_OK &&
           reference.bytes[0] != '!';
}

static bool is_block(HtmlTagId id)
{
    return id != HTML_A && id != HTML_B && id != HTML_EM && id != HTML_CODE && id != HTML_I;
}

static void writes(const char *text, const Edge *edges, size_t n, const char *want)
{
    VisibleMarks marks;
    visible_marks_init(&marks);
    visible_marks_begin(&marks);
    marks.wants_edges = true;
    static const char markup_end[1];
    const char *end = markup_end;
    for (size_t i = 0; i < n; i++) {
        VisibleEdge edge = {.attributes = edges[i].attributes,
                            .at = edges[i].at,
                            .id = (uint8_t)edges[i].id,
                            .is_end = edges[i].is_end,
                            .is_block = is_block(edges[i].id)};
        end = edges[i].attributes == NULL ? end : edges[i].attributes + strlen(edges[i].attributes);
        visible_marks_edge(&marks, &edge);
    }
    VisibleMarkdown page = {
        .text = text, .length = strlen(text), .marks = &marks, .end = end, .resolve = resolve};
    Buffer out = {.limit = 4096};
    CU_ASSERT_EQUAL(visible_markdown_write(&page, &out), RESULT_OK);
    if (strcmp(buffer_string(&out), want) != 0) {
        (void)fprintf(stderr, "--- is\n%s\n--- expected\n%s\n", buffer_string(&out), want);
        CU_FAIL("another text");
    }
    buffer_destroy(&out);
    visible_marks_destroy(&marks);
}

#define WRITES(text, want, ...)                                                                    \
    do {                                                                                           \
        const Edge edges[] = {__VA_ARGS__};                                                        \
        writes(text, edges, sizeof edges / sizeof *edges, want);                                   \
    } while (0)

static void what_would_be_markup_is_escaped(void)
{
    writes("", NULL, 0, "");
    writes("a*b _c_ [d] <e> `f` g|h \\", NULL, 0, "a\\*b \\_c\\_ \\[d\\] \\<e> \\`f\\` g\\|h \\\\");
    writes("&amp; & &#1", NULL, 0, "\\&amp; & \\&#1");
    writes("# a # b", NULL, 0, "\\# a # b");
    writes("1. a 2. b", NULL, 0, "1\\. a 2. b");
    writes("- a - b", NULL, 0, "\\- a - b");
    writes("a\nb", NULL, 0, "a\\\nb");
}

static void spans_end_with_their_paragraph_and_go_on_in_the_next(void)
{
    WRITES("a b c", "a **b** c", {2, HTML_B, false, NULL}, {3, HTML_B, true, NULL});
    WRITES("ab", "**a**\n\n**b**", {0, HTML_B, false, NULL}, {1, HTML_P, false, NULL},
           {2, HTML_P, true, NULL}, {2, HTML_B, true, NULL});
    WRITES("ab", "*a*b", {0, HTML_EM, false, NULL}, {0, HTML_EM, false, NULL},
           {1, HTML_EM, true, NULL}, {2, HTML_EM, true, NULL}); /* within itself it is none */
}

static void a_link_has_its_target_and_one_to_nowhere_is_text(void)
{
    static const char good[] = " href='x'>";
    static const char none[] = " href='!'>";
    WRITES("go on", "[go](http://h/x) on", {0, HTML_A, false, good}, {2, HTML_A, true, NULL});
    WRITES("go on", "go on", {0, HTML_A, false, none}, {2, HTML_A, true, NULL});
    WRITES("go on", "go on", {0, HTML_A, false, NULL}, {2, HTML_A, true, NULL});
}

static void code_is_fenced_by_more_ticks_than_it_has(void)
{
    WRITES("a*b", "`a*b`", {0, HTML_CODE, false, NULL}, {3, HTML_CODE, true, NULL});
    WRITES("a``b", "```a``b```", {0, HTML_CODE, false, NULL}, {4, HTML_CODE, true, NULL});
    WRITES("`", "`` ` ``", {0, HTML_CODE, false, NULL}, {1, HTML_CODE, true, NULL});
    static const char of_c[] = " class='x language-c'>";
    WRITES("x = *p;\n\n  y\n", "```c\nx = *p;\n\n  y\n```", {0, HTML_PRE, false, of_c},
           {13, HTML_PRE, true, NULL});
    WRITES("````", "`````\n````\n`````", {0, HTML_PRE, false, NULL}, {4, HTML_PRE, true, NULL});
}

static void lists_and_quotations_stand_within_each_other(void)
{
    static const char start[] = " start=9>";
    WRITES("abc", "9. a\n10. b\n\nc", {0, HTML_OL, false, start}, {0, HTML_LI, false, NULL},
           {1, HTML_LI, true, NULL}, {1, HTML_LI, false, NULL}, {2, HTML_LI, true, NULL},
           {2, HTML_OL, true, NULL});
    WRITES("ab", "> a\n>\n> - b", {0, HTML_BLOCKQUOTE, false, NULL}, {0, HTML_P, false, NULL},
           {1, HTML_P, true, NULL}, {1, HTML_UL, false, NULL}, {1, HTML_LI, false, NULL},
           {2, HTML_LI, true, NULL}, {2, HTML_UL, true, NULL}, {2, HTML_BLOCKQUOTE, true, NULL});
    Edge deep[200];
    for (size_t i = 0; i < 200; i++) { /* deeper than is remembered */
        deep[i] = (Edge){.id = i % 2 == 0 ? HTML_UL : HTML_LI, .at = 0};
    }
    writes("", deep, 200, "");
}

static void headings_have_their_level_and_tables_their_head(void)
{
    WRITES("ab", "### a\n\nb", {0, HTML_H3, false, NULL}, {1, HTML_H3, true, NULL});
    WRITES("abcd", "| a | b |\n|---|---|\n| c | d |", {0, HTML_TABLE, false, NULL},
           {0, HTML_TR, false, NULL}, {0, HTML_TD, false, NULL}, {1, HTML_TD, true, NULL},
           {1, HTML_TD, false, NULL}, {2, HTML_TD, true, NULL}, {2, HTML_TR, true, NULL},
           {2, HTML_TR, false, NULL}, {2, HTML_TD, false, NULL}, {3, HTML_TD, true, NULL},
           {3, HTML_TD, false, NULL}, {4, HTML_TD, true, NULL}, {4, HTML_TR, true, NULL},
           {4, HTML_TABLE, true, NULL});
}

/* Only what is wanted is written, and a buffer that is full says so. */
static bool keeps_vowels(const void *context, size_t at, size_t *until)
{
    *until = at + 1;
    return strchr("aeiou", ((const char *)context)[at]) != NULL;
}

static void what_is_not_wanted_is_left_out(void)
{
    VisibleMarks marks;
    visible_marks_init(&marks);
    visible_marks_begin(&marks);
    static char text[] = "education";
    VisibleMarkdown page = {.text = text,
                            .length = strlen(text),
                            .marks = &marks,
                            .keeps = keeps_vowels,
                            .resolve = resolve,
                            .context = text};
    Buffer out = {.limit = 4096};
    CU_ASSERT_EQUAL(visible_markdown_write(&page, &out), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&out), "euaio");
    buffer_destroy(&out);
    Buffer small = {.limit = 3};
    CU_ASSERT_EQUAL(visible_markdown_write(&page, &small), RESULT_LIMIT);
    buffer_destroy(&small);
    visible_marks_destroy(&marks);
}

UNIT_MAIN("visible_markdown", {"what would be markup is escaped", what_would_be_markup_is_escaped},
          {"spans end with their paragraph and go on in the next",
           spans_end_with_their_paragraph_and_go_on_in_the_next},
          {"a link has its target and one to nowhere is text",
           a_link_has_its_target_and_one_to_nowhere_is_text},
          {"code is fenced by more ticks than it has", code_is_fenced_by_more_ticks_than_it_has},
          {"lists and quotations stand within each other",
           lists_and_quotations_stand_within_each_other},
          {"headings have their level and tables their head",
           headings_have_their_level_and_tables_their_head},
          {"what is not wanted is left out", what_is_not_wanted_is_left_out})
