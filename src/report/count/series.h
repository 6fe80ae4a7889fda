/* Series: a quantity over time, in a bounded number of buckets.
 *
 * What: when a time lies beyond the last bucket, neighbours are joined, and each bucket becomes
 * twice as wide. Times need not come in order.
 * Threads: one at a time; pure. */
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
/* The sum of a bucket per second, for events. Of the last bucket only the time up to last_ms
 * counts. */
double series_rate(const Series *series, size_t bucket);
/* The mean of a bucket, for measurements; negative when the bucket is empty. */
double series_mean(const Series *series, size_t bucket);
/* For measurements that come more rarely than buckets: how many buckets one may lie behind the one
 * before it with nothing missing in between. Three times as far as is usual (the median). */
size_t series_reach(const Series *series);

#endif
