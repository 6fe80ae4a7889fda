#include "command/top/top_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "logs/log_text.h"

void top_model_init(TopModel *model, const char *directory)
{
    *model = (TopModel){.directory = directory};
}

void top_model_destroy(TopModel *model)
{
    free(model->status);
    free(model->text);
    survey_result_destroy(&model->hosts);
}

static void graph_add(TopGraph *graph, double value)
{
    if (graph->n == TOP_HISTORY) {
        memmove(&graph->values[0], &graph->values[1], (TOP_HISTORY - 1) * sizeof *graph->values);
        graph->n--;
    }
    graph->values[graph->n++] = value;
}

static double rate(double now, double before, double seconds)
{
    return now > before && seconds > 0 ? (now - before) / seconds : 0;
}

/* Rates are of the second between two statuses; a crawl that was started anew counts on. */
static void note_rates(TopModel *model, const char *json, MonoTime now)
{
    double pages = status_json_number(json, "pages", 0);
    double bytes = status_json_number(json, "bytes", 0);
    double errors = status_json_number(json, "err", 0) + status_json_number(json, "5xx", 0);
    double seconds = (double)(now.ns - model->rates_time.ns) / 1e9;
    if (model->rates_time.ns != 0) {
        model->pages_s = rate(pages, model->pages, seconds);
        model->bytes_s = rate(bytes, model->bytes, seconds);
        model->errors_s = rate(errors, model->errors, seconds);
        graph_add(&model->pages_graph, model->pages_s);
        graph_add(&model->bytes_graph, model->bytes_s);
        graph_add(&model->errors_graph, model->errors_s);
        graph_add(&model->queue_graph, status_json_number(json, "urls_queued", 0));
    }
    model->pages = pages;
    model->bytes = bytes;
    model->errors = errors;
    model->rates_time = now;
}

void top_model_status(TopModel *model, const char *json, const char *trouble, MonoTime now)
{
    char *copy = json == NULL ? NULL : strdup(json);
    model->is_running = json != NULL && trouble == NULL;
    (void)snprintf(model->trouble, sizeof model->trouble, "%s", trouble == NULL ? "" : trouble);
    if (copy != NULL) {
        free(model->status);
        model->status = copy;
        model->status_time = now;
    }
    if (model->is_running && copy != NULL) {
        note_rates(model, copy, now);
    } else {
        model->rates_time = (MonoTime){0};
        model->pages_s = 0;
        model->bytes_s = 0;
        model->errors_s = 0;
    }
}

void top_model_hosts(TopModel *model, SurveyResult *hosts, WallTime time)
{
    const SurveyRow *chosen = top_model_chosen(model);
    uint32_t host = chosen == NULL ? 0 : chosen->host;
    size_t at = hosts->n;
    /* The first row stays chosen by its place: who has not moved looks at the top. */
    for (size_t i = 0; chosen != NULL && model->chosen > 0 && i < hosts->n; i++) {
        at = hosts->rows[i].host == host ? i : at;
    }
    survey_result_destroy(&model->hosts);
    model->hosts = *hosts;
    *hosts = (SurveyResult){.rows = NULL};
    model->hosts_time = time;
    if (at < model->hosts.n) {
        model->chosen = at;
    }
    if (model->chosen >= model->hosts.n) {
        model->chosen = model->hosts.n == 0 ? 0 : model->hosts.n - 1;
    }
}

void top_model_text(TopModel *model, TopScreen screen, char *text)
{
    if (model->screen != screen) {
        free(text);
        return;
    }
    free(model->text);
    model->text = text;
}

void top_model_say(TopModel *model, bool is_bad, const char *sentence)
{
    model->is_bad = is_bad;
    (void)snprintf(model->message, sizeof model->message, "%s", sentence);
}

const SurveyRow *top_model_chosen(const TopModel *model)
{
    return model->chosen < model->hosts.n ? &model->hosts.rows[model->chosen] : NULL;
}
