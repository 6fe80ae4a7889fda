#include "command/import/import_store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "crawl/exit_status.h"
#include "crawl/fault.h"
#include "crawl/run/settings.h"
#include "ingest/page/seed_places.h"
#include "page/parser.h"
#include "parse/host/authority.h"
#include "rules/site/site_book.h"
#include "store/archive/capture_index.h"
#include "store/archive/warc_reader.h"

/* ---- Import fetch ---- */

/* Heritrix stores robots.txt like any other answer; only the URL tells. */
static bool import_fetch_is_robots(const char *url)
{
    Authority at = authority_of(url, strlen(url));
    return strcmp(url + at.end, "/robots.txt") == 0;
}

/* NULL without memory. */
static FetchResult *import_fetch_of(const ImportCapture *capture)
{
    FetchResult *fetch =
        fetch_result_new(import_fetch_is_robots(capture->url) ? FETCHED_ROBOTS : FETCHED_PAGE);
    if (fetch == NULL) {
        return NULL;
    }
    fetch->final = true;
    fetch->request.url = strdup(capture->url);
    /* Without an address the page's record has none. */
    (void)ip_address_parse(capture->ip.bytes, capture->ip.length, &fetch->request.address);
    fetch->answer.status = (int)capture->status;
    fetch->answer.http_version = capture->is_10 ? 10 : 11;
    fetch->answer.truncated = capture->is_cut ? TRUNCATED_UNSPECIFIED : TRUNCATED_NOT;
    /* wall_start is the date of the page, of its record and of its place in the database. The
     * monotonic times are of now: they tell order (compare_places) and are in no record. */
    fetch->cost.wall_start = capture->date;
    fetch->cost.start = mono_now();
    fetch->cost.end = fetch->cost.start;
    fetch->cost.bytes = capture->header.length + capture->body.length;
    /* -1: nobody owed or gave a delay. */
    fetch->cost.owed_ms = -1;
    fetch->cost.given_ms = -1;
    fetch->host.crawl_delay_ms = -1;
    if (fetch->request.url == NULL ||
        buffer_append(&fetch->answer.header, capture->header.bytes, capture->header.length) !=
            RESULT_OK ||
        buffer_append(&fetch->answer.body, capture->body.bytes, capture->body.length) !=
            RESULT_OK) {
        fetch_result_delete(fetch);
        return NULL;
    }
    return fetch;
}

/* ---- Import store ---- */

/* A batch is one transaction, unless its pages have more than BATCH_LINKS links. */
#define BATCH_PAGES 512u
#define BATCH_BYTES ((size_t)64 << 20)
#define BATCH_LINKS ((size_t)1 << 20)

/* The parts of a crawl, between which nothing is fetched:
 *
 *   import_store_add --> batch --parsing_push--> parse-N --parsed--> import_store_commit --> writer
 *
 * and the ones that a crawl has beyond these are stood in for: `nobody` is a queue in which nothing
 * waits, notices of commits are dropped, and nobody is ever hungry, so links go the cheapest way.
 * The has_ flags say what import_store_close has to take apart after a failure in the middle. */
struct ImportStore {
    Config *config; /* borrowed */
    CrawlStore store;
    Buffer warc_directory;
    Archive *archive;
    PayloadIndex payloads; /* a handle of its own, for revisits */
    DedupSteps dedup;
    StaySet *stay;
    SiteBook *sites; /* with render.mode, as the next two */
    RenderWay way;
    IngestRendering rendering;
    Shared scope;
    Shared filters;
    Shared fetch_filter;
    Shared body_filter;
    ScoreRules *score_rules;
    Stats stats;
    CrawlLog *log;
    Parsing *parsing;
    bool parses;
    Queue parsed; /* from the parsing threads */
    bool has_queue;
    Queue nobody; /* what the writer counts as waiting: nothing */
    bool has_nobody;
    IngestWriter writer;
    bool has_writer;
    bool failed; /* nothing can be committed any more */
    bool full;   /* for lack of room */
    FetchResult *batch[BATCH_PAGES];
    size_t n;
    size_t bytes;
    Map urls;  /* of the batch */
    Map rules; /* of an origin -> Robots */
    size_t rules_bytes;
    ImportTotals totals;
};

/* ---- what the parts hand over ---- */

/* Never waits: the queue has room for a whole batch. */
static void import_store_take_parsed(void *context, ParsedPage *page)
{
    ImportStore *import = context;
    (void)queue_push(&import->parsed, page);
}

/* What a crawl does with skipped links, notices and its end, an import has no use for. */
static void import_store_ignore_skipped(void *context, const SkippedLink *link)
{
    (void)context;
    (void)link;
}

static void ignore_committed(void *context, CommitNotice *notice)
{
    (void)context;
    commit_notice_delete(notice);
}

static void ignore_finished(void *context)
{
    (void)context;
}

static bool is_not_hungry(void *context)
{
    (void)context;
    return false;
}

/* An import does not wait for room on the disk: it says so and ends, and is repeated when there is
 * room. What is committed stays. */
static void note_stuck(void *context, bool stuck)
{
    ImportStore *import = context;
    if (stuck) {
        import->full = true;
        ingest_writer_abandon(&import->writer);
    }
}

static void note_failed(void *context, Result why)
{
    ImportStore *import = context;
    import->failed = true;
    if (why == RESULT_DAMAGED) {
        fault_note();
    }
}

/* ---- opening ---- */

static Result import_store_make_rules(ImportStore *import, Buffer *error)
{
    const Config *config = import->config;
    Scope *scope = NULL;
    Result rc = RESULT_OK;
    if (config->scope_stay != STAY_ANYWHERE) {
        rc = stay_set_new(&import->stay, (StayKind)config->scope_stay);
        if (rc != RESULT_OK) {
            return rc;
        }
        rc = seed_places_load(&import->store.tables, import->stay,
                              (unsigned)config->fetch_max_redirects);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    ScopeOptions options = config_scope(config);
    options.stay = import->stay;
    rc = scope_new(&scope, &options, error);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = shared_replace(&import->scope, scope);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc =
        filters_share(&import->filters, &import->fetch_filter, &import->body_filter, config, error);
    if (rc != RESULT_OK || *config->score_rules == '\0') {
        return rc;
    }
    return score_rules_read(&import->score_rules, config->score_rules, error);
}

static Result open_archive(ImportStore *import, Buffer *error)
{
    const Config *config = import->config;
    MDB_txn *txn = NULL;
    Result rc = buffer_printf(&import->warc_directory, "%s/warc", import->store.directory);
    if (rc != RESULT_OK || !config->warc_enabled) {
        return rc;
    }
    rc = archive_open(&import->archive, import->store.directory, config,
                      "ragno/" RAGNO_VERSION " import", import->store.tables.db, error);
    import->store.tables.archive = import->archive;
    /* The handle stays 0 when there is no table yet; then no payload is known. */
    if (rc == RESULT_OK && page_db_txn_begin(import->store.tables.db, true, &txn) == 0) {
        (void)payload_index_open(&import->payloads, txn, false);
        (void)page_db_txn_commit(import->store.tables.db, txn);
    }
    return rc;
}

static Result open_parsing(ImportStore *import, Buffer *error)
{
    (void)error;
    ParsingOptions options = {.config = *import->config,
                              .dedup = import->dedup,
                              .filters = &import->filters,
                              .scope = &import->scope,
                              .score_rules = import->score_rules,
                              .stay = import->stay,
                              .pages = import->store.tables.db};
    Result rc = queue_init(&import->parsed, BATCH_PAGES);
    import->has_queue = rc == RESULT_OK;
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = parsing_new(&import->parsing, &options, import->archive, &import->stats,
                     import_store_take_parsed, import_store_ignore_skipped, import);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = parsing_start(import->parsing);
    import->parses = rc == RESULT_OK;
    return rc;
}

/* Settings of a site hold for its captures, too: whether its pages are rendered is one of them. */
static bool import_store_host_config(void *context, const char *hostname, Config *config)
{
    const ImportStore *import = context;
    site_book_config(import->sites, hostname, config);
    return site_book_has_limits(import->sites);
}

/* Pages that need a browser become jobs, as in a crawl. */
static Result open_rendering(ImportStore *import, Buffer *error)
{
    if (import->store.tables.renders == NULL) {
        return RESULT_OK;
    }
    render_way_init(&import->way, import->store.tables.renders, import_store_host_config, import);
    import->rendering = render_way_hooks(&import->way);
    return site_book_new(&import->sites, import->config, error);
}

static Result open_writer(ImportStore *import, Buffer *error)
{
    (void)error;
    IngestOptions options = ingest_options(import->config);
    IngestSinks sinks = {.context = import,
                         .committed = ignore_committed,
                         .finished = ignore_finished,
                         .hungry = is_not_hungry,
                         .stuck = note_stuck,
                         .failed = note_failed};
    options.dedup = import->dedup;
    options.stay = import->stay;
    options.traps.fetches = 0; /* what is there is taken */
    options.rendering = import->sites == NULL ? NULL : &import->rendering;
    Result rc = crawl_log_open(&import->log, import->store.directory, NULL, false, SKIPPED_OFF);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = queue_init(&import->nobody, 1);
    if (rc != RESULT_OK) {
        return rc;
    }
    import->has_nobody = true;
    /* Set before the call: what ingest_writer_init made until it failed is to be destroyed. */
    import->has_writer = true;
    return ingest_writer_init(&import->writer, &options, &import->store.tables, &sinks, import->log,
                              &import->stats, &import->nobody);
}

static Result open_parts(ImportStore *import, const char *directory, Buffer *error)
{
    /* The rules judge the answers, the archive and the jobs of renderers are written by the writer,
     * and the parsing threads, which are last, hand over to it. */
    static Result (*const parts[])(ImportStore *, Buffer *) = {
        import_store_make_rules, open_archive, open_rendering, open_writer, open_parsing};
    Config *config = import->config;
    Result rc = dedup_parse_steps(config->scope_dedup_key, &import->dedup, error);
    CrawlStoreOptions options = crawl_store_options(config, &import->dedup);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = crawl_store_open(&import->store, directory, &options, error);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = settings_keep_identity(config, directory, error);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = settings_write(config, directory);
    for (size_t i = 0; rc == RESULT_OK && i < sizeof parts / sizeof *parts; i++) {
        rc = parts[i](import, error);
    }
    return rc;
}

int import_store_open(ImportStore **out, const char *command, const char *directory, Config *config)
{
    ImportStore *import = calloc(1, sizeof *import);
    Buffer error = {.limit = BUFFER_NO_LIMIT};
    if (import == NULL) {
        return EXIT_INTERNAL;
    }
    import->config = config;
    import->store.lock = -1;
    buffer_init(&import->warc_directory, BUFFER_NO_LIMIT);
    shared_init(&import->scope, scope_delete);
    shared_init(&import->filters, filters_delete);
    shared_init(&import->fetch_filter, filters_delete_one);
    shared_init(&import->body_filter, filters_delete_one);
    Result rc = open_parts(import, directory, &error);
    if (rc != RESULT_OK) {
        (void)import_store_close(import);
        import = NULL;
    }
    *out = import;
    int status = exit_status_tell(command, rc, &error);
    return status == EXIT_INTERNAL && rc != RESULT_MEMORY ? EXIT_IO : status;
}

static void forget_batch(ImportStore *import)
{
    for (size_t i = 0; i < import->n; i++) {
        fetch_result_delete(import->batch[i]);
    }
    import->n = 0;
    import->bytes = 0;
    map_destroy(&import->urls);
}

/* A part ends before what it writes to: the parsing threads before their queue, the writer
 * before the archive and the tables. */
int import_store_close(ImportStore *import)
{
    int status = import->failed || import->full ? EXIT_IO : 0;
    Robots *robots = NULL;
    forget_batch(import);
    if (import->parses) {
        parsing_stop(import->parsing);
    }
    parsing_delete(import->parsing);
    if (import->has_queue) {
        queue_destroy(&import->parsed);
    }
    if (import->has_writer) {
        ingest_writer_destroy(&import->writer);
    }
    if (import->has_nobody) {
        queue_destroy(&import->nobody);
    }
    /* The last bytes of a WARC file may be lost here, and that is no success. */
    if (archive_close(import->archive) != RESULT_OK) {
        status = EXIT_IO;
    }
    crawl_log_close(import->log);
    score_rules_delete(import->score_rules);
    shared_destroy(&import->scope);
    shared_destroy(&import->filters);
    shared_destroy(&import->fetch_filter);
    shared_destroy(&import->body_filter);
    stay_set_delete(import->stay);
    crawl_store_close(&import->store);
    if (import->rendering.context != NULL) {
        render_way_destroy(&import->way);
        site_book_delete(import->sites);
    }
    map_destroy(&import->urls);
    for (size_t place = 0; (robots = map_next(&import->rules, &place)) != NULL;) {
        robots_delete(robots);
    }
    map_destroy(&import->rules);
    buffer_destroy(&import->warc_directory);
    free(import);
    return status;
}

/* ---- what robots.txt of the archive says ---- */

/* In place of what an earlier one said. Without room the origin has no rules: its pages count as
 * not denied, and the summary tells how many were so (unruled). */
static Result import_store_keep_rules(ImportStore *import, MapKey key, Robots *robots)
{
    Robots *before = map_remove(&import->rules, key);
    /* rules_bytes is the sum of what stands in `rules`, also when the new one has no room. */
    import->rules_bytes -= before == NULL ? 0 : robots_bytes(before);
    robots_delete(before);
    size_t bytes = robots_bytes(robots);
    bool has_room = bytes <= IMPORT_RULES_BYTES - import->rules_bytes;
    Result rc = has_room ? map_put(&import->rules, key, robots) : RESULT_OK;
    if (!has_room || rc != RESULT_OK) {
        robots_delete(robots);
        import->totals.unruled++;
        return rc;
    }
    import->rules_bytes += bytes;
    return RESULT_OK;
}

/* Of a robots.txt, the sitemaps that it names, as for a fetching thread, and its rules; of a page,
 * what the last robots.txt before it says of its use. */
static Result import_store_note_rules(ImportStore *import, FetchResult *fetch)
{
    static const char tdm[] = "/.well-known/tdmrep.json";
    const char *url = fetch->request.url;
    size_t origin = authority_of(url, strlen(url)).end;
    MapKey key = map_key_of(url, origin);
    int class = fetch->answer.status / 100; /* 4: it is not there; redirects and 5 say nothing */
    size_t length = 0;
    const char *text = fetch_result_text(fetch, &length);
    Robots *robots = NULL;
    if (fetch->kind == FETCHED_PAGE) {
        robots = map_get(&import->rules, key);
        if (robots != NULL && class == 2 && strcmp(url + origin, tdm) == 0) {
            (void)robots_add_tdm(robots, text, length);
        } else if (robots != NULL) {
            fetch->request.usage = robots_usage(robots, url + origin, strlen(url + origin), NULL);
        }
        return RESULT_OK;
    }
    /* What was said before stays in force, as for a crawl that cannot reach it. */
    if (class != 2 && class != 4) {
        return RESULT_OK;
    }
    /* A robots.txt that is not there allows everything, so it is an empty one; it takes the place
     * of one that was there before. */
    Result rc = robots_parse(text, class == 2 ? length : 0, import->config->robots_agent, &robots);
    if (rc == RESULT_OK && import->config->scope_sitemaps) {
        fetch_result_note_sitemaps(fetch, robots);
    }
    return rc == RESULT_OK ? import_store_keep_rules(import, key, robots) : rc;
}

/* ---- a capture ---- */

/* A URL is in a batch once: import_store_place compares a capture with what is committed of its
 * page, and would take an older one that stands beside a newer one. Captures are added in the order
 * of the archive, so the rules that a page finds are those of the last robots.txt before it. */

Result import_store_add(ImportStore *import, const ImportCapture *capture)
{
    MapKey key = map_key_of(capture->url, strlen(capture->url));
    if (import->n == BATCH_PAGES || import->bytes >= BATCH_BYTES ||
        map_get(&import->urls, key) != NULL) {
        return RESULT_LIMIT;
    }
    FetchResult *fetch = import_fetch_of(capture);
    /* A set: any value but NULL will do. */
    Result rc = fetch == NULL ? RESULT_MEMORY : map_put(&import->urls, key, import);
    if (rc != RESULT_OK) {
        fetch_result_delete(fetch);
        return rc;
    }
    rc = import_store_note_rules(import, fetch);
    /* Taken into the batch whatever became of its rules: it is counted, and the batch owns it. */
    fetch->request.usage_no_store = (uint8_t)config_usages(import->config);
    import->batch[import->n++] = fetch;
    import->bytes += fetch->cost.bytes;
    return rc;
}

/* ---- the pages of a batch ---- */

/* Pages that nobody has linked to become seeds. In a transaction of its own, because a result needs
 * the index of its page. Killed between the two, the import leaves URLs that are scheduled: the
 * next one makes pages of them, or a crawl fetches them. */
static Result make_known(ImportStore *import)
{
    LinkInfo seeds[BATCH_PAGES];
    PageDB *db = import->store.tables.db;
    MDB_txn *txn = NULL;
    uint64_t added = 0;
    uint64_t index = 0;
    size_t n = 0;
    if (page_db_txn_begin(db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    for (size_t i = 0; i < import->n; i++) {
        char *url = import->batch[i]->request.url;
        if (import->batch[i]->kind == FETCHED_PAGE &&
            page_db_find(db, txn, url, strlen(url), &index) == page_db_error_no_page) {
            /* Borrowed from the batch, which lives longer than the transaction. */
            seeds[n++] = (LinkInfo){.url = url, .score = 1};
        }
    }
    /* The snapshot must be gone before the writer begins: one thread, one transaction. */
    page_db_txn_abort(db, txn);
    return n == 0 ? RESULT_OK : ingest_writer_seeds(&import->writer, seeds, NULL, n, &added);
}

/* Which page and host a result is of. False: it is not to be taken. */
static bool import_store_place(ImportStore *import, MDB_txn *txn, FetchResult *fetch)
{
    PageDB *db = import->store.tables.db;
    const char *url = fetch->request.url;
    size_t length = strlen(url);
    PageRef page = {.n_crawls = 0};
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    bool known = false;
    /* A robots.txt has a host and no page. When none of the host's pages is known, nothing is to be
     * said of it. */
    if (fetch->kind == FETCHED_ROBOTS) {
        Authority at = authority_of(url, length);
        known = page_db_host_find(db, txn, url, at.end, &fetch->host.id) == page_db_error_ok;
    } else {
        known = page_db_find(db, txn, url, length, &fetch->request.index) == page_db_error_ok &&
                page_db_get(db, txn, fetch->request.index, &page, &text) == page_db_error_ok;
    }
    import->totals.refused += known ? 0 : 1;
    /* What a fetching thread would have had from the visit state and the schedule. */
    if (known && fetch->kind == FETCHED_PAGE) {
        fetch->request.has_page = true;
        fetch->request.again = page.n_crawls > 0;
        fetch->request.hop = page.hop;
        fetch->request.depth = (uint8_t)(page.depth > UINT8_MAX ? UINT8_MAX : page.depth);
        fetch->host.id = page.host;
        /* To the microsecond, as a date is stored: equal is not newer, so what was imported before
         * is known. */
        if (page.n_crawls > 0 && llround(page.last_crawl * 1e6) >= fetch->cost.wall_start.us) {
            import->totals.known++;
            known = false;
        }
    }
    buffer_destroy(&text);
    return known;
}

/* Leaves in the batch what is to be taken. */
static Result import_store_place_all(ImportStore *import)
{
    PageDB *db = import->store.tables.db;
    MDB_txn *txn = NULL;
    size_t kept = 0;
    if (page_db_txn_begin(db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    for (size_t i = 0; i < import->n; i++) {
        if (import_store_place(import, txn, import->batch[i])) {
            import->batch[kept++] = import->batch[i];
        } else {
            fetch_result_delete(import->batch[i]);
        }
    }
    import->n = kept;
    page_db_txn_abort(db, txn);
    return RESULT_OK;
}

/* ---- parsing and committing ---- */

/* In the order in which they were added. */
static int compare_places(const void *left, const void *right)
{
    const ParsedPage *const *a = left;
    const ParsedPage *const *b = right;
    int64_t x = (*a)->fetch->cost.start.ns;
    int64_t y = (*b)->fetch->cost.start.ns;
    return (x > y) - (x < y);
}

/* The parsing threads take all of the batch; their pages come back in any order, and are put into
 * that of the captures, by which indices and "first of equal bodies" follow. */
static Result parse_all(ImportStore *import, ParsedPage **pages)
{
    size_t n = 0;
    for (size_t i = 0; i < import->n; i++) {
        parsing_push(import->parsing, import->batch[i]);
    }
    /* Each page that was pushed comes back, whatever became of it (parsing.h), so the loop ends. */
    while (n < import->n) {
        size_t taken = 0;
        void *items[BATCH_PAGES];
        Result rc = queue_pop(&import->parsed, items, BATCH_PAGES, &taken, MONO_NEVER);
        if (rc != RESULT_OK) {
            return rc;
        }
        for (size_t i = 0; i < taken; i++) {
            pages[n++] = items[i];
        }
    }
    qsort(pages, n, sizeof(ParsedPage *), compare_places);
    return RESULT_OK;
}

/* Commits parsed pages and deletes them, in one transaction, unless there are too many links for
 * one. ingest_writer_commit returns nothing: what fails is told to note_failed and note_stuck,
 * and the caller asks `failed` and `full`. */
static void import_store_write_all(ImportStore *import, ParsedPage **pages, size_t n)
{
    size_t first = 0;
    size_t links = 0;
    for (size_t i = 0; i < n; i++) {
        links += pages[i]->links.n + 1;
        import->totals.links += pages[i]->links.n;
        if (links >= BATCH_LINKS || i + 1 == n) {
            ingest_writer_commit(&import->writer, pages + first, i + 1 - first, NULL);
            first = i + 1;
            links = 0;
        }
    }
    for (size_t i = 0; i < n; i++) {
        parsed_page_delete(pages[i]);
    }
}

Result import_store_commit(ImportStore *import)
{
    ParsedPage *pages[BATCH_PAGES] = {NULL};
    Result rc = make_known(import);
    if (rc == RESULT_OK) {
        rc = import_store_place_all(import);
    }
    if (rc == RESULT_OK && import->n > 0) {
        rc = parse_all(import, pages);
        if (rc == RESULT_OK) {
            import_store_write_all(import, pages, import->n);
            import->totals.pages += import->n;
        }
        import->n = 0; /* they are the parsing threads' and gone */
    }
    forget_batch(import);
    /* After any failure nothing more is taken, since the batch is lost. */
    import->failed = import->failed || rc != RESULT_OK;
    if (import->full) {
        return RESULT_FULL;
    }
    return import->failed && rc == RESULT_OK ? RESULT_IO : rc;
}

/* In a read transaction of its own: it sees what is committed, which is why the caller commits
 * first. */
Result import_store_payload(ImportStore *import, const WarcDigest *digest, Buffer *body)
{
    PageDB *db = import->store.tables.db;
    MDB_txn *txn = NULL;
    WarcOriginal original;
    WarcAnswer answer;
    if (import->payloads == 0 || page_db_txn_begin(db, true, &txn) != page_db_error_ok) {
        return RESULT_NOT_FOUND;
    }
    warc_original_init(&original);
    warc_answer_init(&answer);
    Result rc = payload_index_get(import->payloads, db, txn, digest, &original);
    page_db_txn_abort(db, txn);
    if (rc == RESULT_OK) {
        rc = warc_load_payload(buffer_string(&import->warc_directory), original.uri.data,
                               original.uri.length, original.date, digest, &answer);
    }
    if (rc == RESULT_OK) {
        buffer_reset(body);
        rc = buffer_append(body, buffer_string(&answer.body), answer.body.length);
    }
    warc_original_destroy(&original);
    warc_answer_destroy(&answer);
    return rc;
}

const ImportTotals *import_store_totals(const ImportStore *import)
{
    return &import->totals;
}

/* ---- what others push ---- */

/* A time-out is no trouble: nothing was parsed meanwhile. */
Result import_store_take(ImportStore *import, MonoTime deadline, size_t *n)
{
    void *items[BATCH_PAGES];
    ParsedPage *pages[BATCH_PAGES];
    Result rc = queue_pop(&import->parsed, items, BATCH_PAGES, n, deadline);
    if (rc != RESULT_OK) {
        *n = 0;
        return rc == RESULT_TIMEOUT ? RESULT_OK : rc;
    }
    for (size_t i = 0; i < *n; i++) {
        pages[i] = items[i];
    }
    import_store_write_all(import, pages, *n);
    if (import->full) {
        return RESULT_FULL;
    }
    return import->failed ? RESULT_IO : RESULT_OK;
}

Parsing *import_store_parsing(ImportStore *import)
{
    return import->parsing;
}

RenderWay *import_store_way(ImportStore *import)
{
    return import->sites == NULL ? NULL : &import->way;
}

const CrawlStore *import_store_opened(const ImportStore *import)
{
    return &import->store;
}
