#include "crawl/command_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crawl/exit_status.h"
#include "rules/filters.h"
#include "rules/memory_budget.h"

/* ---- Command filter ---- */

int command_filter(const char *command, const char *option, const char *text, unsigned available,
                   Filter **filter)
{
    *filter = NULL;
    if (text == NULL) {
        return 0;
    }
    FilterOptions options = {.available = available, .read_file = filters_read_list};
    FilterError why;
    Result rc = filter_compile(filter, text, strlen(text), &options, &why);
    if (rc == RESULT_OK) {
        return 0;
    }
    (void)fprintf(stderr, "ragno %s: --%s: column %zu: %s%s%s\n", command, option, why.column,
                  why.message, why.hint[0] == '\0' ? "" : "; ", why.hint);
    return rc == RESULT_MEMORY ? EXIT_INTERNAL : EXIT_USAGE;
}

/* ---- Command line ---- */

#define NEAR_MOST 3u /* letters in which a name that is meant may differ */

static void command_line_print_usage(const CommandLine *line, FILE *out)
{
    (void)fprintf(out, "%s%s", line->usage, line->more == NULL ? "" : line->more);
}

int command_line_complain(const CommandLine *line, const char *what, const char *word)
{
    (void)fprintf(stderr, "ragno %s: %s '%s'\n", line->command, what, word);
    if (!line->is_terse) {
        command_line_print_usage(line, stderr);
    }
    return EXIT_USAGE;
}

/* Names the option that is spelled most like the word, if one is nearly so. */
static int command_line_unknown(const CommandLine *line, const char *word)
{
    char name[64];
    OptionNear near = {name + 2, .least = NEAR_MOST + 1};
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    for (size_t i = 0; i < line->n_options && strncmp(name, "--", 2) == 0; i++) {
        (void)option_near_look(&near, line->options[i].name);
    }
    if (near.name == NULL) {
        return command_line_complain(line, "unknown option", name);
    }
    (void)fprintf(stderr, "ragno %s: unknown option '%s', did you mean '--%s'?\n", line->command,
                  name, near.name);
    return EXIT_USAGE;
}

/* ---- settings ---- */

static int command_settings_add(const CommandLine *line, const CommandOption *option,
                                const char *value)
{
    CommandSettings *settings = option->to;
    const char *equals = strchr(value, '=');
    if (option->setting == NULL && equals == NULL) {
        return command_line_complain(line, "expected SECTION.KEY=VALUE, not", value);
    }
    if (settings->n == COMMAND_SETTINGS_MOST) {
        return command_line_complain(line, "too many settings:", value);
    }
    settings->all[settings->n].name = option->setting == NULL ? value : option->setting;
    settings->all[settings->n++].value = option->setting == NULL ? equals + 1 : value;
    return 0;
}

Result command_settings_apply(const CommandSettings *settings, Options *options, Buffer *error)
{
    Result all = RESULT_OK;
    for (size_t i = 0; i < settings->n; i++) {
        char name[128];
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(settings->all[i].name, "="),
                       settings->all[i].name);
        Result rc = options_set(options, name, settings->all[i].value, "command line", error);
        if (rc != RESULT_OK) {
            (void)buffer_append_string(error, " (command line)\n");
            all = rc;
        }
    }
    return all;
}

/* The option that a word names, or the one whose name begins so; *value is what stands in the word
 * behind the name, or NULL. */
static const CommandOption *command_line_find(const CommandLine *line, const char *word,
                                              const char **value)
{
    bool is_long = word[1] == '-';
    size_t n = is_long ? strcspn(word, "=") : 2;
    const char *rest = word + n;
    *value = *rest == '\0' ? NULL : rest + (*rest == '=');
    const CommandOption *begun = NULL;
    unsigned n_begun = 0;
    for (size_t i = 0; i < line->n_options; i++) {
        const CommandOption *option = &line->options[i];
        bool begins = is_long && strncmp(word + 2, option->name, n - 2) == 0;
        if ((begins && option->name[n - 2] == '\0') || (!is_long && word[1] == option->letter)) {
            return option;
        }
        begun = begins ? option : begun;
        n_begun += begins;
    }
    return n_begun == 1 ? begun : NULL;
}

static int command_line_take_number(const CommandLine *line, const CommandOption *option,
                                    const char *value)
{
    char *end = NULL;
    char expected[128];
    errno = 0;
    double number = strtod(value, &end);
    bool is_whole = option->kind == COMMAND_REAL || strspn(value, "0123456789") == strlen(value);
    if (end == value || *end != '\0' || errno != 0 || !is_whole ||
        !(number >= option->least && number <= option->most)) {
        (void)snprintf(expected, sizeof expected,
                       "--%s: expected a number from %.15g to %.15g, not", option->name,
                       option->least, option->most);
        return command_line_complain(line, expected, value);
    }
    if (option->kind == COMMAND_REAL) {
        *(double *)option->to = number;
    } else {
        *(uint64_t *)option->to = strtoull(value, NULL, 10);
    }
    return 0;
}

static int command_line_take_word(const CommandLine *line, const CommandOption *option,
                                  const char *value)
{
    char expected[128];
    const char *at = option->words;
    for (int place = 0; at != NULL; place++) {
        size_t n = strcspn(at, "|");
        if (strlen(value) == n && memcmp(at, value, n) == 0) {
            *(int *)option->to = place;
            return 0;
        }
        at = at[n] == '\0' ? NULL : at + n + 1;
    }
    (void)snprintf(expected, sizeof expected, "--%s: expected %s, not", option->name,
                   option->words);
    return command_line_complain(line, expected, value);
}

static int command_line_take_value(const CommandLine *line, const CommandOption *option,
                                   const char *value)
{
    char nothing[64];
    if (value == NULL || (*value == '\0' && option->kind != COMMAND_TAKE)) {
        (void)snprintf(nothing, sizeof nothing, "nothing behind --%s", option->name);
        return command_line_complain(line, nothing, value == NULL ? "" : value);
    }
    switch (option->kind) {
    case COMMAND_FLAG: /* has none */
        break;
    case COMMAND_TEXT:
        *(const char **)option->to = value;
        break;
    case COMMAND_NUMBER:
    case COMMAND_REAL:
        return command_line_take_number(line, option, value);
    case COMMAND_WORD:
        return command_line_take_word(line, option, value);
    case COMMAND_TAKE:
    case COMMAND_MAY:
        return option->take(option->to, value);
    case COMMAND_SETTING:
        return command_settings_add(line, option, value);
    }
    return 0;
}

/* The option at *i; *i is then the last word that belongs to it. */
static int command_line_take_option(const CommandLine *line, int argc, char **argv, int *i)
{
    const char *value = NULL;
    const char *word = argv[*i];
    const CommandOption *option = command_line_find(line, word, &value);
    bool is_flag = /* nothing follows it */
        option != NULL && (option->kind == COMMAND_FLAG || option->value != NULL);
    if (option == NULL || (is_flag && value != NULL && word[1] == '-')) {
        return command_line_unknown(line, word);
    }
    if (is_flag) {
        if (option->kind == COMMAND_FLAG) {
            *(bool *)option->to = true;
        } else if (command_settings_add(line, option, option->value) != 0) {
            return EXIT_USAGE;
        }
        if (value == NULL) {
            return 0;
        }
        argv[*i]++; /* "-qv": the next letter */
        argv[*i][0] = '-';
        return command_line_take_option(line, argc, argv, i);
    }
    if (option->kind == COMMAND_MAY) {
        return option->take(option->to, value);
    }
    if (value == NULL && *i + 1 < argc) {
        value = argv[++*i];
    }
    return command_line_take_value(line, option, value);
}

int command_line_take(CommandLine *line, int argc, char **argv)
{
    bool has_options = true;
    line->words = argv + 1;
    line->n_words = 0;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        bool is_option = has_options && word[0] == '-' && word[1] != '\0';
        if (is_option && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
            command_line_print_usage(line, stdout);
            return COMMAND_HELPED;
        }
        if (is_option && strcmp(word, "--") == 0) {
            has_options = false;
        } else if (is_option) {
            int status = command_line_take_option(line, argc, argv, &i);
            if (status != 0) {
                return status;
            }
        } else if (line->n_words == line->words_most) {
            return command_line_complain(line, "unexpected", word);
        } else {
            line->words[line->n_words++] = argv[i];
        }
    }
    if (line->n_words < line->words_least) {
        command_line_print_usage(line, stderr);
        return EXIT_USAGE;
    }
    return 0;
}

const char *command_option(const char *name, int argc, char **argv, int *i)
{
    size_t n = strlen(name);
    const char *word = argv[*i];
    if (strncmp(word, name, n) != 0 || (word[n] != '\0' && word[n] != '=')) {
        return NULL;
    }
    if (word[n] == '=') {
        return word + n + 1;
    }
    return *i + 1 < argc ? argv[++*i] : "";
}

/* ---- check options ---- */

int check_options_load(const CheckOptions *options, Config *config)
{
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    int status = 0;
    if (config_init(config) != RESULT_OK) {
        return EXIT_INTERNAL;
    }
    if (options->file != NULL) {
        Result rc = options_load(&config->options, options->file, &error);
        if (rc != RESULT_OK && rc != RESULT_INVALID) {
            (void)buffer_printf(&error, "%s: %s\n", options->file, result_name(rc));
        }
        status = exit_status_of(rc);
    }
    if (options_load_environment(&config->options, "RAGNO_", &error) != RESULT_OK) {
        status = status == 0 ? 2 : status;
    }
    if (command_settings_apply(&options->settings, &config->options, &error) != RESULT_OK) {
        status = status == 0 ? 2 : status;
    }
    if (config_identify(config, &error) != RESULT_OK ||
        memory_budget_apply(config, &error) != RESULT_OK ||
        config_check(config, &error) != RESULT_OK) {
        status = status == 0 ? 2 : status;
    }
    (void)fputs(buffer_string(&error), stderr);
    buffer_destroy(&error);
    return status;
}
