/* The answer to a complaint: what was requested of a host or an address, when, and under which
 * robots.txt, as a text that can be sent to who complained.
 *
 * It is the sink of an audit (audit.h): requests go into a temporary file as they come, since the
 * figures that stand above them are known at the end only. Memory grows with the versions of
 * robots.txt, not with the requests.
 *
 * Owns: the temporary file. Threads: one. Errors stick until audit_complaint_print. */
#ifndef AUDIT_AUDIT_COMPLAINT_H
#define AUDIT_AUDIT_COMPLAINT_H

#include <stdio.h>

#include "audit/audit.h"

typedef struct AuditComplaint AuditComplaint;

/* RESULT_MEMORY, RESULT_IO: no temporary file. */
Result audit_complaint_new(AuditComplaint **complaint);
void audit_complaint_delete(AuditComplaint *complaint);
AuditSink audit_complaint_sink(AuditComplaint *complaint);
/* Writes the answer. audit has run. RESULT_MEMORY, RESULT_IO. */
Result audit_complaint_print(AuditComplaint *complaint, Audit *audit, const AuditOptions *options,
                             FILE *out);

#endif
