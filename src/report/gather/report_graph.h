/* Report graph: what the database tells of pages and links.
 *
 * What: depth, links per page, broken links and the pages that have them, and redirects. One pass
 * reads the pages, a second one the lists of links. Read transactions are short, so that a running
 * crawl is not disturbed.
 * Memory: a bit for each page, 64 bytes for each broken one, of which at most REPORT_BROKEN_MAX are
 * looked at; further ones are counted.
 * Owns: its lists.
 * Threads: one. */
#pragma once

#include <stdio.h>

#include "report/count/tally.h"
#include "store/pages/page_db.h"

#define REPORT_DEPTHS       32u /* the last one counts deeper pages, too */
#define REPORT_BROKEN_FROM  5u
#define REPORT_BROKEN_MAX   1000000u
#define REPORT_BROKEN_SHOWN 25u

/* A page that is linked to and cannot be had. */
typedef struct BrokenPage {
    uint64_t index;
    int32_t status;
    uint32_t n_from;                   /* pages that link to it */
    uint64_t from[REPORT_BROKEN_FROM]; /* the first of them */
} BrokenPage;

typedef struct ReportGraph {
    uint64_t n_pages; /* known */
    uint64_t n_crawled;
    uint64_t n_links;
    uint64_t n_links_cross;         /* to another host */
    uint64_t depths[REPORT_DEPTHS]; /* of crawled pages */
    Histogram degrees;              /* links per crawled page */
    uint64_t redirects;             /* pages with status 3xx, */
    uint64_t redirects_cross;       /* of them to another host */
    uint64_t n_broken;              /* pages */
    uint64_t n_broken_links;        /* links to those that are looked at */
    BrokenPage *broken;             /* the worst REPORT_BROKEN_SHOWN, most linked first */
    size_t n_broken_shown;
} ReportGraph;

/* Whether links to a page with this status are broken: 404, 410 and the like, or no answer after
 * all retries. */
bool report_is_broken(int32_t status);
/* Reads the database. all (may be NULL) gets a line for each broken link: status, URL, the page
 * that has the link, separated by tabs. RESULT_DAMAGED, RESULT_MEMORY, RESULT_IO. To be destroyed
 * in any case. */
Result report_graph_read(ReportGraph *graph, PageDB *db, FILE *all);
void report_graph_destroy(ReportGraph *graph);
