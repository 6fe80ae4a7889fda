#include "report/gather/report_watch.h"

#include <math.h>
#include <string.h>

#include "base/memory/buffer.h"
#include "logs/log_reader.h"
#include "logs/log_text.h"

#define BUCKET_MS 100

/* Counts the time since the line before for the limit that this line names. The last line of a
 * run tells of its end, not of the seconds before it. */
static void take_limit(ReportWatch *watch, const char *line, size_t length, double elapsed)
{
    LogText limit = status_log_get(line, length, "limit");
    LogText state = status_log_get(line, length, "state");
    double seconds = elapsed - watch->elapsed_s;
    if (log_text_is(state, "running") && limit.length > 0 && seconds > 0 && seconds < 1e9) {
        tally_add_many(&watch->limits, limit.bytes, limit.length, (uint64_t)llround(seconds * 1e3),
                       0);
    }
}

static void report_watch_take_line(ReportWatch *watch, const char *line, size_t length,
                                   double *run_cpu)
{
    WallTime time;
    if (!status_log_time(line, length, &time)) {
        return;
    }
    int64_t ms = time.us / 1000;
    double elapsed = status_log_number(line, length, "elapsed_s", watch->elapsed_s);
    double cpu = status_log_number(line, length, "cpu_s", 0);
    LogText state = status_log_get(line, length, "state");
    watch->lines++;
    if (watch->lines == 1 || cpu < *run_cpu) { /* cpu_s is that of one run */
        watch->runs++;
        watch->cpu_s += *run_cpu;
    }
    *run_cpu = cpu;
    take_limit(watch, line, length, elapsed);
    watch->elapsed_s = elapsed;
    series_add(&watch->queued, ms, status_log_number(line, length, "urls_queued", 0));
    series_add(&watch->resident, ms, status_log_number(line, length, "rss_bytes", 0));
    series_add(&watch->active, ms, status_log_number(line, length, "active", 0));
    size_t n = state.length < sizeof watch->state ? state.length : 0;
    memcpy(watch->state, state.length == 0 ? "" : state.bytes, n);
    watch->state[n] = '\0';
}

Result report_watch_read(ReportWatch *watch, const char *directory)
{
    LogReader *reader = NULL;
    Buffer path;
    const char *line = NULL;
    size_t length = 0;
    double run_cpu = 0;
    *watch = (ReportWatch){.is_there = false};
    tally_init(&watch->limits);
    series_init(&watch->queued, BUCKET_MS);
    series_init(&watch->resident, BUCKET_MS);
    series_init(&watch->active, BUCKET_MS);
    buffer_init(&path, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&path, "%s/status.log", directory);
    if (rc == RESULT_OK) {
        rc = log_reader_open(&reader, buffer_string(&path));
    }
    watch->is_there = rc == RESULT_OK;
    while (rc == RESULT_OK && log_reader_next(reader, &line, &length)) {
        report_watch_take_line(watch, line, length, &run_cpu);
    }
    watch->cpu_s += run_cpu;
    log_reader_close(reader);
    buffer_destroy(&path);
    return rc == RESULT_MEMORY ? rc : RESULT_OK;
}

void report_watch_destroy(ReportWatch *watch)
{
    tally_destroy(&watch->limits);
}
