#include "crawl/web/web_metrics.h"

#include <string.h>

#include "crawl/run/status.h"
#include "crawl/run/status_fields.h"
#include "logs/log_text.h"

/* ---- Web crawl ---- */

#define ANSWER_MS 5000

static const char *const allowed[] = {"pause", "resume", "stop", "deny",
                                      "allow", "host",   "seed", "rotate"};

static unsigned web_crawl_ask(WebCrawl *crawl, char *const *words, size_t n, Buffer *out)
{
    Buffer error = {.limit = 4096};
    Buffer note = {.limit = 4096};
    unsigned status = 200;
    Result rc =
        control_link_call(&crawl->link, crawl->directory, words, n, out, ANSWER_MS, &note, &error);
    if (rc != RESULT_OK) {
        status = rc == RESULT_LIMIT ? 409 : 503;
        if (rc == RESULT_INVALID) {
            status = 400;
        }
        buffer_reset(out);
        (void)buffer_printf(out, "%s\n", buffer_string(&error));
    } else if (note.length > 0) {
        (void)buffer_printf(out, "%s\n", buffer_string(&note));
    }
    buffer_destroy(&error);
    buffer_destroy(&note);
    return status;
}

unsigned web_crawl_status(WebCrawl *crawl, Buffer *out)
{
    char status[] = "status";
    char json[] = "json";
    char *words[] = {status, json};
    return web_crawl_ask(crawl, words, 2, out);
}

static bool is_allowed(const char *word)
{
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        if (strcmp(word, allowed[i]) == 0) {
            return true;
        }
    }
    return false;
}

unsigned web_crawl_do(WebCrawl *crawl, const char *line, size_t length, Buffer *out)
{
    ControlWords words;
    unsigned status = 400;
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r')) {
        length--;
    }
    if (control_words_parse(&words, line, length, out) != RESULT_OK) {
        (void)buffer_append_char(out, '\n');
        return status;
    }
    if (words.n == 0) {
        (void)buffer_append_string(out, "there is no word in it\n");
    } else if (!is_allowed(words.words[0])) {
        status = 403;
        (void)buffer_printf(out,
                            "'%.64s' is not done from here; the page knows pause, resume, stop, "
                            "deny, allow, host, seed and rotate, ragno ctl knows more\n",
                            words.words[0]);
    } else {
        status = web_crawl_ask(crawl, words.words, words.n, out);
    }
    control_words_destroy(&words);
    return status;
}

/* ---- Web metrics ---- */

typedef enum MetricType { COUNTER, GAUGE, GAUGE_MS, SUMMARY, NO_METRIC } MetricType;

/* Rows of one name stand together: they are one metric, and the first has its help. */
typedef struct Metric {
    const char *field; /* of the status */
    MetricType type;
    const char *name;  /* behind "ragno_" */
    const char *label; /* "{class=\"2xx\"}", or "" */
    const char *help;
} Metric;

#define METRIC_ROW(field, kind, value, type, metric, label, help)                                  \
    {field, type, metric, label, help},
static const Metric metrics[] = {STATUS_FIELDS(METRIC_ROW) STATUS_CONTINUOUS_FIELDS(METRIC_ROW)
                                     STATUS_CLUSTER_FIELDS(METRIC_ROW)};

#define N_METRICS (sizeof metrics / sizeof *metrics)

static const char *const limits[] = {
    "politeness", "connections", "shares",    "dns",      "parser",  "writer",
    "disk",       "memory",      "bandwidth", "operator", "network", "seeds",
    "schedule",   "retries",     "walls",     "cluster",  "none",    NULL};

static void web_metrics_put_head(Buffer *out, const char *name, MetricType type, const char *help)
{
    static const char *const types[] = {
        [COUNTER] = "counter", [GAUGE] = "gauge", [GAUGE_MS] = "gauge", [SUMMARY] = "summary"};
    (void)buffer_printf(out, "# HELP ragno_%s %s.\n# TYPE ragno_%s %s\n", name, help, name,
                        types[type]);
}

static void put_metric(Buffer *out, const Metric *metric, const char *json)
{
    LogText text = status_json_get(json, metric->field);
    if (text.length == 0 || metric->type == NO_METRIC) {
        return;
    }
    if (*metric->help != '\0') {
        web_metrics_put_head(out, metric->name, metric->type, metric->help);
    }
    (void)buffer_printf(out, "ragno_%s%s ", metric->name, metric->label);
    if (metric->type == GAUGE_MS) {
        (void)buffer_printf(out, "%.6g", status_json_number(json, metric->field, 0) / 1000);
    } else {
        (void)buffer_append(out, text.bytes, text.length); /* all digits of a counter */
    }
    (void)buffer_append_char(out, '\n');
}

/* 1 for the word that holds, 0 for the others; a word that is not known stands alone. */
static void put_words(Buffer *out, const char *name, const char *label, const char *const *words,
                      LogText now)
{
    bool known = false;
    for (; *words != NULL; words++) {
        bool holds = log_text_is(now, *words);
        known = known || holds;
        (void)buffer_printf(out, "ragno_%s{%s=\"%s\"} %d\n", name, label, *words, holds);
    }
    if (!known && now.length > 0) {
        (void)buffer_printf(out, "ragno_%s{%s=\"%.*s\"} 1\n", name, label, (int)now.length,
                            now.bytes);
    }
}

Result web_metrics(const char *json, Buffer *out)
{
    for (size_t i = 0; i < N_METRICS; i++) {
        put_metric(out, &metrics[i], json);
    }
    web_metrics_put_head(out, "state", GAUGE,
                         "What the crawl is doing: 1 for the state that holds");
    const char *states[] = {[STATE_FINISHED + 1] = NULL};
    for (CrawlState state = STATE_RUNNING; state <= STATE_FINISHED; state++) {
        states[state] = crawl_state_name(state);
    }
    put_words(out, "state", "state", states, status_json_get(json, "state"));
    web_metrics_put_head(out, "limit", GAUGE, "What limits the crawl: 1 for what binds now");
    put_words(out, "limit", "limit", limits, status_json_get(json, "limit"));
    web_metrics_put_head(out, "build_info", GAUGE, "The version that runs");
    return buffer_printf(out, "ragno_build_info{version=\"%s\"} 1\n", RAGNO_VERSION);
}
