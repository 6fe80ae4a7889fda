/* tdmrep.json: which paths it reserves. */
#include <string.h>

#include "alloc_fixture.h"
#include "parse/robots/robots.h"
#include "unit.h"

#define RESERVED (USAGE_TDM | USAGE_TRAIN_AI)

static Robots *with_file(const char *robots_txt, const char *file, Result expected)
{
    Robots *robots = NULL;
    CU_ASSERT_EQUAL_FATAL(robots_parse(robots_txt, strlen(robots_txt), "ragno", &robots),
                          RESULT_OK);
    CU_ASSERT_EQUAL(robots_add_tdm(robots, file, strlen(file)), expected);
    return robots;
}

static unsigned denied(const Robots *robots, const char *path)
{
    return robots_usage(robots, path, strlen(path), NULL).denied;
}

static void the_longest_location_decides(void)
{
    Robots *robots = with_file("",
                               "\xef\xbb\xbf [ {\"location\": \"/\", \"tdm-reservation\": 1,\n"
                               "\"tdm-policy\": \"https://p.example/{x}\"},"
                               "{\"tdm-reservation\":0,\"location\":\"\\/open\\/\"},"
                               "{\"location\":\"/open/closed/\",\"tdm-reservation\":1}]",
                               RESULT_OK);
    CU_ASSERT_EQUAL(denied(robots, "/x?y"), RESERVED);
    CU_ASSERT_EQUAL(denied(robots, "/open/x"), 0);
    CU_ASSERT_EQUAL(robots_usage(robots, "/open/x", 7, NULL).allowed, USAGE_TDM);
    CU_ASSERT_EQUAL(denied(robots, "/open/closed/x"), RESERVED);
    robots_delete(robots);
}

static void robots_txt_counts_beside_it(void)
{
    Robots *robots = with_file("User-agent: *\nContent-Usage: search=n\n",
                               "[{\"location\":\"/a/\",\"tdm-reservation\":1}]", RESULT_OK);
    CU_ASSERT_EQUAL(denied(robots, "/a/b"), RESERVED | USAGE_SEARCH);
    CU_ASSERT_EQUAL(denied(robots, "/b"), USAGE_SEARCH);
    robots_delete(robots);
}

static void one_location_twice_is_reserved_and_not_allowed(void)
{
    static const char *const files[] = {"[{\"location\":\"/a/\",\"tdm-reservation\":1},"
                                        "{\"location\":\"/a/\",\"tdm-reservation\":0}]",
                                        "[{\"location\":\"/a/\",\"tdm-reservation\":0},"
                                        "{\"location\":\"/a/*\",\"tdm-reservation\":1}]"};
    for (size_t i = 0; i < 2; i++) {
        Robots *robots = with_file("", files[i], RESULT_OK);
        CU_ASSERT_EQUAL(denied(robots, "/a/b"), RESERVED);
        CU_ASSERT_EQUAL(robots_usage(robots, "/a/b", 4, NULL).allowed, 0);
        robots_delete(robots);
    }
    Robots *robots = with_file("User-agent: *\nContent-Usage: tdm=n\n",
                               "[{\"location\":\"/\",\"tdm-reservation\":0}]", RESULT_OK);
    CU_ASSERT_EQUAL(denied(robots, "/a"), RESERVED);
    CU_ASSERT_EQUAL(robots_usage(robots, "/a", 2, NULL).allowed, 0);
    robots_delete(robots);
}

static void wildcards_are_those_of_robots_rules(void)
{
    Robots *robots = with_file("",
                               "[{\"location\":\"/img/*.jpg$\",\"tdm-reservation\":1},"
                               "{\"location\":\"/img/x*\",\"tdm-reservation\":0}]",
                               RESULT_OK);
    CU_ASSERT_EQUAL(denied(robots, "/img/x.png"), 0);
    CU_ASSERT_EQUAL(robots_usage(robots, "/img/x.png", 10, NULL).allowed, USAGE_TDM);
    CU_ASSERT_EQUAL(denied(robots, "/img/x.jpg"), RESERVED);
    CU_ASSERT_EQUAL(denied(robots, "/other"), 0);
    robots_delete(robots);
}

static void what_stands_before_a_mistake_counts(void)
{
    static const char *const bad[] = {"",
                                      "<html>",
                                      "[",
                                      "[1]",
                                      "[{\"location\":\"/a\",\"tdm-reservation\":1},{",
                                      "{\"location",
                                      "[{\"location\":\"/a\",\"tdm-reservation\":1}, null]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Robots *robots = with_file("", bad[i], RESULT_INVALID);
        CU_ASSERT_EQUAL(denied(robots, "/a"), i == 4 || i == 6 ? RESERVED : 0);
        robots_delete(robots);
    }
}

static void what_is_not_a_rule_is_passed_over(void)
{
    Robots *robots =
        with_file("",
                  "[{\"location\":\"x\",\"tdm-reservation\":1},{\"location\":\"/b\"},{},"
                  "{\"other\":[{\"location\":\"/c\",\"tdm-reservation\":1}],\"location\":[\"/d\"],"
                  "\"tdm-reservation\":2},{\"location\":\"/e\\u00e4\",\"tdm-reservation\":true}]",
                  RESULT_OK);
    CU_ASSERT_EQUAL(denied(robots, "/b/c/d"), 0);
    CU_ASSERT_EQUAL(denied(robots, "/e%C3%A4"), RESERVED);
    robots_delete(robots);
    robots = with_file("", "{\"location\":\"/\",\"tdm-reservation\":1}", RESULT_OK);
    CU_ASSERT_EQUAL(denied(robots, "/z"), RESERVED);
    robots_delete(robots);
}

static void the_number_of_rules_is_bounded(void)
{
    Buffer file;
    buffer_init(&file, BUFFER_NO_LIMIT);
    (void)buffer_append_string(&file, "[");
    for (unsigned i = 0; i < 2 * ROBOTS_MAX_USAGES; i++) {
        (void)buffer_printf(&file, "{\"location\":\"/%u/\",\"tdm-reservation\":1},", i);
    }
    (void)buffer_append_string(&file, "]");
    Robots *robots = with_file("", buffer_string(&file), RESULT_LIMIT);
    CU_ASSERT_EQUAL(denied(robots, "/7/"), RESERVED);
    CU_ASSERT_EQUAL(denied(robots, "/1999/"), 0);
    robots_delete(robots);
    buffer_destroy(&file);
}

/* A long path is escaped in memory of its own. */
static void without_memory_a_path_is_denied(void)
{
#ifdef ALLOC_CAN_FAIL
    char path[3000] = "/a/~";
    memset(path + 4, ' ', sizeof path - 5);
    Robots *robots = with_file("", "[{\"location\":\"/a/~%20\",\"tdm-reservation\":1}]", RESULT_OK);
    CU_ASSERT_EQUAL(denied(robots, path), RESERVED);
    alloc_fail_at = 1;
    unsigned bits = denied(robots, path);
    alloc_fail_at = 0;
    CU_ASSERT_EQUAL(bits & RESERVED, RESERVED);
    robots_delete(robots);
#endif
}

UNIT_MAIN("robots_tdm", {"the longest location decides", the_longest_location_decides},
          {"robots.txt counts beside it", robots_txt_counts_beside_it},
          {"one location twice is reserved, and not allowed",
           one_location_twice_is_reserved_and_not_allowed},
          {"wildcards are those of robots rules", wildcards_are_those_of_robots_rules},
          {"what stands before a mistake counts", what_stands_before_a_mistake_counts},
          {"what is not a rule is passed over", what_is_not_a_rule_is_passed_over},
          {"without memory a path is denied", without_memory_a_path_is_denied},
          {"the number of rules is bounded", the_number_of_rules_is_bounded})
