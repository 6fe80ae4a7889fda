/* Summary: what a crawl came to, printed at its end.
 *
 * What: pages by status, hosts, bytes, duplicates, refusals by reason, time, pages per
 * CPU-second.
 * Threads: main. */
#ifndef CRAWL_RUN_SUMMARY_H
#define CRAWL_RUN_SUMMARY_H

#include <stdio.h>

#include "crawl/crawl_store.h"

void summary_print(const IngestStore *store, const char *directory, const CrawlTotals *totals,
                   const char *how_it_ended, FILE *out);

#endif
