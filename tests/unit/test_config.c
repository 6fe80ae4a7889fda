/* Options together: what config.c makes of them beyond options.c. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/buffer.h"
#include "rules/config.h"
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

UNIT_MAIN("config", {"files of options are found from another directory",
                     files_of_options_are_found_from_another_directory})
