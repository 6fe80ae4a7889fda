/* The hosts and addresses that crawl.log names, each with its last request and its closest call.
 *
 * Owns: all of them, and the rules of robots.txt that hosts hold. Some 200 bytes each, for every
 * host of the log. Threads: one. Errors: RESULT_MEMORY. */
#ifndef AUDIT_AUDIT_HOSTS_H
#define AUDIT_AUDIT_HOSTS_H

#include "audit/audit_fetch.h"
#include "base/memory/map.h"
#include "logs/crawl_log_line.h"
#include "parse/robots/robots.h"

/* Of the pauses before requests that are asked about: the one with the least beyond what was owed.
 */
typedef struct AuditClosest {
    int64_t slack; /* ms: given - owed; INT64_MAX = there was no pause yet */
    int64_t owed;
    AuditPlace place;  /* of the request after the pause, */
    AuditPlace before; /* and of the one before it */
} AuditClosest;

/* A host or an address: something that is to be left alone between two requests. */
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
} AuditSubject;

struct AuditHost {
    AuditSubject subject;
    char *origin;
    bool is_selected;      /* the operator asks about it */
    Robots *rules;         /* of rules_version; NULL: their content is not known */
    int64_t rules_version; /* -1 = not looked for yet */
    int64_t delay_ms;      /* configured; -1 = not looked for yet, or not known */
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
