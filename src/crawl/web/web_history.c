#include "crawl/web/web_history.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/json_writer.h"
#include "logs/log_reader.h"
#include "logs/log_text.h"
#include "report/count/series.h"

#define WIDTH_MS 1000 /* of a bucket at first */

typedef struct Curve {
    const char *name;
    const char *field;
    bool counts; /* the field only grows: a rate is shown */
} Curve;

static const Curve curves[] = {{"pages_s", "pages", true},
                               {"bytes_s", "bytes", true},
                               {"2xx_s", "2xx", true},
                               {"3xx_s", "3xx", true},
                               {"4xx_s", "4xx", true},
                               {"5xx_s", "5xx", true},
                               {"err_s", "err", true},
                               {"throttled_s", "throttled", true},
                               {"urls_queued", "urls_queued", false},
                               {"urls_seen", "urls_seen", false},
                               {"active", "active", false},
                               {"hosts_waiting", "hosts_waiting", false},
                               {"rss_bytes", "rss_bytes", false}};

#define N_CURVES (sizeof curves / sizeof *curves)

typedef struct History {
    Series series[N_CURVES]; /* all get a value for each line, so that their buckets are alike */
    Series spans;            /* ms that lines cover: what was counted is divided by it */
    double before[N_CURVES];
    int64_t time_before; /* ms; 0 = there was no line */
} History;

/* The field in KEY=VALUE pairs of one line: all curves in one pass over it. */
static void web_history_read_line(const char *line, size_t length, double values[N_CURVES])
{
    for (size_t i = 0; i < N_CURVES; i++) {
        values[i] = status_log_number(line, length, curves[i].field, -1);
    }
}

static void web_history_take_line(History *history, const char *line, size_t length)
{
    WallTime time;
    double values[N_CURVES];
    if (!status_log_time(line, length, &time)) {
        return;
    }
    int64_t ms = time.us / 1000;
    web_history_read_line(line, length, values);
    int64_t span = history->time_before == 0 ? 0 : ms - history->time_before;
    /* A crawl that stood still in between has no rate there. */
    bool joined =
        span > 0 && status_log_number(line, length, "elapsed_s", 0) * 1000 >= (double)span;
    if (joined) {
        series_add(&history->spans, ms, (double)span);
    }
    for (size_t i = 0; i < N_CURVES; i++) {
        double grown = values[i] - history->before[i];
        if (!curves[i].counts && values[i] >= 0) {
            series_add(&history->series[i], ms, values[i]);
        } else if (curves[i].counts && joined && grown >= 0) {
            series_add(&history->series[i], ms, grown);
        } else {
            series_add(&history->series[i], ms, 0); /* keeps the buckets of all curves alike */
        }
        history->before[i] = values[i];
    }
    if (!joined) {
        series_add(&history->spans, ms, 0);
    }
    history->time_before = ms;
}

static double web_history_value_of(const History *history, size_t curve, size_t bucket)
{
    const SeriesBucket *values = &history->series[curve].buckets[bucket];
    if (values->n == 0) {
        return -1;
    }
    if (!curves[curve].counts) {
        return values->sum / (double)values->n;
    }
    double ms = history->spans.buckets[bucket].sum;
    return ms > 0 ? values->sum * 1000 / ms : -1;
}

static void web_history_put(const History *history, JsonWriter *json)
{
    const Series *first = &history->series[0];
    json_open(json, NULL, '{');
    json_integer(json, "from", first->started ? first->from_ms : 0);
    json_integer(json, "width_ms", first->width_ms);
    for (size_t i = 0; i < N_CURVES; i++) {
        json_open(json, curves[i].name, '[');
        for (size_t bucket = 0; bucket < first->n; bucket++) {
            double value = web_history_value_of(history, i, bucket);
            if (value < 0) {
                json_null(json, NULL);
            } else {
                json_real(json, NULL, value, 2);
            }
        }
        json_close(json);
    }
    json_close(json);
}

Result web_history(const char *directory, size_t bytes, Buffer *out)
{
    LogReader *reader = NULL;
    const char *line = NULL;
    size_t length = 0;
    Buffer path;
    JsonWriter json;
    History *history = calloc(1, sizeof *history);
    if (history == NULL) {
        return RESULT_MEMORY;
    }
    for (size_t i = 0; i < N_CURVES; i++) {
        series_init(&history->series[i], WIDTH_MS);
    }
    series_init(&history->spans, WIDTH_MS);
    buffer_init(&path, BUFFER_NO_LIMIT);
    if (buffer_printf(&path, "%s/status.log", directory) == RESULT_OK &&
        log_reader_open_tail(&reader, buffer_string(&path), bytes) == RESULT_OK) {
        while (log_reader_next(reader, &line, &length)) {
            web_history_take_line(history, line, length);
        }
        log_reader_close(reader);
    }
    json_init(&json, out);
    web_history_put(history, &json);
    buffer_destroy(&path);
    free(history);
    return json.result;
}
