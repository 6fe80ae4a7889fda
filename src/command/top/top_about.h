/* What `ragno top` tells about one host: its record, its state, and what comes next of it, read
 * from the crawl's database in one short transaction.
 * Threads: one.
 * Errors: RESULT_IO. */
#ifndef COMMAND_TOP_TOP_ABOUT_H
#define COMMAND_TOP_TOP_ABOUT_H

#include "crawl/crawl_view.h"

/* Appends lines of text. origin: such as "https://example.org". */
Result top_about_host(const CrawlView *view, const char *origin, WallTime now, Buffer *text);

#endif
