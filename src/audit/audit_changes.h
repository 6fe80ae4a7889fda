/* Audit changes: what was changed of the delays, by operators while the crawl ran and from one run
 * to the next, as ragno.log has it.
 *
 * What: `config: changed key=politeness.host_delay old="50ms" new="5ms" ...` of DIR/ragno.log and
 * its rotated predecessors, with site="PATTERN" when it is a value of a [site] section. Each start
 * writes the changes since the run before, and that they are all. Owns: its texts. Threads: one.
 * Errors: a log that is not there, or a line that cannot be read, is no change. */
#ifndef AUDIT_AUDIT_CHANGES_H
#define AUDIT_AUDIT_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/clock.h"
#include "base/core/result.h"

typedef struct AuditChange {
    WallTime time;
    char *text; /* from its key on: what, and who */
    char *name; /* "politeness.host_delay"; NULL: the line does not say what it was before */
    char *site; /* the pattern of its section, or NULL */
    char *from; /* of a section, "": it said nothing */
    char *to;
} AuditChange;

typedef struct AuditChanges {
    AuditChange *list; /* as they were logged */
    size_t n;
    bool is_whole;  /* all changes since `since` are here, as far as starts say */
    WallTime since; /* of a start */
} AuditChanges;

/* RESULT_MEMORY. The changes are to be destroyed in any case. */
Result audit_changes_read(AuditChanges *changes, const char *directory);
void audit_changes_destroy(AuditChanges *changes);

#endif
