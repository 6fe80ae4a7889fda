#include "report/count/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Histogram ---- */

void histogram_add(Histogram *histogram, uint64_t value)
{
    histogram->count[value == 0 ? 0 : 64u - (unsigned)__builtin_clzll(value)]++;
    histogram->least = histogram->n == 0 || value < histogram->least ? value : histogram->least;
    histogram->most = value > histogram->most ? value : histogram->most;
    histogram->sum += (double)value;
    histogram->n++;
}

uint64_t histogram_from(unsigned bin)
{
    return bin == 0 ? 0 : UINT64_C(1) << (bin - 1);
}

uint64_t histogram_to(unsigned bin)
{
    return bin == 64 ? UINT64_MAX : (UINT64_C(1) << bin) - 1;
}

double histogram_quantile(const Histogram *histogram, double share)
{
    double wanted = share * (double)histogram->n;
    double below = 0;
    for (unsigned i = 0; i < HISTOGRAM_BINS; i++) {
        double here = (double)histogram->count[i];
        if (here > 0 && below + here >= wanted) {
            double from = (double)histogram_from(i);
            double to = (double)histogram_to(i);
            from = from < (double)histogram->least ? (double)histogram->least : from;
            to = to > (double)histogram->most ? (double)histogram->most : to;
            return from + (to - from) * (wanted - below) / here;
        }
        below += here;
    }
    return (double)histogram->most;
}

/* ---- Series ---- */

void series_init(Series *series, int64_t width_ms)
{
    *series = (Series){.width_ms = width_ms};
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

double series_value(const Series *series, size_t bucket, bool is_rate)
{
    return is_rate ? series_rate(series, bucket) : series_mean(series, bucket);
}

double series_most(const Series *series, bool is_rate)
{
    double most = 0;
    for (size_t i = 0; i < series->n; i++) {
        most = fmax(series_value(series, i, is_rate), most);
    }
    return most;
}

/* ---- Tally ---- */

void tally_destroy(Tally *tally)
{
    size_t place = 0;
    TallyRow *row = NULL;
    while ((row = map_next(&tally->rows, &place)) != NULL) {
        free(row->name);
        free(row);
    }
    map_destroy(&tally->rows);
}

static TallyRow *tally_find(Tally *tally, const char *name, size_t length)
{
    MapKey key = map_key_of(name, length);
    TallyRow *row = map_get(&tally->rows, key);
    static char other[] = "other";
    tally->other.name = other;
    if (row != NULL || tally->rows.count >= TALLY_NAMES) {
        return row == NULL ? &tally->other : row;
    }
    row = calloc(1, sizeof *row);
    char *copy = strndup(name, length);
    if (row == NULL || copy == NULL || map_put(&tally->rows, key, row) != RESULT_OK) {
        free(copy);
        free(row);
        return &tally->other;
    }
    row->name = copy;
    return row;
}

void tally_add_many(Tally *tally, const char *name, size_t length, uint64_t count, uint64_t bytes)
{
    TallyRow *row = tally_find(tally, name, length);
    row->count += count;
    row->bytes += bytes;
    tally->count += count;
    tally->bytes += bytes;
}

void tally_add(Tally *tally, const char *name, size_t length, uint64_t bytes)
{
    tally_add_many(tally, name, length, 1, bytes);
}

static int by_count(const void *a, const void *b)
{
    const TallyRow *x = *(const TallyRow *const *)a;
    const TallyRow *y = *(const TallyRow *const *)b;
    int order = (x->count < y->count) - (x->count > y->count);
    return order != 0 ? order : strcmp(x->name, y->name);
}

const TallyRow **tally_sorted(const Tally *tally, size_t *n)
{
    const TallyRow **rows = calloc(tally->rows.count + 1, sizeof *rows);
    size_t place = 0;
    const TallyRow *row = NULL;
    *n = 0;
    while (rows != NULL && (row = map_next(&tally->rows, &place)) != NULL) {
        rows[(*n)++] = row;
    }
    if (*n > 0) {
        qsort(rows, *n, sizeof *rows, by_count);
    }
    if (rows != NULL && tally->other.count > 0) {
        rows[(*n)++] = &tally->other;
    }
    return rows;
}
