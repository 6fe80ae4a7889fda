#include "crawl/command_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crawl/exit_status.h"
#include "rules/filters.h"

/* ---- Command filter ---- */

int command_filter(const char *command, const char *text, unsigned available, Filter **filter)
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
    (void)fprintf(stderr, "ragno %s: --where: column %zu: %s%s%s\n", command, why.column,
                  why.message, why.hint[0] == '\0' ? "" : "; ", why.hint);
    return rc == RESULT_MEMORY ? EXIT_INTERNAL : EXIT_USAGE;
}

/* ---- Command line ---- */

int command_line_complain(const CommandLine *line, const char *what, const char *word)
{
    (void)fprintf(stderr, "ragno %s: %s '%s'\n%s%s", line->command, what, word, line->usage,
                  line->more == NULL ? "" : line->more);
    return EXIT_USAGE;
}

/* The option that a word names; *value is what stands in the word behind the name, or NULL. */
static const CommandOption *command_line_find(const CommandLine *line, const char *word,
                                              const char **value)
{
    bool is_long = word[1] == '-';
    size_t n = is_long ? strcspn(word, "=") : 2;
    const char *rest = word + n;
    *value = *rest == '\0' ? NULL : rest + (*rest == '=');
    for (size_t i = 0; i < line->n_options; i++) {
        const CommandOption *option = &line->options[i];
        bool named =
            is_long && strlen(option->name) == n - 2 && strncmp(word + 2, option->name, n - 2) == 0;
        if (named || (!is_long && word[1] == option->letter)) {
            return option;
        }
    }
    return NULL;
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
    case COMMAND_TAKE:
        return option->take(option->to, value);
    }
    return 0;
}

/* The option at *i; *i is then the last word that belongs to it. */
static int command_line_take_option(const CommandLine *line, int argc, char **argv, int *i)
{
    const char *value = NULL;
    const char *word = argv[*i];
    const CommandOption *option = command_line_find(line, word, &value);
    if (option == NULL || (option->kind == COMMAND_FLAG && value != NULL)) {
        return command_line_complain(line, "unknown option", word);
    }
    if (option->kind == COMMAND_FLAG) {
        *(bool *)option->to = true;
        return 0;
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
            (void)printf("%s%s", line->usage, line->more == NULL ? "" : line->more);
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
        (void)fprintf(stderr, "%s%s", line->usage, line->more == NULL ? "" : line->more);
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
