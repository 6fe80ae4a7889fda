/* Report: what a crawl came to, gathered from its logs and its database.
 *
 * What: the logs, the hosts and the graph of pages, read one after the other. report/tell writes
 * it.
 * Owns: all of its parts.
 * Threads: one; the crawl may be running. */
#pragma once

#include <stdio.h>

#include "frontier/visit/politeness.h"
#include "page/stats.h"
#include "render/render_table.h"
#include "report/gather/report_graph.h"
#include "store/tables/host_rows.h"

/* Report log: what crawl.log tells of a crawl.
 *
 * What: statuses, media types, errors, sizes and times. Memory does not grow with the log.
 * Owns: its tallies.
 * Threads: one. */

#define REPORT_TOP 10u

/* A page that stands out, by size or time. */
typedef struct ReportPage {
    uint64_t value;
    char *url; /* owned */
} ReportPage;

typedef struct ReportLog {
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

/* Reads DIR/crawl.log and its predecessors, as log_reader_each does. To be destroyed in any case.
 */
Result report_log_read(ReportLog *log, const char *directory, Buffer *problem);
void report_log_destroy(ReportLog *log);

/* Report watch: what status.log tells of a crawl.
 *
 * What: the queue and the memory over time, and how long each limit bound the crawl. Memory does
 * not grow with the log.
 * Owns: its tally.
 * Threads: one. */

typedef struct ReportWatch {
    uint64_t lines;
    uint64_t runs;   /* how often the crawl was started */
    Tally limits;    /* count: ms that each limit bound */
    Series queued;   /* URLs */
    Series resident; /* bytes */
    Series active;   /* transfers */
    double elapsed_s;
    double cpu_s; /* of all runs */
    double run_cpu_s;
    char state[16]; /* last */
} ReportWatch;

/* Reads DIR/status.log and its predecessors, as log_reader_each does. To be destroyed in any case.
 */
Result report_watch_read(ReportWatch *watch, const char *directory, Buffer *problem);
void report_watch_destroy(ReportWatch *watch);

/* Report hosts: what the database tells of hosts.
 *
 * What: how hosts ended, the largest, the slowest, those with most errors, and their robots.txt.
 * Owns: nothing.
 * Threads: one. */

#define REPORT_HOSTS 10u

typedef struct RankedHost {
    uint32_t host;
    double value;
    HostRecord record;
} RankedHost;

typedef struct HostRanking {
    RankedHost hosts[REPORT_HOSTS]; /* descending */
    size_t n;
} HostRanking;

typedef struct ReportHosts {
    uint64_t n; /* that were ever visited */
    uint64_t active;
    uint64_t dropped;
    uint64_t dropped_by[FETCH_CLASSES];
    uint64_t parked; /* failed for too long; their URLs are kept */
    uint64_t full;
    uint64_t denied;
    uint64_t with_crawl_delay;
    uint64_t closed;            /* robots.txt forbade all that was tried */
    uint64_t robots_denied;     /* URLs */
    uint64_t walled;            /* hosts that gave answers which keep crawlers out, */
    uint64_t walls[HTTP_WALLS]; /* and how many */
    uint64_t resting;           /* hosts that rest, since they give no others */
    Histogram queues;           /* URLs scheduled, of hosts that have any */
    HostRanking largest;        /* by pages */
    HostRanking heaviest;       /* by bytes */
    HostRanking slowest;        /* by ms for a fetch */
    HostRanking walling;        /* by answers that keep crawlers out */
    HostRanking failing;        /* by attempts without an answer and answers 5xx */
} ReportHosts;

typedef struct Report {
    const char *directory; /* borrowed */
    PageDB *db;            /* borrowed */
    WallTime made;         /* when it was gathered */
    bool has_totals;
    CrawlTotals totals;
    bool has_hosts;
    ReportHosts hosts;
    RenderTotals renders; /* zeroes: nothing was rendered */
    ReportGraph graph;
    ReportLog log;
    ReportWatch watch;
    Buffer missing; /* what of the logs could not be read; empty: nothing */
} Report;

/* Gathers the report of the crawl in directory. broken (may be NULL) gets a line for
 * each broken link (report_graph.h). RESULT_MEMORY, RESULT_DAMAGED, RESULT_IO: error has a
 * sentence. To be destroyed in any case. */
Result report_gather(Report *report, const char *directory, PageDB *db, WallTime now, FILE *broken,
                     Buffer *error);
void report_destroy(Report *report);
