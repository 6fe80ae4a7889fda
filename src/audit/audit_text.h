/* Audit text: the verdict of an audit, for people and for programs.
 *
 * What: tells breaches, figures, the closest calls and the verdict.
 * Threads: one. */
#pragma once

#include <stdio.h>

#include "audit/audit.h"
#include "report/write/report_writer.h"

/* Audit requests: every request that is asked about, for an answer to a complaint.
 *
 * What: a sink of an audit (audit.h) that prints a line for each request, in the order of their
 * ends, and each robots.txt in front of the first page that it allowed.
 * Owns: nothing.
 * Threads: one.
 * Errors: the first one stays in result. */
typedef struct AuditRequests {
    Audit *audit; /* borrowed, as out */
    FILE *out;
    bool has_begun;
    Result result; /* RESULT_MEMORY, RESULT_IO */
} AuditRequests;

AuditSink audit_requests_sink(AuditRequests *requests);

/* Each breach that is kept, then the figures, the closest calls and the verdict. Errors of
 * report_writer_end. */
Result audit_write(const Audit *audit, ReportForm form, Buffer *out);
/* "2026-01-31 12:00:00.123" (UTC). */
#define AUDIT_TIME_BYTES 32
const char *audit_text_time(WallTime time, char text[AUDIT_TIME_BYTES]);
