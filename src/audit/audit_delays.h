/* Audit delays: the delays that the operator asked for, as DIR/config.ini has them.
 *
 * What: a crawl writes config.ini at each start, so the file holds for requests since the last
 * start, or the last change while it ran. What was owed before earlier requests is known from their
 * own lines, and from what ragno.log says of changes.
 * Owns: the configuration, and the changes.
 * Threads: one. */
#ifndef AUDIT_AUDIT_DELAYS_H
#define AUDIT_AUDIT_DELAYS_H

#include "audit/audit_changes.h"
#include "audit/audit_hosts.h"
#include "base/core/clock.h"
#include "base/memory/buffer.h"
#include "rules/config.h"

typedef struct AuditDelays {
    Config config;
    bool is_known;  /* config.ini was read */
    WallTime since; /* it holds for requests that began later */
    AuditChanges changes;
} AuditDelays;

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
