#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules/memory_budget.h"
#include "unit.h"

static void apply(Config *config, const char *memory, Result expected)
{
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL_FATAL(options_set(&config->options, "crawl.memory", memory, "test", &error),
                          RESULT_OK);
    CU_ASSERT_EQUAL(memory_budget_apply(config, &error), expected);
    CU_ASSERT_EQUAL(error.length > 0, expected != RESULT_OK);
    buffer_destroy(&error);
}

static void what_the_parts_may_take_is_the_budget_at_most(void)
{
    static const char *const budgets[] = {"64Mi", "65Mi", "100M", "128Mi", "256Mi",
                                          "1Gi",  "3Gi",  "64Gi", "1Ti"};
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
        Config config;
        CU_ASSERT_EQUAL_FATAL(config_init(&config), RESULT_OK);
        apply(&config, budgets[i], RESULT_OK);
        CU_ASSERT_TRUE(memory_budget_sum(&config) <= config.crawl_memory);
        CU_ASSERT_TRUE(config.crawl_memory > (INT64_C(300) << 20) ||
                       memory_budget_sum(&config) > config.crawl_memory / 10 * 9);
        config_destroy(&config);
    }
}

static void many_parsing_threads_share_what_is_for_parsing(void)
{
    Config config;
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL_FATAL(config_init(&config), RESULT_OK);
    CU_ASSERT_EQUAL(options_set(&config.options, "parse.threads", "64", "test", &error), RESULT_OK);
    apply(&config, "64Mi", RESULT_OK);
    CU_ASSERT_TRUE(memory_budget_sum(&config) <= config.crawl_memory);
    CU_ASSERT_TRUE(config.parse_memory >= 65536);
    config_destroy(&config);
    buffer_destroy(&error);
}

static void a_limit_is_lowered_but_never_raised(void)
{
    Config config;
    Config before;
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL_FATAL(config_init(&config), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(config_init(&before), RESULT_OK);
    CU_ASSERT_EQUAL(options_set(&config.options, "fetch.memory", "100Ki", "test", &error),
                    RESULT_OK);
    apply(&config, "64Mi", RESULT_OK);
    CU_ASSERT_EQUAL(config.fetch_memory, 100 << 10);
    CU_ASSERT_EQUAL(config.limits_workbench_memory, INT64_C(10) << 20);
    CU_ASSERT_EQUAL(config.store_memory, INT64_C(15) << 18);
    apply(&config, "64Gi", RESULT_OK);
    CU_ASSERT_EQUAL(config.limits_workbench_memory, INT64_C(10) << 20);
    apply(&before, "64Gi", RESULT_OK);
    CU_ASSERT_EQUAL(before.limits_workbench_memory, INT64_C(256) << 20);
    config_destroy(&config);
    config_destroy(&before);
    buffer_destroy(&error);
}

static void too_little_is_refused_and_none_changes_nothing(void)
{
    Config config;
    CU_ASSERT_EQUAL_FATAL(config_init(&config), RESULT_OK);
    int64_t before = memory_budget_sum(&config);
    apply(&config, "67108863", RESULT_INVALID);
    apply(&config, "0", RESULT_OK);
    CU_ASSERT_EQUAL(memory_budget_sum(&config), before);
    config_destroy(&config);
}

static void the_division_is_printed_and_adds_up(void)
{
    Config config;
    char *text = NULL;
    size_t length = 0;
    CU_ASSERT_EQUAL_FATAL(config_init(&config), RESULT_OK);
    apply(&config, "256Mi", RESULT_OK);
    FILE *out = open_memstream(&text, &length);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    memory_budget_print(&config, out);
    (void)fclose(out);
    double sum = 0;
    double together = 0;
    size_t n = 0;
    for (const char *line = text; line != NULL && *line != '\0';) {
        double value = 0;
        char word[64] = "";
        CU_ASSERT_EQUAL(*line, ';'); /* a comment */
        if (sscanf(line, ";%lf %63s", &value, word) == 2) {
            n++;
            sum += strcmp(word, "together;") == 0 ? 0 : value;
            together = value;
        }
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    CU_ASSERT_TRUE(n > 5 && sum > 200);
    CU_ASSERT_TRUE(sum - together < 1 && together - sum < 1);
    CU_ASSERT_TRUE(together <= 256.0);
    free(text);
    config_destroy(&config);
}

UNIT_MAIN("memory budget",
          {"what the parts may take is the budget at most",
           what_the_parts_may_take_is_the_budget_at_most},
          {"many parsing threads share what is for parsing",
           many_parsing_threads_share_what_is_for_parsing},
          {"a limit is lowered but never raised", a_limit_is_lowered_but_never_raised},
          {"too little is refused and none changes nothing",
           too_little_is_refused_and_none_changes_nothing},
          {"the division is printed and adds up", the_division_is_printed_and_adds_up})
