#include "crawl/web/web_look.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/json_writer.h"
#include "base/thread/queue.h"
#include "base/thread/thread.h"
#include "crawl/control/control_link.h"
#include "frontier/visit/host_situation.h"
#include "logs/log_reader.h"
#include "logs/log_text.h"
#include "why/why_text.h"

/* Web hosts: the hosts as the status page reads them.
 *
 * What: writes a survey (survey.h) as JSON.
 * Threads: any; pure. */

static const char *const kinds[] = {
    [HOST_READY] = "ready",       [HOST_WAITS] = "waits",     [HOST_GIVEN_UP] = "dropped",
    [HOST_SET_ASIDE] = "parked",  [HOST_HAS_ENOUGH] = "full", [HOST_FORBIDDEN] = "denied",
    [HOST_IS_ELSEWHERE] = "moved"};

static void web_hosts_put_row(const SurveyRow *row, WallTime now, Buffer *state, JsonWriter *json)
{
    const HostRecord *record = &row->record;
    HostSituation situation = host_situation_of(record, now.us / 1000);
    buffer_reset(state);
    (void)host_situation_tell(&situation, now.us / 1000, state);
    json_open(json, NULL, '{');
    json_string(json, "origin", row->origin);
    json_count(json, "queued", row->queued);
    json_real(json, "per_s", row->speed, 3);
    json_count(json, "requests", record->fetches);
    json_count(json, "pages", record->pages);
    json_count(json, "bytes", record->bytes);
    json_count(json, "errors", survey_errors(record));
    json_count(json, "robots_denied", record->robots_denied);
    json_real(json, "ms", record->fetches == 0 ? 0 : (double)record->fetch_ms / record->fetches, 1);
    json_integer(json, "wait_ms", row->wait_ms);
    json_string(json, "kind", kinds[situation.kind]);
    json_text(json, "state", buffer_string(state), state->length);
    json_close(json);
}

/* Appends one object: counts of all hosts, and the rows. */
static Result web_hosts(const SurveyResult *survey, WallTime now, Buffer *out)
{
    Buffer state = {.limit = BUFFER_NO_LIMIT};
    JsonWriter json;
    json_init(&json, out);
    json_open(&json, NULL, '{');
    json_open(&json, "counts", '{');
    json_count(&json, "hosts", survey->counts.hosts);
    json_count(&json, "queued", survey->counts.queued);
    json_count(&json, "waiting", survey->counts.waiting);
    json_count(&json, "lately", survey->counts.lately);
    json_count(&json, "dropped", survey->counts.dropped);
    json_count(&json, "parked", survey->counts.parked);
    json_count(&json, "full", survey->counts.full);
    json_count(&json, "denied", survey->counts.denied);
    json_count(&json, "matching", survey->counts.matching);
    json_close(&json);
    json_open(&json, "hosts", '[');
    for (size_t i = 0; i < survey->n; i++) {
        web_hosts_put_row(&survey->rows[i], now, &state, &json);
    }
    json_close(&json);
    json_close(&json);
    buffer_destroy(&state);
    return json.result;
}

/* ---- Web history ---- */

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

static void web_history_take_line(History *history, const char *line, size_t length)
{
    WallTime time;
    if (!status_log_time(line, length, &time)) {
        return;
    }
    int64_t ms = time.us / 1000;
    int64_t span = history->time_before == 0 ? 0 : ms - history->time_before;
    /* A crawl that stood still in between has no rate there. */
    bool joined =
        span > 0 && status_log_number(line, length, "elapsed_s", 0) * 1000 >= (double)span;
    if (joined) {
        series_add(&history->spans, ms, (double)span);
    }
    for (size_t i = 0; i < N_CURVES; i++) {
        double value = status_log_number(line, length, curves[i].field, -1);
        double grown = value - history->before[i];
        if (!curves[i].counts && value >= 0) {
            series_add(&history->series[i], ms, value);
        } else if (curves[i].counts && joined && grown >= 0) {
            series_add(&history->series[i], ms, grown);
        } else {
            series_add(&history->series[i], ms, 0); /* keeps the buckets of all curves alike */
        }
        history->before[i] = value;
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
    Buffer path = {.limit = BUFFER_NO_LIMIT};
    JsonWriter json;
    History *history = calloc(1, sizeof *history);
    if (history == NULL) {
        return RESULT_MEMORY;
    }
    for (size_t i = 0; i < N_CURVES; i++) {
        series_init(&history->series[i], WIDTH_MS);
    }
    series_init(&history->spans, WIDTH_MS);
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

/* ---- Web look ---- */

#define QUESTIONS       64u
#define SURVEY_LEAST_MS 2000
#define HISTORY_MS      5000               /* it is read anew after this */
#define HISTORY_BYTES   ((size_t)16 << 20) /* of status.log: two days, a line every ten seconds */
#define WHY_LOG_BYTES   ((size_t)64 << 20) /* of the logs that why reads, from their end */

/* An answer that is given again for a while. */
typedef struct Kept {
    Buffer body;
    MonoTime until;
    SurveyOrder order;
    size_t rows;
    char *filter;
} Kept;

struct WebLook {
    const char *directory;
    const IngestStore *store;
    Survey *survey;
    Kept hosts;
    Kept history;
    Queue inbox;
    Thread thread;
};

/* ---- hosts ---- */

static bool has_hosts(const WebLook *look, const WebQuestion *question, MonoTime now)
{
    const Kept *kept = &look->hosts;
    return mono_before(now, kept->until) && kept->order == question->order &&
           kept->rows == question->rows && kept->filter != NULL &&
           strcmp(kept->filter, question->text) == 0;
}

static Result look_over_hosts(WebLook *look, const WebQuestion *question)
{
    MonoTime start = mono_now();
    SurveyResult result;
    Kept *kept = &look->hosts;
    SurveyOptions options = {.order = question->order,
                             .filter = question->text,
                             .max = question->rows,
                             .now = wall_now()};
    kept->until = (MonoTime){0};
    buffer_reset(&kept->body);
    free(kept->filter);
    kept->filter = strdup(question->text);
    kept->order = question->order;
    kept->rows = question->rows;
    Result rc = survey_take(look->survey, &options, &result);
    if (rc == RESULT_OK) {
        rc = web_hosts(&result, options.now, &kept->body);
    }
    survey_result_destroy(&result);
    MonoTime end = mono_now();
    int64_t took_ms = mono_ms_between(start, end);
    kept->until = mono_add_ms(end, took_ms * 10 > SURVEY_LEAST_MS ? took_ms * 10 : SURVEY_LEAST_MS);
    return rc;
}

static Result web_look_tell_hosts(WebLook *look, WebQuestion *question)
{
    Result rc = has_hosts(look, question, mono_now()) ? RESULT_OK : look_over_hosts(look, question);
    if (rc != RESULT_OK) {
        look->hosts.until = (MonoTime){0};
        return rc;
    }
    return buffer_append(&question->body, look->hosts.body.data, look->hosts.body.length);
}

/* ---- why ---- */

static Result web_look_tell_why(WebLook *look, WebQuestion *question)
{
    Why why;
    Config config = {.crawl_contact = NULL};
    Buffer error = {.limit = 4096};
    WallTime now = wall_now();
    Result rc = config_init(&config);
    if (rc != RESULT_OK) {
        return rc;
    }
    WhySources sources = {
        .directory = look->directory,
        .db = look->store->db,
        .hosts = look->store->hosts,
        .groups = look->store->groups,
        .schedule = look->store->schedule,
        .revisits = look->store->revisits,
        .renders = look->store->renders,
        .config = config_load_of(&config, look->directory, NULL) == RESULT_OK ? &config : NULL,
        .is_running = true,
        .is_in_flight = control_link_is_in_flight,
        .log_bytes = WHY_LOG_BYTES,
        .now = now};
    rc = why_find(&why, &sources, question->text, &error);
    if (rc == RESULT_OK) {
        rc = why_write(&why, now, question->kind == WEB_WHY_JSON ? REPORT_AS_JSON : REPORT_AS_TEXT,
                       &question->body);
    } else if (rc == RESULT_INVALID) {
        question->status = 400;
        rc = buffer_printf(&question->body, "%s\n", buffer_string(&error));
    }
    why_destroy(&why);
    config_destroy(&config);
    buffer_destroy(&error);
    return rc;
}

/* ---- history ---- */

static Result tell_history(WebLook *look, WebQuestion *question)
{
    Kept *kept = &look->history;
    Result rc = RESULT_OK;
    if (!mono_before(mono_now(), kept->until)) {
        buffer_reset(&kept->body);
        rc = web_history(look->directory, HISTORY_BYTES, &kept->body);
        kept->until = rc == RESULT_OK ? mono_add_ms(mono_now(), HISTORY_MS) : (MonoTime){0};
    }
    return rc == RESULT_OK ? buffer_append(&question->body, kept->body.data, kept->body.length)
                           : rc;
}

/* ---- the thread ---- */

static void web_look_answer(WebLook *look, WebQuestion *question)
{
    Result rc = RESULT_OK;
    question->status = 200;
    switch (question->kind) {
    case WEB_HOSTS:
        rc = web_look_tell_hosts(look, question);
        break;
    case WEB_WHY_TEXT:
    case WEB_WHY_JSON:
        rc = web_look_tell_why(look, question);
        break;
    case WEB_HISTORY:
        rc = tell_history(look, question);
        break;
    }
    if (rc != RESULT_OK) {
        question->status = 500;
        buffer_reset(&question->body);
        (void)buffer_printf(&question->body, "the crawl's files cannot be read: %s\n",
                            result_name(rc));
    }
    question->answered(question->context);
}

static void *web_look_run(void *argument)
{
    WebLook *look = argument;
    void *item = NULL;
    size_t n = 0;
    thread_step("waits for a question");
    while (queue_pop(&look->inbox, &item, 1, &n, MONO_NEVER) != RESULT_CLOSED) {
        if (n == 1) {
            thread_step("looks");
            web_look_answer(look, item);
            thread_step("waits for a question");
        }
    }
    return NULL;
}

Result web_look_start(WebLook **out, const char *directory, const IngestStore *store)
{
    WebLook *look = calloc(1, sizeof *look);
    if (look == NULL) {
        return RESULT_MEMORY;
    }
    look->directory = directory;
    look->store = store;
    buffer_init(&look->hosts.body, BUFFER_NO_LIMIT);
    buffer_init(&look->history.body, BUFFER_NO_LIMIT);
    Result rc = survey_new(&look->survey, store->db, store->hosts, store->schedule);
    bool has_inbox = rc == RESULT_OK && queue_init(&look->inbox, QUESTIONS) == RESULT_OK;
    rc = has_inbox ? thread_start(&look->thread, "look", web_look_run, look) : RESULT_MEMORY;
    if (rc != RESULT_OK) {
        if (has_inbox) {
            queue_destroy(&look->inbox);
        }
        survey_delete(look->survey);
        free(look);
        return rc;
    }
    *out = look;
    return RESULT_OK;
}

void web_look_stop(WebLook *look)
{
    if (look == NULL) {
        return;
    }
    queue_close(&look->inbox);
    thread_join(&look->thread);
}

void web_look_delete(WebLook *look)
{
    if (look == NULL) {
        return;
    }
    queue_destroy(&look->inbox);
    survey_delete(look->survey);
    buffer_destroy(&look->hosts.body);
    buffer_destroy(&look->history.body);
    free(look->hosts.filter);
    free(look);
}

Result web_look_ask(WebLook *look, WebQuestion *question)
{
    return queue_try_add(&look->inbox, question, 0);
}
