/* A report as one HTML file: its style and its graphs are in it, it loads nothing, runs no script,
 * and looks right in light and dark, on paper and on a phone.
 *
 * Owns: the text that is being written. Threads: one. Errors: the first, of memory or the file. */
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
