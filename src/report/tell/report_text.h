/* A report as plain text, for terminals and mails: tables aligned, bars of '#', at most about 100
 * columns wide but for URLs.
 *
 * Owns: the table that is being written. Threads: one. Errors: the first of the file. */
#ifndef REPORT_TELL_REPORT_TEXT_H
#define REPORT_TELL_REPORT_TEXT_H

#include <stdio.h>

#include "report/tell/report_writer.h"

typedef struct ReportText ReportText;

/* file is borrowed. RESULT_MEMORY. */
Result report_text_new(ReportText **text, FILE *file);
void report_text_delete(ReportText *text);
ReportWriter report_text_writer(ReportText *text);

#endif
