/* Puts requests into the order in which they ended.
 *
 * crawl.log is in the order of commits: answers of different sizes take different times to parse,
 * so a request may stand behind one that ended later. The window holds the latest requests read and
 * gives them out by boot and monotonic end. Two requests are given out in the right order if fewer
 * than AUDIT_WINDOW others stand between them; the results between a fetch and its commit are fewer
 * by far (parse.queue, store.batch_pages).
 *
 * Owns: the requests in it. Threads: one. Errors: RESULT_MEMORY. */
#ifndef AUDIT_AUDIT_WINDOW_H
#define AUDIT_AUDIT_WINDOW_H

#include <stddef.h>

#include "audit/audit_fetch.h"
#include "base/core/result.h"

#define AUDIT_WINDOW ((size_t)1 << 17)

typedef struct AuditWindow AuditWindow;

Result audit_window_new(AuditWindow **window);
void audit_window_delete(AuditWindow *window);

/* Takes fetch in. When the window was full, *out is the first of those that were in it and true is
 * returned. */
bool audit_window_push(AuditWindow *window, const AuditFetch *fetch, AuditFetch *out);
/* The first of what is in it; false when it is empty. */
bool audit_window_pop(AuditWindow *window, AuditFetch *out);

#endif
