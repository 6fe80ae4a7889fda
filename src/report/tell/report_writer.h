/* Report writer: the interface between what a report says and the form in which it is written.
 *
 * What: report_sections.h calls a ReportWriter; report_text.h and report_file.h make one. The order
 * of calls is: begin; then for each section: section, and inside it any number of facts, notes,
 * tables with their rows, bars with their rows, and charts; last, end. Texts are plain: each writer
 * escapes them for its form.
 * Errors: the first error is kept and returned by end. */
#ifndef REPORT_TELL_REPORT_WRITER_H
#define REPORT_TELL_REPORT_WRITER_H

#include "base/core/result.h"
#include "report/count/tally.h"

#define REPORT_COLUMNS 8u

typedef struct ReportColumn {
    const char *name;
    bool is_number; /* aligned to the right */
    bool is_url;    /* may be long, may be broken anywhere */
} ReportColumn;

typedef enum ChartUnit { CHART_COUNT, CHART_BYTES } ChartUnit;

/* A quantity over time. */
typedef struct ReportChart {
    const char *name;
    const Series *series;
    bool is_rate; /* series_rate, otherwise series_mean */
    ChartUnit unit;
} ReportChart;

typedef struct ReportWriter {
    void *context;
    void (*begin)(void *context, const char *title, const char *subtitle);
    void (*section)(void *context, const char *title, const char *note);
    void (*fact)(void *context, const char *name, const char *value);
    void (*table)(void *context, const ReportColumn *columns, unsigned n);
    void (*row)(void *context, const char *const *cells); /* as many as there are columns */
    void (*table_end)(void *context);
    /* Rows of label, value and bar: share is that of the longest one. */
    void (*bars)(void *context, const char *name);
    void (*bar)(void *context, const char *label, const char *value, double share);
    void (*bars_end)(void *context);
    void (*chart)(void *context, const ReportChart *chart);
    Result (*end)(void *context);
} ReportWriter;

#endif
