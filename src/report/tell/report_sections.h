/* Report sections: what a report says, and in which order.
 *
 * What: the sections are the same for every form of the report.
 * Threads: one. */
#ifndef REPORT_TELL_REPORT_SECTIONS_H
#define REPORT_TELL_REPORT_SECTIONS_H

#include "report/gather/report.h"
#include "report/tell/report_writer.h"

/* Tells the whole report to the writer. The writer's first error; RESULT_MEMORY. */
Result report_tell(const Report *report, const ReportWriter *writer);

#endif
