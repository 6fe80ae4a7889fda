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

#define LEAST_SECONDS 0.5 /* between two statuses for a rate: a key asks for one at once */

double top_model_total(const char *status, TopCount count)
{
    static const char *const names[] = {"pages", "bytes", "err", "urls_queued"};
    double total = status == NULL ? 0 : status_json_number(status, names[count], 0);
    bool errors = status != NULL && count == TOP_ERRORS;
    return errors ? total + status_json_number(status, "5xx", 0) : total;
}

/* Rates are of the second between two statuses; a crawl that was started anew counts on. */
static void note_rates(TopModel *model, const char *json, MonoTime now)
{
    double seconds = (double)(now.ns - model->rates_time.ns) / 1e9;
    bool first = model->rates_time.ns == 0;
    if (!first && seconds < LEAST_SECONDS) {
        return;
    }
    for (TopCount i = 0; i < TOP_COUNTS; i++) {
        TopGraph *graph = &model->graphs[i];
        double total = top_model_total(json, i);
        if (!first) {
            graph->rate = total > graph->total ? (total - graph->total) / seconds : 0;
            if (graph->n == TOP_HISTORY) {
                memmove(&graph->values[0], &graph->values[1],
                        (TOP_HISTORY - 1) * sizeof *graph->values);
                graph->n--;
            }
            graph->values[graph->n++] = i == TOP_QUEUE ? total : graph->rate;
        }
        graph->total = total;
    }
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
    }
    if (model->is_running && copy != NULL) {
        note_rates(model, copy, now);
    } else {
        model->rates_time = (MonoTime){0};
        for (TopCount i = 0; i < TOP_COUNTS; i++) {
            model->graphs[i].rate = 0;
        }
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

/* ---- Top input ---- */

static void top_input_show(TopModel *model, TopScreen screen, const char *subject)
{
    model->screen = screen;
    model->text_first = 0;
    (void)snprintf(model->subject, sizeof model->subject, "%s", subject);
    if (screen == TOP_HOSTS) {
        model->subject[0] = '\0';
    }
}

/* ---- moving ---- */

static size_t moved(size_t at, size_t n, unsigned key, size_t page)
{
    size_t last = n == 0 ? 0 : n - 1;
    switch (key) {
    case KEY_IS_UP:
        return at > 0 ? at - 1 : 0;
    case KEY_IS_DOWN:
        return at < last ? at + 1 : last;
    case KEY_IS_PAGE_UP:
        return at > page ? at - page : 0;
    case KEY_IS_PAGE_DOWN:
        return at + page < last ? at + page : last;
    case KEY_IS_HOME:
        return 0;
    case KEY_IS_END:
        return last;
    default:
        return at;
    }
}

static TopWish turn_order(TopModel *model, bool forward)
{
    unsigned step = forward ? 1 : SURVEY_ORDERS - 1;
    model->order = (SurveyOrder)(((unsigned)model->order + step) % SURVEY_ORDERS);
    model->chosen = 0;
    return WISH_LOOK;
}

/* ---- prompts ---- */

static void top_input_ask(TopModel *model, TopPrompt prompt, const char *input)
{
    model->prompt = prompt;
    (void)snprintf(model->input, sizeof model->input, "%s", input);
}

static TopWish top_input_answer(TopModel *model)
{
    TopPrompt prompt = model->prompt;
    model->prompt = PROMPT_NONE;
    switch (prompt) {
    case PROMPT_FILTER:
        (void)snprintf(model->filter, sizeof model->filter, "%s", model->input);
        model->chosen = 0;
        return WISH_LOOK;
    case PROMPT_DELAY:
        return WISH_DELAY;
    case PROMPT_DENY:
    case PROMPT_NONE:
        break;
    }
    return WISH_NOTHING;
}

/* ---- letters ---- */

/* What is done to the host that is chosen. */
static TopWish top_input_about_host(TopModel *model, unsigned key)
{
    const SurveyRow *row = top_model_chosen(model);
    if (row == NULL) {
        top_model_say(model, true, "no host is chosen");
        return WISH_NOTHING;
    }
    (void)snprintf(model->subject, sizeof model->subject, "%s", row->origin);
    switch (key) {
    case 's':
        top_input_ask(model, PROMPT_DELAY, "");
        return WISH_NOTHING;
    case 'd':
        top_input_ask(model, PROMPT_DENY, "");
        return WISH_NOTHING;
    case 'a':
        return WISH_ALLOW;
    case 'v':
        return WISH_VISIT;
    case 'r':
        return WISH_REVIVE;
    default:
        top_input_show(model, TOP_DETAILS, row->origin);
        top_model_text(model, TOP_DETAILS, NULL); /* it is waited for */
        return WISH_DETAILS;
    }
}

static TopWish list_key(TopModel *model, unsigned key, size_t page)
{
    size_t chosen = moved(model->chosen, model->hosts.n, key, page);
    if (chosen != model->chosen) {
        model->chosen = chosen;
        return WISH_NOTHING;
    }
    switch (key) {
    case KEY_IS_LEFT:
        return turn_order(model, false);
    case KEY_IS_RIGHT:
    case 'o':
        return turn_order(model, true);
    case '/':
        top_input_ask(model, PROMPT_FILTER, model->filter);
        return WISH_NOTHING;
    case KEY_IS_ENTER:
    case '\r':
    case 's':
    case 'd':
    case 'a':
    case 'v':
    case 'r':
        return top_input_about_host(model, key);
    case 'q':
        return WISH_LEAVE;
    default:
        return WISH_NOTHING;
    }
}

static TopWish text_key(TopModel *model, unsigned key, size_t page)
{
    if (key == 'q' || key == KEY_IS_ESCAPE || key == KEY_IS_LEFT) {
        top_input_show(model, TOP_HOSTS, "");
    } else {
        /* The view knows how long the text is, and does not scroll behind its end. */
        model->text_first = moved(model->text_first, SIZE_MAX / 2, key, page);
    }
    return WISH_NOTHING;
}

TopWish top_input_key(TopModel *model, unsigned key, size_t page)
{
    model->message[0] = '\0';
    if (model->prompt != PROMPT_NONE) {
        size_t n = strlen(model->input);
        if (key == KEY_IS_ESCAPE) {
            model->prompt = PROMPT_NONE;
        } else if (model->prompt == PROMPT_DENY) {
            model->prompt = PROMPT_NONE;
            return key == 'y' || key == 'Y' ? WISH_DENY : WISH_NOTHING;
        } else if (key == KEY_IS_ENTER || key == '\r') {
            return top_input_answer(model);
        } else if (key == KEY_IS_BACKSPACE || key == '\b') {
            model->input[n > 0 ? n - 1 : 0] = '\0';
        } else if (key >= ' ' && key < 0x7F && n + 1 < sizeof model->input) {
            model->input[n] = (char)key;
            model->input[n + 1] = '\0';
        }
        return WISH_NOTHING;
    }
    switch (key) {
    case '?':
    case 'h':
        top_input_show(model, TOP_HELP, "");
        return WISH_NOTHING;
    case 'p':
        return WISH_PAUSE;
    case ' ':
        return WISH_LOOK;
    default:
        return model->screen == TOP_HOSTS ? list_key(model, key, page) : text_key(model, key, page);
    }
}
