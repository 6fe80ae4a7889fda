/* Audit findings: the breaches that an audit found.
 *
 * What: breaches are counted by kind, and the first ones are kept with their places.
 * Owns: its texts.
 * Threads: one. */
#ifndef AUDIT_AUDIT_FINDINGS_H
#define AUDIT_AUDIT_FINDINGS_H

#include <stddef.h>
#include <stdint.h>

#include "audit/audit_fetch.h"
#include "base/core/result.h"

typedef enum AuditBreach {
    BREACH_HOST_PAUSE, /* a host was asked again before its delay was over */
    BREACH_IP_PAUSE,   /* so was an address */
    BREACH_AT_ONCE,    /* two requests to one address at the same time */
    BREACH_OWED,       /* less was owed than the configuration or Crawl-delay asks for */
    BREACH_STATED,     /* the pause that a line states is not that of its times */
    BREACH_FORBIDDEN,  /* robots.txt forbids the URL */
    BREACH_NO_ROBOTS,  /* a page was fetched before robots.txt was known */
    AUDIT_BREACHES
} AuditBreach;

/* A word for programs: "host-pause". */
const char *audit_breach_name(AuditBreach breach);

typedef struct AuditFinding {
    AuditBreach breach;
    AuditPlace place;
    AuditPlace before; /* the request before it; line 0 = none */
    WallTime time;     /* when the request began */
    int64_t asked;     /* ms that were owed, or asked for; the version of robots.txt */
    int64_t found;     /* ms */
    char *subject;     /* origin, address or URL */
    char *rule;        /* of robots.txt, or NULL */
} AuditFinding;

#define AUDIT_FINDINGS_KEPT 1000u

typedef struct AuditFindings {
    uint64_t count[AUDIT_BREACHES];
    AuditFinding *kept; /* the first AUDIT_FINDINGS_KEPT */
    size_t n_kept;
} AuditFindings;

void audit_findings_destroy(AuditFindings *findings);
/* Counts one, and keeps it while there is room and memory. subject (length bytes) and rule (may be
 * NULL) are copied; finding's own are ignored. */
void audit_findings_add(AuditFindings *findings, const AuditFinding *finding, const char *subject,
                        size_t length, const char *rule);
uint64_t audit_findings_total(const AuditFindings *findings);

#endif
