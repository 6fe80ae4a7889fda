/* Audit text: the verdict of an audit, for people and for programs.
 *
 * What: tells breaches, figures, the closest calls and the verdict.
 * Threads: one. */
#ifndef AUDIT_AUDIT_TEXT_H
#define AUDIT_AUDIT_TEXT_H

#include <stdio.h>

#include "audit/audit.h"
#include "report/write/report_writer.h"

/* Audit complaint: the answer to a complaint, as a text that can be sent to whoever complained.
 *
 * What: the text says what was requested from a host or an address, when, and under which
 * robots.txt. A complaint is the sink of an audit (audit.h). It writes requests into a temporary
 * file as they come, because the figures that stand above them are known only at the end.
 * Owns: the temporary file. Memory grows with the versions of robots.txt, not with the requests.
 * Threads: one.
 * Errors: the first error is kept and returned by audit_complaint_print. */

typedef struct AuditComplaint AuditComplaint;

/* RESULT_MEMORY, RESULT_IO: no temporary file. */
Result audit_complaint_new(AuditComplaint **complaint);
void audit_complaint_delete(AuditComplaint *complaint);
AuditSink audit_complaint_sink(AuditComplaint *complaint);
/* Writes the answer. audit has run. RESULT_MEMORY, RESULT_IO. */
Result audit_complaint_print(AuditComplaint *complaint, Audit *audit, const AuditOptions *options,
                             FILE *out);

/* Each breach that is kept, then the figures, the closest calls and the verdict. Errors of
 * report_writer_end. */
Result audit_write(const Audit *audit, ReportForm form, Buffer *out);
/* "2026-01-31 12:00:00.123" (UTC). */
#define AUDIT_TIME_BYTES 32
const char *audit_text_time(WallTime time, char text[AUDIT_TIME_BYTES]);

#endif
