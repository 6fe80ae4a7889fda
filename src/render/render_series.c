#include "render/render_series.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"

#define SERIES_RUNS   8u /* numbers of one URL */
#define SERIES_DIGITS 9u /* of one of them: a longer one is an identifier */

/* A number within a URL. */
typedef struct SeriesRun {
    size_t start;
    size_t length;
    RenderSeriesPart part;
} SeriesRun;

void render_series_clear(RenderSeries *series)
{
    series->n = 0;
}

static unsigned series_runs(const char *url, size_t length, SeriesRun *runs)
{
    static const char digits[] = "0123456789";
    const char *host = memmem(url, length, "://", 3);
    size_t at = host == NULL ? 0 : (size_t)(host + 3 - url);
    unsigned n = 0;
    at += strcspn(url + at, "/\n");
    while (at < length && n < SERIES_RUNS) {
        size_t run = strspn(url + at, digits);
        if (run > 0 && run <= SERIES_DIGITS) {
            uint64_t key = hash_64(url, at, 0);
            runs[n++] = (SeriesRun){.start = at,
                                    .length = run,
                                    .part = {.key = hash_64(url + at + run, length - at - run, key),
                                             .number = strtoull(url + at, NULL, 10)}};
        }
        at += run > 0 ? run : 1;
    }
    return n;
}

void render_series_note(RenderSeries *series, const char *url)
{
    SeriesRun runs[SERIES_RUNS];
    unsigned n = series_runs(url, strlen(url), runs);
    for (unsigned i = 0; i < n && series->n < RENDER_SERIES; i++) {
        series->parts[series->n++] = runs[i].part;
    }
}

/* By how much a number is more than the greatest that was answered before it; 0: none was. */
static uint64_t series_step(const RenderSeries *series, const RenderSeriesPart *part)
{
    uint64_t step = 0;
    for (unsigned i = 0; i < series->n; i++) {
        const RenderSeriesPart *known = &series->parts[i];
        if (known->key == part->key && known->number < part->number &&
            (step == 0 || part->number - known->number < step)) {
            step = part->number - known->number;
        }
    }
    return step;
}

/* Whether another URL that is lacking is of the same series. */
static bool series_is_wide(const Buffer *lacking, const RenderSeriesPart *part)
{
    SeriesRun runs[SERIES_RUNS];
    for (const char *line = buffer_string(lacking); *line != '\0';) {
        size_t length = strcspn(line, "\n");
        unsigned n = series_runs(line, length, runs);
        for (unsigned i = 0; i < n; i++) {
            if (runs[i].part.key == part->key && runs[i].part.number != part->number) {
                return true;
            }
        }
        line += length + (line[length] == '\n');
    }
    return false;
}

/* The first number of a URL that goes on from another one; NULL: none does. */
static const SeriesRun *series_find(const RenderSeries *series, const Buffer *lacking,
                                    const SeriesRun *runs, unsigned n, uint64_t *step)
{
    for (unsigned i = 0; i < n; i++) {
        *step = series_step(series, &runs[i].part);
        if (*step > 0 && !series_is_wide(lacking, &runs[i].part)) {
            return &runs[i];
        }
    }
    return NULL;
}

unsigned render_series_ahead(const RenderSeries *series, const Buffer *lacking, unsigned most,
                             Buffer *out)
{
    SeriesRun runs[SERIES_RUNS];
    unsigned total = 0;
    for (const char *line = buffer_string(lacking); *line != '\0' && total < most;) {
        size_t length = strcspn(line, "\n");
        unsigned n = series_runs(line, length, runs);
        uint64_t step = 0;
        const SeriesRun *run = series_find(series, lacking, runs, n, &step);
        for (uint64_t k = 1; run != NULL && total < most; k++) {
            size_t end = run->start + run->length;
            /* A number that begins with 0 keeps its width. */
            int width = line[run->start] == '0' ? (int)run->length : 1;
            Result rc = buffer_printf(out, "%.*s%0*" PRIu64 "%.*s\n", (int)run->start, line, width,
                                      run->part.number + k * step, (int)(length - end), line + end);
            if (rc != RESULT_OK) {
                return total;
            }
            total++;
        }
        line += length + (line[length] == '\n');
    }
    return total;
}
