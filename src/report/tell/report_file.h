/* Report file: a report written as text, as HTML or as JSON.
 *
 * What: chooses the writer of a form, and replaces DIR/report.txt or DIR/report.html at the end of
 * a crawl.
 * Threads: one. */
#ifndef REPORT_TELL_REPORT_FILE_H
#define REPORT_TELL_REPORT_FILE_H

#include <stdio.h>

#include "rules/config_words.h"
#include "base/memory/buffer.h"
#include "report/gather/report.h"
#include "report/tell/report_writer.h"

/* Report HTML: a report as one HTML file.
 *
 * What: the style and the graphs are in the file. It loads nothing, runs no script, and suits light
 * and dark themes, paper and small screens.
 * Owns: the text that is being written.
 * Threads: one.
 * Errors: the first error of memory or of the file is kept and returned by ReportWriter.end. */

typedef struct ReportHtml ReportHtml;

/* file is borrowed. RESULT_MEMORY. */
Result report_html_new(ReportHtml **html, FILE *file);
void report_html_delete(ReportHtml *html);
ReportWriter report_html_writer(ReportHtml *html);

/* Chart: a quantity over time as an HTML figure with an inline SVG.
 *
 * What: the line is SVG, which stretches to any width. The labels of the axes are text beside the
 * SVG, which does not stretch. The CSS classes are those of the style in report_file.c.
 * Threads: any; pure. */

/* Appends the figure. Errors of the buffer. */
Result chart_svg(Buffer *out, const ReportChart *chart);
/* The least step of the form 1, 2 or 5 times a power of ten such that at most n steps reach `most`.
 * For example, chart_step(37, 5) is 10. */
double chart_step(double most, unsigned n);
/* Appends text with "&", "<", ">" and quotes escaped. */
Result html_append(Buffer *out, const char *text);

typedef enum ReportForm {
    WORDS_ENUM(REPORT_WORDS) /* of log.report */
    REPORT_AS_JSON           /* report_print alone */
} ReportForm;

/* Tells the report in that form. RESULT_MEMORY, RESULT_IO, RESULT_FULL: of out. */
Result report_print(const Report *report, ReportForm form, FILE *out);
/* At the end of a crawl: gathers, and writes DIR/report.txt or DIR/report.html, replaced
 * atomically. Errors as those of report_gather and report_print; error has a sentence. */
Result report_write(const char *directory, PageDB *db, ReportForm form, Buffer *error);

#endif
