/* Report text: what people are told as plain text, for terminals and mail.
 *
 * What: tables are aligned, bars are made of '#', and lines have at most about 100 columns, except
 * for URLs.
 * Owns: the table that is being written.
 * Threads: one.
 * Errors: the first error is kept and returned by ReportRenderer.end. */
#pragma once

#include "base/memory/buffer.h"
#include "report/write/report_renderer.h"

/* out is borrowed, and gets what is told at once. RESULT_MEMORY. */
Result report_text_renderer(ReportRenderer *renderer, unsigned label_width, Buffer *out);
