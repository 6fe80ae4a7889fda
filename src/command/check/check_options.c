#include "command/check/check_options.h"

#include <stdio.h>
#include <string.h>

#include "base/memory/buffer.h"
#include "rules/memory_budget.h"
#include "rules/config_check.h"

/* Whether argv[*i] is this option; then *value is its value, which may be in argv[*i + 1]. */
static bool is_option(int argc, char **argv, int *i, const char *letter, const char *word,
                      const char **value)
{
    const char *text = argv[*i];
    size_t n = strlen(word);
    if (strncmp(text, word, n) == 0 && text[n] == '=') {
        *value = text + n + 1;
        return true;
    }
    bool is_letter = strncmp(text, letter, 2) == 0;
    if (is_letter && text[2] != '\0') {
        *value = text + 2;
        return true;
    }
    if (!is_letter && strcmp(text, word) != 0) {
        return false;
    }
    *i += 1;
    *value = *i < argc ? argv[*i] : "";
    return true;
}

int check_options_take(CheckOptions *options, int argc, char **argv)
{
    const char *command = options->command == NULL ? "check" : options->command;
    int n = 0;
    for (int i = 1; i < argc; i++) {
        const char *value = "";
        if (is_option(argc, argv, &i, "-c", "--config", &value)) {
            options->file = value;
        } else if (is_option(argc, argv, &i, "-s", "--set", &value)) {
            if (strchr(value, '=') == NULL || options->n_assignments == CHECK_OPTIONS_MAX) {
                (void)fprintf(stderr, "ragno %s: -s %s: expected SECTION.KEY=VALUE\n", command,
                              value);
                return -1;
            }
            options->assignments[options->n_assignments++] = value;
        } else if (argv[i][0] == '-' && argv[i][1] != '\0') {
            (void)fprintf(stderr, "ragno %s: unknown option '%s'\n", command, argv[i]);
            return -1;
        } else {
            argv[++n] = argv[i];
        }
    }
    return n;
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
