#include "command/why_command.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/cluster/cluster_pages.h"
#include "crawl/control/control_link.h"
#include "crawl/crawl_store.h"
#include "crawl/crawl_view.h"
#include "crawl/exit_status.h"
#include "why/why.h"
#include "why/why_text.h"

#define ANSWER_MS 5000 /* of a running crawl */

static int why_command_usage(FILE *out)
{
    (void)fprintf(
        out, "usage: ragno why DIR URL [--json]\n"
             "Everything about one URL: how it was found, what the rules say of it, where it is\n"
             "now and what it waits for, each attempt, and what comes next. Its state is one of\n"
             "unknown, refused, queued, in flight, fetched, duplicate, failed, host dropped.\n"
             "Of a URL that another agent of a cluster owns, that agent is asked, too, and of one\n"
             "that another agent found, how it was found there.\n"
             "Exit: 0 known, 1 unknown, 2 not a URL.\n");
    return out == stdout ? 0 : EXIT_USAGE;
}

/* Asks the crawl that runs there, if one does, whether it is fetching the URL right now. Without an
 * answer it is not. */
static bool why_command_note_line(void *context, const char *line)
{
    (void)line;
    *(bool *)context = true;
    return true;
}

static bool why_command_is_in_flight(void *directory, const char *url)
{
    char word[] = "flights";
    char *copy = strdup(url);
    char *words[] = {word, copy};
    ControlLink *link = NULL;
    Buffer error;
    bool found = false;
    buffer_init(&error, 4096);
    if (copy != NULL && control_link_open(&link, directory, &error) == RESULT_OK) {
        (void)control_link_ask(link, words, 2, why_command_note_line, &found, ANSWER_MS, NULL,
                               &error);
    }
    control_link_close(link);
    buffer_destroy(&error);
    free(copy);
    return found;
}

static int why_command_print(const Buffer *out, Result rc, int status)
{
    bool written =
        fwrite(buffer_string(out), 1, out->length, stdout) == out->length && fflush(stdout) == 0;
    if (rc != RESULT_OK || !written) {
        (void)fprintf(stderr, "ragno why: %s\n",
                      written ? result_name(rc) : "standard output cannot be written");
        return written ? EXIT_INTERNAL : EXIT_IO;
    }
    return status;
}

/* ---- what other agents of a cluster know ---- */

/* What the agent that owns its host says. */
static void print_owner(ClusterPages *pages, uint16_t owner, const char *url, int *status)
{
    Buffer text;
    unsigned state = WHY_UNKNOWN;
    buffer_init(&text, BUFFER_NO_LIMIT);
    (void)printf("\nIts host belongs to agent %u (this directory is agent %u's). ", (unsigned)owner,
                 (unsigned)pages->self);
    if (cluster_pages_why(pages, owner, url, false, &text, &state) == RESULT_OK) {
        (void)printf("Agent %u says:\n\n%s", (unsigned)owner, buffer_string(&text));
        *status = state == WHY_UNKNOWN ? EXIT_NEGATIVE : 0;
    } else {
        (void)printf("It cannot be asked: %s.\n", cluster_pages_problem(pages));
    }
    buffer_destroy(&text);
}

/* How another agent came to the first page of its path. */
static void print_before(ClusterPages *pages, const PageTrail *trail)
{
    PageTrail before;
    page_trail_init(&before);
    before.end = trail->end;
    before.agent = trail->agent;
    before.index = trail->index;
    (void)printf("\nThe first page of its path was found by agent %u", (unsigned)trail->agent);
    Result rc = cluster_pages_follow(pages, &before);
    (void)printf(before.n == 0 ? ".\n" : ", on the last of these pages, itself first:\n");
    const char *url = before.urls.data;
    for (size_t i = 0; i < before.n; i++) {
        (void)printf("  %s\n", url);
        url += strlen(url) + 1;
    }
    if (rc != RESULT_OK) {
        (void)printf("What was before that is not known: %s.\n", cluster_pages_problem(pages));
    }
    page_trail_destroy(&before);
}

/* A member of the object: what the owner says, as it says it, or why it does not. */
static Result put_owner(ClusterPages *pages, uint16_t owner, const char *url, Buffer *out,
                        int *status)
{
    Buffer said;
    unsigned state = WHY_UNKNOWN;
    buffer_init(&said, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(out, ", \"owner\": {\"agent\": %u, ", (unsigned)owner);
    bool answered = cluster_pages_why(pages, owner, url, true, &said, &state) == RESULT_OK;
    if (rc == RESULT_OK && answered) {
        rc = buffer_printf(out, "\"says\": %s}", buffer_string(&said));
        *status = state == WHY_UNKNOWN ? EXIT_NEGATIVE : 0;
    } else if (rc == RESULT_OK) {
        const char *problem = cluster_pages_problem(pages);
        rc = buffer_append_string(out, "\"problem\": ");
        rc = rc == RESULT_OK ? json_append_text(out, problem, strlen(problem)) : rc;
        rc = rc == RESULT_OK ? buffer_append_char(out, '}') : rc;
    }
    buffer_destroy(&said);
    return rc;
}

/* A member of the object: how another agent came to the first page of its path. */
static Result put_before(ClusterPages *pages, const PageTrail *trail, Buffer *out)
{
    PageTrail before;
    JsonWriter writer;
    page_trail_init(&before);
    before.end = trail->end;
    before.agent = trail->agent;
    before.index = trail->index;
    Result followed = cluster_pages_follow(pages, &before);
    Result rc = buffer_append_string(out, ", \"before\": ");
    const char *url = before.urls.data;
    json_init(&writer, out);
    json_open(&writer, NULL, '{');
    json_count(&writer, "agent", trail->agent);
    json_open(&writer, "pages", '[');
    for (size_t i = 0; i < before.n; i++) {
        json_string(&writer, NULL, url);
        url += strlen(url) + 1;
    }
    json_close(&writer);
    if (followed != RESULT_OK) {
        json_string(&writer, "problem", cluster_pages_problem(pages));
    }
    json_close(&writer);
    page_trail_destroy(&before);
    return rc == RESULT_OK ? writer.result : rc;
}

/* What other agents of a cluster know of it: printed, or put into out as members of an object. */
static Result add_others(const CrawlView *view, const Why *why, Buffer *out, int *status)
{
    ClusterPages pages;
    PageTrail trail;
    MDB_txn *txn = NULL;
    uint16_t owner = 0;
    Result rc = RESULT_OK;
    page_trail_init(&trail);
    if (cluster_pages_open(&pages, view->directory, view->db) != RESULT_OK || !pages.is_agent) {
        cluster_pages_close(&pages);
        return RESULT_OK;
    }
    if (why->is_known && page_db_txn_begin(view->db, true, &txn) == page_db_error_ok) {
        (void)cluster_pages_trail(&pages, view->db, txn, why->page.index, &trail);
        page_db_txn_abort(view->db, txn);
    }
    bool is_foreign = cluster_pages_is_foreign(&pages, why->url, &owner);
    bool is_found_there = !is_foreign && trail.n > 0 && trail.end == TRAIL_AGENT;
    if (is_foreign && out == NULL) {
        print_owner(&pages, owner, why->url, status);
    } else if (is_foreign) {
        rc = put_owner(&pages, owner, why->url, out, status);
    } else if (is_found_there && out == NULL) {
        print_before(&pages, &trail);
    } else if (is_found_there) {
        rc = put_before(&pages, &trail, out);
    }
    cluster_pages_close(&pages);
    page_trail_destroy(&trail);
    return rc;
}

/* ---- the command ---- */

static int answer_json(const CrawlView *view, const Why *why, WallTime now)
{
    Buffer out;
    JsonWriter writer;
    int status = why->state == WHY_UNKNOWN ? EXIT_NEGATIVE : 0;
    buffer_init(&out, BUFFER_NO_LIMIT);
    json_init(&writer, &out);
    why_json(why, now, &writer);
    Result rc = writer.result;
    if (rc == RESULT_OK) {
        out.length--; /* the bracket that ends the object */
        rc = add_others(view, why, &out, &status);
    }
    rc = rc == RESULT_OK ? buffer_append_string(&out, "}\n") : rc;
    status = why_command_print(&out, rc, status);
    buffer_destroy(&out);
    return status;
}

static int answer_text(const CrawlView *view, const Why *why, WallTime now)
{
    Buffer out;
    buffer_init(&out, BUFFER_NO_LIMIT);
    Result rc = why_text(why, now, &out);
    int status = why_command_print(&out, rc, why->state == WHY_UNKNOWN ? EXIT_NEGATIVE : 0);
    (void)add_others(view, why, NULL, &status);
    buffer_destroy(&out);
    return status;
}

static int why_command_run(CrawlView *view, const char *url, bool json)
{
    Why why;
    Buffer error;
    int status = 0;
    const WallTime now = wall_now();
    WhySources sources = crawl_view_why_sources(view, now);
    sources.is_in_flight = why_command_is_in_flight;
    sources.context = view->directory;
    buffer_init(&error, 4096);
    Result rc = why_find(&why, &sources, url, &error);
    if (rc == RESULT_OK) {
        status = json ? answer_json(view, &why, now) : answer_text(view, &why, now);
    } else {
        (void)fprintf(stderr, "ragno why: %s\n",
                      error.length == 0 ? result_name(rc) : buffer_string(&error));
        status = rc == RESULT_INVALID   ? EXIT_USAGE
                 : rc == RESULT_DAMAGED ? EXIT_DIRECTORY
                 : rc == RESULT_IO      ? EXIT_IO
                                        : EXIT_INTERNAL;
    }
    why_destroy(&why);
    buffer_destroy(&error);
    return status;
}

int why_main(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    bool json = false;
    optind = 0;
    for (int o = 0; (o = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (o == 'h') {
            return why_command_usage(stdout);
        }
        if (o != 'j') {
            return why_command_usage(stderr);
        }
        json = true;
    }
    if (argc - optind != 2) {
        return why_command_usage(stderr);
    }
    CrawlView view;
    int status = crawl_view_open(&view, "why", argv[optind]);
    if (status == 0) {
        status = why_command_run(&view, argv[optind + 1], json);
        crawl_view_close(&view);
    }
    return status;
}
