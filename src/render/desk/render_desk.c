#include "render/desk/render_desk.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread/thread.h"
#include "render/desk/desk_jobs.h"
#include "render/desk/guesses.h"

#define DESK_ANSWER_BYTES ((size_t)16 << 20) /* of answers that a thread keeps */
#define DESK_TRIES        2u                 /* browsers that a page may end */
#define DESK_MORE_TEXT    32u /* bytes by which a document has more text than its answer */

typedef struct DeskThread {
    RenderDesk *desk;
    Thread thread;
    unsigned number;
    Renderer *renderer;
    CrawlSource source;
    Guesses guesses;
    Rendered rendered;
    int64_t owed_ms; /* CPU time of trials, which the next result pays for */
    Buffer text;
    Buffer url;
} DeskThread;

struct RenderDesk {
    RenderDeskOptions options;
    RendererOptions renderer;
    Buffer warc; /* path of the archive */
    DeskJobs jobs;
    RendererShare shares[RENDER_DESK_BROWSERS];
    unsigned n_threads;
    DeskThread threads[RENDER_DESK_BROWSERS * BROWSER_TABS];
};

/* ---- one page ---- */

typedef struct DeskPage {
    DeskJob job;
    PageRef ref;
    WallTime fetched;
    WarcId record;
    unsigned status;
    PageVerdict verdict; /* of the answer */
    PageVerdict shown;   /* of the document */
    bool has_more;       /* text or links, than the answer */
    Buffer header;       /* of the document, as an answer would have it */
    Buffer cookies;      /* of the host, when the page was fetched */
    Buffer asks;         /* URLs that are guessed, and fetched before a browser sees the page */
    unsigned n_asks;
    uint64_t near; /* answers whose query differed */
} DeskPage;

/* What the page's header forbids holds for its document. */
static Result desk_make_header(DeskPage *page, const RenderAnswer *answer)
{
    HttpHeader header;
    HttpField tag;
    size_t position = 0;
    Result rc = buffer_append_string(&page->header, "HTTP/1.1 200 OK\r\nContent-Type: text/html; "
                                                    "charset=utf-8\r\n");
    bool is_read = http_header_parse(&header, answer->header, answer->header_length) == RESULT_OK;
    if (rc != RESULT_OK) {
        return rc;
    }
    while (is_read && http_header_next_named(&header, "X-Robots-Tag", &position, &tag)) {
        rc = buffer_printf(&page->header, "X-Robots-Tag: %.*s\r\n", (int)tag.value_length,
                           tag.value);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return buffer_append_string(&page->header, "\r\n");
}

/* What database and archive know of the page. RESULT_NOT_FOUND: its answer is not there. */
static Result desk_load(DeskThread *self, DeskPage *page)
{
    RenderDesk *desk = self->desk;
    MDB_txn *txn = NULL;
    RenderAnswer answer;
    if (page_db_txn_begin(desk->options.db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    int rc = page_db_get(desk->options.db, txn, page->job.page, &page->ref, &self->url);
    page_db_txn_abort(desk->options.db, txn);
    if (rc != page_db_error_ok) {
        return RESULT_NOT_FOUND;
    }
    const char *url = buffer_string(&self->url);
    ArchiveVisit visit = crawl_source_visit(&page->ref);
    ArchiveSource *archive = self->source.archive;
    Result found = archive_source_date(archive, url, visit, &page->fetched, &page->record);
    if (found != RESULT_OK) {
        return found;
    }
    if (archive_source_answer(archive, url, visit, &answer) != RENDER_ANSWERED) {
        return RESULT_NOT_FOUND;
    }
    bool is_far = page->job.job.rounds >= (unsigned)desk->options.config->render_hops;
    if (crawl_source_serve(&self->source, url, is_far) != RESULT_OK) {
        return RESULT_DAMAGED;
    }
    page_verdict_judge(answer.body, answer.length, &page->verdict);
    found = desk_make_header(page, &answer);
    bool is_new = page->job.job.state == RENDER_JOB_WAITING && page->job.job.rounds == 0;
    page->n_asks = guesses_make(&self->guesses, url, is_new ? &answer : NULL,
                                desk->renderer.bounds.most_requests, &page->asks);
    archive_source_cookies(archive, url, visit, &page->cookies);
    return found;
}

/* Whether others like it have shown meanwhile that it is not worth a browser. */
static bool desk_is_passed(DeskThread *self, const DeskJob *job)
{
    RenderDesk *desk = self->desk;
    MDB_txn *txn = NULL;
    RenderLesson lesson;
    bool is_idle = false;
    if (job->job.rounds > 0 || job->job.weight >= RENDER_WEIGHT_ALWAYS ||
        page_db_txn_begin(desk->options.db, true, &txn) != page_db_error_ok) {
        return false;
    }
    Result rc = render_table_lesson(desk->options.table, txn, job->job.pattern, &lesson);
    bool is_dull = rc == RESULT_OK && render_lesson_is_dull(&lesson, job->page);
    rc = render_query_is_idle(desk->options.table, txn, buffer_string(&self->url), job->page,
                              &is_idle);
    page_db_txn_abort(desk->options.db, txn);
    return is_dull || (rc == RESULT_OK && is_idle);
}

/* How the document was made, for the archive. */
static Result desk_tell(DeskThread *self, const DeskPage *page)
{
    const Rendered *rendered = &self->rendered;
    buffer_reset(&self->text);
    Result rc = buffer_printf(
        &self->text,
        "rendered-by: %s\r\nrendered-rounds: %u\r\nrendered-end: %s\r\n"
        "rendered-requests: %u\r\nrendered-near: %" PRIu64 "\r\nrendered-scrolls: %u\r\n",
        renderer_product(self->renderer), page->job.job.rounds + 1u, render_end_name(rendered->end),
        rendered->n_requests, page->near, rendered->n_scrolls);
    const struct {
        const char *name;
        const Buffer *list;
    } lists[] = {{"rendered-lacking", &rendered->lacking},
                 {"rendered-refused", &rendered->refused}};
    if (rc != RESULT_OK) {
        return rc;
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        for (const char *line = buffer_string(lists[i].list); *line != '\0';) {
            size_t length = strcspn(line, "\n");
            rc = buffer_printf(&self->text, "%s: %.*s\r\n", lists[i].name, (int)length, line);
            if (rc != RESULT_OK) {
                return rc;
            }
            line += length + (line[length] == '\n');
        }
    }
    return RESULT_OK;
}

static Result desk_tell_guesses(DeskThread *self, const DeskPage *page, Buffer *lessons)
{
    const Rendered *rendered = &self->rendered;
    bool is_whole = rendered->has_document && rendered->n_lacking == 0;
    GuessesEnd end = is_whole ? GUESSES_KNOWN : GUESSES_UNSURE;
    return guesses_tell(&self->guesses, buffer_string(&self->url), &rendered->lacking,
                        page->n_asks > 0 ? GUESSES_ASKED : end,
                        page->job.job.state == RENDER_JOB_ASKED, lessons);
}

/* What is fetched before the next round: what is lacking, and what a list will ask for behind it.
 * Owned by the caller; NULL without memory. */
static char *desk_lacks(DeskThread *self, bool as_it_is)
{
    unsigned most = as_it_is ? 0 : (unsigned)self->desk->options.config->render_scrolls;
    char *lacks = NULL;
    Buffer all;
    buffer_init(&all, BUFFER_NO_LIMIT);
    Result rc = buffer_append_string(&all, buffer_string(&self->rendered.lacking));
    if (rc == RESULT_OK) {
        (void)render_series_ahead(&self->guesses.series, &self->rendered.lacking, most, &all);
        lacks = strdup(buffer_string(&all));
    }
    buffer_destroy(&all);
    return lacks;
}

static FetchRendering *desk_rendering(DeskThread *self, const DeskPage *page, int64_t cpu_ms)
{
    const Rendered *rendered = &self->rendered;
    FetchRendering *made = calloc(1, sizeof *made);
    Buffer forms;
    buffer_init(&forms, (size_t)4 << 20);
    if (made == NULL || desk_tell(self, page) != RESULT_OK ||
        desk_tell_guesses(self, page, &forms) != RESULT_OK) {
        buffer_destroy(&forms);
        free(made);
        return NULL;
    }
    buffer_init(&made->picture, BUFFER_NO_LIMIT);
    made->is_asking = page->n_asks > 0;
    made->rounds = (uint8_t)(page->job.job.rounds + !made->is_asking);
    made->end = (uint8_t)rendered->end;
    made->is_last = !made->is_asking && (page->job.is_last || !rendered->has_document);
    made->has_document = rendered->has_document;
    made->has_more = page->has_more;
    made->requests = rendered->n_requests;
    made->lacking = rendered->n_lacking;
    made->near = (uint32_t)page->near;
    for (unsigned i = 0; i < RENDER_REFUSALS; i++) {
        made->refused += rendered->n_refused[i];
    }
    made->cpu_ms = (uint32_t)cpu_ms;
    made->text_bytes = (uint32_t)page->shown.text_bytes;
    made->lacks = desk_lacks(self, made->is_asking || made->is_last);
    made->onward = strdup(buffer_string(&rendered->onward));
    made->fields = strdup(buffer_string(&self->text));
    made->forms = strdup(buffer_string(&forms));
    made->shown = page->shown.text_hash;
    buffer_destroy(&forms);
    memcpy(made->source, page->record.bytes, sizeof made->source);
    return made;
}

/* A result for the parsing threads; NULL without memory. */
static FetchResult *desk_result(DeskThread *self, DeskPage *page, int64_t cpu_ms)
{
    FetchResult *result = fetch_result_new(FETCHED_RENDERED);
    if (result == NULL) {
        return NULL;
    }
    result->rendering = desk_rendering(self, page, cpu_ms);
    result->request.has_page = true;
    result->request.again = page->ref.n_crawls > 1;
    result->request.index = page->job.page;
    result->request.hop = page->ref.hop;
    result->request.depth = (uint8_t)(page->ref.depth < UINT8_MAX ? page->ref.depth : UINT8_MAX);
    result->request.url = strdup(buffer_string(&self->url));
    result->host.id = page->ref.host;
    result->answer.status = 200;
    result->cost.wall_start = wall_now();
    result->cost.start = mono_now();
    result->cost.end = result->cost.start;
    Result rc = buffer_append(&result->answer.header, page->header.data, page->header.length);
    if (rc == RESULT_OK) {
        rc = buffer_append(&result->answer.body, buffer_string(&self->rendered.document),
                           self->rendered.document.length);
    }
    if (rc == RESULT_OK && result->rendering != NULL) {
        rc = buffer_append(&result->rendering->picture, buffer_string(&self->rendered.picture),
                           self->rendered.picture.length);
    }
    const FetchRendering *made = result->rendering;
    if (rc != RESULT_OK || made == NULL || made->lacks == NULL || made->onward == NULL ||
        made->fields == NULL || made->forms == NULL || result->request.url == NULL) {
        fetch_result_delete(result);
        return NULL;
    }
    return result;
}

/* Renders the page; a tab that it ends is replaced, and it has another try. A page whose browser
 * ended in company has had none. */
static Result desk_render(DeskThread *self, DeskPage *page, int64_t *cpu_ms)
{
    RenderPage what = {.url = buffer_string(&self->url),
                       .fetched_ms = page->fetched.us / 1000,
                       .cpu_ms = page->job.turn.cpu_ms,
                       .cookies = buffer_string(&page->cookies)};
    RenderSource source = {.ask = guesses_ask, .context = &self->guesses};
    bool is_lost = true;
    bool is_alone = false;
    unsigned left = what.cpu_ms < self->desk->renderer.bounds.cpu_ms ? 1 : DESK_TRIES;
    while (left > 0 && is_lost) {
        uint64_t near = archive_source_near(self->source.archive);
        Result rc = renderer_render(self->renderer, &what, &source, is_alone, &self->rendered);
        left -= !self->rendered.in_company;
        is_alone = is_alone || self->rendered.in_company;
        page->near = archive_source_near(self->source.archive) - near;
        is_lost = rc == RESULT_OK &&
                  (self->rendered.end == RENDER_CRASHED || self->rendered.end == RENDER_MEMORY);
        *cpu_ms += rc == RESULT_OK ? self->rendered.cpu_ms : 0;
        if (is_lost && !atomic_load(&self->desk->jobs.is_closed)) {
            LOG_WARN("render",
                     self->rendered.in_company ? "a browser ended with several pages in it"
                                               : "a page ended its browser",
                     "url=%s end=%s", what.url, render_end_name(self->rendered.end));
        }
        if (atomic_load(&self->desk->jobs.is_closed)) {
            return RESULT_CLOSED;
        }
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return RESULT_OK;
}

/* A page that no browser sees now: it is passed by, or what it will lack is asked for before. */
static Result desk_do_without(DeskThread *self, const DeskPage *page)
{
    Rendered *rendered = &self->rendered;
    rendered_clear(rendered);
    if (page->n_asks == 0) {
        return RESULT_OK;
    }
    desk_jobs_note_asking(&self->desk->jobs, page->job.page);
    rendered->n_lacking = page->n_asks;
    return buffer_append(&rendered->lacking, page->asks.data, page->asks.length);
}

/* How a turn ended in which a browser has seen the page. */
static TurnEnd desk_turn_end(const DeskThread *self, const DeskPage *page, bool is_part,
                             int64_t cpu_ms)
{
    const Rendered *rendered = &self->rendered;
    bool is_settled = rendered->end == RENDER_SETTLED || rendered->end == RENDER_NOTHING;
    bool is_heavy = turns_is_heavy(&self->desk->jobs.turns, &page->job.turn, cpu_ms);
    if (!is_settled || (is_heavy && !page->has_more)) {
        return is_part && self->guesses.n_answered > 0 ? TURN_ANSWERED : TURN_DEAR;
    }
    if (!is_heavy && rendered->n_lacking > 0 && !page->job.is_last) {
        return TURN_UNSEEN;
    }
    return page->has_more ? TURN_FRUITFUL : TURN_CHEAP;
}

/* Ends the page's turn. False: it had a part of its time, which was not enough, and has another
 * turn. */
static bool desk_end_turn(DeskThread *self, DeskPage *page, bool was_seen, int64_t *cpu_ms)
{
    RenderDesk *desk = self->desk;
    RenderEnd end = self->rendered.end;
    bool is_part = page->job.turn.cpu_ms < desk->renderer.bounds.cpu_ms;
    page_verdict_judge(buffer_string(&self->rendered.document), self->rendered.document.length,
                       &page->shown);
    page->has_more = page->shown.text_bytes > page->verdict.text_bytes + DESK_MORE_TEXT ||
                     page->shown.links > page->verdict.links;
    TurnEnd seen = was_seen ? desk_turn_end(self, page, is_part, *cpu_ms) : TURN_UNSEEN;
    desk_jobs_end_turn(&desk->jobs, &page->job, seen, *cpu_ms);
    bool is_stopped = end == RENDER_CPU || end == RENDER_MEMORY || end == RENDER_CRASHED;
    bool is_enough = !was_seen || !is_part || !is_stopped;
    *cpu_ms += is_enough ? self->owed_ms : 0;
    self->owed_ms = is_enough ? 0 : self->owed_ms + *cpu_ms;
    return is_enough;
}

static void desk_page(DeskThread *self, const DeskJob *job)
{
    DeskPage page = {.job = *job};
    int64_t cpu_ms = 0;
    FetchResult *result = NULL;
    buffer_init(&page.header, (size_t)1 << 20);
    buffer_init(&page.cookies, (size_t)1 << 20);
    buffer_init(&page.asks, (size_t)1 << 20);
    thread_step("reading");
    Result rc = desk_load(self, &page);
    bool is_passed = rc == RESULT_OK && desk_is_passed(self, job);
    page.n_asks = is_passed ? 0 : page.n_asks;
    bool is_seen = false;
    if (is_passed || page.n_asks > 0) {
        rc = desk_do_without(self, &page);
    } else if (rc == RESULT_OK) {
        thread_step("rendering");
        rc = desk_render(self, &page, &cpu_ms);
        is_seen = rc == RESULT_OK;
    } else if (rc == RESULT_NOT_FOUND || rc == RESULT_DAMAGED) {
        LOG_WARN("render", "the answer is not in the archive", "page=%" PRIu64 " error=%s",
                 job->page, result_name(rc));
        rc = self->url.length > 0 ? RESULT_OK : rc;
        rendered_clear(&self->rendered);
        page.job.is_last = true;
    }
    bool is_enough = desk_end_turn(self, &page, is_seen, &cpu_ms);
    if (rc == RESULT_OK && is_enough) {
        result = desk_result(self, &page, cpu_ms);
    }
    if (result != NULL) {
        result->rendering->is_passed = is_passed;
        thread_step("waiting for parsing");
        parsing_push(self->desk->options.parsing, result);
    } else if (rc != RESULT_CLOSED && is_enough) {
        LOG_WARN("render", "a page is rendered later", "page=%" PRIu64 " error=%s", job->page,
                 result_name(rc == RESULT_OK ? RESULT_MEMORY : rc));
    }
    if (result == NULL) {
        desk_jobs_give_back(&self->desk->jobs, job->page);
    }
    buffer_destroy(&page.header);
    buffer_destroy(&page.cookies);
    buffer_destroy(&page.asks);
}

static void *desk_main(void *argument)
{
    DeskThread *self = argument;
    DeskJob job;
    while (desk_jobs_take(&self->desk->jobs, &job)) {
        desk_page(self, &job);
    }
    renderer_delete(self->renderer); /* the browser ends with the thread that started it */
    self->renderer = NULL;
    return NULL;
}

/* ---- the outside ---- */

RendererOptions render_desk_browsers(const Config *config)
{
    return (RendererOptions){
        .browser = {.command = config->render_command, .user = config->render_user},
        .bounds = {.timeout_ms = config->render_timeout,
                   .cpu_ms = config->render_cpu_time,
                   .memory_bytes = (uint64_t)config->render_memory,
                   .most_requests = (unsigned)config->render_most_requisites,
                   .most_document = (size_t)config->render_max_document,
                   .scrolls = (unsigned)config->render_scrolls,
                   .wants_picture = config->render_screenshot == RENDER_SCREENSHOT_JPEG},
        .pages_per_context = (unsigned)config->render_pages_per_context};
}

static Result desk_make_thread(RenderDesk *desk, unsigned number)
{
    DeskThread *thread = &desk->threads[number];
    thread->desk = desk;
    thread->number = number;
    rendered_init(&thread->rendered, desk->renderer.bounds.most_document);
    buffer_init(&thread->text, BUFFER_NO_LIMIT);
    buffer_init(&thread->url, BUFFER_NO_LIMIT);
    Result rc =
        crawl_source_init(&thread->source, desk->options.db, buffer_string(&desk->warc),
                          DESK_ANSWER_BYTES, (RenderScopeWord)desk->options.config->render_scope);
    Result guessed =
        guesses_init(&thread->guesses, desk->options.table, desk->options.db, &thread->source);
    rc = result_first(rc, guessed);
    RendererShare *share = &desk->shares[number % desk->options.config->render_processes];
    return rc == RESULT_OK ? renderer_new(&thread->renderer, &desk->renderer, share) : rc;
}

Result render_desk_new(RenderDesk **out, const RenderDeskOptions *options, Buffer *error)
{
    RenderDesk *desk = calloc(1, sizeof *desk);
    Buffer why;
    *out = NULL;
    if (desk == NULL) {
        return RESULT_MEMORY;
    }
    desk->options = *options;
    desk->renderer = render_desk_browsers(options->config);
    desk->renderer.bounds.stop = &desk->jobs.is_closed;
    DeskJobsOptions jobs = {.config = options->config,
                            .db = options->db,
                            .table = options->table,
                            .quiet = options->quiet,
                            .context = options->context,
                            .no_share = options->no_share};
    desk_jobs_init(&desk->jobs, &jobs);
    buffer_init(&desk->warc, BUFFER_NO_LIMIT);
    buffer_init(&why, 8192);
    Result rc = browser_look(&desk->renderer.browser, &why);
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "render.mode: %s", buffer_string(&why));
        rc = RESULT_INVALID;
    }
    buffer_destroy(&why);
    if (rc == RESULT_OK) {
        rc = buffer_printf(&desk->warc, "%s/warc", options->directory);
    }
    for (unsigned i = 0; i < RENDER_DESK_BROWSERS; i++) {
        renderer_share_init(&desk->shares[i]);
    }
    unsigned n = (unsigned)(options->config->render_processes * options->config->render_tabs);
    for (unsigned i = 0; i < n && rc == RESULT_OK; i++) {
        desk->n_threads++;
        rc = desk_make_thread(desk, i);
    }
    if (rc != RESULT_OK) {
        render_desk_delete(desk);
        return rc;
    }
    *out = desk;
    return RESULT_OK;
}

Result render_desk_start(RenderDesk *desk)
{
    for (unsigned i = 0; i < desk->n_threads; i++) {
        char name[24];
        (void)snprintf(name, sizeof name, "render-%u", i);
        Result rc = thread_start(&desk->threads[i].thread, name, desk_main, &desk->threads[i]);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return RESULT_OK;
}

void render_desk_stop(RenderDesk *desk)
{
    desk_jobs_close(&desk->jobs);
    for (unsigned i = 0; i < desk->n_threads; i++) {
        thread_join(&desk->threads[i].thread);
    }
}

void render_desk_delete(RenderDesk *desk)
{
    if (desk == NULL) {
        return;
    }
    for (unsigned i = 0; i < desk->n_threads; i++) {
        DeskThread *thread = &desk->threads[i];
        renderer_delete(thread->renderer);
        guesses_destroy(&thread->guesses);
        crawl_source_destroy(&thread->source);
        rendered_destroy(&thread->rendered);
        buffer_destroy(&thread->text);
        buffer_destroy(&thread->url);
    }
    for (unsigned i = 0; i < RENDER_DESK_BROWSERS; i++) {
        renderer_share_destroy(&desk->shares[i]);
    }
    desk_jobs_destroy(&desk->jobs);
    buffer_destroy(&desk->warc);
    free(desk);
}

bool render_desk_is_idle(RenderDesk *desk)
{
    return desk_jobs_are_idle(&desk->jobs);
}

/* ---- the chore ---- */

static bool desk_chore_holds(void *context)
{
    RenderDesk *desk = context;
    return desk_jobs_hold(&desk->jobs);
}

IngestChore render_desk_chore(RenderDesk *desk)
{
    return (IngestChore){.context = desk, .holds = desk_chore_holds};
}
