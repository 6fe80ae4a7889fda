/* Report file: a report written as text, as HTML or as JSON.
 *
 * What: chooses the writer of a form, and replaces DIR/report.txt or DIR/report.html at the end of
 * a crawl.
 * Threads: one. */
#ifndef REPORT_TELL_REPORT_FILE_H
#define REPORT_TELL_REPORT_FILE_H

#include <stdio.h>

#include "base/memory/buffer.h"
#include "report/gather/report.h"
#include "report/write/report_writer.h"

/* Tells the report in that form. RESULT_MEMORY, RESULT_IO, RESULT_FULL: of out. */
Result report_print(const Report *report, ReportForm form, FILE *out);
/* At the end of a crawl: gathers, and writes DIR/report.txt or DIR/report.html, replaced
 * atomically. Errors as those of report_gather and report_print; error has a sentence. */
Result report_write(const char *directory, PageDB *db, ReportForm form, Buffer *error);

#endif
