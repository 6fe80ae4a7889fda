/* Audit delays: the delays that the operator asked for, at any time.
 *
 * What: DIR/in-force.ini has what the crawl goes by now, or went by last. What was in force before
 * is found by going back through the changes that ragno.log tells of (audit_delays.h), as far as
 * the log tells of all. What was owed before earlier requests is known from their own lines only.
 * Owns: the configurations, and the changes.
 * Threads: one. */
#pragma once

#include "audit/audit_hosts.h"
#include "rules/config.h"

/* Audit changes: what was changed of the delays, by operators while the crawl ran and from one run
 * to the next, as ragno.log has it.
 *
 * What: `config: changed key=politeness.host_delay old="50ms" new="5ms" ...` of DIR/ragno.log and
 * its rotated predecessors, with site="PATTERN" when it is a value of a [site] section. Each start
 * writes the changes since the run before, and that they are all.
 * Owns: its texts.
 * Threads: one.
 * Errors: a log that is not there, or a line that cannot be read, is no change. */

typedef struct AuditChange {
    WallTime time;
    char *text; /* from its key on: what, and who */
    char *name; /* "politeness.host_delay"; NULL: the line does not say what it was before */
    char *site; /* the pattern of its section, or NULL */
    char *from; /* of a section, "": it said nothing */
    char *to;
} AuditChange;

/* An operator's wish that a host is asked at once: `agent: host changed by an operator host=HOST
 * wish=visit ...`. */
typedef struct AuditOrder {
    WallTime time;
    char *host; /* a name, or an origin */
    char *text; /* from its host on */
} AuditOrder;

typedef struct AuditChanges {
    AuditChange *list; /* as they were logged */
    size_t n;
    AuditOrder *orders; /* the same */
    size_t n_orders;
    bool is_whole;  /* all changes since `since` are here, as far as starts say */
    WallTime since; /* of a start */
} AuditChanges;

/* A change holds everywhere within so long of its line, before or after. */
#define AUDIT_CHANGE_US INT64_C(1000000)
/* Changes that are gone back through, at most. */
#define AUDIT_EPOCHS 256u

typedef struct AuditEpoch {
    WallTime until; /* of the change that ended it */
    Config *config;
} AuditEpoch;

typedef struct AuditDelays {
    Config config;  /* in force now */
    bool is_known;  /* it was read */
    WallTime since; /* what was in force is known of requests that began later */
    AuditChanges changes;
    AuditEpoch *epochs; /* before each change, the latest first */
    size_t n_epochs;
    WallTime dark_until; /* changes before it cannot be gone back through */
} AuditDelays;

/* Reads the configuration of a crawl. RESULT_NOT_FOUND: there is none, and no delay is known.
 * RESULT_INVALID: error says what is wrong with it. The delays are to be destroyed in any case. */
Result audit_delays_read(AuditDelays *delays, const char *directory, Buffer *error);
void audit_delays_destroy(AuditDelays *delays);

/* What is in force now for a host ("http://h"); -1 everywhere: it is not known. */
AuditForce audit_delays_now(const AuditDelays *delays, const char *origin);
/* What was in force for the host between from and until. */
AuditForce audit_delays_in_force(const AuditDelays *delays, const AuditHost *host, WallTime from,
                                 WallTime until);
/* What is due before fetch when the request that ended `before` has left owes: less, when the
 * operator has shortened the host's delay in between. A rest after a failure, which is longer than
 * any delay that was in force, does not become shorter by that, nor does a Crawl-delay. */
int64_t audit_delays_due(const AuditDelays *delays, const AuditFetch *fetch, WallTime before,
                         int64_t owes);
/* The same after an operator's order that the host be asked at once, which ends a rest but not the
 * host's delay; -1: there was none between the two requests. */
int64_t audit_delays_ordered(const AuditDelays *delays, const AuditFetch *fetch, WallTime before);
/* A Crawl-delay of robots.txt as far as it counts; -1 for -1, and when no bound is known. */
int64_t audit_delays_of_robots(const AuditDelays *delays, int64_t crawl_delay_ms);
/* The product token that is looked for in robots.txt. */
const char *audit_delays_agent(const AuditDelays *delays);

/* Audit pauses: whether hosts and addresses were left alone as long as they were owed.
 *
 * What: requests come in the order of their ends (audit.h), and each is compared with the
 * one before it to the same host and to the same address. That is enough: when two requests break a
 * delay, or are in flight at once, and others lie between their ends, then the later of the two
 * breaks the delay with its neighbour, too.
 *
 * A host is owed, before a request, what the line of the request says (OWED). Without that, it is
 * owed what the request before it left (owes:), or else what the configuration and Crawl-delay ask
 * for. An address is owed what the request before it left, or what the configuration asks for. A
 * separate check finds OWED and owes: that are less than what was asked for. Within a burst
 * (burst:) nothing is asked for until politeness.keep_alive_time has passed since its first request
 * began.
 * Owns: its counts.
 * Threads: one. */

/* Of requests that are asked about. */
typedef struct AuditPauses {
    const AuditDelays *delays; /* borrowed */
    uint64_t judged_hosts;     /* pauses between two requests to a host, */
    uint64_t judged_addresses; /* and to an address */
    uint64_t by_order;      /* shorter than owed, since an operator wanted the host asked at once */
    uint64_t by_wall_clock; /* of them: over a restart of the machine */
    uint64_t not_owed;      /* pauses of which nothing says how long they had to be */
    uint64_t missing;       /* longer than stated: the log lacks a request in between */
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
