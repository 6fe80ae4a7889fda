/* Web metrics: the status as Prometheus reads it (text exposition format 0.0.4).
 *
 * What: every field of the status (status.h) that counts or measures becomes a metric with type,
 * unit and help. Rates are left out: Prometheus makes its own.
 * Threads: any; pure. */
#ifndef CRAWL_WEB_WEB_METRICS_H
#define CRAWL_WEB_WEB_METRICS_H

#include <stdbool.h>

#include "base/memory/buffer.h"

/* json: the status as one object. */
Result web_metrics(const char *json, Buffer *out);
/* Whether a field of the status is told by a metric, or is known to be none. */
bool web_metrics_knows(const char *field);

#endif
