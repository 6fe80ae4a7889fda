/* Audit hosts: the hosts and addresses that crawl.log names, each with its last request and its
 * closest call.
 *
 * What: some 200 bytes for each host of the log. The closest call is the pause with the least time
 * beyond what was owed.
 * Owns: all hosts and addresses, and the rules of robots.txt that hosts hold.
 * Threads: one.
 * Errors: RESULT_MEMORY. */
#pragma once

#include "logs/crawl_log_line.h"
#include "frontier/visit/politeness.h"
#include "parse/robots/robots.h"

/* Audit fetch: one request as the audit sees it.
 *
 * What: the times of a line of crawl.log, and where the line stands.
 * Owns: `text`. */

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
    int64_t at_once;       /* most requests to its host in flight with it; -1 = one */
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
    LearnedPace pace; /* that the line states; usual_ms = 0: none */
    int64_t took_ms;
    int status;
    bool is_robots;
    int64_t learned_ms;  /* politeness.least; -1: no delay is to be learned, or it is not known */
    int64_t delay_ms;    /* politeness.host_delay that was in force; -1 = not known */
    int64_t crawl_delay; /* of robots.txt, in ms; -1 = none, or not known */
    bool is_selected;    /* it is asked about */
    char *text;          /* the line, when it will be printed; NULL */
} AuditFetch;

/* Audit findings: the breaches that an audit found.
 *
 * What: breaches are counted by kind, and the first ones are kept with their places.
 * Owns: its texts.
 * Threads: one. */

#define AUDIT_BREACH_WORDS(WORD)                                                                   \
    /* a host was asked again before its delay was over */                                         \
    WORD(BREACH_HOST_PAUSE, "host-pause")                                                          \
    /* so was an address */                                                                        \
    WORD(BREACH_IP_PAUSE, "ip-pause")                                                              \
    /* two requests to one address at the same time */                                             \
    WORD(BREACH_AT_ONCE, "at-once")                                                                \
    /* less was owed than the configuration or Crawl-delay asks for */                             \
    WORD(BREACH_OWED, "owed-too-little")                                                           \
    /* the pause that a line states is not that of its times */                                    \
    WORD(BREACH_STATED, "stated-pause")                                                            \
    /* the delay that was learned does not follow from the answers before */                       \
    WORD(BREACH_LEARNED, "learned")                                                                \
    /* robots.txt forbids the URL */                                                               \
    WORD(BREACH_FORBIDDEN, "forbidden")                                                            \
    /* politeness.hours, or Visit-time of robots.txt, does not allow this time */                  \
    WORD(BREACH_HOURS, "outside-hours")                                                            \
    /* a page was fetched before robots.txt was known */                                           \
    WORD(BREACH_NO_ROBOTS, "no-robots")
typedef enum AuditBreach { WORDS_ENUM(AUDIT_BREACH_WORDS) AUDIT_BREACHES } AuditBreach;

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

/* What was in force for a host within a span of time: where it changed, what asks for the least. */
typedef struct AuditForce {
    bool has_changed;
    int64_t least_ms; /* host_delay */
    int64_t most_ms;  /* INT64_MAX = not known */
    int64_t ip_ms;
    int64_t keep_alive_ms;
    int64_t connections;
    int64_t learned_ms; /* politeness.least; -1 = none is learned, or it has changed */
    const char *hours;  /* politeness.hours, borrowed; NULL = not known, or it has changed */
} AuditForce;

struct AuditHost {
    AuditSubject subject;
    char *origin;
    bool is_selected;      /* the operator asks about it */
    Robots *rules;         /* of rules_version; NULL: their content is not known */
    int64_t rules_version; /* -1 = not looked for yet */
    int64_t version_told;  /* of robots.txt, to who asks about the host; 0 = none yet */
    AuditForce force;      /* by the configuration as it is now */
    LearnedPace pace;      /* after its last request */
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
} AuditHosts; /* all zero: empty */

void audit_hosts_destroy(AuditHosts *hosts);
/* The host of an origin, new or known; *is_new says which. NULL without memory. */
AuditHost *audit_hosts_find(AuditHosts *hosts, LogText origin, bool *is_new);
AuditAddress *audit_hosts_find_address(AuditHosts *hosts, const IpAddress *ip, bool *is_new);
/* Forgets the rules of all hosts, to have memory again. */
void audit_hosts_forget_rules(AuditHosts *hosts);

/* Audit whom: the hosts or the address that an operator asks about, as a webmaster names them.
 *
 * What: a host name ("example.org", with what is below it), a URL of it, HOST:PORT, an address, or
 * a pattern ("*.example.org"). Of a URL scheme and path do not matter; a port that is not the usual
 * one does.
 * Owns: its text.
 * Threads: one. */

typedef struct AuditWhom {
    char *name;        /* of the host, or the pattern; owned; NULL: all */
    bool is_pattern;   /* of names or origins */
    bool is_address;   /* address is asked about, whatever names it has */
    IpAddress address; /* when is_address */
    uint16_t port;     /* 0: any */
} AuditWhom;

/* RESULT_INVALID: it names no host. RESULT_MEMORY. */
Result audit_whom_parse(AuditWhom *whom, const char *text);
void audit_whom_destroy(AuditWhom *whom);
/* Whether a host ("http://www.example.org:81") and an address are asked about. */
bool audit_whom_is_host(const AuditWhom *whom, const char *origin);
bool audit_whom_is_address(const AuditWhom *whom, const IpAddress *address);
/* The origin that differs by the fewest letters; NULL: none is near. */
const char *audit_whom_nearest(const AuditWhom *whom, const AuditHosts *hosts);
