/* Report hosts: what the database tells of hosts.
 *
 * What: how hosts ended, the largest, the slowest, those with most errors, and their robots.txt.
 * Owns: nothing.
 * Threads: one. */
#ifndef REPORT_GATHER_REPORT_HOSTS_H
#define REPORT_GATHER_REPORT_HOSTS_H

#include "frontier/visit/politeness.h"
#include "report/count/histogram.h"
#include "store/pages/page_db.h"
#include "store/tables/host_table.h"

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
    Histogram queues;           /* URLs scheduled, of hosts that have any */
    HostRanking largest;        /* by pages */
    HostRanking heaviest;       /* by bytes */
    HostRanking slowest;        /* by ms for a fetch */
    HostRanking walling;        /* by answers that keep crawlers out */
    HostRanking failing;        /* by attempts without an answer and answers 5xx */
} ReportHosts;

/* Reads all records of hosts. RESULT_NOT_FOUND: the database has no table of hosts (a user of the
 * library made it). RESULT_DAMAGED, RESULT_IO. */
Result report_hosts_read(ReportHosts *hosts, PageDB *db);

#endif
