#include "forecast/forecast_history.h"

#include <string.h>

#include "base/memory/file.h"
#include "logs/log_reader.h"
#include "logs/log_text.h"

void forecast_history_begin(ForecastHistory *history)
{
    *history = (ForecastHistory){.n = 1};
}

const ForecastPoint *forecast_history_last(const ForecastHistory *history)
{
    return &history->points[history->n - 1];
}

const ForecastPoint *forecast_history_before(const ForecastHistory *history, double at_work_s)
{
    double until = forecast_history_last(history)->at_work_s - at_work_s;
    size_t i = history->n - 1;
    while (i > 0 && history->points[i].at_work_s > until) {
        i--;
    }
    return &history->points[i];
}

static void copy_word(LogText text, char word[FORECAST_WORD])
{
    size_t n = text.length < FORECAST_WORD ? text.length : 0;
    memcpy(word, n == 0 ? "" : text.bytes, n);
    word[n] = '\0';
}

static bool is_at_work(const char *state)
{
    return strcmp(state, "running") == 0 || strcmp(state, "stopping") == 0 ||
           strcmp(state, "stopped") == 0 || strcmp(state, "finished") == 0;
}

void forecast_history_take(ForecastHistory *history, const char *line, size_t length)
{
    ForecastPoint before = *forecast_history_last(history);
    ForecastPoint now = {.elapsed_s = status_log_number(line, length, "elapsed_s", -1)};
    double cpu_s = status_log_number(line, length, "cpu_s", 0);
    if (now.elapsed_s < 0) {
        return;
    }
    if (cpu_s < history->run_cpu_s) { /* it counts from the start of a run */
        history->run_begin_s = before.elapsed_s;
    }
    history->run_cpu_s = cpu_s;
    copy_word(status_log_get(line, length, "state"), history->state);
    copy_word(status_log_get(line, length, "limit"), now.limit);
    now.pages = status_log_number(line, length, "pages", before.pages);
    now.bytes = status_log_number(line, length, "bytes", before.bytes);
    now.seen = status_log_number(line, length, "urls_seen", before.seen);
    history->queued = status_log_number(line, length, "urls_queued", 0);
    history->parked = status_log_number(line, length, "urls_parked", 0);
    history->db_bytes = status_log_number(line, length, "db_bytes", 0);
    history->disk_free = status_log_number(line, length, "disk_free_bytes", 0);
    double finished = now.seen - history->queued - history->parked;
    now.finished = finished > 0 ? finished : 0;
    double seconds = now.elapsed_s - before.elapsed_s;
    now.at_work_s = before.at_work_s + (seconds > 0 && is_at_work(history->state) ? seconds : 0);
    /* A last point that is nearer to the one before than the spacing only stood for now. */
    size_t n = history->n;
    if (n > 1 &&
        history->points[n - 1].at_work_s - history->points[n - 2].at_work_s < history->spacing_s) {
        history->n--;
    }
    history->points[history->n++] = now;
    if (history->n == FORECAST_POINTS) {
        /* Leaves every second point out, but for the first and the last. */
        size_t kept = 0;
        ForecastPoint last = *forecast_history_last(history);
        for (size_t i = 0; i + 1 < history->n; i += 2) {
            history->points[kept++] = history->points[i];
        }
        history->points[kept++] = last;
        history->n = kept;
        history->spacing_s = last.at_work_s / ((double)FORECAST_POINTS / 2);
    }
}

static Result forecast_history_take_line(void *history, const char *line, size_t length)
{
    forecast_history_take(history, line, length);
    return RESULT_OK;
}

Result forecast_history_read(ForecastHistory *history, const char *directory)
{
    Path path;
    forecast_history_begin(history);
    return log_reader_each(file_path(&path, "%s/status.log", directory), forecast_history_take_line,
                           history, NULL);
}
