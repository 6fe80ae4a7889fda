#include "render/command/render_command.h"

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/import/import_store.h"
#include "crawl/command_line.h"
#include "crawl/crawl_view.h"
#include "crawl/exit_status.h"
#include "render/crawl_source.h"
#include "render/desk/render_desk.h"

#define RENDER_COMMAND_PIECE  64u                /* pages of one transaction, while jobs are made */
#define RENDER_COMMAND_WAIT   200                /* ms between two looks whether all is done */
#define RENDER_COMMAND_MEMORY ((size_t)16 << 20) /* of answers that are judged */

static atomic_int signal_seen; /* handlers have no other way */

typedef struct RenderCommand {
    const char *directory;
    const char *where; /* NULL: all */
    bool again;
    bool quiet;
    CheckOptions options;
    Config config;
    ImportStore *store;
    PageDB *db; /* the store's, as the next */
    RenderTable *table;
    RenderWay *way;
    ArchiveSource *source;
    Filter *filter;
    FilterScratch *scratch;
    Url url;
    Buffer text;
    uint64_t n_jobs;
} RenderCommand;

static const char usage[] =
    "usage: ragno render DIR [--where FILTER] [--again] [-q] [-c FILE]\n"
    "                    [-s SECTION.KEY=VALUE]...\n"
    "Renders the pages of a stopped crawl that need a browser, from what it has\n"
    "fetched; nobody is asked. What they lack is scheduled: when the crawl has gone\n"
    "on, it or this command renders them again.\n"
    "  --where FILTER   only pages that it lets through; it knows URL, depth,\n"
    "                   status, type and body (ragno check filter)\n"
    "  --again          also those that were rendered before\n"
    "  -q, --quiet      no summary\n";

static void render_command_note_signal(int number)
{
    atomic_store(&signal_seen, number);
}

static void render_command_watch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = render_command_note_signal,
                               .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        (void)sigaction(signals[i], &action, NULL);
    }
    (void)signal(SIGPIPE, SIG_IGN); /* a browser may end while it is written to */
}

/* ---- the command line ---- */

/* As command_line_take. */
static int render_command_parse(RenderCommand *command, int argc, char **argv)
{
    const CommandOption rows[] = {CHECK_OPTIONS_ROWS(&command->options),
                                  {"where", 0, COMMAND_TEXT, .to = &command->where},
                                  {"again", 0, COMMAND_FLAG, .to = &command->again},
                                  {"quiet", 'q', COMMAND_FLAG, .to = &command->quiet}};
    CommandLine line = {"render", usage, COMMAND_ROWS(rows), .words_least = 1, .words_most = 1};
    int status = command_line_take(&line, argc, argv);
    command->directory = status == 0 ? line.words[0] : NULL;
    return status;
}

/* The settings of the crawl; rendering is on. */
static int render_command_load(RenderCommand *command)
{
    char path[4096];
    Buffer error;
    (void)snprintf(path, sizeof path, "%s/config.ini", command->directory);
    if (!crawl_open_is_crawl(command->directory)) {
        (void)fprintf(stderr, "ragno render: %s holds no crawl\n", command->directory);
        return EXIT_IO;
    }
    bool is_own = command->options.file == NULL && config_file_look(path) != CONFIG_FILE_NONE;
    if (is_own) {
        command->options.file = path;
    }
    int status = check_options_load(&command->options, &command->config);
    command->options.file = is_own ? NULL : command->options.file;
    if (status != 0) {
        return status;
    }
    if (command->config.render_mode == RENDER_MODE_OFF) {
        command->config.render_mode = RENDER_MODE_AUTO;
    }
    buffer_init(&error, BUFFER_NO_LIMIT);
    Result rc = config_resolve_paths(&command->config, &error);
    if (rc == RESULT_OK) {
        rc = config_check(&command->config, &error);
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno render: %s\n", buffer_string(&error));
    }
    buffer_destroy(&error);
    return rc == RESULT_OK ? 0 : EXIT_USAGE;
}

static int render_command_compile(RenderCommand *command)
{
    int status =
        command_filter("render", "where", command->where,
                       FILTER_HAS_DEPTH | FILTER_HAS_STATUS | FILTER_HAS_TYPE | FILTER_HAS_RESPONSE,
                       &command->filter);
    if (status == 0 && filter_scratch_new(&command->scratch) != RESULT_OK) {
        status = EXIT_INTERNAL;
    }
    return status;
}

/* ---- which pages ---- */

/* Whether a page may become a job, for all that the database knows. */
static bool render_command_may_want(RenderCommand *command, MDB_txn *txn, const PageRef *page)
{
    RenderJob job;
    if (page->n_crawls == 0 || page->status != 200 || page->hop == 'E') {
        return false;
    }
    Result rc = render_table_get(command->table, txn, page->index, &job, NULL);
    bool is_done =
        rc == RESULT_OK && (job.state == RENDER_JOB_DONE || job.state == RENDER_JOB_FAILED);
    return rc == RESULT_NOT_FOUND || (command->again && is_done);
}

static bool render_command_passes(RenderCommand *command, const PageRef *page,
                                  const RenderAnswer *answer, const char *type)
{
    if (command->filter == NULL) {
        return true;
    }
    FilterInput input = {.url = &command->url,
                         .has_depth = true,
                         .depth = page->depth > UINT32_MAX ? UINT32_MAX : (uint32_t)page->depth,
                         .status = page->status,
                         .content_type = type,
                         .has_body = true,
                         .body = answer->body,
                         .body_length = answer->length};
    const char *url = buffer_string(&command->text);
    return url_parse(&command->url, NULL, url, strlen(url)) == RESULT_OK &&
           filter_matches(command->filter, &input, command->scratch);
}

/* Judges the answer of a page, whose URL is in command->text. False: it is no page to be rendered.
 */
static bool render_command_judge(RenderCommand *command, const PageRef *page, PageVerdict *verdict)
{
    RenderAnswer answer;
    HttpHeader header;
    HttpField field;
    HttpContentType type = {.type = NULL};
    char text[256] = "";
    if (archive_source_answer(command->source, buffer_string(&command->text),
                              crawl_source_visit(page), &answer) != RENDER_ANSWERED ||
        http_header_parse(&header, answer.header, answer.header_length) != RESULT_OK) {
        return false;
    }
    if (http_header_find(&header, "Content-Type", &field)) {
        type = http_header_content_type(field.value, field.value_length);
        (void)snprintf(text, sizeof text, "%.*s", (int)field.value_length, field.value);
    }
    if (!http_header_is_page(&type, answer.body, answer.length) ||
        !render_command_passes(command, page, &answer, text)) {
        return false;
    }
    page_verdict_judge(answer.body, answer.length, verdict);
    return true;
}

/* Makes jobs of pages from *next on, a piece of them; in one transaction, which the caller ends. */
static Result render_command_piece(RenderCommand *command, MDB_txn *txn, uint64_t *next,
                                   uint64_t n_pages)
{
    uint64_t end = *next + RENDER_COMMAND_PIECE < n_pages ? *next + RENDER_COMMAND_PIECE : n_pages;
    for (; *next < end; ++*next) {
        PageRef page;
        PageVerdict verdict;
        bool wanted = false;
        if (page_db_get(command->db, txn, *next, &page, &command->text) != page_db_error_ok) {
            return RESULT_DAMAGED;
        }
        if (!render_command_may_want(command, txn, &page) ||
            !render_command_judge(command, &page, &verdict)) {
            continue;
        }
        Result rc = render_way_consider(command->way, txn, *next, buffer_string(&command->text),
                                        page_verdict_need(&verdict), verdict.weight, verdict.signs,
                                        &wanted);
        if (rc != RESULT_OK) {
            return rc;
        }
        command->n_jobs += wanted;
    }
    return RESULT_OK;
}

/* Each piece is a transaction; a map that is too small for it grows, and it is done again. */
static Result render_command_pick(RenderCommand *command)
{
    MDB_txn *txn = NULL;
    uint64_t next = 0;
    uint64_t n_pages = 1;
    while (next < n_pages && atomic_load(&signal_seen) == 0) {
        uint64_t before = command->n_jobs;
        uint64_t from = next;
        if (page_db_txn_begin(command->db, false, &txn) != page_db_error_ok) {
            return RESULT_IO;
        }
        n_pages = page_db_n_pages(command->db, txn);
        Result rc = render_command_piece(command, txn, &next, n_pages);
        rc = page_db_txn_end(command->db, txn, rc);
        if (rc == RESULT_FULL && page_db_grow(command->db) == page_db_error_ok) {
            command->n_jobs = before;
            next = from;
        } else if (rc != RESULT_OK) {
            return rc;
        }
    }
    return RESULT_OK;
}

/* ---- the run ---- */

/* Commits what the desk brings until it has nothing to do, or a signal ends it. */
static Result render_command_watch(RenderCommand *command, RenderDesk *desk)
{
    Result rc = render_desk_start(desk);
    size_t n = 0;
    bool is_idle = false;
    while (rc == RESULT_OK && !is_idle && atomic_load(&signal_seen) == 0) {
        rc = import_store_take(command->store, mono_add_ms(mono_now(), RENDER_COMMAND_WAIT), &n);
        is_idle = rc == RESULT_OK && n == 0 && render_desk_is_idle(desk);
    }
    render_desk_stop(desk);
    for (n = 1; rc == RESULT_OK && n > 0;) { /* what was handed over before the stop */
        rc = import_store_take(command->store, mono_add_ms(mono_now(), RENDER_COMMAND_WAIT), &n);
    }
    return rc;
}

static int render_command_render(RenderCommand *command)
{
    RenderDeskOptions options = {.config = &command->config,
                                 .directory = command->directory,
                                 .db = command->db,
                                 .table = command->table,
                                 .parsing = import_store_parsing(command->store),
                                 .no_share = true};
    RenderDesk *desk = NULL;
    Buffer error;
    buffer_init(&error, 8192);
    Result rc = render_desk_new(&desk, &options, &error);
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno render: %s\n",
                      error.length > 0 ? buffer_string(&error) : result_name(rc));
    }
    buffer_destroy(&error);
    if (rc != RESULT_OK) {
        return rc == RESULT_INVALID ? EXIT_USAGE : EXIT_INTERNAL;
    }
    rc = render_command_pick(command);
    if (rc == RESULT_OK) {
        rc = render_command_watch(command, desk);
    }
    render_desk_delete(desk);
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno render: ended: %s\n", result_name(rc));
        return rc == RESULT_MEMORY ? EXIT_INTERNAL : EXIT_IO;
    }
    return atomic_load(&signal_seen) != 0 ? EXIT_SIGNAL : 0;
}

static void render_command_summarize(RenderCommand *command)
{
    MDB_txn *txn = NULL;
    RenderTotals totals = {.judged = 0};
    if (command->quiet || page_db_txn_begin(command->db, true, &txn) != page_db_error_ok) {
        return;
    }
    (void)render_table_totals(command->table, txn, &totals);
    page_db_txn_abort(command->db, txn);
    (void)fprintf(stderr,
                  "ragno render: %" PRIu64 " new jobs; of all jobs %" PRIu64
                  " are rendered, %" PRIu64 " failed, %" PRIu64 " wait for what they lack, %" PRIu64
                  " wait; %" PRIu64 " links that only documents have\n",
                  command->n_jobs, totals.jobs[RENDER_JOB_DONE], totals.jobs[RENDER_JOB_FAILED],
                  totals.jobs[RENDER_JOB_LACKING], totals.jobs[RENDER_JOB_WAITING], totals.links);
}

static int render_command_run(RenderCommand *command)
{
    int status = import_store_open(&command->store, "render", command->directory, &command->config);
    if (status != 0) {
        return status;
    }
    command->db = import_store_opened(command->store)->tables.db;
    command->table = import_store_opened(command->store)->tables.renders;
    command->way = import_store_way(command->store);
    buffer_reset(&command->text);
    Result rc = buffer_printf(&command->text, "%s/warc", command->directory);
    if (rc == RESULT_OK) {
        rc = archive_source_new(&command->source, buffer_string(&command->text),
                                RENDER_COMMAND_MEMORY);
    }
    status = rc == RESULT_OK ? render_command_render(command) : EXIT_INTERNAL;
    render_command_summarize(command);
    archive_source_delete(command->source);
    int closed = import_store_close(command->store);
    return status == 0 ? closed : status;
}

int render_main(int argc, char **argv)
{
    RenderCommand command = {.directory = NULL};
    int status = render_command_parse(&command, argc, argv);
    if (status != 0) {
        return status == COMMAND_HELPED ? 0 : status;
    }
    url_init(&command.url);
    buffer_init(&command.text, BUFFER_NO_LIMIT);
    status = render_command_load(&command);
    if (status == 0) {
        status = render_command_compile(&command);
    }
    if (status == 0) {
        render_command_watch_signals();
        status = render_command_run(&command);
    }
    filter_scratch_delete(command.scratch);
    filter_delete(command.filter);
    buffer_destroy(&command.text);
    url_destroy(&command.url);
    config_destroy(&command.config);
    return status;
}
