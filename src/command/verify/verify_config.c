/* ragno verify: the settings that a crawl is resumed with. */
#include <string.h>

#include "rules/config.h"
#include "crawl/crawl_store.h"
#include "command/verify/verify_parts.h"

#define VERIFY_CONFIG "config.ini"

/* One problem per line that the file's reader complains about. */
static Result check_settings(Verify *verify, const char *path)
{
    Config config;
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    Result rc = config_init(&config);
    Result read = rc == RESULT_OK ? options_load(&config.options, path, &error) : rc;
    char *save = NULL;
    for (char *line = error.length == 0 ? NULL : strtok_r(error.data, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        verify_problem(verify, VERIFY_CONFIG, "%s", line);
    }
    if (rc == RESULT_OK && read != RESULT_OK && error.length == 0) {
        verify_problem(verify, VERIFY_CONFIG, "cannot be read: %s", result_name(read));
    }
    config_destroy(&config);
    buffer_destroy(&error);
    return rc;
}

Result verify_config(Verify *verify)
{
    Buffer path;
    if (!crawl_store_has_run(verify->options->directory)) {
        return RESULT_OK;
    }
    buffer_init(&path, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&path, "%s/" VERIFY_CONFIG, verify->options->directory);
    ConfigFile found = rc == RESULT_OK ? config_file_look(path.data) : CONFIG_FILE_WHOLE;
    if (found == CONFIG_FILE_NONE) {
        verify_problem(verify, VERIFY_CONFIG,
                       "is missing or empty; give its settings to the next start with -c FILE");
    } else if (rc == RESULT_OK) {
        rc = check_settings(verify, path.data);
    }
    if (found == CONFIG_FILE_CUT) {
        verify_problem(verify, VERIFY_CONFIG,
                       "does not end as ragno wrote it: it was cut or edited; settings that are "
                       "missing have their defaults");
    }
    buffer_destroy(&path);
    return rc;
}
