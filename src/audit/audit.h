/* Audit: proves from crawl.log that a crawl was polite.
 *
 *   crawl.log --log_reader--> line --crawl_log_line--> request --audit_robots: allowed?
 *                                                         |
 *                                                    audit_window: in order of their ends
 *                                                         |
 *                                                    audit_pauses: left alone long enough?
 *
 * What: reads the whole log and judges every request in it. The operator can ask about one host,
 * some addresses or a span of time; then only those requests are counted, but all are read, because
 * the pause before a selected request may have been begun by one that is not selected.
 *
 * The proof rests on the lines that the crawl wrote. A request whose result was never committed,
 * because the crawl was killed while the request was in flight, has no line.
 *
 * Owns: its parts.
 * Memory: about 250 bytes for each host of the log, the window, and the rules of robots.txt.
 * Threads: one; the crawl may be running. */
#ifndef AUDIT_AUDIT_H
#define AUDIT_AUDIT_H

#include "audit/audit_delays.h"
#include "audit/audit_findings.h"
#include "audit/audit_hosts.h"
#include "audit/audit_pauses.h"
#include "audit/audit_robots.h"
#include "logs/log_reader.h"

/* Receives each selected request, in the order of their ends. fetch->text is its line. */
typedef struct AuditSink {
    void *context;
    void (*request)(void *context, const AuditFetch *fetch, const AuditPause *pause);
} AuditSink;

typedef struct AuditOptions {
    const char *directory; /* of the crawl */
    const char *log;       /* NULL: DIR/crawl.log */
    const char *host;    /* a host name, an origin, or a pattern such as *.example.org; NULL: all */
    const IpRanges *ips; /* NULL: all */
    WallTime from;       /* requests that began in [from, until) */
    WallTime until;
    AuditSink sink; /* request may be NULL */
} AuditOptions;

/* Counts of the selected requests; the first three count the whole log. */
typedef struct AuditCounts {
    uint64_t lines;
    uint64_t unreadable;
    uint64_t without_times; /* requests that no line gives times for */
    uint64_t requests;
    uint64_t robots_files;
    uint64_t pages;
    uint64_t bytes;
    uint64_t refused; /* URLs that robots.txt forbade and that were not requested */
    uint64_t hosts;
    uint64_t addresses;
    uint64_t versions; /* of robots.txt, looked up */
    uint64_t judged_by_robots;
    uint64_t not_judged_by_robots; /* the content of the version is not known */
    WallTime first;                /* start of the first and end of the last request */
    WallTime last;
} AuditCounts;

typedef struct Audit {
    AuditCounts counts;
    AuditFindings findings;
    AuditPauses pauses;
    AuditHosts hosts;
    AuditRobots robots;
    AuditDelays delays;
    LogReader *reader; /* names the files that places are in */
    AuditPlace unreadable;
    const char *unreadable_why;
} Audit;

/* Audits a crawl. Takes db, which may be NULL. RESULT_NOT_FOUND: there is no log. RESULT_INVALID:
 * the configuration cannot be read. RESULT_MEMORY, RESULT_IO. On failure error has a sentence. The
 * audit is to be destroyed in any case. */
Result audit_run(Audit *audit, const AuditOptions *options, PageDB *db, Buffer *error);
void audit_destroy(Audit *audit);

#endif
