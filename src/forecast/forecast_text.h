/* Forecast text: a forecast as `ragno plan` prints it, on a screen or as JSON.
 *
 * What: what ends the crawl and when, each limit beside it, what sets the pace, and what is
 * assumed.
 * Owns: nothing.
 * Threads: one.
 * Errors: RESULT_MEMORY. */
#pragma once

#include "forecast/forecast.h"
#include "report/write/report_writer.h"

typedef struct ForecastSubject {
    const char *directory;
    bool is_running;
    bool is_cluster;          /* what is told is one agent's */
    const char *slowest_host; /* origins; NULL: there is none */
    const char *slowest_address;
} ForecastSubject;

/* Appends it, for people or for programs. Errors of report_writer_end. */
Result forecast_write(const Forecast *forecast, const ForecastInput *input,
                      const ForecastSubject *subject, ReportForm form, Buffer *out);
