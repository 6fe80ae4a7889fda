#include "command/check/check_options.h"

#include <stdio.h>

#include "base/memory/buffer.h"
#include "rules/memory_budget.h"

int check_options_load(const CheckOptions *options, Config *config)
{
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    int status = 0;
    if (options->file != NULL) {
        Result rc = options_load(&config->options, options->file, &error);
        if (rc != RESULT_OK && rc != RESULT_INVALID) {
            (void)buffer_printf(&error, "%s: %s\n", options->file, result_name(rc));
        }
        status = rc == RESULT_OK ? 0 : rc == RESULT_INVALID ? 2 : 3;
    }
    if (options_load_environment(&config->options, "RAGNO_", &error) != RESULT_OK) {
        status = status == 0 ? 2 : status;
    }
    if (command_settings_apply(&options->settings, &config->options, &error) != RESULT_OK) {
        status = status == 0 ? 2 : status;
    }
    if (memory_budget_apply(config, &error) != RESULT_OK ||
        config_check(config, &error) != RESULT_OK) {
        status = status == 0 ? 2 : status;
    }
    (void)fputs(buffer_string(&error), stderr);
    buffer_destroy(&error);
    return status;
}
