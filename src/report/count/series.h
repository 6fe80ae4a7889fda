/* A quantity over time, in a bounded number of buckets: when time runs out of them, neighbours are
 * joined and each is twice as wide.
 *
 * Pure; belongs to one thread. Times need not come in order. */
#ifndef REPORT_COUNT_SERIES_H
#define REPORT_COUNT_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERIES_BUCKETS 240u

typedef struct SeriesBucket {
    double sum;
    uint64_t n;
} SeriesBucket;

typedef struct Series {
    bool started;
    int64_t from_ms; /* of the first bucket */
    int64_t width_ms;
    int64_t last_ms; /* latest time */
    size_t n;        /* buckets up to the last one in use */
    SeriesBucket buckets[SERIES_BUCKETS];
} Series;

/* width_ms: of a bucket at first, at least 1. */
void series_init(Series *series, int64_t width_ms);
/* Adds value at a time (ms since 1970). A time before the first counts as the first. */
void series_add(Series *series, int64_t time_ms, double value);
/* Per second of a bucket: for what happened. The last bucket counts as far as time has come. */
double series_rate(const Series *series, size_t bucket);
/* Mean of a bucket's values: for what was measured; negative when it has none. */
double series_mean(const Series *series, size_t bucket);

#endif
