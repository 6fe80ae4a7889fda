/* The screen of ragno top, drawn without a terminal; and what its keys mean. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/top/top_terminal.h"
#include "command/top/top.h"
#include "frontier/visit/politeness.h"
#include "unit.h"

#define NOW_US INT64_C(1769860800000000) /* 2026-01-31 12:00 */

static const char status[] =
    "{\"pid\": 7, \"time\": \"2026-01-31T12:00:00.000Z\", \"state\": \"running\", \"elapsed_s\": "
    "3723.0, \"pages\": 1234567, \"bytes\": 12345678901, \"urls_seen\": 87654321, "
    "\"urls_queued\": 7654321, \"active\": 256, \"dns_waiting\": 3, \"parse_queue\": 12, "
    "\"2xx\": 1000000, \"3xx\": 2000, \"4xx\": 30000, \"5xx\": 40, \"err\": 500, \"dup\": 6, "
    "\"robots_denied\": 70, \"throttled\": 8, \"rss_bytes\": 123456789, \"disk_free_bytes\": "
    "80000000000, \"db_bytes\": 5000000000, \"limit\": \"politeness\"}\n";

static MonoTime at_s(int64_t s)
{
    return (MonoTime){s * 1000000000};
}

/* Hosts h0 ... with so many queued. */
static void give_hosts(TopModel *model, size_t n)
{
    SurveyResult hosts = {.rows = calloc(n + 1, sizeof *hosts.rows), .n = n};
    CU_ASSERT_PTR_NOT_NULL_FATAL(hosts.rows);
    for (size_t i = 0; i < n; i++) {
        char origin[64];
        (void)snprintf(origin, sizeof origin, "%s://h%zu.test", i % 2 == 0 ? "http" : "https", i);
        hosts.rows[i] = (SurveyRow){
            .host = (uint32_t)i, .origin = strdup(origin), .queued = 5000 - i, .speed = 1.5};
    }
    if (n > 3) {
        hosts.rows[1].record = (HostRecord){.failures = 3,
                                            .last_failure = FETCH_TIMEOUT,
                                            .by_status = {7},
                                            .not_before_ms = NOW_US / 1000 + 240000};
        hosts.rows[2].record = (HostRecord){.state = HOST_DROPPED, .drop_class = FETCH_NO_NAME};
        hosts.rows[3].record = (HostRecord){.not_before_ms = NOW_US / 1000 + 2000};
    }
    hosts.counts = (SurveyCounts){.hosts = 123456,
                                  .queued = 98765,
                                  .lately = 1234,
                                  .waiting = 5678,
                                  .dropped = 12345,
                                  .denied = 123};
    top_model_hosts(model, &hosts, (WallTime){NOW_US});
}

/* The characters of a row as UTF-8, without blanks at its end. */
static void canvas_row(const Canvas *canvas, int row, Buffer *out)
{
    const CanvasCell *cells = canvas->cells + (size_t)row * (size_t)canvas->columns;
    int last = canvas->columns;
    buffer_reset(out);
    while (last > 0 && cells[last - 1].character == ' ') {
        last--;
    }
    for (int column = 0; column < last; column++) {
        (void)buffer_append_code_point(out, cells[column].character);
    }
}

static char *drawn(TopModel *model, int rows, int columns)
{
    Canvas canvas;
    Buffer row;
    Buffer all;
    buffer_init(&row, BUFFER_NO_LIMIT);
    buffer_init(&all, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL_FATAL(canvas_init(&canvas, rows, columns), RESULT_OK);
    top_view_draw(model, (WallTime){NOW_US}, &canvas);
    for (int i = 0; i < rows; i++) {
        canvas_row(&canvas, i, &row);
        (void)buffer_append(&all, buffer_string(&row), row.length);
        (void)buffer_append_char(&all, '\n');
    }
    canvas_destroy(&canvas);
    buffer_destroy(&row);
    return buffer_detach(&all);
}

static void the_screen_at_80x24(void)
{
    static const char expected[] =
        " ragno top  /data/crawl                                            12:00:00 UTC\n"
        "running for 1 h 2 min, limited by politeness   active 256  dns 3  parsing 12\n"
        "pages     1,234,567      100/s  .@\n"
        "bytes       12.3 GB   1.0 kB/s  .@\n"
        "errors          540      2.0/s  .@\n"
        "queued    7,654,321             @@\n"
        "2xx 1,000,000  3xx 2,000  4xx 30,000  5xx 40  dup 6  robots 70  429/503 8\n"
        "hosts 123k  queued 98.8k  lately 1,234  retry 5,678  dropped 12.3k  denied 123\n"
        "URLs known 87.7M  memory 123.5 MB  database 5.0 GB  disk free 80.0 GB\n"
        " host                             queue   per s  errors  state [by queue]\n"
        " http://h0.test                   5,000    1.50          ready\n"
        " h1.test                          4,999    1.50       7  timeout x3, 4 min 0 s\n"
        " http://h2.test                   4,998    1.50          dropped: no-name\n"
        " h3.test                          4,997    1.50          waits 2.0 s\n"
        " http://h4.test                   4,996    1.50          ready\n"
        "\n\n\n\n\n\n\n\n"
        "q leave  ? keys  o order  / find  enter host  p pause  d deny\n";
    TopModel model;
    char second[sizeof status + 64];
    top_model_init(&model, "/data/crawl");
    model.ascii = true;
    top_model_status(&model, status, NULL, at_s(1));
    (void)snprintf(second, sizeof second, "%s", status);
    memcpy(strstr(second, "1234567"), "1234467", 7); /* a hundred fewer, a second before */
    memcpy(strstr(second, "12345678901"), "12345677901", 11);
    memcpy(strstr(second, "\"err\": 500"), "\"err\": 498", 10);
    model.rates_time = (MonoTime){0};
    top_model_status(&model, second, NULL, at_s(2));
    static const double before[] = {1, 1, 0.01, 7654321};
    for (TopCount i = 0; i < TOP_COUNTS; i++) {
        model.graphs[i].values[0] = before[i];
        model.graphs[i].n = 1;
    }
    top_model_status(&model, status, NULL, at_s(3));
    give_hosts(&model, 5);
    char *text = drawn(&model, 24, 80);
    CU_ASSERT_STRING_EQUAL(text, expected);
    if (strcmp(text, expected) != 0) {
        (void)fprintf(stderr, "%s", text);
    }
    free(text);
    top_model_destroy(&model);
}

/* A key asks for a status at once: the little that has come since the last one is no rate. */
static void a_status_too_soon_draws_no_spike(void)
{
    TopModel model;
    char more[sizeof status];
    top_model_init(&model, "d");
    top_model_status(&model, status, NULL, at_s(1));
    memcpy(more, status, sizeof more);
    memcpy(strstr(more, "1234567"), "1234667", 7); /* a hundred more */
    top_model_status(&model, more, NULL, at_s(2));
    memcpy(strstr(more, "1234667"), "1234669",
           7); /* two more, 10 ms later: 200 a second, if it were one */
    top_model_status(&model, more, NULL, (MonoTime){at_s(2).ns + 10000000});
    CU_ASSERT_EQUAL(model.graphs[TOP_PAGES].n, 1);
    CU_ASSERT_DOUBLE_EQUAL(model.graphs[TOP_PAGES].rate, 100, 0.01);
    memcpy(strstr(more, "1234669"), "1234767", 7);
    top_model_status(&model, more, NULL, at_s(3));
    CU_ASSERT_DOUBLE_EQUAL(model.graphs[TOP_PAGES].rate, 100, 0.01);
    CU_ASSERT_EQUAL(model.graphs[TOP_PAGES].n, 2);
    top_model_destroy(&model);
}

static void any_size_is_drawn_inside_its_canvas(void)
{
    static const int sizes[][2] = {{0, 0}, {1, 1}, {2, 5}, {10, 40}, {24, 80}, {60, 250}};
    TopModel model;
    top_model_init(&model, "/data/crawl");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int screen = TOP_HOSTS; screen <= TOP_HELP; screen++) {
            model.screen = (TopScreen)screen;
            top_model_text(&model, model.screen, strdup("one\ntwo\x1b[2J\n"));
            give_hosts(&model, 30);
            char *text = drawn(&model, sizes[i][0], sizes[i][1]);
            CU_ASSERT_TRUE(text == NULL || strchr(text, '\x1b') == NULL);
            free(text);
            top_model_status(&model, status, NULL, at_s(10));
        }
    }
    top_model_destroy(&model);
}

static void the_chosen_row_is_always_to_be_seen(void)
{
    TopModel model;
    top_model_init(&model, "d");
    give_hosts(&model, 100);
    for (int step = 0; step < 99; step++) {
        CU_ASSERT_EQUAL(top_input_key(&model, KEY_IS_DOWN, 13), WISH_NOTHING);
        char *text = drawn(&model, 24, 80);
        CU_ASSERT_TRUE(model.chosen >= model.first && model.chosen < model.first + 13);
        free(text);
    }
    CU_ASSERT_EQUAL(model.chosen, 99);
    (void)top_input_key(&model, KEY_IS_PAGE_UP, 13);
    CU_ASSERT_EQUAL(model.chosen, 86);
    (void)top_input_key(&model, KEY_IS_HOME, 13);
    CU_ASSERT_EQUAL(model.chosen, 0);
    (void)top_input_key(&model, KEY_IS_END, 13);
    (void)top_input_key(&model, KEY_IS_DOWN, 13);
    CU_ASSERT_EQUAL(model.chosen, 99);
    top_model_destroy(&model);
}

static void a_chosen_host_stays_chosen_when_the_order_changes(void)
{
    TopModel model;
    SurveyResult hosts = {.rows = calloc(3, sizeof *hosts.rows), .n = 3};
    CU_ASSERT_PTR_NOT_NULL_FATAL(hosts.rows);
    top_model_init(&model, "d");
    give_hosts(&model, 5);
    model.chosen = 3;
    for (uint32_t i = 0; i < 3; i++) {
        hosts.rows[i] = (SurveyRow){.host = 4 - i, .origin = strdup("http://x")};
    }
    top_model_hosts(&model, &hosts, (WallTime){NOW_US});
    CU_ASSERT_EQUAL(model.chosen, 1); /* host 3 */
    give_hosts(&model, 1);
    CU_ASSERT_EQUAL(model.chosen, 0); /* it is gone */
    give_hosts(&model, 0);
    CU_ASSERT_PTR_NULL(top_model_chosen(&model));
    CU_ASSERT_EQUAL(top_input_key(&model, 'd', 13), WISH_NOTHING);
    CU_ASSERT_TRUE(model.is_bad && strstr(model.message, "no host") != NULL);
    top_model_destroy(&model);
}

static void type(TopModel *model, const char *text)
{
    for (; *text != '\0'; text++) {
        CU_ASSERT_EQUAL(top_input_key(model, (unsigned)(unsigned char)*text, 13), WISH_NOTHING);
    }
}

static void keys_ask_for_what_the_help_says(void)
{
    TopModel model;
    top_model_init(&model, "d");
    give_hosts(&model, 5);
    CU_ASSERT_EQUAL(top_input_key(&model, 'p', 13), WISH_PAUSE);
    CU_ASSERT_EQUAL(top_input_key(&model, ' ', 13), WISH_LOOK);
    CU_ASSERT_EQUAL(top_input_key(&model, 'o', 13), WISH_LOOK);
    CU_ASSERT_EQUAL(model.order, SURVEY_SPEED);
    CU_ASSERT_EQUAL(top_input_key(&model, KEY_IS_LEFT, 13), WISH_LOOK);
    CU_ASSERT_EQUAL(top_input_key(&model, KEY_IS_LEFT, 13), WISH_LOOK);
    CU_ASSERT_EQUAL(model.order, SURVEY_SLOWEST);
    type(&model, "/abx");
    CU_ASSERT_EQUAL(top_input_key(&model, KEY_IS_BACKSPACE, 13), WISH_NOTHING);
    CU_ASSERT_EQUAL(top_input_key(&model, KEY_IS_ENTER, 13), WISH_LOOK);
    CU_ASSERT_STRING_EQUAL(model.filter, "ab");
    type(&model, "/q"); /* a letter of the filter, no command */
    CU_ASSERT_EQUAL(top_input_key(&model, KEY_IS_ESCAPE, 13), WISH_NOTHING);
    CU_ASSERT_STRING_EQUAL(model.filter, "ab");
    CU_ASSERT_EQUAL(top_input_key(&model, KEY_IS_DOWN, 13), WISH_NOTHING);
    CU_ASSERT_EQUAL(top_input_key(&model, KEY_IS_ENTER, 13), WISH_DETAILS);
    CU_ASSERT_STRING_EQUAL(model.subject, "https://h1.test");
    CU_ASSERT_EQUAL(model.screen, TOP_DETAILS);
    CU_ASSERT_EQUAL(top_input_key(&model, 'q', 13), WISH_NOTHING); /* back to the list */
    CU_ASSERT_EQUAL(model.screen, TOP_HOSTS);
    type(&model, "s30s");
    CU_ASSERT_EQUAL(top_input_key(&model, KEY_IS_ENTER, 13), WISH_DELAY);
    CU_ASSERT_STRING_EQUAL(model.input, "30s");
    CU_ASSERT_STRING_EQUAL(model.subject, "https://h1.test");
    CU_ASSERT_EQUAL(top_input_key(&model, 'd', 13), WISH_NOTHING);
    CU_ASSERT_EQUAL(top_input_key(&model, 'n', 13), WISH_NOTHING); /* no, after all */
    CU_ASSERT_EQUAL(top_input_key(&model, 'd', 13), WISH_NOTHING);
    CU_ASSERT_EQUAL(top_input_key(&model, 'y', 13), WISH_DENY);
    CU_ASSERT_EQUAL(top_input_key(&model, 'a', 13), WISH_ALLOW);
    CU_ASSERT_EQUAL(top_input_key(&model, 'v', 13), WISH_VISIT);
    CU_ASSERT_EQUAL(top_input_key(&model, 'r', 13), WISH_REVIVE);
    (void)top_input_key(&model, KEY_IS_ESCAPE, 13);
    CU_ASSERT_EQUAL(top_input_key(&model, 'q', 13), WISH_LEAVE);
    top_model_destroy(&model);
}

static void a_prompt_takes_no_more_than_it_has_room_for(void)
{
    TopModel model;
    top_model_init(&model, "d");
    (void)top_input_key(&model, '/', 13);
    for (unsigned i = 0; i < 2 * TOP_TEXT_BYTES; i++) {
        (void)top_input_key(&model, 'a' + i % 26, 13);
    }
    CU_ASSERT_EQUAL(strlen(model.input), TOP_TEXT_BYTES - 1);
    char *text = drawn(&model, 24, 80); /* its end is to be seen */
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "hosts that contain: "));
    free(text);
    top_model_destroy(&model);
}

static void texts_scroll_and_stop_at_their_end(void)
{
    TopModel model;
    Buffer text;
    buffer_init(&text, BUFFER_NO_LIMIT);
    for (int i = 0; i < 100; i++) {
        (void)buffer_printf(&text, "line %d\n", i);
    }
    top_model_init(&model, "d");
    top_model_text(&model, TOP_DETAILS, strdup("too late")); /* nobody waits for it */
    CU_ASSERT_PTR_NULL(model.text);
    model.screen = TOP_DETAILS;
    top_model_text(&model, TOP_DETAILS, buffer_detach(&text));
    (void)top_input_key(&model, KEY_IS_END, 13);
    char *shown = drawn(&model, 24, 80);
    CU_ASSERT_PTR_NOT_NULL(strstr(shown, "\n line 99\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(shown, "\n line 87\n"));
    CU_ASSERT_PTR_NULL(strstr(shown, "line 86"));
    free(shown);
    (void)top_input_key(&model, KEY_IS_UP, 13);
    shown = drawn(&model, 24, 80);
    CU_ASSERT_PTR_NOT_NULL(strstr(shown, "line 86\n"));
    free(shown);
    top_model_destroy(&model);
}

static void a_crawl_that_ended_is_said_to(void)
{
    TopModel model;
    top_model_init(&model, "d");
    top_model_status(&model, NULL, "no crawl is running in d", at_s(1));
    char *text = drawn(&model, 24, 80);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "no status yet"));
    free(text);
    top_model_status(&model, status, "the crawl has ended", at_s(2));
    text = drawn(&model, 24, 80);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "not running (it ended without saying so)"));
    CU_ASSERT_PTR_NULL(strstr(text, "limited by"));
    free(text);
    top_model_destroy(&model);
}

static void utf_8_is_drawn_by_characters(void)
{
    Canvas canvas;
    Buffer row;
    buffer_init(&row, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL_FATAL(canvas_init(&canvas, 1, 8), RESULT_OK);
    CU_ASSERT_EQUAL(canvas_text(&canvas, 0, 0, 8, STYLE_PLAIN, "a\xC3\xA4\xE2\x96\x88\xFF\x01z"),
                    6);
    canvas_row(&canvas, 0, &row);
    CU_ASSERT_STRING_EQUAL(buffer_string(&row), "a\xC3\xA4\xE2\x96\x88??z");
    canvas_right(&canvas, 0, 4, 4, STYLE_PLAIN, "\xC3\xA4");
    canvas_row(&canvas, 0, &row);
    CU_ASSERT_STRING_EQUAL(buffer_string(&row), "a\xC3\xA4\xE2\x96\x88??z \xC3\xA4");
    canvas_destroy(&canvas);
    buffer_destroy(&row);
}

UNIT_MAIN("top", {"the screen at 80x24", the_screen_at_80x24},
          {"a status too soon draws no spike", a_status_too_soon_draws_no_spike},
          {"any size is drawn inside its canvas", any_size_is_drawn_inside_its_canvas},
          {"the chosen row is always to be seen", the_chosen_row_is_always_to_be_seen},
          {"a chosen host stays chosen when the order changes",
           a_chosen_host_stays_chosen_when_the_order_changes},
          {"keys ask for what the help says", keys_ask_for_what_the_help_says},
          {"a prompt takes no more than it has room for",
           a_prompt_takes_no_more_than_it_has_room_for},
          {"texts scroll and stop at their end", texts_scroll_and_stop_at_their_end},
          {"a crawl that ended is said to", a_crawl_that_ended_is_said_to},
          {"UTF-8 is drawn by characters", utf_8_is_drawn_by_characters})
