/* Style sheets: which media hold, what declarations say, and that any text is a sheet. */
#include <stdlib.h>
#include <string.h>

#include "dice.h"
#include "parse/visible/visible_sheet.h"
#include "unit.h"

static VisibleSheet *sheet_of(const char *text)
{
    VisibleSheet *sheet = visible_sheet_new((HtmlSlice){.bytes = text, .length = strlen(text)});
    CU_ASSERT_PTR_NOT_NULL_FATAL(sheet);
    return sheet;
}

static void media_are_those_of_a_screen_with_a_mouse(void)
{
    static const char *const hold[] = {"",
                                       " ",
                                       "all",
                                       "Screen",
                                       "only screen and (min-width: 600px)",
                                       "not print",
                                       "print, screen",
                                       "(max-width:1280px)",
                                       "(width >= 1280px)",
                                       "(400px < width <= 1280px)",
                                       "(min-height: 50em)",
                                       "(hover) and (orientation: landscape)",
                                       "(print) or (color)",
                                       "not (max-width: 10px)"};
    static const char *const others[] = {"print",
                                         "not all",
                                         "screen and (max-width: 1279px)",
                                         "(min-width: 1281px)",
                                         "(width > 1280px)",
                                         "(400px <= width < 1280px)",
                                         "(prefers-color-scheme: dark)",
                                         "(nonsense)",
                                         "(",
                                         "speech, print"};
    for (size_t i = 0; i < sizeof hold / sizeof *hold; i++) {
        bool holds = visible_sheet_has_media(hold[i], hold[i] + strlen(hold[i]));
        CU_ASSERT_TRUE(holds);
        if (!holds) {
            (void)fprintf(stderr, "'%s'\n", hold[i]);
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        bool holds = visible_sheet_has_media(others[i], others[i] + strlen(others[i]));
        CU_ASSERT_FALSE(holds);
        if (holds) {
            (void)fprintf(stderr, "'%s'\n", others[i]);
        }
    }
}

static void declarations_that_count_are_taken_one_by_one(void)
{
    static const char text[] = "color:red; DISPLAY : None !important;a{display:block} visibility:"
                               "hidden;white-space:pre;float:left;position:fixed;"
                               "text-transform:Uppercase;display:flex;display:nonsense()";
    static const SheetDeclaration want[] = {{VISIBLE_DISPLAY, VISIBLE_BOX_NONE, true},
                                            {VISIBLE_HIDDEN, 1, false},
                                            {VISIBLE_WHITE, VISIBLE_WHITE_PRE, false},
                                            {VISIBLE_FLOAT, 1, false},
                                            {VISIBLE_AWAY, 1, false},
                                            {VISIBLE_CASE, VISIBLE_CASE_UPPER, false}};
    const char *p = text;
    const char *end = text + strlen(text);
    SheetDeclaration d;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        CU_ASSERT_TRUE_FATAL(visible_sheet_next_declaration(&p, end, &d));
        CU_ASSERT_TRUE(d.property == want[i].property && d.value == want[i].value &&
                       d.important == want[i].important);
    }
    CU_ASSERT_TRUE(visible_sheet_next_declaration(&p, end, &d));
    CU_ASSERT_TRUE(d.property == VISIBLE_DISPLAY && (d.value & VISIBLE_FLEX) != 0);
    while (visible_sheet_next_declaration(&p, end, &d)) {
    }
    CU_ASSERT_PTR_EQUAL(p, end);
}

static void rules_are_counted_where_they_hold(void)
{
    static const struct {
        const char *text;
        size_t rules;
        size_t imports;
    } rows[] = {
        {"", 0, 0},
        {"p{display:none}", 1, 0},
        {"p,.a, #b > i{display:none}", 3, 0},
        {"p{color:red}", 0, 0},
        {"/* p{display:none} */ <!-- q{display:none} -->", 1, 0},
        {"@media print{p{display:none}} @media screen{q{display:none}}", 1, 0},
        {"@supports (display:grid){p{display:none}} @supports not (x){p{display:none}}", 1, 0},
        {"@layer a{p{display:none}} @layer b;", 1, 0},
        {"@container x{p{display:none}} @font-face{src:url(x)} p{float:left}", 1, 0},
        {"@import 'a.css';@import url(b.css) screen;@import url( \"c.css\" );@import 'd' print;p{}",
         0, 3},
        {"p{float:left}@import 'late.css';", 1, 0},
        {"p{display:none", 1, 0},
        {"p{display:none}}q{display:none}", 1, 0},
        {"@supports n", 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        VisibleSheet *sheet = sheet_of(rows[i].text);
        if (sheet->n_rules != rows[i].rules || sheet->n_imports != rows[i].imports) {
            (void)fprintf(stderr, "%s: %zu rules, %zu imports\n", rows[i].text, sheet->n_rules,
                          sheet->n_imports);
            CU_FAIL("another sheet");
        }
        visible_sheet_delete(sheet);
    }
    visible_sheet_delete(NULL);
}

static void what_weighs_more_is_in_the_weight(void)
{
    VisibleSheet *sheet = sheet_of(
        "p{float:left}.a{float:left}#b{float:left}p p{float:left}@layer x{#c{float:left}}");
    CU_ASSERT_EQUAL_FATAL(sheet->n_rules, 5);
    const SheetRule *r = sheet->rules;
    CU_ASSERT_TRUE(r[0].weight < r[3].weight && r[3].weight < r[1].weight);
    CU_ASSERT_TRUE(r[1].weight < r[2].weight && r[4].weight < r[0].weight);
    CU_ASSERT_NOT_EQUAL(visible_sheet_hash((HtmlSlice){"a", 1}, '.'),
                        visible_sheet_hash((HtmlSlice){"a", 1}, '#'));
    visible_sheet_delete(sheet);
}

static void any_text_is_a_sheet(void)
{
    static const char *const parts[] = {
        "p",    ".a",          "#b",         "{",      "}",          "display:none",
        ";",    "@media ",     "(",          ")",      "@import ",   "url(",
        "'",    "\"",          "\\",         "/*",     "*/",         ":not(",
        ":is(", ":nth-child(", "2n+1",       "[x=",    "]",          ",",
        ">",    " ",           "width",      "<=",     "400px",      "@supports ",
        "n",    "\xC3",        "!important", "@layer", "99999999999"};
    Dice dice = {.state = 9};
    for (unsigned round = 0; round < 4000; round++) {
        char text[200] = "";
        size_t length = 0;
        for (size_t n = dice_below(&dice, 14); n > 0; n--) {
            length += (size_t)snprintf(text + length, sizeof text - length, "%s",
                                       parts[dice_below(&dice, sizeof parts / sizeof *parts)]);
        }
        char *exact = malloc(length + (length == 0));
        CU_ASSERT_PTR_NOT_NULL_FATAL(exact);
        memcpy(exact, text, length);
        VisibleSheet *sheet = visible_sheet_new((HtmlSlice){.bytes = exact, .length = length});
        free(exact); /* the sheet has its own copy */
        CU_ASSERT_PTR_NOT_NULL_FATAL(sheet);
        for (size_t i = 0; i < sheet->n_rules; i++) {
            const SheetRule *rule = &sheet->rules[i];
            CU_ASSERT_TRUE(rule->compound < sheet->n_compounds);
            CU_ASSERT_TRUE(rule->first + rule->n <= sheet->n_declarations);
            CU_ASSERT_TRUE(rule->next <= sheet->n_rules);
        }
        visible_sheet_delete(sheet);
    }
}

UNIT_MAIN("visible_sheet",
          {"media are those of a screen with a mouse", media_are_those_of_a_screen_with_a_mouse},
          {"declarations that count are taken one by one",
           declarations_that_count_are_taken_one_by_one},
          {"rules are counted where they hold", rules_are_counted_where_they_hold},
          {"what weighs more is in the weight", what_weighs_more_is_in_the_weight},
          {"any text is a sheet", any_text_is_a_sheet})
