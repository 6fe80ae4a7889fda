/* Report file: a report written as text, as HTML or as JSON.
 *
 * What: the sections of a report, and in which order they are told.
 * Threads: one. */
#pragma once

#include <stdio.h>

#include "report/gather/report.h"
#include "report/write/report_writer.h"

/* Tells the report in that form. RESULT_MEMORY, RESULT_IO, RESULT_FULL: of out. */
Result report_print(const Report *report, ReportForm form, FILE *out);
