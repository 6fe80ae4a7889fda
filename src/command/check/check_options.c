#include "command/check/check_options.h"

#include <stdio.h>
#include <string.h>

#include "base/memory/buffer.h"
#include "crawl/exit_status.h"
#include "rules/memory_budget.h"
#include "rules/config_check.h"

int check_options_take_set(void *to, const char *assignment)
{
    CheckOptions *options = to;
    if (strchr(assignment, '=') == NULL || options->n_assignments == CHECK_OPTIONS_MAX) {
        (void)fprintf(stderr, "ragno %s: -s %s: expected SECTION.KEY=VALUE\n",
                      options->command == NULL ? "check" : options->command, assignment);
        return EXIT_USAGE;
    }
    options->assignments[options->n_assignments++] = assignment;
    return 0;
}

static Result check_options_assign_one(Config *config, const char *assignment, Buffer *error)
{
    char name[128];
    size_t n = strcspn(assignment, "=");
    (void)snprintf(name, sizeof name, "%.*s", (int)n, assignment);
    Result rc = options_set(&config->options, name, assignment + n + 1, "command line", error);
    if (rc != RESULT_OK) {
        (void)buffer_append_string(error, " (command line)\n");
    }
    return rc;
}

Result check_options_assign(const CheckOptions *options, Config *config, Buffer *error)
{
    Result all = RESULT_OK;
    for (size_t i = 0; i < options->n_assignments; i++) {
        Result rc = check_options_assign_one(config, options->assignments[i], error);
        all = rc == RESULT_OK ? all : rc;
    }
    return all;
}

int check_options_load(const CheckOptions *options, Config *config)
{
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
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
    if (check_options_assign(options, config, &error) != RESULT_OK) {
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
