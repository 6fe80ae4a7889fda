/* Command filter: the option --where FILTER of a command.
 *
 * What: compiles the filter, or prints an error with the column of the mistake.
 * Threads: main. */
#ifndef CRAWL_COMMAND_FILTER_H
#define CRAWL_COMMAND_FILTER_H

#include "parse/filter/filter.h"

/* available: what the filter may ask about (FILTER_HAS_...). *filter is NULL when text is NULL; the
 * caller deletes it. Returns 0 or the exit status. */
int command_filter(const char *command, const char *text, unsigned available, Filter **filter);

#endif
