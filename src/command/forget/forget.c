#include "command/forget/forget.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/memory/embed.h"
#include "command/forget/forget_order.h"
#include "crawl/command_line.h"
#include "crawl/control/control_link.h"
#include "crawl/crawl_store.h"
#include "crawl/exit_status.h"
#include "crawl/when.h"
#include "logs/crawl_log_line.h"

#define POLL_MS     200
#define ABSENT_MOST 10u /* looks */

static int forget_status(ForgetOrder *forget, Result rc)
{
    int status = exit_status_tell("forget", rc, &forget->error);
    if (rc == RESULT_CLOSED) {
        return EXIT_SIGNAL;
    }
    if (rc == RESULT_NOT_FOUND) {
        return EXIT_USAGE;
    }
    return status == EXIT_INTERNAL ? EXIT_IO : status;
}

static Result forget_stopped(ForgetOrder *forget, bool has_target)
{
    Result rc = RESULT_OK;
    if (has_target && forget_order_is_due(forget->directory)) {
        (void)buffer_append_string(&forget->error, "an erasure was interrupted: `ragno forget DIR` "
                                                   "goes on with it, then name the next");
        return RESULT_EXISTS;
    }
    if (has_target) {
        rc = forget_order_write(forget);
    }
    return rc == RESULT_OK ? forget_order_run(forget) : rc;
}

/* What waits there, or, with a time, what is older. */
static int forget_alone(const char *directory, WallTime before, bool quiet)
{
    ForgetOrder order;
    CrawlStore store = {.lock = -1};
    forget_order_init(&order, directory);
    order.quiet = quiet;
    order.targets.before = before;
    Result rc = crawl_store_lock(&store, directory, false, &order.error);
    if (rc == RESULT_OK) {
        rc = forget_stopped(&order, before.us != 0);
    }
    int status = forget_status(&order, rc);
    forget_order_destroy(&order);
    crawl_store_close(&store);
    return status;
}

int forget_finish(const char *directory, bool quiet)
{
    return forget_alone(directory, (WallTime){0}, quiet);
}

int forget_expired(const char *directory, const char *crawl_log, WallTime before, bool quiet)
{
    Path path;
    WallTime oldest;
    const char *log = crawl_log != NULL ? crawl_log : file_path(&path, "%s/crawl.log", directory);
    bool is_due = crawl_log_oldest(log, &oldest) == RESULT_OK && oldest.us < before.us;
    return is_due ? forget_alone(directory, before, quiet) : 0;
}

/* ---- a crawl that runs ---- */

static Result forget_ask(ForgetOrder *forget, ControlLink *link, const char *word,
                         const char *argument, Buffer *note)
{
    char *const words[] = {(char *)(uintptr_t)word, (char *)(uintptr_t)argument};
    buffer_reset(note);
    return control_link_ask(link, words, argument == NULL ? 1 : 2, NULL, NULL, 60000, note,
                            &forget->error);
}

/* Until the crawl has carried it out. */
static Result forget_wait(ForgetOrder *forget, long told)
{
    unsigned absent = 0; /* it has no lock for a moment when it starts anew */
    while (forget_order_is_due(forget->directory)) {
        (void)poll(NULL, 0, POLL_MS);
        if (!forget_order_is_due(forget->directory)) {
            break;
        }
        absent = crawl_store_owner(forget->directory) == 0 ? absent + 1 : 0;
        if (absent > ABSENT_MOST) {
            (void)buffer_append_string(&forget->error,
                                       "the crawl has ended; `ragno forget DIR` goes on");
            return RESULT_CLOSED;
        }
    }
    Path path;
    FILE *file = fopen(file_path(&path, "%s/" FORGET_TOLD, forget->directory), "re");
    char line[1024];
    if (file != NULL && fseek(file, told, SEEK_SET) == 0) {
        while (!forget->quiet && fgets(line, sizeof line, file) != NULL) {
            (void)fputs(line, stdout);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return RESULT_OK;
}

/* Nothing of it is written any more from the tombstones on; then the crawl stops, erases, and
 * starts anew. */
static Result forget_running(ForgetOrder *forget, bool again)
{
    ControlLink *link = NULL;
    Buffer note = {.limit = BUFFER_NO_LIMIT};
    struct stat st;
    Path path;
    long told = stat(file_path(&path, "%s/" FORGET_TOLD, forget->directory), &st) == 0
                    ? (long)st.st_size
                    : 0;
    if (!again && forget_order_is_due(forget->directory)) {
        (void)buffer_append_string(&forget->error, "another erasure is under way there");
        return RESULT_CLOSED;
    }
    buffer_reset(&forget->error);
    Result rc = control_link_open(&link, forget->directory, &forget->error);
    for (size_t i = 0; rc == RESULT_OK && i < forget->targets.n; i++) {
        Buffer rule = {.limit = BUFFER_NO_LIMIT};
        rc = forget_order_tomb(&forget->targets.all[i], &rule);
        if (rc == RESULT_OK) {
            rc = forget_ask(forget, link, again ? "allow" : "deny", rule.data, &note);
        }
        if (rc == RESULT_LIMIT && !again) {
            rc = RESULT_OK; /* it is there already */
            buffer_reset(&forget->error);
        }
        buffer_destroy(&rule);
    }
    if (rc == RESULT_OK && !again) {
        rc = forget_order_write(forget);
    }
    if (rc == RESULT_OK && !again) {
        rc = forget_ask(forget, link, "forget", NULL, &note);
    }
    control_link_close(link);
    if (rc == RESULT_OK && !again && !forget->quiet) {
        (void)printf("%s\n", buffer_string(&note));
        (void)fflush(stdout);
    }
    buffer_destroy(&note);
    return rc == RESULT_OK && !again && !forget->no_wait ? forget_wait(forget, told) : rc;
}

/* ---- the command line ---- */

EMBED(forget_usage, "src/command/forget/forget.txt");

static int forget_take_age(void *to, const char *text)
{
    ForgetOrder *forget = to;
    Result rc = when_parse(text, wall_now(), &forget->targets.before);
    if (rc != RESULT_OK) {
        (void)buffer_printf(&forget->error, "--older-than: '%s' is no time such as 90d", text);
    }
    return forget_status(forget, rc);
}

static int forget_take_regex(void *to, const char *regex)
{
    ForgetOrder *forget = to;
    return forget_status(forget, forget_targets_add_regex(&forget->targets, regex, &forget->error));
}

/* 0, an exit status, or COMMAND_HELPED. */
static int forget_parse(ForgetOrder *forget, bool *again, int argc, char **argv)
{
    const CommandOption options[] = {
        {"regex", 0, COMMAND_TAKE, .to = forget, .take = forget_take_regex},
        {"older-than", 0, COMMAND_TAKE, .to = forget, .take = forget_take_age},
        {"keep-graph", 0, COMMAND_FLAG, .to = &forget->targets.keep_graph},
        {"hash-logs", 0, COMMAND_FLAG, .to = &forget->targets.hash_logs},
        {"again", 0, COMMAND_FLAG, .to = again},
        {"no-wait", 0, COMMAND_FLAG, .to = &forget->no_wait},
        {"quiet", 'q', COMMAND_FLAG, .to = &forget->quiet}};
    CommandLine line = {"forget", forget_usage, COMMAND_ROWS(options), .words_least = 1,
                        .words_most = INT_MAX};
    int status = command_line_take(&line, argc, argv);
    forget->directory = status == 0 ? line.words[0] : NULL;
    for (int i = 1; status == 0 && i < line.n_words; i++) {
        status = forget_status(forget,
                               forget_targets_add(&forget->targets, line.words[i], &forget->error));
    }
    return status;
}

static Result forget_do(ForgetOrder *forget, bool again)
{
    bool has_target = forget->targets.n > 0 || forget->targets.before.us != 0;
    if (!crawl_store_exists(forget->directory)) {
        (void)buffer_printf(&forget->error, "%s holds no crawl", forget->directory);
        return RESULT_INVALID;
    }
    if (!has_target && !forget_order_is_due(forget->directory)) {
        (void)buffer_append_string(&forget->error, "nothing is named, and nothing was interrupted");
        return RESULT_INVALID;
    }
    CrawlStore store = {.lock = -1};
    Result rc = crawl_store_lock(&store, forget->directory, false, &forget->error);
    if (rc == RESULT_LOCKED && has_target) {
        rc = forget_running(forget, again);
    } else if (rc == RESULT_OK && has_target && forget_database_is_shared(forget->directory)) {
        (void)buffer_append_string(&forget->error,
                                   "this agent of a cluster does not run; name one that does, or "
                                   "the server: all agents are to hear of it");
        rc = RESULT_INVALID;
    } else if (rc == RESULT_OK && again) {
        rc = forget_order_bury(forget, true);
    } else if (rc == RESULT_OK) {
        rc = forget_stopped(forget, has_target);
    }
    crawl_store_close(&store);
    return rc;
}

int forget_main(int argc, char **argv)
{
    ForgetOrder forget;
    bool again = false;
    forget_order_init(&forget, NULL);
    int status = forget_parse(&forget, &again, argc, argv);
    if (status == 0) {
        status = forget_status(&forget, forget_do(&forget, again));
    }
    forget_order_destroy(&forget);
    return status == COMMAND_HELPED ? 0 : status;
}
