#include "command/why_command.h"

#include <stdio.h>
#include <string.h>

#include "base/memory/embed.h"
#include "command/cluster/cluster_pages.h"
#include "crawl/command_line.h"
#include "crawl/control/control_link.h"
#include "crawl/crawl_view.h"
#include "crawl/exit_status.h"
#include "why/why_text.h"

EMBED(why_usage, "src/command/why_command.txt");

static int why_command_print(const Buffer *out, Result rc, int status)
{
    (void)fwrite(buffer_string(out), 1, out->length, stdout);
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno why: %s\n", result_name(rc));
        return EXIT_INTERNAL;
    }
    return status;
}

/* ---- what other agents of a cluster know ---- */

/* How another agent came to the first page of its path: the pages there, itself first. */
static void why_tell_before(ClusterPages *pages, const PageTrail *trail, ReportWriter *to)
{
    static const ReportColumn columns[] = {
        {"url", "on the last of these pages, itself first", false, true}};
    PageTrail before = {.urls = {.limit = BUFFER_NO_LIMIT}};
    before.is_cut = true;
    before.agent = trail->agent;
    before.index = trail->index;
    Result rc = cluster_pages_follow(pages, &before);
    const char *url = before.urls.data;
    report_note(to, NULL, "\nThe first page of its path was found by agent %u.",
                (unsigned)trail->agent);
    report_object(to, "before");
    report_fact(to, "agent", NULL, REPORT_COUNT(trail->agent));
    report_list(to, "pages", columns, 1);
    for (size_t i = 0; i < before.n; i++) {
        const ReportValue value = REPORT_TEXT(url);
        report_row(to, &value);
        url += strlen(url) + 1;
    }
    report_list_end(to);
    if (rc != RESULT_OK) {
        report_fact(to, "problem", "before that", REPORT_TEXT(cluster_pages_problem(pages)));
    }
    report_object_end(to);
    page_trail_destroy(&before);
}

static void why_tell_others(const CrawlView *view, const Why *why, ReportWriter *to, int *status)
{
    ClusterPages pages;
    PageTrail trail = {.urls = {.limit = BUFFER_NO_LIMIT}};
    MDB_txn *txn = NULL;
    uint16_t owner = 0;
    if (cluster_pages_open(&pages, view->directory, view->db) == RESULT_OK && pages.is_agent) {
        if (why->is_known && page_db_txn_begin(view->db, true, &txn) == page_db_error_ok) {
            (void)cluster_pages_trail(&pages, view->db, txn, why->page.index, &trail);
            page_db_txn_abort(view->db, txn);
        }
        if (cluster_pages_is_foreign(&pages, why->url, &owner)) {
            /* What the agent that owns its host says, or why it does not. */
            Buffer said = {.limit = BUFFER_NO_LIMIT};
            report_note(to, NULL, "\nIts host belongs to agent %u (this directory is agent %u's).",
                        (unsigned)owner, (unsigned)pages.self);
            report_object(to, "owner");
            report_fact(to, "agent", NULL, REPORT_COUNT(owner));
            if (cluster_pages_why(&pages, owner, why->url, report_is_json(to), &said, status) ==
                RESULT_OK) {
                report_note(to, NULL, "Agent %u says:\n", (unsigned)owner);
                report_quote(to, "says", &said);
            } else {
                report_note(to, NULL, "It cannot be asked: %s.", cluster_pages_problem(&pages));
                report_fact(to, "problem", NULL, REPORT_TEXT(cluster_pages_problem(&pages)));
            }
            report_object_end(to);
            buffer_destroy(&said);
        } else if (trail.is_cut) {
            why_tell_before(&pages, &trail, to);
        }
    }
    cluster_pages_close(&pages);
    page_trail_destroy(&trail);
}

/* ---- the command ---- */

static int why_command_answer(const CrawlView *view, const Why *why, WallTime now, bool json,
                              bool here)
{
    Buffer out = {.limit = BUFFER_NO_LIMIT};
    ReportWriter *writer = NULL;
    int status = why->state == WHY_UNKNOWN ? EXIT_NEGATIVE : 0;
    Result rc =
        report_writer_new(&writer, json ? REPORT_AS_JSON : REPORT_AS_TEXT, WHY_LABELS, &out);
    if (rc == RESULT_OK) {
        why_tell(why, now, writer);
        if (!here) {
            why_tell_others(view, why, writer, &status);
        }
        rc = report_writer_end(writer);
    }
    status = why_command_print(&out, rc, status);
    buffer_destroy(&out);
    return status;
}

static int why_command_run(CrawlView *view, const char *url, bool json, bool here)
{
    Why why;
    Buffer error = {.limit = 4096};
    int status = 0;
    const WallTime now = wall_now();
    WhySources sources = crawl_view_why_sources(view, now);
    sources.is_in_flight = control_link_is_in_flight;
    Result rc = why_find(&why, &sources, url, &error);
    if (rc == RESULT_OK) {
        status = why_command_answer(view, &why, now, json, here);
    }
    why_destroy(&why);
    int failed = exit_status_tell("why", rc, &error);
    return failed == 0 ? status : failed;
}

int why_main(int argc, char **argv)
{
    bool json = false;
    bool here = false;
    const CommandOption options[] = {{"json", 0, COMMAND_FLAG, .to = &json},
                                     {"here", 0, COMMAND_FLAG, .to = &here}};
    CommandLine line = {"why", why_usage, COMMAND_ROWS(options), .words_least = 2, .words_most = 2};
    CrawlView view;
    int status = command_line_take(&line, argc, argv);
    if (status == 0) {
        status = crawl_view_open(&view, "why", line.words[0]);
    }
    if (status == 0) {
        status = why_command_run(&view, line.words[1], json, here);
        crawl_view_close(&view);
    }
    return status == COMMAND_HELPED ? 0 : status;
}
