/* Audit delays: the delays that the operator asked for, at any time.
 *
 * What: DIR/in-force.ini has what the crawl goes by now, or went by last. What was in force before
 * is found by going back through the changes that ragno.log tells of (audit_changes.h), as far as
 * the log tells of all. What was owed before earlier requests is known from their own lines only.
 * Owns: the configurations, and the changes.
 * Threads: one. */
#ifndef AUDIT_AUDIT_DELAYS_H
#define AUDIT_AUDIT_DELAYS_H

#include "audit/audit_changes.h"
#include "audit/audit_hosts.h"
#include "base/core/clock.h"
#include "base/memory/buffer.h"
#include "rules/config.h"

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

/* What was in force for a host within a span of time: where it changed, what asks for the least. */
typedef struct AuditForce {
    bool has_changed;
    int64_t least_ms; /* host_delay */
    int64_t most_ms;  /* INT64_MAX = not known */
    int64_t ip_ms;
    int64_t keep_alive_ms;
    int64_t connections;
} AuditForce;

/* Reads the configuration of a crawl. RESULT_NOT_FOUND: there is none, and no delay is known.
 * RESULT_INVALID: error says what is wrong with it. The delays are to be destroyed in any case. */
Result audit_delays_read(AuditDelays *delays, const char *directory, Buffer *error);
void audit_delays_destroy(AuditDelays *delays);

/* ms between two requests to a host (a name); -1 = not known. */
int64_t audit_delays_of_host(const AuditDelays *delays, const char *name);
/* The same for the address of a host. */
int64_t audit_delays_of_address(const AuditDelays *delays, const char *name);
/* How many requests to a host may be in flight at once; -1 = not known. */
int64_t audit_delays_connections(const AuditDelays *delays, const char *name);
/* ms for which a host (a name) may be asked without a pause; -1 = not known. */
int64_t audit_delays_keep_alive(const AuditDelays *delays, const char *name);
/* What was in force for the host between from and until. */
AuditForce audit_delays_in_force(const AuditDelays *delays, const AuditHost *host, WallTime from,
                                 WallTime until);
/* What is due before fetch when the request that ended `before` has left owes: less, when the
 * operator has shortened the host's delay in between. A rest after a failure, which is longer than
 * any delay that was in force, does not become shorter by that, nor does a Crawl-delay. */
int64_t audit_delays_due(const AuditDelays *delays, const AuditFetch *fetch, WallTime before,
                         int64_t owes);
/* A Crawl-delay of robots.txt as far as it counts; -1 for -1, and when no bound is known. */
int64_t audit_delays_of_robots(const AuditDelays *delays, int64_t crawl_delay_ms);
/* The product token that is looked for in robots.txt. */
const char *audit_delays_agent(const AuditDelays *delays);

#endif
