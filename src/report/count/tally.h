/* Tally: counts by name, for example of statuses, media types or classes of errors.
 *
 * What: each name has a count and a sum of bytes. Names may come from the network, so their number
 * is bounded: beyond TALLY_NAMES different names, further names count as "other".
 * Owns: its names.
 * Threads: one.
 * Errors: when memory is short, a new name counts as "other", too. */
#pragma once

#include "base/memory/map.h"

/* Histogram: how many values there are of each size: 0, 1, 2-3, 4-7, 8-15, ...
 *
 * What: one bin for each power of two, and the sum, the least and the greatest value.
 * Threads: one at a time; pure. */

#define HISTOGRAM_BINS 65u

typedef struct Histogram {
    uint64_t count[HISTOGRAM_BINS]; /* [0]: value 0; [i]: 2^(i-1) to 2^i - 1 */
    uint64_t n;
    double sum;
    uint64_t least; /* when n > 0 */
    uint64_t most;
} Histogram;

void histogram_add(Histogram *histogram, uint64_t value);
/* The least and greatest value of a bin. */
uint64_t histogram_from(unsigned bin);
uint64_t histogram_to(unsigned bin);
/* The value below which a share of all values lies, by interpolation inside its bin; 0 without
 * values. */
double histogram_quantile(const Histogram *histogram, double share);

/* Series: a quantity over time, in a bounded number of buckets.
 *
 * What: when a time lies beyond the last bucket, neighbours are joined, and each bucket becomes
 * twice as wide. Times need not come in order.
 * Threads: one at a time; pure. */

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
/* The one or the other; the greatest of them, or 0. */
double series_value(const Series *series, size_t bucket, bool is_rate);
double series_most(const Series *series, bool is_rate);
/* For measurements that come more rarely than buckets: how many buckets one may lie behind the one
 * before it with nothing missing in between. Three times as far as is usual (the median). */
size_t series_reach(const Series *series);

#define TALLY_NAMES 2000u

typedef struct TallyRow {
    char *name;
    uint64_t count;
    uint64_t bytes;
} TallyRow;

/* All zeroes: it counts nothing yet. */
typedef struct Tally {
    Map rows;
    TallyRow other;
    uint64_t count; /* of all */
    uint64_t bytes;
} Tally;

void tally_destroy(Tally *tally);
void tally_add(Tally *tally, const char *name, size_t length, uint64_t bytes);
/* The same as `count` calls of tally_add, with `bytes` in all. */
void tally_add_many(Tally *tally, const char *name, size_t length, uint64_t count, uint64_t bytes);
/* The rows, most counted first ("other" last); *n = how many. The caller frees the array, the names
 * are the tally's. NULL without memory. */
const TallyRow **tally_sorted(const Tally *tally, size_t *n);
