/* Top about: what `ragno top` tells about one host.
 *
 * What: the record of the host, its state, and what it does next, read from the crawl's database in
 * one short transaction.
 * Threads: one.
 * Errors: RESULT_IO. */
#ifndef COMMAND_TOP_TOP_ABOUT_H
#define COMMAND_TOP_TOP_ABOUT_H

#include "crawl/crawl_view.h"

/* Appends lines of text. origin: such as "https://example.org". */
Result top_about_host(const CrawlView *view, const char *origin, WallTime now, Buffer *text);

#endif
