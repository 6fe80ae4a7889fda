/* Command option: options of a command line, one word at a time.
 *
 * What: reads "--name VALUE" and "--name=VALUE".
 * Threads: any; pure. */
#ifndef CRAWL_COMMAND_OPTION_H
#define CRAWL_COMMAND_OPTION_H

#include "parse/filter/filter.h"

/* Command filter: the option --where FILTER of a command.
 *
 * What: compiles the filter, or prints an error with the column of the mistake.
 * Threads: main. */

/* available: what the filter may ask about (FILTER_HAS_...). *filter is NULL when text is NULL; the
 * caller deletes it. Returns 0 or the exit status. */
int command_filter(const char *command, const char *text, unsigned available, Filter **filter);

/* The value of the option --name when argv[*i] is that option; *i is then the last word that
 * belongs to it. NULL when argv[*i] is another word. An option at the end of the line, without a
 * value, has the value "". */
const char *command_option(const char *name, int argc, char **argv, int *i);

#endif
