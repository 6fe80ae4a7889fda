/* Plan verdicts: what a dry run of seeds came to.
 *
 * What: a line for each seed: whether it may be fetched, its host's address, how many pages a day
 * politeness allows of the host, its Crawl-delay, and what stands in the way; then the sitemaps
 * that robots.txt of each host names, and all hosts and addresses together. Memory: some 60 bytes
 * for each host, of seeds nothing. Owns: nothing beyond a call. Threads: main. */
#ifndef COMMAND_PLAN_PLAN_VERDICTS_H
#define COMMAND_PLAN_PLAN_VERDICTS_H

#include "crawl/crawl_view.h"

/* Of the crawl that view shows; config is what a crawl of the seeds would have. *all_open: nothing
 * stands in the way of any. RESULT_MEMORY, RESULT_IO, RESULT_DAMAGED. */
Result plan_verdicts_tell(CrawlView *view, const Config *config, bool json, bool *all_open);

#endif
