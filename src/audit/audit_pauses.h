/* Audit pauses: whether hosts and addresses were left alone as long as they were owed.
 *
 * What: requests come in the order of their ends (audit_window.h), and each is compared with the
 * one before it to the same host and to the same address. That is enough: when two requests break a
 * delay, or are in flight at once, and others lie between their ends, then the later of the two
 * breaks the delay with its neighbour, too.
 *
 * A host is owed, before a request, what the line of the request says (OWED). Without that, it is
 * owed what the request before it left (owes:), or else what the configuration and Crawl-delay ask
 * for. An address is owed what the request before it left, or what the configuration asks for. A
 * separate check finds OWED and owes: that are less than what was asked for. Within a burst
 * (burst:) nothing is asked for until politeness.keep_alive_time has passed since its first request
 * began. Owns: its counts. Threads: one. */
#ifndef AUDIT_AUDIT_PAUSES_H
#define AUDIT_AUDIT_PAUSES_H

#include "audit/audit_delays.h"
#include "audit/audit_findings.h"
#include "audit/audit_hosts.h"

/* Of requests that are asked about. */
typedef struct AuditPauses {
    const AuditDelays *delays; /* borrowed */
    uint64_t judged_hosts;     /* pauses between two requests to a host, */
    uint64_t judged_addresses; /* and to an address */
    uint64_t by_wall_clock;    /* of them: over a restart of the machine */
    uint64_t not_owed;         /* pauses of which nothing says how long they had to be */
    uint64_t missing;          /* longer than stated: the log lacks a request in between */
} AuditPauses;

/* Pauses before one request, in ms; -1 = it was the first, or not known. */
typedef struct AuditPause {
    int64_t host;
    int64_t host_owed;
    int64_t address;
    int64_t address_owed;
} AuditPause;

/* Judges the pauses before fetch, and remembers it. Findings are added when fetch is selected. */
AuditPause audit_pauses_add(AuditPauses *pauses, AuditFetch *fetch, AuditFindings *findings);

#endif
