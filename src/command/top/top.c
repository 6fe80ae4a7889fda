#include "command/top/top.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "command/cluster/console_command.h"
#include "command/top/top_feed.h"
#include "command/top/top_model.h"
#include "command/top/top_terminal.h"
#include "command/top/top_view.h"
#include "crawl/cluster/cluster_console.h"
#include "crawl/command_line.h"
#include "crawl/exit_status.h"

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
    CommandLine line = {.command = "top", .usage = top_usage, .words_most = 1};
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
