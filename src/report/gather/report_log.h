/* Report log: what crawl.log tells of a crawl.
 *
 * What: statuses, media types, errors, sizes and times. Memory does not grow with the log.
 * Owns: its tallies.
 * Threads: one. */
#ifndef REPORT_GATHER_REPORT_LOG_H
#define REPORT_GATHER_REPORT_LOG_H

#include "base/core/clock.h"
#include "base/core/result.h"
#include "report/count/histogram.h"
#include "report/count/series.h"
#include "report/count/tally.h"

#define REPORT_TOP 10u

/* A page that stands out, by size or time. */
typedef struct ReportPage {
    uint64_t value;
    char *url; /* owned */
} ReportPage;

typedef struct ReportLog {
    bool is_there;
    uint64_t lines;
    uint64_t unreadable;
    uint64_t requests;
    uint64_t robots_files;
    uint64_t pages; /* answers to pages, whatever their status */
    uint64_t bytes; /* received, all requests */
    uint64_t duplicates;
    uint64_t near_duplicates;
    uint64_t truncated;
    uint64_t unread;       /* pages of which only the beginning was read for links */
    uint64_t beyond_pages; /* with more links than parse.max_links */
    uint64_t beyond_links; /* these links */
    uint64_t long_pages;   /* with links longer than scope.max_url_length */
    uint64_t long_links;
    WallTime first;
    WallTime last;
    Tally statuses;        /* of pages, with bytes */
    Tally robots_statuses; /* of robots.txt */
    Tally types;           /* of pages with status 2xx, with bytes */
    Tally languages;       /* of HTML pages with status 2xx, with bytes; (not said) */
    Tally errors;          /* by class */
    Tally refusals;        /* URLs that were scheduled and not requested, by rule */
    Histogram lengths;     /* bytes of pages with status 2xx */
    Histogram speeds;      /* bytes a second of these pages */
    Histogram durations;   /* ms of answered requests for pages */
    Series pages_s;
    Series bytes_s;
    Series errors_s;
    ReportPage largest[REPORT_TOP]; /* descending */
    ReportPage slowest[REPORT_TOP];
} ReportLog;

/* Reads DIR/crawl.log and its predecessors. RESULT_OK also when there is none. RESULT_MEMORY. To be
 * destroyed in any case. */
Result report_log_read(ReportLog *log, const char *directory);
void report_log_destroy(ReportLog *log);

#endif
