/* --where FILTER of a command: compiled, or complained about with the column of the mistake. */
#ifndef CRAWL_COMMAND_FILTER_H
#define CRAWL_COMMAND_FILTER_H

#include "parse/filter/filter.h"

/* available: FILTER_HAS_... text NULL: *filter is NULL. Returns 0 or the exit status. The caller
 * deletes the filter. */
int command_filter(const char *command, const char *text, unsigned available, Filter **filter);

#endif
