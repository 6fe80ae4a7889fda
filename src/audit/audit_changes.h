/* Audit changes: what an operator changed of the delays while the crawl ran, as ragno.log has it.
 *
 * What: `config: changed key=politeness.host_delay old="50ms" new="5ms" ...` of DIR/ragno.log and
 * its rotated predecessors. A delay that is made shorter counts at once, for hosts that wait
 * already: a request may then come sooner than the one before it has left owed, but not before the
 * least delay that was in force in between. A change of a [site] section is logged without its
 * values. Owns: its texts. Threads: one. Errors: a log that is not there, or a line that cannot be
 * read, is no change. */
#ifndef AUDIT_AUDIT_CHANGES_H
#define AUDIT_AUDIT_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/clock.h"
#include "base/core/result.h"

/* A change holds everywhere within so long of its line, before or after. */
#define AUDIT_CHANGE_US INT64_C(1000000)

typedef struct AuditChange {
    WallTime time;
    bool is_host_delay; /* it has values, in ms */
    bool is_site;       /* of a [site] section */
    int64_t from_ms;
    int64_t to_ms;
    char *text; /* from its key on: what, and who */
} AuditChange;

typedef struct AuditChanges {
    AuditChange *list; /* as they were logged */
    size_t n;
} AuditChanges;

/* What may have been in force as host_delay within a span of time. */
typedef struct AuditForce {
    bool has_changed;
    int64_t least_ms;
    int64_t most_ms; /* INT64_MAX = not known */
} AuditForce;

/* RESULT_MEMORY. The changes are to be destroyed in any case. */
Result audit_changes_read(AuditChanges *changes, const char *directory);
void audit_changes_destroy(AuditChanges *changes);
/* now_ms: the host's delay as it is configured now; it stands for the values of the last change of
 * a [site] section. Those of an earlier one are not known: 0. */
AuditForce audit_changes_between(const AuditChanges *changes, WallTime from, WallTime until,
                                 int64_t now_ms);

#endif
