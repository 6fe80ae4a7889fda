/* Command line: the words of a command, taken by a table of its options.
 *
 * What: an option is a row: its name, a letter, what kind of value it has, and where that goes.
 * "--name VALUE", "--name=VALUE", "-n VALUE", "-nVALUE" and, of those without a value, "--name" and
 * "-n" are understood, letters of the latter also in one word, before and behind the other words;
 * behind "--" there are no options. --help and -h are every command's. A long option that is
 * unknown is told with the nearest one.
 *
 *   const CommandOption options[] = {{"json", 0, COMMAND_FLAG, .to = &json}};
 *   CommandLine line = {"why", usage, COMMAND_ROWS(options), .words_least = 2, .words_most = 2};
 *   int status = command_line_take(&line, argc, argv);
 *
 * Threads: main. */
#pragma once

#include "parse/filter/filter.h"
#include "rules/config.h"

typedef enum CommandKind {
    COMMAND_FLAG,   /* bool *, which becomes true */
    COMMAND_TEXT,   /* const char **; "" is a mistake */
    COMMAND_NUMBER, /* uint64_t *, from least to most */
    COMMAND_REAL,   /* double *, from least to most */
    COMMAND_WORD,   /* int *, or an enum: the place of the value among words */
    COMMAND_TAKE,   /* take(to, value) */
    COMMAND_MAY,    /* the same; a value must be in the word, and may be missing: NULL */
    COMMAND_SETTING /* CommandSettings *, which gets one more */
} CommandKind;

#define COMMAND_SETTINGS_MOST 1024u

/* Options of the configuration that a command line sets, in its order; borrowed from argv. */
typedef struct CommandSettings {
    struct {
        const char *name; /* "section.key", up to an '=' */
        const char *value;
    } all[COMMAND_SETTINGS_MOST];
    size_t n;
} CommandSettings;

typedef struct CommandOption {
    const char *name;
    char letter; /* 0: it has none */
    CommandKind kind;
    void *to;
    double least;
    double most;
    /* 0, or an exit status after a line of its own. */
    int (*take)(void *to, const char *value);
    const char *words;   /* "tsv|csv|jsonl" */
    const char *setting; /* "section.key"; NULL: its value is SECTION.KEY=VALUE */
    const char *value;   /* of the setting; NULL: it follows */
} CommandOption;

typedef struct CommandLine {
    const char *command; /* "why" */
    const char *usage;   /* what --help prints; after a mistake it follows the complaint */
    const CommandOption *options;
    size_t n_options;
    int words_least; /* those that are no options */
    int words_most;
    const char *more; /* a second part of the usage; may be NULL */
    bool is_terse;    /* the usage does not follow a complaint */
    char **words;     /* set: they stand in argv */
    int n_words;
} CommandLine;

/* An array of options, and how many they are. */
#define COMMAND_ROWS(rows) rows, sizeof(rows) / sizeof *(rows)

#define COMMAND_HELPED (-1)

/* 0; COMMAND_HELPED: the usage was printed; EXIT_USAGE, or what take returned: standard error has
 * said why. Moves the other words to the front of argv, behind argv[0]. */
int command_line_take(CommandLine *line, int argc, char **argv);
/* Sets what the command line says. RESULT_INVALID: error has a line for each mistake. */
Result command_settings_apply(const CommandSettings *settings, Options *options, Buffer *error);
/* Complains of a word, and prints the usage. EXIT_USAGE. */
int command_line_complain(const CommandLine *line, const char *what, const char *word);

/* One word at a time, for lines whose options come from another table: the value of the option
 * --name when argv[*i] is that option; *i is then the last word that belongs to it. NULL when
 * argv[*i] is another word. An option at the end of the line, without a value, has the value "". */
const char *command_option(const char *name, int argc, char **argv, int *i);

/* Command filter: an option of a command that takes a filter, such as --where.
 *
 * What: compiles the filter, or prints an error with the column of the mistake.
 * Threads: main. */

/* available: what the filter may ask about (FILTER_HAS_...). *filter is NULL when text is NULL; the
 * caller deletes it. Returns 0 or the exit status. */
int command_filter(const char *command, const char *option, const char *text, unsigned available,
                   Filter **filter);

/* The crawl's options for commands that need them without a crawl: `ragno check`, `ragno plan`.
 *
 * What: they come from an INI file, the environment and -s SECTION.KEY=VALUE, and are checked as a
 * crawl checks them at its start.
 * Threads: main. */

typedef struct CheckOptions {
    const char *file; /* -c FILE, or NULL */
    CommandSettings settings;
} CheckOptions;

/* -c FILE and -s SECTION.KEY=VALUE, as rows of a CommandLine. */
#define CHECK_OPTIONS_ROWS(options)                                                                \
    {"config", 'c', COMMAND_TEXT, .to = &(options)->file},                                         \
    {                                                                                              \
        "set", 's', COMMAND_SETTING, .to = &(options)->settings                                    \
    }
/* Initialises a config, which is to be destroyed in any case, and fills it in. Exit status: 0, 2
 * after one complaint per mistake ("FILE:LINE: what"), 3 when the file cannot be read,
 * EXIT_INTERNAL. */
int check_options_load(const CheckOptions *options, Config *config);
