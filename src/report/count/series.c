#include "report/count/series.h"

void series_init(Series *series, int64_t width_ms)
{
    *series = (Series){.width_ms = width_ms};
}

static void join_neighbours(Series *series)
{
    for (size_t i = 0; i < SERIES_BUCKETS / 2; i++) {
        const SeriesBucket *a = &series->buckets[2 * i];
        const SeriesBucket *b = &series->buckets[2 * i + 1];
        series->buckets[i] = (SeriesBucket){.sum = a->sum + b->sum, .n = a->n + b->n};
    }
    for (size_t i = SERIES_BUCKETS / 2; i < SERIES_BUCKETS; i++) {
        series->buckets[i] = (SeriesBucket){.n = 0};
    }
    series->n = (series->n + 1) / 2;
    series->width_ms *= 2;
}

void series_add(Series *series, int64_t time_ms, double value)
{
    if (!series->started) {
        series->started = true;
        series->from_ms = time_ms - time_ms % series->width_ms;
    }
    series->last_ms = time_ms > series->last_ms ? time_ms : series->last_ms;
    int64_t since = time_ms > series->from_ms ? time_ms - series->from_ms : 0;
    while (since / series->width_ms >= (int64_t)SERIES_BUCKETS) {
        join_neighbours(series);
    }
    size_t bucket = (size_t)(since / series->width_ms);
    series->buckets[bucket].sum += value;
    series->buckets[bucket].n++;
    series->n = bucket + 1 > series->n ? bucket + 1 : series->n;
}

double series_rate(const Series *series, size_t bucket)
{
    int64_t width = series->width_ms;
    if (bucket + 1 == series->n && bucket > 0) {
        int64_t passed = series->last_ms - series->from_ms - (int64_t)bucket * width;
        width = passed > width / 4 ? passed : width / 4 + 1;
    }
    return series->buckets[bucket].sum * 1000 / (double)width;
}

size_t series_reach(const Series *series)
{
    size_t distances[SERIES_BUCKETS + 1] = {0};
    size_t n = 0;
    size_t before = SERIES_BUCKETS;
    for (size_t i = 0; i < series->n; i++) {
        if (series->buckets[i].n > 0) {
            if (before < SERIES_BUCKETS) {
                distances[i - before]++;
                n++;
            }
            before = i;
        }
    }
    size_t median = 1;
    for (size_t nearer = distances[1]; n > 0 && nearer < (n + 1) / 2; nearer += distances[median]) {
        median++;
    }
    return 3 * median;
}

double series_mean(const Series *series, size_t bucket)
{
    const SeriesBucket *b = &series->buckets[bucket];
    return b->n == 0 ? -1 : b->sum / (double)b->n;
}
