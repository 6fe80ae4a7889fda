#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rules/score_rules.h"
#include "folder_fixture.h"
#include "unit.h"

static Result read_text(const char *text, ScoreRules **rules, Buffer *error)
{
    char path[FOLDER_BYTES];
    int fd = folder_make_file(path);
    CU_ASSERT_EQUAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
    buffer_init(error, BUFFER_NO_LIMIT);
    Result rc = score_rules_read(rules, path, error);
    (void)unlink(path);
    return rc;
}

/* The score of a URL, with an answer when body is not NULL. */
static float score(const ScoreRules *rules, const char *text, const char *body)
{
    Url url;
    FilterScratch *scratch = NULL;
    url_init(&url);
    CU_ASSERT_EQUAL_FATAL(filter_scratch_new(&scratch), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(url_parse(&url, NULL, text, strlen(text)), RESULT_OK);
    FilterInput input = {.url = &url};
    if (body != NULL) {
        input.status = 200;
        input.content_type = "text/html";
        input.has_body = true;
        input.body = body;
        input.body_length = strlen(body);
    }
    float found = score_rules_find(rules, &input, scratch);
    filter_scratch_delete(scratch);
    url_destroy(&url);
    return found;
}

static void the_first_rule_that_matches_decides(void)
{
    ScoreRules *rules = NULL;
    Buffer error;
    CU_ASSERT_EQUAL_FATAL(read_text("# what we want\n"
                                    "\n"
                                    "1\tURLContainsRegex(\"(?i)astro\")\n"
                                    "  0.125 HostEquals(shop.example) or SchemeEquals(https)\r\n"
                                    "0 URLContainsRegex(\"astronomy\")",
                                    &rules, &error),
                          RESULT_OK);
    CU_ASSERT_EQUAL(score(rules, "http://a.example/Astronomy", NULL), 1.0f);
    CU_ASSERT_EQUAL(score(rules, "http://shop.example/", NULL), 0.125f);
    CU_ASSERT_EQUAL(score(rules, "http://a.example/", NULL), SCORE_RULES_NEUTRAL);
    score_rules_delete(rules);
    buffer_destroy(&error);
}

static void what_a_page_says_counts_when_there_is_one(void)
{
    ScoreRules *rules = NULL;
    Buffer error;
    CU_ASSERT_EQUAL_FATAL(
        read_text("0.9 ResponseContainsRegex(\"telescope\")\n0.2 true\n", &rules, &error),
        RESULT_OK);
    CU_ASSERT_EQUAL(score(rules, "http://a.example/", NULL), 0.2f);
    CU_ASSERT_EQUAL(score(rules, "http://a.example/", "a telescope"), 0.9f);
    CU_ASSERT_EQUAL(score(rules, "http://a.example/", "a microscope"), 0.2f);
    score_rules_delete(rules);
    buffer_destroy(&error);
}

/* Aduana's example: keywords on links and in pages. */
static void what_is_written_on_links_counts(void)
{
    static const char anchor[] = "the Galaxy";
    static const char around[] = "see the Galaxy from afar";
    ScoreRules *rules = NULL;
    FilterScratch *scratch = NULL;
    Buffer error;
    Url url;
    CU_ASSERT_EQUAL_FATAL(read_text("1 AnchorContainsRegex(\"(?i)galaxy\")\n"
                                    "0.5 TextContainsRegex(\"afar$\")\n"
                                    "0.25 TitleContainsRegex(\"(?i)astro\")\n"
                                    "0 true\n",
                                    &rules, &error),
                          RESULT_OK);
    CU_ASSERT_TRUE((score_rules_need(rules) & FILTER_HAS_TEXT) != 0);
    url_init(&url);
    CU_ASSERT_EQUAL_FATAL(filter_scratch_new(&scratch), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(url_parse(&url, NULL, "http://a.example/", 17), RESULT_OK);
    FilterInput input = {.url = &url, .title = "On astronomy"};
    CU_ASSERT_EQUAL(score_rules_find(rules, &input, scratch), 0.25f);
    input.text = around;
    input.text_length = sizeof around - 1;
    CU_ASSERT_EQUAL(score_rules_find(rules, &input, scratch), 0.5f);
    input.anchor = anchor;
    input.anchor_length = sizeof anchor - 1;
    CU_ASSERT_EQUAL(score_rules_find(rules, &input, scratch), 1.0f);
    input.anchor_length = 3;
    input.text_length = 3;
    input.title = NULL;
    CU_ASSERT_EQUAL(score_rules_find(rules, &input, scratch), 0.0f);
    filter_scratch_delete(scratch);
    url_destroy(&url);
    score_rules_delete(rules);
    buffer_destroy(&error);
}

static void mistakes_are_told_by_line_and_column(void)
{
    static const struct {
        const char *text;
        const char *where;
    } bad[] = {{"1 true\n2 true\n", ":2: column 1: "},
               {"-0.1 true\n", ":1: column 1: "},
               {"nan true\n", ":1: column 1: "},
               {"true\n", ":1: column 1: "},
               {"0.5\n", ":1: column 1: "},
               {"# x\n0.5 HostEqual(a)\n", ":2: column 5: "},
               {"0.5 true or\n", ":1: column "}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ScoreRules *rules = NULL;
        Buffer error;
        CU_ASSERT_EQUAL(read_text(bad[i].text, &rules, &error), RESULT_INVALID);
        CU_ASSERT_PTR_NULL(rules);
        CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&error), bad[i].where));
        buffer_destroy(&error);
    }
    ScoreRules *rules = NULL;
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    CU_ASSERT_NOT_EQUAL(score_rules_read(&rules, "/nowhere/at/all", &error), RESULT_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&error), "/nowhere/at/all: cannot be read"));
    buffer_destroy(&error);
    score_rules_delete(NULL);
}

UNIT_MAIN("score_rules",
          {"the first rule that matches decides", the_first_rule_that_matches_decides},
          {"what a page says counts when there is one", what_a_page_says_counts_when_there_is_one},
          {"what is written on links counts", what_is_written_on_links_counts},
          {"mistakes are told by line and column", mistakes_are_told_by_line_and_column})
