/* The spelling of paths, patterns beside a naive matcher, and the bounds of what is kept. */
#include <stdlib.h>
#include <string.h>

#include "dice.h"
#include "parse/robots/robots.h"
#include "parse/robots/robots_rules.h"
#include "unit.h"

static const char *normal(const char *path, size_t length)
{
    static char out[256];
    out[robots_path_normalize(path, length, out)] = '\0';
    return out;
}

static void a_path_has_one_spelling(void)
{
    static const char *const rows[][2] = {{"/%7e%7E~", "/~~~"},
                                          {"/a b", "/a%20b"},
                                          {"/%2a*$%24", "/%2A%2A%24%24"},
                                          {"/%2f/", "/%2F/"},
                                          {"/%", "/%"},
                                          {"/%4", "/%4"},
                                          {"/%zz", "/%zz"},
                                          {"\xC3\xA4", "%C3%A4"},
                                          {"#\"<|", "%23%22%3C%7C"},
                                          {"", ""},
                                          {"%41%2D%00", "A-%00"},
                                          {"?a=b&c", "?a=b&c"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CU_ASSERT_STRING_EQUAL(normal(rows[i][0], strlen(rows[i][0])), rows[i][1]);
    }
    for (unsigned c = 0; c < 256; c++) {
        char byte = (char)c;
        char want[4] = {byte, '\0'};
        if (!robots_path_is_normal(&byte, 1) && c != '%') {
            (void)snprintf(want, sizeof want, "%%%02X", c);
        }
        CU_ASSERT_STRING_EQUAL(normal(&byte, 1), want);
    }
    CU_ASSERT_TRUE(robots_path_is_normal("", 0));
    CU_ASSERT_FALSE(robots_path_is_normal("/%41", 4));
}

/* A pattern as robots.txt has it, taken byte by byte. */
static bool naive(const char *rule, const char *path)
{
    if (*rule == '\0') {
        return true;
    }
    if (rule[0] == '$' && rule[1] == '\0') {
        return *path == '\0';
    }
    if (*rule == '*') {
        return naive(rule + 1, path) || (*path != '\0' && naive(rule, path + 1));
    }
    return *rule == *path && naive(rule + 1, path + 1);
}

static void patterns_match_as_a_naive_matcher_does(void)
{
    Dice dice = {.state = 5};
    Buffer pool = {.limit = BUFFER_NO_LIMIT};
    for (unsigned round = 0; round < 20000; round++) {
        char rule[12] = "";
        char path[16] = "";
        size_t n = (size_t)dice_below(&dice, 9);
        for (size_t i = 0; i < n; i++) {
            rule[i] = "ab*"[dice_below(&dice, 3)];
        }
        if (dice_below(&dice, 3) == 0) {
            rule[n++] = '$';
        }
        size_t length = (size_t)dice_below(&dice, 12);
        for (size_t i = 0; i < length; i++) {
            path[i] = "ab"[dice_below(&dice, 2)];
        }
        RobotsPattern pattern;
        uint32_t octets = 0;
        size_t at = pool.length = 0;
        CU_ASSERT_EQUAL(robots_pattern_compile(rule, n, &pool, &pattern, &octets), RESULT_OK);
        CU_ASSERT_EQUAL(octets, n);
        int64_t steps = ROBOTS_DECISION_STEPS;
        RobotsMatch match = robots_pattern_matches(&pattern, pool.data + at, path, length, &steps);
        RobotsPairs pairs = {0};
        robots_pairs_of(path, length, &pairs);
        bool want = naive(rule, path);
        if (match != (want ? ROBOTS_MATCH_YES : ROBOTS_MATCH_NO) ||
            (want && !robots_pairs_within(&pattern.pairs, &pairs))) {
            (void)fprintf(stderr, "'%s' and '%s': %d\n", rule, path, (int)match);
            CU_FAIL_FATAL("another answer");
        }
    }
    buffer_destroy(&pool);
}

static void without_steps_no_answer_is_made_up(void)
{
    Buffer pool = {.limit = BUFFER_NO_LIMIT};
    RobotsPattern pattern;
    uint32_t octets = 0;
    CU_ASSERT_EQUAL(robots_pattern_compile("/a*b*c", 6, &pool, &pattern, &octets), RESULT_OK);
    int64_t steps = 10;
    CU_ASSERT_EQUAL(robots_pattern_matches(&pattern, pool.data, "/aabbcc", 7, &steps),
                    ROBOTS_MATCH_UNKNOWN);
    CU_ASSERT_EQUAL(robots_pattern_matches(&pattern, pool.data, "/xabbcc", 7, &steps),
                    ROBOTS_MATCH_NO); /* its beginning says so */
    steps = 1000;
    CU_ASSERT_EQUAL(robots_pattern_matches(&pattern, pool.data, "/aabbcc", 7, &steps),
                    ROBOTS_MATCH_YES);
    CU_ASSERT_TRUE(steps < 1000);
    buffer_destroy(&pool);
}

static void of_an_escape_each_octet_counts_once_however_it_is_written(void)
{
    static const struct {
        const char *rule;
        uint32_t octets;
    } rows[] = {{"/a b", 4}, {"/%7E", 2}, {"/%2F", 4}, {"/\xC3\xA4", 7}, {"/%C3%A4", 7},
                {"/**", 3},  {"/$", 2},   {"", 0},     {"$", 1}};
    Buffer pool = {.limit = BUFFER_NO_LIMIT};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        RobotsPattern pattern;
        uint32_t octets = 99;
        CU_ASSERT_EQUAL(
            robots_pattern_compile(rows[i].rule, strlen(rows[i].rule), &pool, &pattern, &octets),
            RESULT_OK);
        CU_ASSERT_EQUAL(octets, rows[i].octets);
    }
    buffer_destroy(&pool);
    Buffer small = {.limit = 8};
    RobotsPattern pattern;
    uint32_t octets = 0;
    CU_ASSERT_NOT_EQUAL(robots_pattern_compile("/abcd", 5, &small, &pattern, &octets), RESULT_OK);
    CU_ASSERT_EQUAL(small.length, 0);
    buffer_destroy(&small);
}

static RobotsLine line_of(const char *value, unsigned number)
{
    return (RobotsLine){.kind = ROBOTS_LINE_DISALLOW,
                        .number = number,
                        .text = value,
                        .text_length = strlen(value),
                        .value = value,
                        .value_length = strlen(value)};
}

static void licences_of_the_highest_standing_are_kept_and_no_more_than_are_asked_for(void)
{
    Robots *robots = NULL;
    CU_ASSERT_EQUAL_FATAL(robots_parse("", 0, "ragno", &robots), RESULT_OK);
    char address[] = "/licence-0";
    for (unsigned i = 0; i < ROBOTS_LICENCES + 2; i++) {
        address[sizeof address - 2] = (char)('0' + i);
        RobotsLine line = line_of(address, i);
        CU_ASSERT_EQUAL(robots_rules_add_licence(robots, &line, 1), RESULT_OK);
        CU_ASSERT_EQUAL(robots_rules_add_licence(robots, &line, 1), RESULT_OK); /* known */
        CU_ASSERT_EQUAL(robots->n_licences, i < ROBOTS_LICENCES ? i + 1 : ROBOTS_LICENCES);
    }
    RobotsLine own = line_of("/own", 9);
    RobotsLine none = line_of("", 10);
    CU_ASSERT_EQUAL(robots_rules_add_licence(robots, &own, 0), RESULT_OK);
    CU_ASSERT_EQUAL(robots_rules_add_licence(robots, &none, 2), RESULT_OK);
    CU_ASSERT_EQUAL(robots->n_licences, ROBOTS_LICENCES);
    CU_ASSERT_EQUAL(robots_rules_add_licence(robots, &own, 2), RESULT_OK);
    CU_ASSERT_EQUAL(robots->n_licences, 1);
    CU_ASSERT_STRING_EQUAL(robots->pool.data + robots->licences[0].address, "/own");
    CU_ASSERT_EQUAL(robots->licences[0].line, 9);
    robots_delete(robots);
}

static void sitemaps_and_statements_have_a_bound(void)
{
    Robots *robots = NULL;
    CU_ASSERT_EQUAL_FATAL(robots_parse("", 0, "ragno", &robots), RESULT_OK);
    for (unsigned i = 0; i < ROBOTS_MAX_SITEMAPS + 2; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "http://a/%u", i % (ROBOTS_MAX_SITEMAPS + 1));
        RobotsLine line = line_of(text, i);
        CU_ASSERT_EQUAL(robots_rules_add_sitemap(robots, &line), RESULT_OK);
    }
    CU_ASSERT_EQUAL(robots->n_sitemaps, ROBOTS_MAX_SITEMAPS);
    static char words[2 * ROBOTS_RULE_TEXT_BYTES];
    memset(words, '\n', sizeof words);
    UsageStatement statement = {.text = words, .length = sizeof words};
    CU_ASSERT_EQUAL(robots_rules_add_usage(robots, "", 0, &statement), RESULT_OK);
    CU_ASSERT_EQUAL(robots->n_usages, 0); /* it says nothing */
    statement.usage.denied = USAGE_SEARCH;
    for (unsigned i = 0; i < ROBOTS_MAX_USAGES; i++) {
        CU_ASSERT_EQUAL(robots_rules_add_usage(robots, "/*", 2, &statement), RESULT_OK);
    }
    CU_ASSERT_EQUAL(robots_rules_add_usage(robots, "/", 1, &statement), RESULT_LIMIT);
    CU_ASSERT_EQUAL(robots->n_usages, ROBOTS_MAX_USAGES);
    const char *kept = robots->pool.data + robots->usages[0].words;
    CU_ASSERT_EQUAL(strspn(kept, "?"), ROBOTS_RULE_TEXT_BYTES);
    CU_ASSERT_EQUAL(strlen(kept), ROBOTS_RULE_TEXT_BYTES);
    robots_delete(robots);
}

UNIT_MAIN("robots_rules", {"a path has one spelling", a_path_has_one_spelling},
          {"patterns match as a naive matcher does", patterns_match_as_a_naive_matcher_does},
          {"without steps no answer is made up", without_steps_no_answer_is_made_up},
          {"of an escape each octet counts once however it is written",
           of_an_escape_each_octet_counts_once_however_it_is_written},
          {"licences of the highest standing are kept and no more than are asked for",
           licences_of_the_highest_standing_are_kept_and_no_more_than_are_asked_for},
          {"sitemaps and statements have a bound", sitemaps_and_statements_have_a_bound})
