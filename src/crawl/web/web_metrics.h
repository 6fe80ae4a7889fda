/* Web metrics: the status as Prometheus reads it (text exposition format 0.0.4).
 *
 * What: every field of the status (status_fields.h) that counts or measures becomes a metric with
 * type, unit and help. Rates are left out: Prometheus makes its own.
 * Threads: any; pure. */
#pragma once

#include "crawl/control/control_link.h"

/* Web crawl: what the status page asks of the crawl, by its control socket.
 *
 * What: its status, and what an operator tells it to do. Of the words of `ragno ctl`, those that
 * steer the crawl are allowed; none of them reads or writes a file that the page names.
 * Owns: the connection.
 * Threads: one.
 * Errors: out gets a sentence. */

typedef struct WebCrawl {
    const char *directory;
    ControlLink *link; /* NULL: not connected */
} WebCrawl;

/* The status as JSON, or a sentence. Returns the status of HTTP: 200 or 503. */
unsigned web_crawl_status(WebCrawl *crawl, Buffer *out);
/* Has the crawl do what a line of words says: "deny example.org". out gets the lines of its answer.
 * 200; 400: not understood; 403: not from here; 409: it cannot be done; 503. */
unsigned web_crawl_do(WebCrawl *crawl, const char *line, size_t length, Buffer *out);

/* json: the status as one object. */
Result web_metrics(const char *json, Buffer *out);
