/* Audit hosts: the hosts and addresses that crawl.log names, each with its last request and its
 * closest call.
 *
 * What: some 200 bytes for each host of the log. The closest call is the pause with the least time
 * beyond what was owed.
 * Owns: all hosts and addresses, and the rules of robots.txt that hosts hold.
 * Threads: one.
 * Errors: RESULT_MEMORY. */
#ifndef AUDIT_AUDIT_HOSTS_H
#define AUDIT_AUDIT_HOSTS_H

#include "audit/audit_fetch.h"
#include "base/memory/map.h"
#include "logs/crawl_log_line.h"
#include "parse/robots/robots.h"

/* The closest call: of the pauses before selected requests, the one that was longer than owed by
 * the least. */
typedef struct AuditClosest {
    int64_t slack; /* ms: given - owed; INT64_MAX = there was no pause yet */
    int64_t owed;
    AuditPlace place;  /* of the request after the pause, */
    AuditPlace before; /* and of the one before it */
} AuditClosest;

/* What must be left alone between two requests: a host or an address. */
typedef struct AuditSubject {
    uint64_t n_requests;
    uint64_t n_selected; /* of them that are asked about */
    AuditPlace place;    /* of the last one */
    uint32_t boot;
    int64_t mono_end;
    WallTime end;
    int64_t owes; /* as the line said; -1 = it did not */
    int64_t asks; /* as the configuration and Crawl-delay say; -1 = not known */
    AuditClosest closest;
    int64_t *ends; /* us, of the last request on each of its connections; owned; NULL: it has one */
    unsigned n_ends;
} AuditSubject;

struct AuditHost {
    AuditSubject subject;
    char *origin;
    bool is_selected;      /* the operator asks about it */
    Robots *rules;         /* of rules_version; NULL: their content is not known */
    int64_t rules_version; /* -1 = not looked for yet */
    int64_t delay_ms;      /* configured; -1 = not looked for yet, or not known */
    int64_t keep_alive_ms; /* the same, of politeness.keep_alive_time */
    int64_t ip_delay_ms;   /* the same, of politeness.ip_delay */
    int64_t connections;   /* the same, of politeness.connections */
    int64_t burst_start;   /* us, of the burst that its last requests belong to */
};

struct AuditAddress {
    AuditSubject subject;
    IpAddress ip;
    bool is_selected;
};

typedef struct AuditHosts {
    Map hosts;
    Map addresses;
} AuditHosts;

void audit_hosts_init(AuditHosts *hosts);
void audit_hosts_destroy(AuditHosts *hosts);
/* The host of an origin, new or known; *is_new says which. NULL without memory. */
AuditHost *audit_hosts_find(AuditHosts *hosts, LogText origin, bool *is_new);
AuditAddress *audit_hosts_find_address(AuditHosts *hosts, const IpAddress *ip, bool *is_new);
/* Forgets the rules of all hosts, to have memory again. */
void audit_hosts_forget_rules(AuditHosts *hosts);

#endif
