/* Web history: what status.log tells of the last hours, as JSON for graphs.
 *
 *   {"from": 1769860800000, "width_ms": 10000, "pages_s": [12.5, ...], ...}
 *
 * What: one number for each bucket of time, null for those in which nothing was told. There are at
 * most SERIES_BUCKETS buckets (report/count/series.h), however long the crawl.
 * Threads: one at a time; the crawl may be writing the log.
 * Errors: RESULT_MEMORY; a log that cannot be read has no buckets. */
#ifndef CRAWL_WEB_WEB_HISTORY_H
#define CRAWL_WEB_WEB_HISTORY_H

#include <stddef.h>

#include "base/memory/buffer.h"

/* bytes: of the log, from its end. */
Result web_history(const char *directory, size_t bytes, Buffer *out);

#endif
