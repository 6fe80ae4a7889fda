/* Audit window: puts requests into the order in which they ended.
 *
 * What: crawl.log is in the order of commits. Answers of different sizes take different times to
 * parse, so the line of a request may come after the line of one that ended later. The window holds
 * the requests read last and returns them by boot and monotonic end. Two requests are returned in
 * the right order if fewer than AUDIT_WINDOW others stand between them. Far fewer results than that
 * are between fetch and commit at any time (parse.queue, store.batch_pages).
 * Owns: the requests in it.
 * Threads: one.
 * Errors: RESULT_MEMORY. */
#ifndef AUDIT_AUDIT_WINDOW_H
#define AUDIT_AUDIT_WINDOW_H

#include <stddef.h>

#include "audit/audit_fetch.h"
#include "base/core/result.h"

#define AUDIT_WINDOW ((size_t)1 << 17)

typedef struct AuditWindow AuditWindow;

Result audit_window_new(AuditWindow **window);
void audit_window_delete(AuditWindow *window);

/* Adds fetch. When the window was full, sets *out to the earliest request in it and returns true.
 */
bool audit_window_push(AuditWindow *window, const AuditFetch *fetch, AuditFetch *out);
/* Removes the earliest request; false when the window is empty. */
bool audit_window_pop(AuditWindow *window, AuditFetch *out);

#endif
