/* Report JSON: a report as one JSON object, for programs.
 *
 * What: numbers as they are, in bytes, ms and UTC. The names stand in the function; lists are
 * sorted, most counted first. Threads: one. */
#ifndef REPORT_TELL_REPORT_JSON_H
#define REPORT_TELL_REPORT_JSON_H

#include <stdio.h>

#include "report/gather/report.h"

/* RESULT_MEMORY; RESULT_IO, RESULT_FULL: of out. */
Result report_json_print(const Report *report, FILE *out);

#endif
