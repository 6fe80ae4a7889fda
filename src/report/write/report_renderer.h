/* Report renderer: the interface between what people are told and the form in which they read it.
 *
 * What: report_writer.h calls a ReportRenderer; report_text.h and report_html.h make one. The order
 * of calls is: title; then for each section: section, and inside it any number of facts, notes,
 * tables with their rows, bars with their rows, and charts; last, end. Texts are plain: each
 * renderer escapes them for its form.
 * Errors: the first error is kept and returned by end, which deletes the renderer. */
#pragma once

#include "report/count/tally.h"

#define REPORT_COLUMNS 12u

typedef struct ReportColumn {
    const char *key;  /* NULL: for people alone */
    const char *name; /* NULL: for programs alone */
    bool is_number;   /* aligned to the right */
    bool is_url;      /* may be long, may be broken anywhere */
} ReportColumn;

typedef enum ChartUnit { CHART_COUNT, CHART_BYTES } ChartUnit;

/* A quantity over time. */
typedef struct ReportChart {
    const char *name;
    const Series *series;
    bool is_rate; /* series_rate, otherwise series_mean */
    ChartUnit unit;
} ReportChart;

typedef struct ReportRenderer {
    void *context;
    void (*title)(void *context, const char *title, const char *subtitle);
    void (*section)(void *context, const char *title, const char *note);
    void (*note)(void *context, const char *text);
    void (*fact)(void *context, const char *label, const char *value);
    void (*table)(void *context, const ReportColumn *columns, unsigned n);
    void (*row)(void *context, const char *const *cells); /* as many as there are columns */
    void (*table_end)(void *context);
    /* Rows of label, value and bar: share is that of the longest one. */
    void (*bars)(void *context, const char *name);
    void (*bar)(void *context, const char *label, const char *value, double share);
    void (*bars_end)(void *context); /* or NULL */
    void (*chart)(void *context, const ReportChart *chart);
    Result (*end)(void *context);
} ReportRenderer;
