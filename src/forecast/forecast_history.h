/* Forecast history: what status.log tells of a crawl's past, for a forecast.
 *
 * What: pages, bytes and URLs over the time in which the crawl was at work; pauses and the time
 * between two runs do not count. Of a long log only lines with some time between them are kept, so
 * that memory does not grow with it; the last line is always there.
 * Owns: nothing.
 * Threads: one. The crawl may be writing.
 * Errors: RESULT_MEMORY. A log that is not there is an empty history. */
#pragma once

#include <stddef.h>

#include "base/core/result.h"

#define FORECAST_POINTS 512u
#define FORECAST_WORD   16u

typedef struct ForecastPoint {
    double at_work_s; /* seconds in which the crawl ran and was not paused */
    double elapsed_s; /* of all runs, pauses included */
    double pages;
    double bytes;
    double seen;               /* URLs known */
    double finished;           /* of these: neither queued nor parked with their host */
    char limit[FORECAST_WORD]; /* what bound the crawl; "" = not said */
} ForecastPoint;

typedef struct ForecastHistory {
    ForecastPoint points[FORECAST_POINTS]; /* the first is the crawl's begin, the last is now */
    size_t n;
    double spacing_s;   /* of work between two points at least */
    double run_begin_s; /* elapsed_s at which the last run began */
    double run_cpu_s;
    double db_bytes; /* as of the last line, as the next three */
    double disk_free;
    double queued;
    double parked;
    char state[FORECAST_WORD];
} ForecastHistory;

/* Reads DIR/status.log and its predecessors. */
Result forecast_history_read(ForecastHistory *history, const char *directory);
/* The same of lines that the caller has. */
void forecast_history_begin(ForecastHistory *history);
void forecast_history_take(ForecastHistory *history, const char *line, size_t length);
const ForecastPoint *forecast_history_last(const ForecastHistory *history);
/* The last point that is so much work, or more, before the last one. */
const ForecastPoint *forecast_history_before(const ForecastHistory *history, double at_work_s);
