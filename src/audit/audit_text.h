/* Audit text: the verdict of an audit, for people and for programs.
 *
 * What: prints breaches, figures, the closest calls and the verdict, or the same as JSON.
 * Threads: one. */
#ifndef AUDIT_AUDIT_TEXT_H
#define AUDIT_AUDIT_TEXT_H

#include <stdio.h>

#include "audit/audit.h"

/* A line for each breach that is kept, then the figures, the closest calls and the verdict. */
void audit_text_print(const Audit *audit, FILE *out);
/* The same as one JSON object. RESULT_MEMORY. */
Result audit_text_json(const Audit *audit, Buffer *out);
/* "2026-01-31 12:00:00.123" (UTC), and "12.3 MB". */
#define AUDIT_TIME_BYTES 32
const char *audit_text_time(WallTime time, char text[AUDIT_TIME_BYTES]);

#endif
