#include "render/desk/render_way.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/page/host_groups.h"
#include "ingest/page/page_way.h"
#include "parse/trap/trap.h"
#include "render/crawl_source.h"
#include "render/render_forms.h"

#define WAY_PATTERN 1024 /* bytes of a pattern of paths */

/* Whether one of the patterns of a list, with blanks between them, matches. */
static bool way_is_listed(const char *list, const char *path)
{
    char pattern[WAY_PATTERN];
    for (const char *at = list + strspn(list, " \t"); *at != '\0';) {
        size_t length = strcspn(at, " \t");
        if (length < sizeof pattern) {
            memcpy(pattern, at, length);
            pattern[length] = '\0';
            if (fnmatch(pattern, path, 0) == 0) {
                return true;
            }
        }
        at += length;
        at += strspn(at, " \t");
    }
    return false;
}

/* What is to be done with a page: render.never, render.always, render.mode. */
static RenderModeWord way_mode(const Config *config, const char *path)
{
    if (way_is_listed(config->render_never, path)) {
        return RENDER_MODE_OFF;
    }
    return way_is_listed(config->render_always, path) ? RENDER_MODE_ALWAYS
                                                      : (RenderModeWord)config->render_mode;
}

void render_way_init(RenderWay *way, RenderTable *table,
                     bool (*host_config)(void *context, const char *hostname, Config *config),
                     void *context)
{
    *way = (RenderWay){.table = table, .host_config = host_config, .context = context};
    url_init(&way->url);
    buffer_init(&way->text, BUFFER_NO_LIMIT);
}

void render_way_destroy(RenderWay *way)
{
    url_destroy(&way->url);
    buffer_destroy(&way->text);
}

/* ---- judge: which pages become jobs ---- */

/* The host of way->url, in way->text. */
static Result way_hostname(RenderWay *way)
{
    buffer_reset(&way->text);
    return buffer_append(&way->text, way->url.href + way->url.host_start,
                         way->url.host_end - way->url.host_start);
}

static Result way_pattern(RenderWay *way, uint64_t *pattern)
{
    buffer_reset(&way->text);
    Result rc = trap_pattern(&way->url, &way->text);
    *pattern = hash_64(way->text.data, way->text.length, 0);
    return rc;
}

/* What was learned of the pattern has a say. 0: it is not rendered. */
static Result way_learned(RenderWay *way, MDB_txn *txn, uint64_t page, PageNeed need,
                          uint64_t pattern, uint8_t *weight)
{
    RenderLesson lesson;
    Result rc = render_table_lesson(way->table, txn, pattern, &lesson);
    bool is_known = lesson.rendered >= RENDER_LESSONS;
    uint8_t own = *weight;
    *weight = 0;
    if (rc != RESULT_OK) {
        return rc;
    }
    if (need == PAGE_HAS_SCRIPTS) {
        bool is_fruitful = lesson.fruitful >= lesson.rendered - lesson.rendered / 4;
        *weight = is_known && is_fruitful ? RENDER_WEIGHT_LEARNED : 0;
        return RESULT_OK;
    }
    if (need == PAGE_NEEDS_BROWSER && render_lesson_is_dull(&lesson, page)) {
        lesson.passed++;
        return render_table_learn(way->table, txn, pattern, &lesson);
    }
    *weight = need == PAGE_NEEDS_BROWSER ? own : 0;
    return RESULT_OK;
}

Result render_way_consider(RenderWay *way, MDB_txn *txn, uint64_t page, const char *url,
                           PageNeed need, uint8_t weight, uint32_t signs, bool *wanted)
{
    RenderTotals totals;
    uint64_t pattern = 0;
    *wanted = false;
    if (url_parse(&way->url, NULL, url, strlen(url)) != RESULT_OK) {
        return RESULT_OK;
    }
    Result rc = way_hostname(way);
    if (rc != RESULT_OK) {
        return rc;
    }
    Config config;
    (void)way->host_config(way->context, buffer_string(&way->text), &config);
    RenderModeWord mode = way_mode(&config, way->url.href + way->url.path_start);
    if (mode == RENDER_MODE_OFF) {
        return RESULT_OK;
    }
    rc = way_pattern(way, &pattern);
    if (rc == RESULT_OK && mode == RENDER_MODE_AUTO) {
        rc = way_learned(way, txn, page, need, pattern, &weight);
    } else if (mode == RENDER_MODE_ALWAYS) {
        weight = (uint8_t)(RENDER_WEIGHT_ALWAYS + weight);
    }
    if (rc == RESULT_OK) {
        rc = render_table_totals(way->table, txn, &totals);
    }
    if (rc == RESULT_OK) {
        totals.judged++;
        totals.passed += weight == 0 && need == PAGE_NEEDS_BROWSER;
        rc = render_table_set_totals(way->table, txn, &totals);
    }
    *wanted = weight > 0;
    return rc == RESULT_OK && weight > 0
               ? render_table_want(way->table, txn, page, weight, signs, pattern)
               : rc;
}

static Result way_judge(void *context, Batch *batch, const ParsedPage *page, bool *wanted)
{
    const FetchRequest *request = &page->fetch->request;
    return page->archive.group == NULL /* what is not in the archive cannot be rendered */
               ? RESULT_OK
               : render_way_consider(context, batch->txn, request->index, request->url,
                                     page->verdict.need, page->verdict.need_weight,
                                     page->verdict.need_signs, wanted);
}

/* ---- take: what came of a round ---- */

/* The job of a page as this round leaves it, but for its state. RESULT_NOT_FOUND: it has none any
 * more. */
static Result way_job(RenderWay *way, Batch *batch, const FetchResult *fetch, RenderJob *job,
                      RenderTotals *totals)
{
    const FetchRendering *rendering = fetch->rendering;
    Result rc = render_table_get(way->table, batch->txn, fetch->request.index, job, NULL);
    if (rc == RESULT_OK) {
        rc = render_table_totals(way->table, batch->txn, totals);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    job->rounds = rendering->rounds;
    job->end = rendering->end;
    job->requests = rendering->requests;
    job->lacking = rendering->lacking;
    job->refused = rendering->refused;
    job->text_bytes = rendering->text_bytes;
    job->cpu_ms += rendering->cpu_ms;
    job->time_us = fetch->cost.wall_start.us;
    job->n_requisites = 0;
    totals->rounds += !rendering->is_passed && !rendering->is_asking;
    totals->cpu_ms += rendering->cpu_ms;
    totals->near += rendering->near;
    return RESULT_OK;
}

/* Which of these URLs the crawl is going to fetch. */
static Result way_requisites(Batch *batch, const LinkInfo *links, size_t n, uint64_t *pages,
                             uint32_t *n_pages)
{
    Buffer url;
    buffer_init(&url, BUFFER_NO_LIMIT);
    int rc = page_db_error_ok;
    *n_pages = 0;
    for (size_t i = 0; i < n && rc == page_db_error_ok; i++) {
        PageRef page;
        uint64_t index = 0;
        rc = page_db_find(batch->store->db, batch->txn, links[i].url, strlen(links[i].url), &index);
        if (rc == page_db_error_no_page) {
            rc = page_db_error_ok; /* it was refused */
            continue;
        }
        if (rc == page_db_error_ok) {
            rc = page_db_get(batch->store->db, batch->txn, index, &page, &url);
        }
        if (rc == page_db_error_ok && crawl_source_may_come(&page)) {
            pages[(*n_pages)++] = index;
        }
    }
    buffer_destroy(&url);
    return batch_result_of(batch, rc);
}

/* What the browser lacked is scheduled, as what the page embeds, and waited for. When all of it is
 * refused or known to fail, the page is rendered once more without. */
static Result way_wait(RenderWay *way, Batch *batch, ParsedPage *page, RenderJob *job,
                       RenderTotals *totals)
{
    const FetchResult *fetch = page->fetch;
    size_t n = page->links.n < RENDER_TABLE_REQUISITES ? page->links.n : RENDER_TABLE_REQUISITES;
    PageSink sink = ingest_sink(batch);
    LinkInfo *links = NULL;
    PageRef stored;
    Result rc = ingest_spell_links(batch, page, &links);
    if (rc == RESULT_OK) {
        rc = batch_stored(batch, fetch->request.index, &stored);
    }
    if (rc == RESULT_OK) {
        rc = batch_result_of(batch,
                             page_db_discover(batch->store->db, batch->txn, links, page->links.hops,
                                              n, fetch->request.index, stored.depth + 1, &sink));
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    uint64_t *pages = arena_alloc(&batch->memory, n * sizeof *pages);
    if (pages == NULL) {
        return RESULT_MEMORY;
    }
    rc = way_requisites(batch, links, n, pages, &job->n_requisites);
    if (rc != RESULT_OK) {
        return rc;
    }
    job->state = job->n_requisites > 0 ? RENDER_JOB_LACKING : RENDER_JOB_WAITING;
    if (fetch->rendering->is_asking) {
        job->state = RENDER_JOB_ASKED;
    }
    totals->requisites += job->n_requisites;
    rc = render_table_set_totals(way->table, batch->txn, totals);
    return rc == RESULT_OK
               ? render_table_put(way->table, batch->txn, fetch->request.index, job, pages)
               : rc;
}

/* ---- settle: the links of answer and document together ---- */

/* Links of a page while they are put together, in the batch's memory. */
typedef struct WayLinks {
    LinkInfo *links;
    uint8_t *hops;
    uint8_t *kinds;
    size_t n;
    Map known; /* by URL */
} WayLinks;

static Result way_add_link(WayLinks *all, const char *url, float score, uint8_t hop, uint8_t kind,
                           bool *is_new)
{
    static char yes;
    Hash128 hash = hash_128(url, strlen(url));
    MapKey key = {.high = hash.high, .low = hash.low};
    *is_new = map_get(&all->known, key) == NULL;
    if (!*is_new) {
        return RESULT_OK;
    }
    Result rc = map_put(&all->known, key, &yes);
    if (rc == RESULT_OK) {
        all->links[all->n] = (LinkInfo){.url = (char *)(uintptr_t)url, .score = score};
        all->hops[all->n] = hop;
        all->kinds[all->n++] = kind;
    }
    return rc;
}

/* The links that the answer had: those of an earlier document go. */
static Result way_add_stored(Batch *batch, WayLinks *all, const uint64_t *to, const uint8_t *kinds,
                             size_t n)
{
    Buffer url;
    bool is_new = false;
    buffer_init(&url, BUFFER_NO_LIMIT);
    Result rc = RESULT_OK;
    for (size_t i = 0; i < n; i++) {
        PageRef page;
        uint8_t kind = kinds == NULL ? 0 : kinds[i];
        if (link_kind_of_byte(kind) == LINK_RENDERED) {
            continue;
        }
        rc = batch_result_of(batch, page_db_get(batch->store->db, batch->txn, to[i], &page, &url));
        if (rc != RESULT_OK) {
            goto done;
        }
        const char *copy = arena_copy(&batch->memory, url.data, url.length);
        if (copy == NULL) {
            rc = RESULT_MEMORY;
            goto done;
        }
        rc = way_add_link(all, copy, page.score, page.hop == 0 ? 'L' : page.hop, kind, &is_new);
        if (rc != RESULT_OK) {
            goto done;
        }
    }
done:
    buffer_destroy(&url);
    return rc;
}

static Result way_add_rendered(Batch *batch, WayLinks *all, ParsedPage *page, uint32_t *n_new)
{
    LinkInfo *links = NULL;
    Result rc = host_groups_drop_links(batch, page);
    if (rc == RESULT_OK) {
        rc = ingest_spell_links(batch, page, &links);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    for (size_t i = 0; i < page->links.n; i++) {
        bool is_new = false;
        uint8_t kind = (uint8_t)(LINK_RENDERED | link_flags_of_byte(page->links.kinds[i]) << 5);
        rc = way_add_link(all, links[i].url, links[i].score, page->links.hops[i], kind, &is_new);
        if (rc != RESULT_OK) {
            return rc;
        }
        *n_new += is_new;
    }
    return RESULT_OK;
}

/* Links, score and content of the page are those of its document, whose sketch takes the place of
 * the answer's. A page that was stored before it was to be rendered (ragno render) keeps the hash
 * of its answer, by which its duplicates know it, until it is fetched again. */
static Result way_rewrite(Batch *batch, ParsedPage *page, const WayLinks *all)
{
    PageDB *db = batch->store->db;
    PageSink sink = ingest_sink(batch);
    PageLinks links = {.link_info = all->links, .n_links = all->n};
    CrawledPage crawled = {
        .url = page->fetch->request.url, .links = &links, .score = page->verdict.score};
    PageWrite write = {.page = &crawled, .link_hops = all->hops, .link_kinds = all->kinds};
    uint64_t near = PAGE_DB_NO_INDEX;
    PageRef stored;
    Result rc = batch_stored(batch, page->fetch->request.index, &stored);
    if (rc != RESULT_OK) {
        return rc;
    }
    content_hash_of(page, page->hashes.kind, page->hashes.content);
    if (content_hash_kind(stored.flags) == CONTENT_DOCUMENT) {
        crawled.content_hash = (char *)&page->hashes.content[0];
        crawled.content_hash_length = sizeof page->hashes.content[0];
        write.other_hash = stored.content_hash64 == 0;
    }
    rc = batch_result_of(batch, page_db_relink(db, batch->txn, &write, &sink));
    return rc == RESULT_OK && crawled.content_hash_length > 0
               ? page_way_find_near(batch, page, false, &near)
               : rc;
}

static Result way_relink(Batch *batch, ParsedPage *page, uint32_t *n_new)
{
    PageDB *db = batch->store->db;
    uint64_t index = page->fetch->request.index;
    WayLinks all = {.n = 0};
    uint64_t *to = NULL;
    uint8_t *kinds = NULL;
    size_t n = 0;
    size_t n_diff = 0;
    map_init(&all.known);
    Result rc = batch_result_of(batch, page_db_get_links(db, batch->txn, index, &to, &n, &n_diff));
    if (rc != RESULT_OK) {
        goto done;
    }
    rc = batch_result_of(batch, page_db_get_link_kinds(db, batch->txn, index, n, &kinds));
    if (rc != RESULT_OK) {
        goto done;
    }
    size_t most = n + page->links.n + 1;
    all.links = arena_alloc(&batch->memory, most * sizeof *all.links);
    all.hops = arena_alloc(&batch->memory, most);
    all.kinds = arena_alloc(&batch->memory, most);
    if (all.links == NULL || all.hops == NULL || all.kinds == NULL) {
        rc = RESULT_MEMORY;
        goto done;
    }
    rc = way_add_stored(batch, &all, to, kinds, n);
    if (rc == RESULT_OK) {
        rc = way_add_rendered(batch, &all, page, n_new);
    }
    if (rc == RESULT_OK) {
        rc = way_rewrite(batch, page, &all);
    }
done:
    map_destroy(&all.known);
    free(to);
    free(kinds);
    return rc;
}

/* What the round showed of requisites (guesses.h) goes into the list of the page's shape. */
static Result way_teach_forms(RenderWay *way, Batch *batch, const FetchResult *fetch)
{
    Buffer list;
    uint64_t shape = 0;
    const char *url = fetch->request.url;
    const char *lessons = fetch->rendering->forms;
    if (*lessons == '\0' || url_parse(&way->url, NULL, url, strlen(url)) != RESULT_OK) {
        return RESULT_OK;
    }
    buffer_init(&list, BUFFER_NO_LIMIT);
    Result rc = render_forms_shape(&way->url, &way->text, &shape);
    if (rc == RESULT_OK) {
        rc = render_table_forms(way->table, batch->txn, shape, &list);
    }
    if (rc != RESULT_OK) {
        goto done;
    }
    for (const char *line = lessons; *line != '\0';) {
        size_t length = strcspn(line + 1, "\n");
        rc = render_forms_note(&list, line + 1, length, *line);
        if (rc != RESULT_OK) {
            goto done;
        }
        line += length + 2;
    }
    rc = render_table_set_forms(way->table, batch->txn, shape, &list);
done:
    buffer_destroy(&list);
    return rc;
}

static Result way_teach(RenderWay *way, Batch *batch, const RenderJob *job,
                        const FetchResult *fetch, uint64_t *original)
{
    RenderLesson lesson;
    uint64_t first = 0;
    Result rc = render_table_lesson(way->table, batch->txn, job->pattern, &lesson);
    if (rc != RESULT_OK) {
        return rc;
    }
    lesson.rendered++;
    lesson.fruitful += fetch->rendering->has_more;
    rc = render_table_learn(way->table, batch->txn, job->pattern, &lesson);
    if (rc == RESULT_OK) {
        rc =
            render_query_learn(way->table, batch->txn, fetch->request.url, fetch->rendering->shown);
    }
    if (rc == RESULT_OK) {
        rc = render_table_first(way->table, batch->txn, fetch->host.id, fetch->rendering->shown,
                                fetch->request.index, &first);
        *original = rc == RESULT_OK && first != fetch->request.index ? first : *original;
    }
    return rc;
}

static Result way_settle(RenderWay *way, Batch *batch, ParsedPage *page, RenderJob *job,
                         RenderTotals *totals, uint64_t *original)
{
    const FetchRendering *rendering = page->fetch->rendering;
    Result rc = RESULT_OK;
    job->links = 0;
    if (rendering->has_document) {
        rc = way_relink(batch, page, &job->links);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    job->state = rendering->is_passed ? RENDER_JOB_PASSED : RENDER_JOB_FAILED;
    if (rendering->has_document) {
        job->state = RENDER_JOB_DONE;
    }
    totals->passed += rendering->is_passed;
    rc = render_table_set_totals(way->table, batch->txn, totals);
    if (rc == RESULT_OK) {
        rc = render_table_put(way->table, batch->txn, page->fetch->request.index, job, NULL);
    }
    return rc == RESULT_OK && rendering->has_document
               ? way_teach(way, batch, job, page->fetch, original)
               : rc;
}

static Result way_take(void *context, Batch *batch, ParsedPage *page, uint64_t *original)
{
    RenderWay *way = context;
    RenderJob job;
    RenderTotals totals;
    Result rc = way_job(way, batch, page->fetch, &job, &totals);
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc; /* it was forgotten meanwhile */
    }
    rc = way_teach_forms(way, batch, page->fetch);
    if (rc != RESULT_OK) {
        return rc;
    }
    const FetchRendering *rendering = page->fetch->rendering;
    return rendering->waits || rendering->is_asking
               ? way_wait(way, batch, page, &job, &totals)
               : way_settle(way, batch, page, &job, &totals, original);
}

IngestRendering render_way_hooks(RenderWay *way)
{
    return (IngestRendering){.context = way, .judge = way_judge, .take = way_take};
}
