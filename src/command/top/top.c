#include "command/top/top.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/embed.h"
#include "command/top/top_feed.h"
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
    if (n >= 1e7) {
        return words_tick(n, false, text);
    }
    return words_count(n > 0 ? (uint64_t)n : 0, text);
}

/* ---- the head ---- */

static CanvasStyle style_of_state(const TopModel *model, const char *state)
{
    bool good = strcmp(state, "running") == 0 || strcmp(state, "finished") == 0;
    if (!model->is_running && strcmp(state, "finished") != 0) {
        return STYLE_BAD;
    }
    return good ? STYLE_GOOD : STYLE_WARN;
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

static void draw_count(const TopModel *model, Canvas *canvas, TopCount count)
{
    static const char *const labels[] = {"pages", "bytes", "errors", "queued"};
    const TopGraph *graph = &model->graphs[count];
    double all = top_model_total(model->status, count);
    int row = 2 + (int)count;
    char total[WORDS_BYTES];
    char rate[WORDS_BYTES + 2] = "";
    char bytes[WORDS_BYTES];
    if (count == TOP_BYTES) {
        (void)snprintf(rate, sizeof rate, "%s/s", words_bytes(graph->rate, bytes));
    } else if (count != TOP_QUEUE) {
        (void)snprintf(rate, sizeof rate, graph->rate < 10 && graph->rate > 0 ? "%.1f/s" : "%.0f/s",
                       graph->rate);
    }
    (void)canvas_text(canvas, row, 0, LABEL_WIDTH, STYLE_DIM, labels[count]);
    canvas_right(canvas, row, LABEL_WIDTH, TOTAL_WIDTH, STYLE_PLAIN,
                 count == TOP_BYTES ? words_bytes(all, total) : top_view_count_words(all, total));
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
        bool is_letter = model->ascii || height == 0;
        uint32_t character = is_letter ? (uint32_t)letters[height] : 0x2580 + height;
        canvas_character(canvas, row, column + (int)i, STYLE_GRAPH, character);
    }
}

/* From ten thousand on "12.3k": six of them fit into 80 columns. */
static char *short_words(double n, char text[WORDS_BYTES])
{
    return n < 10000 ? words_count((uint64_t)n, text) : words_tick(n, false, text);
}

typedef struct Figure {
    const char *name;
    double n;
    CanvasStyle style;
} Figure;

/* "NAME N  " of each, the numbers in their styles. Returns where they end. */
static int draw_figures(Canvas *canvas, int row, int at, char *(*words)(double, char *),
                        const Figure *figures, size_t n)
{
    char text[WORDS_BYTES];
    for (size_t i = 0; i < n; i++) {
        at = canvas_text(canvas, row, at, canvas->columns - at, STYLE_DIM, figures[i].name);
        at = 2 + canvas_text(canvas, row, at + 1, canvas->columns - at, figures[i].style,
                             words(figures[i].n, text));
    }
    return at;
}

static void draw_all_figures(const TopModel *model, Canvas *canvas)
{
    const SurveyCounts *counts = &model->hosts.counts;
    uint64_t lost = counts->dropped + counts->parked;
    const Figure answers[] = {{.name = "2xx", .n = top_view_number(model, "2xx")},
                              {.name = "3xx", .n = top_view_number(model, "3xx")},
                              {.name = "4xx", .n = top_view_number(model, "4xx")},
                              {.name = "5xx", .n = top_view_number(model, "5xx")},
                              {.name = "dup", .n = top_view_number(model, "dup")},
                              {.name = "robots", .n = top_view_number(model, "robots_denied")},
                              {.name = "429/503", .n = top_view_number(model, "throttled")}};
    const Figure hosts[] = {
        {.name = "hosts", .n = (double)counts->hosts},
        {.name = "queued", .n = (double)counts->queued},
        {.name = "lately", .n = (double)counts->lately},
        {"retry", (double)counts->waiting, counts->waiting > 0 ? STYLE_WARN : STYLE_PLAIN},
        {"dropped", (double)lost, lost > 0 ? STYLE_BAD : STYLE_PLAIN},
        {.name = "denied", .n = (double)counts->denied},
        {.name = "full", .n = (double)counts->full}};
    const Figure known = {.name = "URLs known", .n = top_view_number(model, "urls_seen")};
    const Figure bytes[] = {{.name = "memory", .n = top_view_number(model, "rss_bytes")},
                            {.name = "database", .n = top_view_number(model, "db_bytes")},
                            {.name = "disk free", .n = top_view_number(model, "disk_free_bytes")}};
    (void)draw_figures(canvas, 6, 0, top_view_count_words, answers, 7);
    (void)draw_figures(canvas, 7, 0, short_words, hosts, counts->full > 0 ? 7 : 6);
    int at = draw_figures(canvas, 8, 0, top_view_count_words, &known, 1);
    (void)draw_figures(canvas, 8, at, words_bytes, bytes, 3);
}

/* ---- hosts ---- */

/* Of numbers, from the left; between the name of a host and what it waits for. */
static const struct {
    const char *title;
    int width;
    bool wide; /* shown when there is room */
} list_columns[] = {{"queue", 9, false},
                    {"pages", 9, true},
                    {"per s", 8, false},
                    {"ms", 8, true},
                    {"errors", 8, false}};

enum { N_COLUMNS = sizeof list_columns / sizeof *list_columns };

/* A line of the list. styles: of the numbers; the first is the name's, too. */
static void draw_line(Canvas *canvas, int at, const char *host, const char *const *numbers,
                      const CanvasStyle *styles, const char *state, CanvasStyle style)
{
    int fixed = 1;
    for (size_t i = 0; i < N_COLUMNS; i++) {
        fixed += canvas->columns >= WIDE || !list_columns[i].wide ? list_columns[i].width : 0;
    }
    int width = canvas->columns > fixed ? (canvas->columns - fixed) * 11 / 20 : 0;
    int column = 1 + width;
    (void)canvas_text(canvas, at, 1, width - 1, styles[0], host);
    for (size_t i = 0; i < N_COLUMNS; i++) {
        if (canvas->columns >= WIDE || !list_columns[i].wide) {
            canvas_right(canvas, at, column, list_columns[i].width, styles[i], numbers[i]);
            column += list_columns[i].width;
        }
    }
    (void)canvas_text(canvas, at, column + 2, canvas->columns - column - 2, style, state);
}

/* "timeout x3, 4 min 0 s": what failed how often, and how long it waits therefore */
static CanvasStyle situation_words(const SurveyRow *row, WallTime now, char text[TOP_TEXT_BYTES])
{
    int64_t now_ms = now.us / 1000;
    HostSituation situation = host_situation_of(&row->record, now_ms);
    char time[WORDS_BYTES];
    const char *why = fetch_class_name(situation.why);
    const struct {
        const char *words;
        const char *more;
        CanvasStyle style;
    } kinds[] = {[HOST_READY] = {row->queued > 0 ? "ready" : "", "", STYLE_PLAIN},
                 [HOST_WAITS] = {"waits ", time, STYLE_DIM},
                 [HOST_IS_CLOSED] = {"closed ", time, STYLE_DIM},
                 [HOST_GIVEN_UP] = {"dropped: ", why, STYLE_BAD},
                 [HOST_SET_ASIDE] = {"parked: ", why, STYLE_BAD},
                 [HOST_HAS_ENOUGH] = {"full", "", STYLE_WARN},
                 [HOST_IS_ELSEWHERE] = {"moved", "", STYLE_WARN},
                 [HOST_FORBIDDEN] = {"denied", "", STYLE_BAD}};
    (void)words_ms((double)(situation.until_ms - now_ms), time);
    if (situation.kind == HOST_WAITS && row->queued == 0) {
        text[0] = '\0';
        return STYLE_PLAIN;
    }
    if (situation.kind == HOST_WAITS && situation.failures > 0) {
        (void)snprintf(text, TOP_TEXT_BYTES, "%s x%u, %s", why, situation.failures, time);
        return STYLE_WARN;
    }
    (void)snprintf(text, TOP_TEXT_BYTES, "%s%s", kinds[situation.kind].words,
                   kinds[situation.kind].more);
    return kinds[situation.kind].style;
}

static void draw_host(Canvas *canvas, int at, const SurveyRow *row, WallTime now)
{
    char text[TOP_TEXT_BYTES];
    char words[N_COLUMNS][WORDS_BYTES] = {""};
    uint64_t errors = survey_errors(&row->record);
    uint32_t fetches = row->record.fetches;
    (void)top_view_count_words((double)row->queued, words[0]);
    (void)top_view_count_words((double)row->record.pages, words[1]);
    if (row->speed > 0) {
        (void)snprintf(words[2], WORDS_BYTES, "%.2f", row->speed);
    }
    if (fetches > 0) {
        (void)top_view_count_words((double)row->record.fetch_ms / fetches, words[3]);
    }
    if (errors > 0) {
        (void)top_view_count_words((double)errors, words[4]);
    }
    CanvasStyle style = situation_words(row, now, text);
    bool is_https = strncmp(row->origin, "https://", 8) == 0; /* it goes without saying */
    draw_line(canvas, at, row->origin + (is_https ? 8 : 0),
              (const char *const[]){words[0], words[1], words[2], words[3], words[4]},
              (const CanvasStyle[N_COLUMNS]){[4] = STYLE_BAD}, text, style);
}

/* Rows of hosts, lines of text, that a canvas with this number of rows shows: for page keys. */
static size_t top_view_page(int rows)
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
    char title[TOP_TEXT_BYTES + 64];
    char order[64];
    const char *titles[N_COLUMNS];
    CanvasStyle styles[N_COLUMNS];
    for (size_t i = 0; i < N_COLUMNS; i++) {
        titles[i] = list_columns[i].title;
        styles[i] = STYLE_TITLE;
    }
    (void)snprintf(title, sizeof title, "host%s%s", *model->filter == '\0' ? "" : " with ",
                   model->filter);
    (void)snprintf(order, sizeof order, "state [by %s]", survey_order_name(model->order));
    draw_line(canvas, HEAD_ROWS, title, titles, styles, order, STYLE_TITLE);
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

EMBED(top_view_help, "src/command/top/top.txt");

static void draw_text(TopModel *model, Canvas *canvas)
{
    static const char *const titles[] = {
        [TOP_HOSTS] = "", [TOP_DETAILS] = "host", [TOP_HELP] = "keys"};
    const char *answer = model->text == NULL ? "...\n" : model->text;
    const char *text = model->screen == TOP_HELP ? top_view_help : answer;
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
        (void)canvas_text(canvas, row, 0, canvas->columns, STYLE_DIM,
                          model->screen == TOP_HOSTS
                              ? "q leave  ? keys  o order  / find  enter host  p pause  d deny"
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
    for (TopCount i = 0; i < TOP_COUNTS; i++) {
        draw_count(model, canvas, i);
    }
    draw_all_figures(model, canvas);
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
    "about it; ? lists them. The crawl runs on when it is left.\n";

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
    top_model_destroy(&model);
    (void)exit_status_tell("top", rc, &error);
    return rc == RESULT_INVALID ? EXIT_USAGE : status;
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
        rc = RESULT_INVALID;
    }
    (void)exit_status_tell("top", rc, &error);
    config_destroy(&config);
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
