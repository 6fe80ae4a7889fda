/* Plan crawl: `ragno plan DIR`, the forecast of a crawl.
 *
 * What: looks at a crawl, running or not, and prints what src/forecast makes of it. Only reads.
 * Threads: main. */
#ifndef COMMAND_PLAN_PLAN_CRAWL_H
#define COMMAND_PLAN_PLAN_CRAWL_H

#include "command/check/check_options.h"

/* options: what to assume instead of the crawl's own settings. An exit status. */
int plan_crawl(const char *directory, const CheckOptions *options, bool json);

#endif
