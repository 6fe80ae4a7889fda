/* Audit fetch: one request as the audit sees it.
 *
 * What: the times of a line of crawl.log, and where the line stands.
 * Owns: `text`. */
#ifndef AUDIT_AUDIT_FETCH_H
#define AUDIT_AUDIT_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/clock.h"
#include "parse/host/ip_address.h"

typedef struct AuditHost AuditHost;
typedef struct AuditAddress AuditAddress;

/* Where a line stands: number of the file (logs/log_reader.h) and of the line in it. */
typedef struct AuditPlace {
    unsigned file;
    uint64_t line; /* 0 = nowhere */
} AuditPlace;

typedef struct AuditFetch {
    AuditHost *host;
    AuditAddress *address;
    AuditPlace place;
    uint32_t boot;      /* monotonic times of one boot can be compared */
    int64_t mono_start; /* us; START is rounded down and END up to ms, but within a burst */
    int64_t mono_end;
    bool is_exact;         /* the times are in us, both */
    int64_t at_once;       /* so many requests to its host may be in flight with it; -1 = one */
    int64_t burst;         /* number of the request in it; -1 = in none */
    int64_t keep_alive_ms; /* how long a burst may be, -1 = not known */
    WallTime start;
    WallTime end;
    int64_t owed; /* ms; -1 = the line does not say, as the next three */
    int64_t given;
    int64_t owes_host;
    int64_t owes_ip;
    int64_t host_asks; /* what configuration and Crawl-delay ask for after it, -1 = not known */
    int64_t ip_asks;
    int64_t crawl_delay; /* of robots.txt, in ms; -1 = none, or not known */
    bool is_selected;    /* it is asked about */
    char *text;          /* the line, when it will be printed; NULL */
} AuditFetch;

#endif
