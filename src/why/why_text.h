/* Why text: what is known of a URL, in sentences for people and as JSON for programs.
 *
 * What: formats a Why (why.h).
 * Threads: any; pure. */
#pragma once

#include "report/write/report_writer.h"
#include "why/why.h"

#define WHY_LABELS 15u /* columns */

/* Tells all of it: a first line with the state, the sentence, then sections. */
void why_tell(const Why *why, WallTime now, ReportWriter *to);
/* The same, as text or as one JSON object. Errors of report_writer_end. */
Result why_write(const Why *why, WallTime now, ReportForm form, Buffer *out);
