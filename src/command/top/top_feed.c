#include "command/top/top_feed.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread/wake.h"
#include "crawl/control/control_link.h"
#include "logs/log_text.h"

#define STATUS_MS       1000
#define SURVEY_LEAST_MS 2000
#define ANSWER_MS       5000
#define QUEUE_ITEMS     64u

/* What the main thread asks for. */
typedef struct TopAsk {
    TopWish wish;
    SurveyOrder order;
    char filter[TOP_TEXT_BYTES];
    char subject[TOP_TEXT_BYTES];
    char input[TOP_TEXT_BYTES];
    bool is_paused; /* by the last status */
} TopAsk;

struct TopFeed {
    CrawlView *view; /* NULL: of all agents */
    Console *console;
    Survey *survey;
    ControlLink *link; /* NULL: nobody answers */
    Thread thread;
    Queue asks;
    Mutex mutex;
    TopModel *model; /* guarded by mutex */
    Wake wake;       /* rung when it has changed */
    TopAsk look;     /* the last one that said what to look at */
    MonoTime next_status;
    MonoTime next_survey;
    Buffer text;
    Buffer error;
};

/* ---- the model ---- */

/* Between these two the model is the feed's. */
static TopModel *top_feed_take(TopFeed *feed)
{
    mutex_lock(&feed->mutex);
    return feed->model;
}

static void top_feed_give(TopFeed *feed)
{
    mutex_unlock(&feed->mutex);
    wake_ring(&feed->wake);
}

static void top_feed_say(TopFeed *feed, bool is_bad, const char *sentence)
{
    top_model_say(top_feed_take(feed), is_bad, sentence);
    top_feed_give(feed);
}

/* ---- all agents ---- */

static void top_feed_gather(void *context, const ConsoleAgent *agent, const char *piece,
                            size_t length)
{
    TopFeed *feed = context;
    if (agent->rc != RESULT_OK) {
        (void)buffer_printf(&feed->error, "%sagent %u is %s", feed->error.length > 0 ? "; " : "",
                            (unsigned)agent->number, agent->state);
    } else {
        (void)buffer_append(&feed->text, piece, length);
    }
}

/* What agents say, in feed->text, and who does not, in feed->error. */
static bool ask_agents(TopFeed *feed, const char *const *words, size_t n)
{
    const char *all[8] = {"ctl"};
    memcpy(all + 1, words, n * sizeof *words);
    buffer_reset(&feed->text);
    buffer_reset(&feed->error);
    return console_ask(feed->console, (char *const *)(uintptr_t)all, n + 1, top_feed_gather,
                       feed) == 0;
}

static SurveyRow row_of_agent(const ConsoleRow *from)
{
    SurveyRow row = {.host = from->agent->number, .queued = from->queued, .speed = from->pages_s};
    Buffer text = {.limit = 512};
    (void)buffer_printf(&text, "agent %u %s %s", (unsigned)from->agent->number,
                        from->agent->rc == RESULT_OK ? from->limit : from->agent->state,
                        from->agent->name);
    row.origin = strdup(buffer_string(&text));
    row.record.pages = (uint32_t)from->pages;
    buffer_destroy(&text);
    return row;
}

/* Status and rows come together. */
static void take_agents(TopFeed *feed)
{
    uint32_t n = feed->console->table.n_agents;
    ConsoleRow *rows = calloc(n, sizeof *rows);
    SurveyResult hosts = {.rows = calloc(n, sizeof *hosts.rows)};
    buffer_reset(&feed->text);
    if (rows != NULL && hosts.rows != NULL) {
        (void)console_status(feed->console, &feed->text, NULL, rows);
        for (uint32_t i = 0; i < n && i < TOP_ROWS; i++) {
            hosts.rows[hosts.n] = row_of_agent(&rows[i]);
            hosts.n += hosts.rows[hosts.n].origin != NULL;
        }
        hosts.counts.hosts = hosts.counts.matching = n;
        TopModel *model = top_feed_take(feed);
        top_model_status(model, buffer_string(&feed->text),
                         feed->console->running == 0 ? "no agent answers" : NULL, mono_now());
        top_model_hosts(model, &hosts, wall_now());
        top_feed_give(feed);
    }
    survey_result_destroy(&hosts);
    free(rows);
}

/* ---- one crawl ---- */

/* Asks the crawl; the lines are in feed->text. False: feed->error says why not. */
static bool ask_crawl(TopFeed *feed, const char *const *words, size_t n, Buffer *note)
{
    if (feed->console != NULL) {
        return ask_agents(feed, words, n);
    }
    buffer_reset(&feed->text);
    buffer_reset(&feed->error);
    return control_link_call(&feed->link, feed->view->directory, (char *const *)(uintptr_t)words, n,
                             &feed->text, ANSWER_MS, note, &feed->error) == RESULT_OK;
}

static void top_feed_take_status(TopFeed *feed)
{
    static const char *const words[] = {"status", "json"};
    if (feed->console != NULL) {
        take_agents(feed);
        return;
    }
    bool answers = ask_crawl(feed, words, 2, NULL);
    if (!answers) {
        /* The status of a crawl that does not answer is what it wrote last. */
        Path path;
        buffer_reset(&feed->text);
        (void)file_read(file_path(&path, "%s/status.json", feed->view->directory), &feed->text);
    }
    top_model_status(top_feed_take(feed),
                     feed->text.length == 0 ? NULL : buffer_string(&feed->text),
                     answers ? NULL : buffer_string(&feed->error), mono_now());
    top_feed_give(feed);
}

/* Has the crawl do something, and says what it answers. */
static void command(TopFeed *feed, const char *const *words, size_t n, const char *done)
{
    Buffer note = {.limit = 4096};
    if (ask_crawl(feed, words, n, &note)) {
        top_feed_say(feed, false, note.length > 0 ? buffer_string(&note) : done);
    } else {
        top_feed_say(feed, true, buffer_string(&feed->error));
    }
    buffer_destroy(&note);
    feed->next_status = (MonoTime){0};
    feed->next_survey = (MonoTime){0};
}

/* ---- the database ---- */

static void take_survey(TopFeed *feed)
{
    MonoTime start = mono_now();
    SurveyResult hosts;
    if (feed->console != NULL) {
        feed->next_survey = MONO_NEVER; /* they come with the status */
        return;
    }
    SurveyOptions options = {
        .order = feed->look.order, .filter = feed->look.filter, .max = TOP_ROWS, .now = wall_now()};
    if (survey_take(feed->survey, &options, &hosts) == RESULT_OK) {
        top_model_hosts(top_feed_take(feed), &hosts, options.now);
        top_feed_give(feed);
    } else {
        top_feed_say(feed, true, "the hosts cannot be read; ragno verify says more");
    }
    survey_result_destroy(&hosts);
    int64_t took_ms = mono_ms_between(start, mono_now());
    feed->next_survey =
        mono_add_ms(mono_now(), took_ms * 10 > SURVEY_LEAST_MS ? took_ms * 10 : SURVEY_LEAST_MS);
}

static void show_details(TopFeed *feed, const char *origin)
{
    if (feed->console != NULL) {
        /* The agent of a row that is chosen. */
        char *words[] = {(char *)(uintptr_t) "status"};
        unsigned long agent =
            strncmp(origin, "agent ", 6) == 0 ? strtoul(origin + 6, NULL, 10) : ULONG_MAX;
        buffer_reset(&feed->text);
        buffer_reset(&feed->error);
        if (agent < feed->console->table.n_agents) {
            (void)console_ask_agent(feed->console, (uint16_t)agent, words, 1, top_feed_gather,
                                    feed);
        }
    } else {
        const char *words[] = {"host", origin};
        (void)ask_crawl(feed, words, 2, NULL);
    }
    top_model_text(top_feed_take(feed), TOP_DETAILS,
                   strdup(buffer_string(feed->text.length > 0 ? &feed->text : &feed->error)));
    top_feed_give(feed);
}

/* ---- what is asked for ---- */

static void top_feed_serve(TopFeed *feed, const TopAsk *ask)
{
    /* What `deny`, `allow` and `host` of the crawl take: a host's name. */
    const char *slashes = strstr(ask->subject, "//");
    const char *name = slashes == NULL ? ask->subject : slashes + 2;
    const char *pause[] = {ask->is_paused ? "resume" : "pause"};
    const char *deny[] = {ask->wish == WISH_DENY ? "deny" : "allow", name};
    const char *host[] = {"host", name, ask->wish == WISH_VISIT ? "visit" : "revive"};
    const char *delay[] = {"host", name, "delay", *ask->input == '\0' ? "-" : ask->input};
    feed->look = *ask;
    if (feed->console != NULL && ask->wish >= WISH_DELAY) {
        top_feed_say(feed, true, "the rows are agents: ragno ctl steers hosts");
        return;
    }
    switch (ask->wish) {
    case WISH_LOOK:
        feed->next_survey = (MonoTime){0};
        break;
    case WISH_DETAILS:
        show_details(feed, ask->subject);
        break;
    case WISH_PAUSE:
        command(feed, pause, 1, ask->is_paused ? "it goes on" : "it is paused");
        break;
    case WISH_DELAY:
        command(feed, delay, 4, "done");
        break;
    case WISH_DENY:
    case WISH_ALLOW:
        command(feed, deny, 2, ask->wish == WISH_DENY ? "denied" : "allowed");
        break;
    case WISH_VISIT:
    case WISH_REVIVE:
        command(feed, host, 3, "done");
        break;
    case WISH_NOTHING:
    case WISH_LEAVE:
        break;
    }
}

static void *top_feed_run(void *argument)
{
    TopFeed *feed = argument;
    Result rc = RESULT_OK;
    while (rc != RESULT_CLOSED) {
        void *item = NULL;
        size_t n = 0;
        MonoTime now = mono_now();
        if (!mono_before(now, feed->next_status)) {
            top_feed_take_status(feed);
            feed->next_status = mono_add_ms(mono_now(), STATUS_MS);
        }
        if (!mono_before(now, feed->next_survey)) {
            take_survey(feed);
        }
        MonoTime next = mono_before(feed->next_status, feed->next_survey) ? feed->next_status
                                                                          : feed->next_survey;
        rc = queue_pop(&feed->asks, &item, 1, &n, next);
        if (rc == RESULT_OK && n == 1) {
            top_feed_serve(feed, item);
            free(item);
        }
    }
    return NULL;
}

/* ---- the outside ---- */

static void top_feed_delete(TopFeed *feed)
{
    queue_destroy(&feed->asks);
    wake_destroy(&feed->wake);
    mutex_destroy(&feed->mutex);
    control_link_close(feed->link);
    survey_delete(feed->survey);
    buffer_destroy(&feed->text);
    buffer_destroy(&feed->error);
    free(feed);
}

Result top_feed_start(TopFeed **out, TopModel *model, CrawlView *view, Console *console)
{
    TopFeed *feed = calloc(1, sizeof *feed);
    if (feed == NULL || queue_init(&feed->asks, QUEUE_ITEMS) != RESULT_OK) {
        free(feed);
        return RESULT_MEMORY;
    }
    feed->model = model;
    feed->view = view;
    feed->console = console;
    buffer_init(&feed->text, BUFFER_NO_LIMIT);
    buffer_init(&feed->error, BUFFER_NO_LIMIT);
    mutex_init(&feed->mutex, RANK_TABLE);
    Result rc = wake_init(&feed->wake, WAKE_POLLED);
    if (rc == RESULT_OK && view != NULL) {
        rc = survey_new(&feed->survey, view->db, view->hosts, view->schedule);
    }
    if (rc == RESULT_OK) {
        rc = thread_start(&feed->thread, "feed", top_feed_run, feed);
    }
    if (rc != RESULT_OK) {
        top_feed_delete(feed);
        return rc;
    }
    *out = feed;
    return RESULT_OK;
}

void top_feed_stop(TopFeed *feed)
{
    if (feed != NULL) {
        queue_close(&feed->asks);
        thread_join(&feed->thread);
        top_feed_delete(feed);
    }
}

void top_feed_ask(TopFeed *feed, TopWish wish)
{
    const TopModel *model = feed->model;
    TopAsk *ask = calloc(1, sizeof *ask);
    if (ask == NULL) {
        return;
    }
    ask->wish = wish;
    ask->order = model->order;
    memcpy(ask->filter, model->filter, sizeof ask->filter);
    memcpy(ask->subject, model->subject, sizeof ask->subject);
    memcpy(ask->input, model->input, sizeof ask->input);
    if (model->status != NULL) {
        ask->is_paused = log_text_is(status_json_get(model->status, "state"), "paused");
    }
    if (queue_try_add(&feed->asks, ask, 0) != RESULT_OK) {
        free(ask); /* more keys than the crawl has answered: it is slow */
    }
}

int top_feed_fd(const TopFeed *feed)
{
    return feed->wake.fd;
}

void top_feed_lock(TopFeed *feed)
{
    wake_clear(&feed->wake);
    mutex_lock(&feed->mutex);
}

void top_feed_unlock(TopFeed *feed)
{
    mutex_unlock(&feed->mutex);
}
