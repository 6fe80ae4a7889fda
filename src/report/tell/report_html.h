/* Report HTML: a report as one HTML file.
 *
 * What: the style and the graphs are in the file. It loads nothing, runs no script, and suits light
 * and dark themes, paper and small screens.
 * Owns: the text that is being written.
 * Threads: one.
 * Errors: the first error of memory or of the file is kept and returned by ReportWriter.end. */
#ifndef REPORT_TELL_REPORT_HTML_H
#define REPORT_TELL_REPORT_HTML_H

#include <stdio.h>

#include "report/tell/report_writer.h"

typedef struct ReportHtml ReportHtml;

/* file is borrowed. RESULT_MEMORY. */
Result report_html_new(ReportHtml **html, FILE *file);
void report_html_delete(ReportHtml *html);
ReportWriter report_html_writer(ReportHtml *html);

#endif
