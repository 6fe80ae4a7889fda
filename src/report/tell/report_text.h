/* Report text: a report as plain text, for terminals and mail.
 *
 * What: tables are aligned, bars are made of '#', and lines have at most about 100 columns, except
 * for URLs.
 * Owns: the table that is being written.
 * Threads: one.
 * Errors: the first error of the file is kept and returned by ReportWriter.end. */
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
