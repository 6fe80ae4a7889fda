/* Chart: a quantity over time as an HTML figure with an inline SVG.
 *
 * What: the line is SVG, which stretches to any width. The labels of the axes are text beside the
 * SVG, which does not stretch. The CSS classes are those of the style in report_html.c.
 * Threads: any; pure. */
#ifndef REPORT_TELL_CHART_SVG_H
#define REPORT_TELL_CHART_SVG_H

#include "base/memory/buffer.h"
#include "report/tell/report_writer.h"

/* Appends the figure. Errors of the buffer. */
Result chart_svg(Buffer *out, const ReportChart *chart);
/* The least step of the form 1, 2 or 5 times a power of ten such that at most n steps reach `most`.
 * For example, chart_step(37, 5) is 10. */
double chart_step(double most, unsigned n);
/* Appends text with "&", "<", ">" and quotes escaped. */
Result html_append(Buffer *out, const char *text);

#endif
