/* Options together: what config.c makes of them beyond options.c. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/buffer.h"
#include "rules/config.h"
#include "rules/config_check.h"
#include "folder_fixture.h"
#include "unit.h"

static void set(Config *config, const char *name, const char *value, Buffer *error)
{
    CU_ASSERT_EQUAL_FATAL(options_set(&config->options, name, value, "command line", error),
                          RESULT_OK);
}

static void files_of_options_are_found_from_another_directory(void)
{
    char dir[FOLDER_BYTES];
    char before[4096];
    char path[FOLDER_BYTES + 16];
    Config config;
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    folder_make(dir);
    CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(before, sizeof before));
    (void)snprintf(path, sizeof path, "%s/rules.txt", dir);
    folder_put(dir, "rules.txt", "//a/ 4\n", 7);
    CU_ASSERT_EQUAL_FATAL(config_init(&config), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(chdir(dir), 0);
    set(&config, "schedule.rules", "rules.txt", &error);
    set(&config, "score.rules", "missing.txt", &error);
    CU_ASSERT_EQUAL(config_resolve_paths(&config, &error), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(chdir(before), 0);
    CU_ASSERT_STRING_EQUAL(config.schedule_rules, path);
    CU_ASSERT_STRING_EQUAL(config.score_rules, "missing.txt");
    CU_ASSERT_EQUAL(config_check(&config, &error), RESULT_INVALID); /* only the other is missing */
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&error), "command line: score.rules"));
    CU_ASSERT_PTR_NULL(strstr(buffer_string(&error), "schedule.rules"));
    config_destroy(&config);
    buffer_destroy(&error);
    folder_remove(dir);
}

static void threads_follow_the_processors_that_may_be_used(void)
{
    cpu_set_t before;
    cpu_set_t one;
    CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof before, &before), 0);
    int n = CPU_COUNT(&before);
    CU_ASSERT_EQUAL(config_threads(0), n < 64 ? (unsigned)n : 64u);
    CU_ASSERT_EQUAL(config_threads(3), 3);
    CU_ASSERT_EQUAL(config_threads_for(0, 1), 1);
    CU_ASSERT_EQUAL(config_threads_for(0, 16), 16);
    CU_ASSERT_EQUAL(config_threads_for(0, 200), 64);
    CU_ASSERT_EQUAL(config_threads_for(3, 16), 3);
    size_t first = 0;
    while (!CPU_ISSET(first, &before)) {
        first++;
    }
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    CU_ASSERT_EQUAL_FATAL(sched_setaffinity(0, sizeof one, &one), 0);
    CU_ASSERT_EQUAL(config_threads(0), 1);
    CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof before, &before), 0);
}

UNIT_MAIN("config",
          {"files of options are found from another directory",
           files_of_options_are_found_from_another_directory},
          {"threads follow the processors that may be used",
           threads_follow_the_processors_that_may_be_used})
