/* The crawl's options for commands that need them without a crawl: `ragno check`, `ragno plan`.
 *
 * What: they come from an INI file, the environment and -s SECTION.KEY=VALUE, and are checked as a
 * crawl checks them at its start.
 * Threads: main. */
#ifndef COMMAND_CHECK_CHECK_OPTIONS_H
#define COMMAND_CHECK_CHECK_OPTIONS_H

#include <stddef.h>

#include "crawl/command_line.h"
#include "base/memory/buffer.h"
#include "rules/config.h"

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
/* Fills in an initialised config. Exit status: 0, 2 after one complaint per mistake ("FILE:LINE:
 * what"), 3 when the file cannot be read. */
int check_options_load(const CheckOptions *options, Config *config);

#endif
