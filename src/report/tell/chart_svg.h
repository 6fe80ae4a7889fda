/* A quantity over time as an HTML figure with an inline SVG: the line is drawn in SVG, which
 * stretches to any width, the labels of the axes are text beside it, which does not.
 *
 * Pure. Its classes are those of report_html.c's style. */
#ifndef REPORT_TELL_CHART_SVG_H
#define REPORT_TELL_CHART_SVG_H

#include "base/memory/buffer.h"
#include "report/tell/report_writer.h"

/* Appends the figure. Errors of the buffer. */
Result chart_svg(Buffer *out, const ReportChart *chart);
/* The least step of 1, 2 or 5 times a power of ten of which at most n reach most. */
double chart_step(double most, unsigned n);
/* Appends text with "&", "<", ">" and quotes escaped. */
Result html_append(Buffer *out, const char *text);

#endif
