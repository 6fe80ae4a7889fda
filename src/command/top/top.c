#include "command/top/top.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command/cluster/console.h"
#include "command/top/top_feed.h"
#include "crawl/cluster/cluster_console.h"
#include "crawl/command_line.h"
#include "crawl/exit_status.h"
#include "frontier/visit/host_situation.h"
#include "logs/log_text.h"
#include "report/write/report_words.h"

/* ---- What is shown ---- */

#define HEAD_ROWS   9 /* above the title of the list */
#define LABEL_WIDTH 8
#define TOTAL_WIDTH 11
#define RATE_WIDTH  11
#define WIDE        100 /* columns from which pages and times are shown */
#define CLOCK_WIDTH 14
#define FIELD_BYTES 64

/* ---- pieces ---- */

static double top_view_number(const TopModel *model, const char *name)
{
    return model->status == NULL ? 0 : status_json_number(model->status, name, 0);
}

static const char *word(const TopModel *model, const char *name, char text[FIELD_BYTES])
{
    LogText value = {NULL, 0};
    if (model->status != NULL) {
        value = status_json_get(model->status, name);
    }
    size_t n = value.length < FIELD_BYTES ? value.length : FIELD_BYTES - 1;
    memcpy(text, n == 0 ? "" : value.bytes, n);
    text[n] = '\0';
    return text;
}

static char *top_view_count_words(double n, char text[WORDS_BYTES])
{
    return n < 1e7 ? words_count((uint64_t)(n > 0 ? n : 0), text) : words_tick(n, false, text);
}

static char *rate_words(double rate, char text[WORDS_BYTES])
{
    (void)snprintf(text, WORDS_BYTES, rate < 10 && rate > 0 ? "%.1f/s" : "%.0f/s", rate);
    return text;
}

/* ---- the head ---- */

static CanvasStyle style_of_state(const TopModel *model, const char *state)
{
    bool good = strcmp(state, "running") == 0 || strcmp(state, "finished") == 0;
    return !model->is_running && strcmp(state, "finished") != 0 ? STYLE_BAD
           : good                                               ? STYLE_GOOD
                                                                : STYLE_WARN;
}

static void draw_state(const TopModel *model, Canvas *canvas)
{
    char state[FIELD_BYTES];
    char limit[FIELD_BYTES];
    char time[WORDS_BYTES];
    char rest[TOP_TEXT_BYTES + FIELD_BYTES];
    const char *shown = word(model, "state", state);
    if (model->status == NULL) {
        shown = "no status yet";
    } else if (!model->is_running && strcmp(state, "running") == 0) {
        shown = "not running (it ended without saying so)";
    } else if (!model->is_running && strcmp(state, "paused") == 0) {
        shown = "not running (it was paused)";
    }
    int at = canvas_text(canvas, 1, 0, canvas->columns, style_of_state(model, state), shown);
    (void)snprintf(rest, sizeof rest, " for %s",
                   words_ms(top_view_number(model, "elapsed_s") * 1e3, time));
    at = canvas_text(canvas, 1, at, canvas->columns - at, STYLE_PLAIN, rest);
    if (model->is_running) {
        at = canvas_text(canvas, 1, at, canvas->columns - at, STYLE_DIM, ", limited by ");
        at = canvas_text(canvas, 1, at, canvas->columns - at, STYLE_STRONG,
                         word(model, "limit", limit));
        (void)snprintf(rest, sizeof rest, "   active %.0f  dns %.0f  parsing %.0f",
                       top_view_number(model, "active"), top_view_number(model, "dns_waiting"),
                       top_view_number(model, "parse_queue"));
        (void)canvas_text(canvas, 1, at, canvas->columns - at, STYLE_DIM, rest);
    } else if (model->status == NULL) {
        (void)snprintf(rest, sizeof rest, "   %s", model->trouble);
        (void)canvas_text(canvas, 1, at, canvas->columns - at, STYLE_DIM, rest);
    }
}

static void top_view_draw_rate(const TopModel *model, Canvas *canvas, int row, const char *label,
                               const char *total, const char *rate, const TopGraph *graph)
{
    (void)canvas_text(canvas, row, 0, LABEL_WIDTH, STYLE_DIM, label);
    canvas_right(canvas, row, LABEL_WIDTH, TOTAL_WIDTH, STYLE_PLAIN, total);
    canvas_right(canvas, row, LABEL_WIDTH + TOTAL_WIDTH, RATE_WIDTH, STYLE_STRONG, rate);
    /* Bars of the latest values, the newest at the right, scaled to the greatest that is shown. */
    int column = LABEL_WIDTH + TOTAL_WIDTH + RATE_WIDTH + 2;
    static const char letters[] = " .:-=+*#@";
    size_t width = canvas->columns > column ? (size_t)(canvas->columns - column) : 0;
    size_t n = graph->n < width ? graph->n : width;
    const double *values = graph->values + (graph->n - n);
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        most = values[i] > most ? values[i] : most;
    }
    for (size_t i = 0; i < n; i++) {
        unsigned height = most > 0 ? (unsigned)(values[i] / most * 8 + 0.5) : 0;
        height += height == 0 && values[i] > 0;
        uint32_t character = model->ascii  ? (uint32_t)letters[height]
                             : height == 0 ? ' '
                                           : 0x2580 + height;
        canvas_character(canvas, row, column + (int)i, STYLE_GRAPH, character);
    }
}

/* "NAME N  " with the number in its style. */
static int draw_figure(Canvas *canvas, int row, int column, const char *name, double n,
                       CanvasStyle style)
{
    char text[WORDS_BYTES];
    int at = canvas_text(canvas, row, column, canvas->columns - column, STYLE_DIM, name);
    at = canvas_text(canvas, row, at + 1, canvas->columns - at, style,
                     top_view_count_words(n, text));
    return at + 2;
}

/* The same, from ten thousand on as "12.3k": six of them fit into 80 columns. */
static int draw_hosts_figure(Canvas *canvas, int column, const char *name, uint64_t n,
                             CanvasStyle style)
{
    char text[WORDS_BYTES];
    int at = canvas_text(canvas, 7, column, canvas->columns - column, STYLE_DIM, name);
    return 2 + canvas_text(canvas, 7, at + 1, canvas->columns - at, style,
                           n < 10000 ? words_count(n, text) : words_tick((double)n, false, text));
}

static int draw_bytes(Canvas *canvas, int row, int column, const char *name, double n)
{
    char text[WORDS_BYTES];
    int at = canvas_text(canvas, row, column, canvas->columns - column, STYLE_DIM, name);
    return 2 + canvas_text(canvas, row, at + 1, canvas->columns - at, STYLE_PLAIN,
                           words_bytes(n, text));
}

static void draw_figures(const TopModel *model, Canvas *canvas)
{
    const SurveyCounts *counts = &model->hosts.counts;
    int at = draw_figure(canvas, 6, 0, "2xx", top_view_number(model, "2xx"), STYLE_PLAIN);
    at = draw_figure(canvas, 6, at, "3xx", top_view_number(model, "3xx"), STYLE_PLAIN);
    at = draw_figure(canvas, 6, at, "4xx", top_view_number(model, "4xx"), STYLE_PLAIN);
    at = draw_figure(canvas, 6, at, "5xx", top_view_number(model, "5xx"), STYLE_PLAIN);
    at = draw_figure(canvas, 6, at, "dup", top_view_number(model, "dup"), STYLE_PLAIN);
    at = draw_figure(canvas, 6, at, "robots", top_view_number(model, "robots_denied"), STYLE_PLAIN);
    (void)draw_figure(canvas, 6, at, "429/503", top_view_number(model, "throttled"), STYLE_PLAIN);
    uint64_t lost = counts->dropped + counts->parked;
    at = draw_hosts_figure(canvas, 0, "hosts", counts->hosts, STYLE_PLAIN);
    at = draw_hosts_figure(canvas, at, "queued", counts->queued, STYLE_PLAIN);
    at = draw_hosts_figure(canvas, at, "lately", counts->lately, STYLE_PLAIN);
    at = draw_hosts_figure(canvas, at, "retry", counts->waiting,
                           counts->waiting > 0 ? STYLE_WARN : STYLE_PLAIN);
    at = draw_hosts_figure(canvas, at, "dropped", lost, lost > 0 ? STYLE_BAD : STYLE_PLAIN);
    at = draw_hosts_figure(canvas, at, "denied", counts->denied, STYLE_PLAIN);
    if (counts->full > 0) {
        (void)draw_hosts_figure(canvas, at, "full", counts->full, STYLE_PLAIN);
    }
    at = draw_figure(canvas, 8, 0, "URLs known", top_view_number(model, "urls_seen"), STYLE_PLAIN);
    at = draw_bytes(canvas, 8, at, "memory", top_view_number(model, "rss_bytes"));
    at = draw_bytes(canvas, 8, at, "database", top_view_number(model, "db_bytes"));
    (void)draw_bytes(canvas, 8, at, "disk free", top_view_number(model, "disk_free_bytes"));
}

/* ---- hosts ---- */

/* Where the columns begin; 0 = not shown. */
typedef struct Columns {
    int host_width;
    int queue;
    int rate;
    int errors;
    int pages;
    int ms;
    int state;
} Columns;

static Columns columns_of(int width)
{
    bool wide = width >= WIDE;
    int fixed = 9 + 8 + 8 + (wide ? 9 + 8 : 0) + 1;
    int rest = width > fixed ? width - fixed : 0;
    Columns c = {.host_width = rest * 11 / 20};
    int at = 1 + c.host_width;
    c.queue = at;
    at += 9;
    if (wide) {
        c.pages = at;
        at += 9;
    }
    c.rate = at;
    at += 8;
    if (wide) {
        c.ms = at;
        at += 8;
    }
    c.errors = at;
    c.state = at + 8 + 2;
    return c;
}

/* "timeout x3, 4 min 0 s": what failed how often, and how long it waits therefore */
static CanvasStyle situation_words(const SurveyRow *row, WallTime now, char text[TOP_TEXT_BYTES])
{
    int64_t now_ms = now.us / 1000;
    HostSituation situation = host_situation_of(&row->record, now_ms);
    char time[WORDS_BYTES];
    const char *why = fetch_class_name(situation.why);
    switch (situation.kind) {
    case HOST_READY:
        (void)snprintf(text, TOP_TEXT_BYTES, "%s", row->queued > 0 ? "ready" : "");
        return STYLE_PLAIN;
    case HOST_WAITS:
        (void)words_ms((double)(situation.until_ms - now_ms), time);
        if (row->queued == 0) {
            text[0] = '\0';
            return STYLE_PLAIN;
        }
        if (situation.failures == 0) {
            (void)snprintf(text, TOP_TEXT_BYTES, "waits %s", time);
            return STYLE_DIM;
        }
        (void)snprintf(text, TOP_TEXT_BYTES, "%s x%u, %s", why, situation.failures, time);
        return STYLE_WARN;
    case HOST_IS_CLOSED:
        (void)words_ms((double)(situation.until_ms - now_ms), time);
        (void)snprintf(text, TOP_TEXT_BYTES, "closed %s", time);
        return STYLE_DIM;
    case HOST_GIVEN_UP:
        (void)snprintf(text, TOP_TEXT_BYTES, "dropped: %s", why);
        return STYLE_BAD;
    case HOST_SET_ASIDE:
        (void)snprintf(text, TOP_TEXT_BYTES, "parked: %s", why);
        return STYLE_BAD;
    case HOST_HAS_ENOUGH:
        (void)snprintf(text, TOP_TEXT_BYTES, "full");
        return STYLE_WARN;
    case HOST_IS_ELSEWHERE:
        (void)snprintf(text, TOP_TEXT_BYTES, "moved");
        return STYLE_WARN;
    case HOST_FORBIDDEN:
        break;
    }
    (void)snprintf(text, TOP_TEXT_BYTES, "denied");
    return STYLE_BAD;
}

/* Without its scheme, when that is https. */
static const char *host_words(const SurveyRow *row)
{
    return strncmp(row->origin, "https://", 8) == 0 ? row->origin + 8 : row->origin;
}

static void draw_host(Canvas *canvas, int at, const SurveyRow *row, WallTime now)
{
    Columns c = columns_of(canvas->columns);
    char text[TOP_TEXT_BYTES];
    char figure[WORDS_BYTES];
    uint64_t errors = survey_errors(&row->record);
    (void)canvas_text(canvas, at, 1, c.host_width - 1, STYLE_PLAIN, host_words(row));
    canvas_right(canvas, at, c.queue, 9, STYLE_PLAIN,
                 top_view_count_words((double)row->queued, figure));
    if (row->speed > 0) {
        (void)snprintf(figure, sizeof figure, "%.2f", row->speed);
        canvas_right(canvas, at, c.rate, 8, STYLE_PLAIN, figure);
    }
    canvas_right(canvas, at, c.errors, 8, errors > 0 ? STYLE_BAD : STYLE_PLAIN,
                 errors > 0 ? top_view_count_words((double)errors, figure) : "");
    if (c.pages > 0) {
        canvas_right(canvas, at, c.pages, 9, STYLE_PLAIN,
                     top_view_count_words((double)row->record.pages, figure));
    }
    if (c.ms > 0 && row->record.fetches > 0) {
        canvas_right(
            canvas, at, c.ms, 8, STYLE_PLAIN,
            top_view_count_words((double)row->record.fetch_ms / row->record.fetches, figure));
    }
    CanvasStyle style = situation_words(row, now, text);
    (void)canvas_text(canvas, at, c.state, canvas->columns - c.state, style, text);
}

size_t top_view_page(int rows)
{
    return rows > HEAD_ROWS + 2 ? (size_t)rows - HEAD_ROWS - 2 : 1;
}

static void draw_hosts(TopModel *model, WallTime now, Canvas *canvas)
{
    size_t page = top_view_page(canvas->rows);
    if (model->chosen < model->first) {
        model->first = model->chosen;
    } else if (model->chosen >= model->first + page) {
        model->first = model->chosen - page + 1;
    }
    Columns c = columns_of(canvas->columns);
    char title[TOP_TEXT_BYTES + 64];
    (void)snprintf(title, sizeof title, "host%s%s", *model->filter == '\0' ? "" : " with ",
                   model->filter);
    (void)canvas_text(canvas, HEAD_ROWS, 1, c.host_width - 1, STYLE_TITLE, title);
    canvas_right(canvas, HEAD_ROWS, c.queue, 9, STYLE_TITLE, "queue");
    canvas_right(canvas, HEAD_ROWS, c.rate, 8, STYLE_TITLE, "per s");
    canvas_right(canvas, HEAD_ROWS, c.errors, 8, STYLE_TITLE, "errors");
    if (c.pages > 0) {
        canvas_right(canvas, HEAD_ROWS, c.pages, 9, STYLE_TITLE, "pages");
        canvas_right(canvas, HEAD_ROWS, c.ms, 8, STYLE_TITLE, "ms");
    }
    (void)snprintf(title, sizeof title, "state%*s[by %s]", 1, "", survey_order_name(model->order));
    (void)canvas_text(canvas, HEAD_ROWS, c.state, canvas->columns - c.state, STYLE_TITLE, title);
    canvas_style(canvas, HEAD_ROWS, STYLE_TITLE);
    for (size_t i = 0; i < page && model->first + i < model->hosts.n; i++) {
        int at = HEAD_ROWS + 1 + (int)i;
        draw_host(canvas, at, &model->hosts.rows[model->first + i], now);
        if (model->first + i == model->chosen) {
            canvas_style(canvas, at, STYLE_CHOSEN);
        }
    }
    if (model->hosts.n == 0) {
        (void)canvas_text(canvas, HEAD_ROWS + 1, 1, canvas->columns - 1, STYLE_DIM,
                          model->hosts_time.us == 0 ? "looking over the hosts ..."
                                                    : "there is no such host");
    }
}

/* ---- texts ---- */

/* The help, as text. */
static const char *top_view_help(void)
{
    return "up, down, page up, page down, home, end   choose a host\n"
           "left, right, o   the order: queue, speed, errors, waiting, pages, bytes, slowest\n"
           "/                only hosts whose name contains a word; empty: all\n"
           "enter            all about the host that is chosen; q or escape: back\n"
           "f                what is being fetched, the longest first\n"
           "w                all about one URL: ragno why\n"
           "p                pause the crawl, or go on\n"
           "s                slow the host that is chosen: a longer pause between two fetches\n"
           "d                deny the host that is chosen: nothing of it is fetched any more\n"
           "a                allow it again\n"
           "v                visit it now, whatever it waits for after a failure\n"
           "r                revive it: it was dropped or parked, and comes back with its URLs\n"
           "space            look again now\n"
           "q                leave; the crawl goes on\n"
           "\n"
           "per s: fetches a second since the look before; errors: attempts without an answer\n"
           "and answers 5xx; state: what the host waits for. Times are UTC.\n";
}

static void draw_text(TopModel *model, Canvas *canvas)
{
    static const char *const titles[] = {[TOP_HOSTS] = "",
                                         [TOP_DETAILS] = "host",
                                         [TOP_WHY] = "why",
                                         [TOP_FLIGHTS] = "being fetched",
                                         [TOP_HELP] = "keys"};
    const char *text = model->screen == TOP_HELP ? top_view_help()
                       : model->text == NULL     ? "...\n"
                                                 : model->text;
    size_t page = top_view_page(canvas->rows);
    size_t lines = 0;
    for (const char *at = text; *at != '\0'; at++) {
        lines += *at == '\n';
    }
    char title[2 * TOP_TEXT_BYTES];
    if (model->text_first + page > lines) {
        model->text_first = lines > page ? lines - page : 0;
    }
    (void)snprintf(title, sizeof title, " %s %s", titles[model->screen], model->subject);
    (void)canvas_text(canvas, HEAD_ROWS, 0, canvas->columns, STYLE_TITLE, title);
    canvas_style(canvas, HEAD_ROWS, STYLE_TITLE);
    for (size_t i = 0; i < model->text_first; i++) {
        text = strchr(text, '\n') + 1;
    }
    for (size_t i = 0; i < page && *text != '\0'; i++) {
        size_t n = strcspn(text, "\n");
        char line[1024];
        size_t kept = n < sizeof line ? n : sizeof line - 1;
        memcpy(line, text, kept);
        line[kept] = '\0';
        (void)canvas_text(canvas, HEAD_ROWS + 1 + (int)i, 1, canvas->columns - 1, STYLE_PLAIN,
                          line);
        text += n + (text[n] == '\n');
    }
}

/* ---- the last line ---- */

static void draw_last_line(const TopModel *model, Canvas *canvas)
{
    int row = canvas->rows - 1;
    if (model->prompt != PROMPT_NONE) {
        static const char *const questions[] = {
            [PROMPT_NONE] = "",
            [PROMPT_FILTER] = "hosts that contain: ",
            [PROMPT_URL] = "why, about which URL: ",
            [PROMPT_DELAY] =
                "pause between two fetches of the host (such as 30s; empty: as configured): ",
            [PROMPT_DENY] = "deny the host, so that nothing of it is fetched any more? (y/n) "};
        int at =
            canvas_text(canvas, row, 0, canvas->columns, STYLE_STRONG, questions[model->prompt]);
        int room = canvas->columns - at - 1;
        int length = (int)strlen(model->input);
        const char *end = model->input + (length > room && room > 0 ? length - room : 0);
        at = canvas_text(canvas, row, at, canvas->columns - at, STYLE_PLAIN, end);
        canvas_character(canvas, row, at, STYLE_TITLE, ' ');
    } else if (model->message[0] != '\0') {
        (void)canvas_text(canvas, row, 0, canvas->columns, model->is_bad ? STYLE_BAD : STYLE_GOOD,
                          model->message);
    } else {
        (void)canvas_text(
            canvas, row, 0, canvas->columns, STYLE_DIM,
            model->screen == TOP_HOSTS
                ? "q leave  ? keys  o order  / find  enter host  w why  f flights  p pause  d deny"
                : "q back  ? keys  up, down: scroll");
    }
}

void top_view_draw(TopModel *model, WallTime now, Canvas *canvas)
{
    char left[TOP_TEXT_BYTES + 16];
    char right[WORDS_BYTES + 8];
    char time[WORDS_BYTES];
    (void)snprintf(left, sizeof left, " ragno top  %s", model->directory);
    (void)snprintf(right, sizeof right, " %s UTC ", words_time(now, time) + 11);
    (void)canvas_text(canvas, 0, 0, canvas->columns - CLOCK_WIDTH, STYLE_TITLE, left);
    canvas_right(canvas, 0, canvas->columns - CLOCK_WIDTH, CLOCK_WIDTH, STYLE_TITLE, right);
    canvas_style(canvas, 0, STYLE_TITLE);
    draw_state(model, canvas);
    char total[WORDS_BYTES];
    char rate[WORDS_BYTES];
    char bytes[WORDS_BYTES];
    top_view_draw_rate(model, canvas, 2, "pages",
                       top_view_count_words(top_view_number(model, "pages"), total),
                       rate_words(model->pages_s, rate), &model->pages_graph);
    (void)snprintf(rate, sizeof rate, "%.20s/s", words_bytes(model->bytes_s, bytes));
    top_view_draw_rate(model, canvas, 3, "bytes",
                       words_bytes(top_view_number(model, "bytes"), total), rate,
                       &model->bytes_graph);
    top_view_draw_rate(
        model, canvas, 4, "errors",
        top_view_count_words(top_view_number(model, "err") + top_view_number(model, "5xx"), total),
        rate_words(model->errors_s, rate), &model->errors_graph);
    top_view_draw_rate(model, canvas, 5, "queued",
                       top_view_count_words(top_view_number(model, "urls_queued"), total), "",
                       &model->queue_graph);
    draw_figures(model, canvas);
    if (model->screen == TOP_HOSTS) {
        draw_hosts(model, now, canvas);
    } else {
        draw_text(model, canvas);
    }
    draw_last_line(model, canvas);
}

#define CLOCK_MS 1000 /* the screen is drawn at least so often: waits get shorter */

static const char top_usage[] =
    "usage: ragno top [DIR]\n"
    "       ragno top nats://HOST:PORT/NAME [--credentials FILE]   of all agents of a cluster\n"
    "A live screen of a crawl (default ./crawl): rates, what limits it, and its hosts by\n"
    "queue, speed, errors, waiting. Keys pause it, slow or deny a host, and tell all\n"
    "about a host or a URL; ? lists them. The crawl runs on when it is left.\n";

/* False: the user leaves. */
static bool take_keys(TopModel *model, TopFeed *feed)
{
    int rows = 0;
    int columns = 0;
    unsigned key = 0;
    top_terminal_size(&rows, &columns);
    while ((key = top_terminal_key()) != 0) {
        TopWish wish = top_input_key(model, key, top_view_page(rows));
        if (wish == WISH_LEAVE) {
            return false;
        }
        if (wish != WISH_NOTHING) {
            top_feed_ask(feed, wish);
        }
    }
    return true;
}

static int top_watch(TopModel *model, TopFeed *feed)
{
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = top_feed_fd(feed), .events = POLLIN}};
    bool goes_on = true;
    top_feed_lock(feed);
    top_feed_ask(feed, WISH_LOOK);
    while (goes_on) {
        Canvas canvas;
        int rows = 0;
        int columns = 0;
        top_terminal_size(&rows, &columns);
        if (canvas_init(&canvas, rows, columns) == RESULT_OK) {
            top_view_draw(model, wall_now(), &canvas);
            top_terminal_show(&canvas);
        }
        canvas_destroy(&canvas);
        top_feed_unlock(feed);
        int n = poll(fds, 2, CLOCK_MS); /* SIGWINCH ends it */
        if (n < 0 && errno != EINTR) {
            return EXIT_INTERNAL;
        }
        bool is_gone = n > 0 && (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
        top_feed_lock(feed);
        goes_on = !is_gone && take_keys(model, feed); /* is_gone: the terminal */
    }
    top_feed_unlock(feed);
    return 0;
}

/* Of the crawl of a view, or of all agents of a console. */
static int top_run(const char *name, CrawlView *view, Console *console)
{
    TopFeed *feed = NULL;
    TopModel model;
    Buffer error = {.limit = 4096};
    int status = EXIT_INTERNAL;
    top_model_init(&model, name);
    Result rc = top_terminal_open(&error);
    if (rc == RESULT_OK) {
        model.ascii = !top_terminal_has_unicode();
        rc = top_feed_start(&feed, &model, view, console);
        status = rc == RESULT_OK ? top_watch(&model, feed) : EXIT_INTERNAL;
        top_terminal_close();
        top_feed_stop(feed);
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno top: %s\n",
                      error.length == 0 ? result_name(rc) : buffer_string(&error));
        status = rc == RESULT_INVALID ? EXIT_USAGE : EXIT_INTERNAL;
    }
    top_model_destroy(&model);
    buffer_destroy(&error);
    return status;
}

/* Of all agents of a cluster: its rows are agents. */
static int top_cluster(int argc, char **argv)
{
    char *words[CONSOLE_WORDS];
    size_t n = 0;
    Config config;
    Console console;
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    int status = EXIT_USAGE;
    if (config_init(&config) != RESULT_OK) {
        return EXIT_INTERNAL;
    }
    Result rc = console_command_read(&config, argc, argv, words, &n, &error);
    if (rc == RESULT_OK && n == 1) {
        rc = console_open(&console, &config, &error);
        status = rc == RESULT_OK ? top_run(config.cluster_name, NULL, &console) : EXIT_NETWORK;
        console_close(&console);
    } else if (rc == RESULT_OK) {
        (void)buffer_printf(&error, "unexpected '%s'", words[1]);
    }
    if (error.length > 0) {
        (void)fprintf(stderr, "ragno top: %s\n", buffer_string(&error));
    }
    config_destroy(&config);
    buffer_destroy(&error);
    return status;
}

int top_main(int argc, char **argv)
{
    CrawlView view;
    CommandLine line = {"top", top_usage, .words_most = 1};
    if (console_is_for(argc, argv)) {
        return top_cluster(argc, argv);
    }
    int status = command_line_take(&line, argc, argv);
    if (status == 0) {
        status = crawl_view_open(&view, "top", line.n_words > 0 ? line.words[0] : "crawl");
    }
    if (status != 0) {
        return status == COMMAND_HELPED ? 0 : status;
    }
    status = top_run(view.directory, &view, NULL);
    crawl_view_close(&view);
    return status;
}
