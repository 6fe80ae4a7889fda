/* Report HTML: what people are told as one HTML file.
 *
 * What: the style and the graphs are in the file. It loads nothing, runs no script, and suits light
 * and dark themes, paper and small screens.
 * Owns: the text that is being written.
 * Threads: one.
 * Errors: the first error of memory is kept and returned by ReportRenderer.end. */
#pragma once

#include "base/memory/buffer.h"
#include "report/write/report_renderer.h"

/* out is borrowed, and gets the whole file at the end. RESULT_MEMORY. */
Result report_html_renderer(ReportRenderer *renderer, Buffer *out);

/* Chart: a quantity over time as an HTML figure with an inline SVG.
 *
 * What: the line is SVG, which stretches to any width. The labels of the axes are text beside the
 * SVG, which does not stretch. The CSS classes are those of the style in report_html.c.
 * Threads: any; pure. */

/* Appends the figure. Errors of the buffer. */
Result chart_svg(Buffer *out, const ReportChart *chart);
/* The least step of the form 1, 2 or 5 times a power of ten such that at most n steps reach `most`.
 * For example, chart_step(37, 5) is 10. */
double chart_step(double most, unsigned n);
/* Appends text with "&", "<", ">" and quotes escaped. */
Result html_append(Buffer *out, const char *text);
