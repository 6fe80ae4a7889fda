#include "command/part/part_command.h"

#include <string.h>

#include "command/text/text_filter.h"
#include "crawl/command_filter.h"
#include "crawl/command_option.h"
#include "crawl/exit_status.h"
#include "crawl/when.h"

void part_command_usage(FILE *out)
{
    (void)fprintf(
        out,
        "  --url URL                captures of this URL; URL*: of all that begin so; repeatable\n"
        "  --host HOST              captures of this host; .DOMAIN: of all below it; repeatable\n"
        "  --since, --until TIME    captures of that time or later, or before it: 2026-01-31,\n"
        "                           2026-01-31T12:00:00Z, 2d (ago)\n"
        "  --where FILTER           captures that a filter expression matches (ragno check filter\n"
        "                           --atoms)\n"
        "  -q, --quiet              no summary\n");
}

int part_command_complain(const char *what, const char *word)
{
    (void)fprintf(stderr, "ragno export: %s '%s'\n", what, word);
    return EXIT_USAGE;
}

/* ---- options ---- */

static int take_time(const char *value, const char *option, WallTime *time)
{
    if (!warc_date_parse(warc_bytes(value, strlen(value)), time) &&
        when_parse(value, wall_now(), time) != RESULT_OK) {
        (void)fprintf(stderr, "ragno export: %s: ", option);
        (void)fprintf(stderr, "expected a time such as 2026-01-31T12:00:00Z or 2d, found '%s'\n",
                      value);
        return EXIT_USAGE;
    }
    return 0;
}

static int part_command_take_since(PartCommand *command, const char *value)
{
    return take_time(value, "--since", &command->part.wanted.since);
}

static int take_until(PartCommand *command, const char *value)
{
    return take_time(value, "--until", &command->part.until);
}

static int part_command_take_url(PartCommand *command, const char *value)
{
    return text_choice_add_url(&command->choice, value) == RESULT_OK
               ? 0
               : part_command_complain(
                     "--url: expected a URL, or the beginning of one and *, found", value);
}

static int part_command_take_host(PartCommand *command, const char *value)
{
    return text_choice_add_host(&command->choice, value) == RESULT_OK
               ? 0
               : part_command_complain("--host: expected a host, or .DOMAIN, found", value);
}

static int part_command_take_where(PartCommand *command, const char *value)
{
    command->where = value;
    return 0;
}

static int part_command_take_output(PartCommand *command, const char *value)
{
    command->output = value;
    return value[0] == '\0' ? part_command_complain("no file after", "-o") : 0;
}

static const struct {
    const char *name;
    int (*take)(PartCommand *command, const char *value);
} options_with_value[] = {{"--since", part_command_take_since},  {"--until", take_until},
                          {"--url", part_command_take_url},      {"--host", part_command_take_host},
                          {"--where", part_command_take_where},  {"-o", part_command_take_output},
                          {"--output", part_command_take_output}};

/* -1: the word is no option that both kinds have. */
static int part_command_take_option(PartCommand *command, int argc, char **argv, int *i)
{
    for (size_t k = 0; k < sizeof options_with_value / sizeof *options_with_value; k++) {
        const char *value = command_option(options_with_value[k].name, argc, argv, i);
        if (value != NULL) {
            return options_with_value[k].take(command, value);
        }
    }
    if (strcmp(argv[*i], "--quiet") == 0 || strcmp(argv[*i], "-q") == 0) {
        command->quiet = true;
        return 0;
    }
    if (strcmp(argv[*i], "--help") == 0 || strcmp(argv[*i], "-h") == 0) {
        command->help = true;
        return 0;
    }
    return -1;
}

static int take_words(PartCommand *command, int argc, char **argv, PartExtra extra, void *context)
{
    bool kind_seen = false;
    for (int i = 1; i < argc; i++) {
        int status = part_command_take_option(command, argc, argv, &i);
        if (status < 0 && extra != NULL) {
            status = extra(context, argc, argv, &i);
        }
        if (status > 0) {
            return status;
        }
        if (status == 0) {
            continue;
        }
        if (argv[i][0] == '-') {
            return part_command_complain("unknown option", argv[i]);
        }
        if (command->directory == NULL) {
            command->directory = argv[i];
        } else if (!kind_seen) {
            kind_seen = true;
        } else {
            return part_command_complain("unexpected", argv[i]);
        }
    }
    return 0;
}

int part_command_parse(PartCommand *command, int argc, char **argv, PartExtra extra, void *context)
{
    *command = (PartCommand){
        .part = {.wanted = {.since = {INT64_MIN},
                            .status_first = 100,
                            .status_last = 999,
                            .max_body_bytes = (size_t)256 << 20},
                 .until = {INT64_MAX}},
    };
    buffer_init(&command->warc_directory, BUFFER_NO_LIMIT);
    command->part.wanted.choice = &command->choice;
    int status = take_words(command, argc, argv, extra, context);
    if (status != 0 || command->help) {
        return status;
    }
    status = command_filter("export", command->where, TEXT_FILTER_HAS, &command->filter);
    command->part.where = command->filter;
    if (status == 0 &&
        buffer_printf(&command->warc_directory, "%s/warc", command->directory) != RESULT_OK) {
        status = EXIT_INTERNAL;
    }
    command->part.warc_directory = buffer_string(&command->warc_directory);
    return status;
}

void part_command_destroy(PartCommand *command)
{
    filter_delete(command->filter);
    text_choice_destroy(&command->choice);
    buffer_destroy(&command->warc_directory);
}

int part_command_status(Result rc, const TextCounts *counts)
{
    if (rc == RESULT_MEMORY || rc == RESULT_INTERNAL) {
        (void)fprintf(stderr, "ragno export: %s\n", result_name(rc));
        return EXIT_INTERNAL;
    }
    if (rc != RESULT_OK || counts->unreadable > 0) {
        return EXIT_IO;
    }
    return counts->damaged > 0 ? EXIT_DIRECTORY : 0;
}
