/* Report: what a crawl came to, gathered from its logs and its database.
 *
 * What: the four sources (report_log.h, report_watch.h, report_graph.h, report_hosts.h), read one
 * after the other. report/tell writes it.
 * Owns: all of its parts.
 * Threads: one; the crawl may be running. */
#ifndef REPORT_GATHER_REPORT_H
#define REPORT_GATHER_REPORT_H

#include <stdio.h>

#include "page/stats.h"
#include "report/gather/report_graph.h"
#include "report/gather/report_hosts.h"
#include "report/gather/report_log.h"
#include "report/gather/report_watch.h"

typedef struct Report {
    const char *directory; /* borrowed */
    PageDB *db;            /* borrowed */
    WallTime made;         /* when it was gathered */
    bool has_totals;
    CrawlTotals totals;
    bool has_hosts;
    ReportHosts hosts;
    ReportGraph graph;
    ReportLog log;
    ReportWatch watch;
} Report;

/* Gathers the report of the crawl in directory. broken (may be NULL) gets a line for
 * each broken link (report_graph.h). RESULT_MEMORY, RESULT_DAMAGED, RESULT_IO: error has a
 * sentence. To be destroyed in any case. */
Result report_gather(Report *report, const char *directory, PageDB *db, WallTime now, FILE *broken,
                     Buffer *error);
void report_destroy(Report *report);

#endif
