/* Audit delays: the delays that the operator asked for, as DIR/config.ini has them.
 *
 * What: a crawl writes config.ini at each start, so the file holds for requests since the last
 * start. What was owed before earlier requests is known only from their own lines.
 * Owns: the configuration.
 * Threads: one. */
#ifndef AUDIT_AUDIT_DELAYS_H
#define AUDIT_AUDIT_DELAYS_H

#include "base/core/clock.h"
#include "base/memory/buffer.h"
#include "rules/config.h"

typedef struct AuditDelays {
    Config config;
    bool is_known;  /* config.ini was read */
    WallTime since; /* it holds for requests that began later */
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
/* A Crawl-delay of robots.txt as far as it counts; -1 for -1, and when no bound is known. */
int64_t audit_delays_of_robots(const AuditDelays *delays, int64_t crawl_delay_ms);
/* The product token that is looked for in robots.txt. */
const char *audit_delays_agent(const AuditDelays *delays);

#endif
