/* Report sections: what a report says, and in which order.
 *
 * What: the sections are the same for every form of the report.
 * Threads: one. */
#ifndef REPORT_TELL_REPORT_SECTIONS_H
#define REPORT_TELL_REPORT_SECTIONS_H

#include "report/gather/report.h"
#include "report/write/report_writer.h"

/* Tells the whole report to the writer, which keeps the first error. */
void report_tell(const Report *report, ReportWriter *writer);

#endif
