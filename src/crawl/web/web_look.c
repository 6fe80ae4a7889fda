#include "crawl/web/web_look.h"

#include <stdlib.h>
#include <string.h>

#include "base/thread/queue.h"
#include "base/thread/thread.h"
#include "crawl/control/control_link.h"
#include "crawl/web/web_history.h"
#include "crawl/web/web_hosts.h"
#include "why/why_text.h"

#define QUESTIONS       64u
#define SURVEY_LEAST_MS 2000
#define HISTORY_MS      5000               /* it is read anew after this */
#define HISTORY_BYTES   ((size_t)16 << 20) /* of status.log: two days, a line every ten seconds */
#define WHY_LOG_BYTES   ((size_t)64 << 20) /* of the logs that why reads, from their end */
#define ANSWER_MS       2000               /* of the main thread */

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

/* ---- hosts ----------------------------------------------------------------------------------- */

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
    rc = rc == RESULT_OK ? web_hosts(&result, options.now, &kept->body) : rc;
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

/* ---- why ------------------------------------------------------------------------------------- */

static bool web_look_note_line(void *context, const char *line)
{
    (void)line;
    *(bool *)context = true;
    return true;
}

static bool web_look_is_in_flight(void *context, const char *url)
{
    const WebLook *look = context;
    bool found = false;
    ControlLink *link = NULL;
    char word[] = "flights";
    char *copy = strdup(url);
    char *words[] = {word, copy};
    Buffer error;
    buffer_init(&error, 4096);
    if (copy != NULL && control_link_open(&link, look->directory, &error) == RESULT_OK) {
        (void)control_link_ask(link, words, 2, web_look_note_line, &found, ANSWER_MS, NULL, &error);
    }
    control_link_close(link);
    free(copy);
    buffer_destroy(&error);
    return found;
}

/* The configuration as the crawl wrote it at its start: the one in memory belongs to the main
 * thread. */
static bool web_look_read_config(const WebLook *look, Config *config)
{
    Buffer path;
    Buffer error;
    buffer_init(&path, BUFFER_NO_LIMIT);
    buffer_init(&error, BUFFER_NO_LIMIT);
    bool is_there = buffer_printf(&path, "%s/config.ini", look->directory) == RESULT_OK &&
                    options_load(&config->options, buffer_string(&path), &error) == RESULT_OK;
    buffer_destroy(&path);
    buffer_destroy(&error);
    return is_there;
}

static Result web_look_tell_why(WebLook *look, WebQuestion *question)
{
    Why why;
    Config config = {.crawl_contact = NULL};
    Buffer error;
    WallTime now = wall_now();
    Result rc = config_init(&config);
    if (rc != RESULT_OK) {
        return rc;
    }
    WhySources sources = {.directory = look->directory,
                          .db = look->store->db,
                          .hosts = look->store->hosts,
                          .groups = look->store->groups,
                          .schedule = look->store->schedule,
                          .revisits = look->store->revisits,
                          .config = web_look_read_config(look, &config) ? &config : NULL,
                          .is_running = true,
                          .is_in_flight = web_look_is_in_flight,
                          .context = look,
                          .log_bytes = WHY_LOG_BYTES,
                          .now = now};
    buffer_init(&error, 4096);
    rc = why_find(&why, &sources, question->text, &error);
    if (rc == RESULT_OK && question->kind == WEB_WHY_JSON) {
        JsonWriter json;
        json_init(&json, &question->body);
        why_json(&why, now, &json);
        rc = json.result;
    } else if (rc == RESULT_OK) {
        rc = why_text(&why, now, &question->body);
    } else if (rc == RESULT_INVALID) {
        question->status = 400;
        rc = buffer_printf(&question->body, "%s\n", buffer_string(&error));
    }
    why_destroy(&why);
    config_destroy(&config);
    buffer_destroy(&error);
    return rc;
}

/* ---- history --------------------------------------------------------------------------------- */

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

/* ---- the thread ------------------------------------------------------------------------------ */

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
    return queue_try_push(&look->inbox, question);
}
