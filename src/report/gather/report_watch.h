/* Report watch: what status.log tells of a crawl.
 *
 * What: the queue and the memory over time, and how long each limit bound the crawl. Memory does
 * not grow with the log.
 * Owns: its tally.
 * Threads: one. */
#ifndef REPORT_GATHER_REPORT_WATCH_H
#define REPORT_GATHER_REPORT_WATCH_H

#include "base/core/result.h"
#include "report/count/series.h"
#include "report/count/tally.h"

typedef struct ReportWatch {
    bool is_there;
    uint64_t lines;
    uint64_t runs;   /* how often the crawl was started */
    Tally limits;    /* count: ms that each limit bound */
    Series queued;   /* URLs */
    Series resident; /* bytes */
    Series active;   /* transfers */
    double elapsed_s;
    double cpu_s;   /* of all runs */
    char state[16]; /* last */
} ReportWatch;

/* Reads DIR/status.log and its predecessors. RESULT_OK also when there is none. RESULT_MEMORY. To
 * be destroyed in any case. */
Result report_watch_read(ReportWatch *watch, const char *directory);
void report_watch_destroy(ReportWatch *watch);

#endif
