/* Forecast text: a forecast as `ragno plan` prints it, on one screen or as JSON.
 *
 * What: what ends the crawl and when, each limit beside it, what sets the pace, and what is
 * assumed. Owns: nothing. Threads: one. Errors: RESULT_MEMORY. */
#ifndef FORECAST_FORECAST_TEXT_H
#define FORECAST_FORECAST_TEXT_H

#include "base/memory/buffer.h"
#include "forecast/forecast.h"

typedef struct ForecastSubject {
    const char *directory;
    bool is_running;
    bool is_cluster;          /* what is told is one agent's */
    const char *slowest_host; /* origins; NULL: there is none */
    const char *slowest_address;
} ForecastSubject;

Result forecast_text(const Forecast *forecast, const ForecastInput *input,
                     const ForecastSubject *subject, Buffer *out);
Result forecast_json(const Forecast *forecast, const ForecastInput *input,
                     const ForecastSubject *subject, Buffer *out);

#endif
