/* The parts of a crawl with fixed inputs, one at a time, for counting their instructions.
 *
 *   counts PART      parse resolve digest ingest writer schedule fetch
 *
 * What is set up beforehand is outside of `measured`, which is what tests/counts/run counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/schedule/schedule_read.h"
#include "store/page_tables/page_key.h"
#include "store/pages/page_db_open.h"
#include "base/core/hash.h"
#include "fetch/transfer/fetch_step.h"
#include "frontier/visit/visit_turn.h"
#include "frontier/visit/workbench.h"
#include "parse/html/html.h"
#include "parse/text/digest.h"
#include "parse/url/url.h"
#include "store/pages/page_db.h"
#include "store/schedule/schedule.h"
#include "../bench/documentation_page.h"
#include "../bench/workload.h"

#define URL         "http://docs.example.org/manual/chapter-7/page.html"
#define ROUNDS      20u
#define PAGES       1000u
#define BATCH       250u
#define HOSTS       100u
#define WINDOW      50u
#define TEXT_BYTES  48u
#define SCATTER     617u   /* coprime to PAGES: crawled in another order than found */
#define ROWS        65536u /* of the journal */
#define SCHEDULED   20000u
#define MAP_BYTES   ((size_t)1 << 30)
#define DIRECTORY   "/tmp/ragno-counts-XXXXXX"
#define LEVELS_USED 8u

typedef struct Counted {
    void (*run)(struct Counted *counted);
    Buffer page;
    HtmlParser *parser;
    Digest digest;
    Url base;
    PageDB *db;
    CrawledPage *crawled[PAGES];
    PageWrite writes[PAGES];
    PageLinkKey *keys[PAGES];
    Schedule *schedule;
    Workbench workbench;
    PolitenessOptions politeness;
    FetchRules rules;
} Counted;

static void require(bool holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "counts: %s failed\n", what);
        exit(1);
    }
}

/* What valgrind counts: --toggle-collect=measured. */
void measured(Counted *counted);
__attribute__((noinline)) void measured(Counted *counted)
{
    counted->run(counted);
}

/* ---- parse, resolve, digest ---- */

static void set_up_page(Counted *c)
{
    HtmlOptions options = {.no_digests = true};
    buffer_init(&c->page, BUFFER_NO_LIMIT);
    documentation_page(&c->page);
    require(html_parser_new(&c->parser, &options) == RESULT_OK, "html_parser_new");
    digest_init(&c->digest);
    url_init(&c->base);
    require(url_parse(&c->base, NULL, URL, sizeof URL - 1) == RESULT_OK, "url_parse");
}

static void run_parse(Counted *c)
{
    HtmlInput input = {.body = c->page.data,
                       .length = c->page.length,
                       .content_type = "text/html",
                       .url = URL,
                       .url_length = sizeof URL - 1};
    for (unsigned i = 0; i < ROUNDS; i++) {
        Page page;
        require(html_parse(c->parser, &input, &page) == RESULT_OK && page.n_links > 50,
                "html_parse");
    }
}

static void run_resolve(Counted *c)
{
    static const char *const references[] = {
        "other.html",      "../chapter-8/",
        "/index.html#top", "http://www.example.org/a/b?c=d&e=f",
        "?page=2",         "//cdn.example.net/x.js",
        "a%20b/c.html",    "http://EXAMPLE.com:80/./x/../y"};
    Url url;
    url_init(&url);
    for (unsigned i = 0; i < ROUNDS * 100; i++) {
        const char *reference = references[i % (sizeof references / sizeof *references)];
        require(url_parse(&url, &c->base, reference, strlen(reference)) == RESULT_OK, "url_parse");
    }
    url_destroy(&url);
}

/* Text and tags in turns, and the hash of all bytes. */
static void run_digest(Counted *c)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        Hash128 hash = hash_128(c->page.data, c->page.length);
        require(digest_begin(&c->digest, c->page.length, "docs.example.org", 16) == RESULT_OK,
                "digest_begin");
        for (size_t at = 0; at + 100 <= c->page.length; at += 100) {
            digest_text(&c->digest, c->page.data + at, 100, true);
            digest_tag(&c->digest, 1 + (unsigned)(at / 100 % 5), at % 200 == 0);
        }
        require(digest_finish(&c->digest).simhash != 0 && hash.low != 0, "digest_finish");
    }
}

/* ---- ingest, schedule ---- */

static void set_up_store(Counted *c)
{
    static char directory[] = DIRECTORY;
    PageDBOptions options = {.no_sync = true, .map_bytes = MAP_BYTES};
    MDB_txn *txn = NULL;
    require(mkdtemp(directory) != NULL && page_db_open(&c->db, directory, &options) == 0,
            "page_db_open");
    page_db_set_persist(c->db, 0);
    Workload *workload = workload_new();
    require(workload != NULL, "workload_new");
    for (unsigned i = 0; i < PAGES; i++) {
        WorkloadPage page;
        workload_next(workload, &page);
        c->crawled[i] = workload_crawled_page(workload, &page);
        require(c->crawled[i] != NULL, "workload_crawled_page");
    }
    workload_delete(workload);
    require(page_db_txn_begin(c->db, false, &txn) == 0 &&
                schedule_open(&c->schedule, txn, NULL, NULL) == RESULT_OK &&
                page_db_txn_commit(c->db, txn) == 0,
            "schedule_open");
}

static void tear_down_store(Counted *c)
{
    for (unsigned i = 0; i < PAGES; i++) {
        crawled_page_delete(c->crawled[i]);
    }
    schedule_close(c->schedule);
    (void)page_db_delete(c->db);
}

static void run_ingest(Counted *c)
{
    for (unsigned i = 0; i < PAGES; i += BATCH) {
        const CrawledPage *const *batch = (const CrawledPage *const *)(c->crawled + i);
        require(page_db_add_batch(c->db, batch, BATCH, NULL) == 0, "page_db_add_batch");
    }
}

static void run_writer(Counted *c)
{
    for (unsigned i = 0; i < PAGES; i += BATCH) {
        MDB_txn *txn = NULL;
        require(page_db_txn_begin(c->db, false, &txn) == 0, "page_db_txn_begin");
        require(page_db_write(c->db, txn, c->writes + i, BATCH, NULL) == 0, "page_db_write");
        require(page_db_txn_commit(c->db, txn) == 0, "page_db_txn_commit");
    }
}

/* A page on its way to the writer, with what the parsing threads have found out of its links. */
static PageWrite write_of(Counted *c, const CrawledPage *page, PageLinkKey **keys)
{
    const PageLinks *links = page->links;
    PageOrigin origin;
    page_origin_of(page->url, strlen(page->url), &origin);
    *keys = calloc(links->n_links + 1, sizeof **keys);
    require(*keys != NULL, "calloc");
    for (size_t i = 0; i < links->n_links; i++) {
        const char *url = links->link_info[i].url;
        (*keys)[i] = page_key_of_link(c->db->store, url, strlen(url), &origin);
    }
    return (PageWrite){.page = page, .link_keys = *keys, .status = 200};
}

/* As a crawl of known sites has it: pages and all that they link are known, they are crawled in
 * another order than they were found, and what changes goes through the journal. */
static void set_up_writer(Counted *c)
{
    MDB_txn *txn = NULL;
    require(page_db_txn_begin(c->db, false, &txn) == 0, "page_db_txn_begin");
    for (unsigned i = 0; i < PAGES; i++) {
        const PageLinks *links = c->crawled[i]->links;
        LinkInfo page = {.url = c->crawled[i]->url};
        require(page_db_discover(c->db, txn, &page, NULL, 1, PAGE_DB_NO_INDEX, 0, NULL) == 0 &&
                    page_db_discover(c->db, txn, links->link_info, NULL, links->n_links,
                                     PAGE_DB_NO_INDEX, 0, NULL) == 0,
                "page_db_discover");
        c->writes[i] = write_of(c, c->crawled[i * SCATTER % PAGES], &c->keys[i]);
    }
    require(page_db_txn_commit(c->db, txn) == 0, "page_db_txn_commit");
    journal_set_rows(page_db_journal(c->db), ROWS);
}

/* What is scheduled, read as windows, and taken out. */
static void run_schedule(Counted *c)
{
    MDB_txn *txn = NULL;
    ScheduleItem items[WINDOW];
    size_t n = 0;
    require(page_db_txn_begin(c->db, false, &txn) == 0, "page_db_txn_begin");
    for (uint32_t i = 0; i < SCHEDULED; i++) {
        require(schedule_put(c->schedule, txn, i % HOSTS, i / HOSTS % LEVELS_USED, i) == RESULT_OK,
                "schedule_put");
    }
    for (uint32_t host = 0; host < HOSTS; host++) {
        require(schedule_head(c->schedule, txn, host, NULL, items, WINDOW, &n) == RESULT_OK &&
                    n == WINDOW,
                "schedule_head");
        for (size_t i = 0; i < n; i++) {
            require(schedule_remove(c->schedule, txn, host, items[i].level, items[i].index) ==
                        RESULT_OK,
                    "schedule_remove");
        }
    }
    require(page_db_txn_commit(c->db, txn) == 0, "page_db_txn_commit");
}

/* ---- fetch: from the workbench to the result, without the network ---- */

static void add_host(Counted *c, uint32_t number)
{
    char origin[TEXT_BYTES];
    VisitState *visit_state = NULL;
    size_t bytes = WINDOW * (sizeof(WindowUrl) + TEXT_BYTES);
    WindowUrl *window = calloc(1, bytes);
    int length = snprintf(origin, sizeof origin, "http://host-%u.example", number);
    require(window != NULL &&
                visit_state_new(&visit_state, number, origin, (size_t)length) == RESULT_OK,
            "visit_state_new");
    char *text = (char *)(window + WINDOW);
    for (uint32_t i = 0; i < WINDOW; i++) {
        int n = snprintf(text + TEXT_BYTES * i, TEXT_BYTES, "%s/dir/page-%u.html", origin, i);
        window[i] = (WindowUrl){.index = (uint64_t)number * WINDOW + i,
                                .offset = TEXT_BYTES * i,
                                .length = (uint32_t)n,
                                .level = (uint8_t)(i / 10)};
    }
    visit_state_set_window(visit_state, window, text, WINDOW, bytes);
    snprintf(origin, sizeof origin, "127.1.0.%u", number);
    require(ip_address_parse(origin, strlen(origin), &visit_state->address.ip) == RESULT_OK,
            "ip_address_parse");
    visit_state->address.expiry = MONO_NEVER;
    visit_state->politeness.delay_ms = 1000;
    require(workbench_add(&c->workbench, visit_state, (MonoTime){1}) == RESULT_OK, "workbench_add");
}

static void set_up_fetch(Counted *c)
{
    c->politeness = (PolitenessOptions){.host_delay_ms = 1000, .ip_delay_ms = 500};
    politeness_default_rules(c->politeness.rules);
    c->rules = (FetchRules){.politeness = &c->politeness,
                            .robots = {.agent = "ragno", .expiry_ms = 86400000}};
    workbench_init(&c->workbench, (MonoTime){0});
    for (uint32_t i = 0; i < HOSTS; i++) {
        add_host(c, i);
    }
}

static void drop_result(void *context, FetchResult *result)
{
    (void)context;
    fetch_result_delete(result);
}

static void answer(Counted *c, VisitState *visit_state, FetchResult *result, MonoTime now)
{
    bool is_robots = result->kind == FETCHED_ROBOTS;
    result->cost.end = mono_add_ms(now, 20);
    result->answer.class = FETCH_OK;
    result->answer.status = 200;
    (void)buffer_append_string(&result->answer.header, "HTTP/1.1 200 OK\r\n\r\n");
    (void)buffer_append_string(&result->answer.body,
                               is_robots ? "User-agent: *\nDisallow: /private/\n" : "<p>");
    (void)fetch_step_end(&c->rules, visit_state, result);
    fetch_result_delete(result);
}

static void run_fetch(Counted *c)
{
    FetchRefused refused = {.take = drop_result};
    MonoTime now = {1};
    unsigned n = 0;
    while (n < HOSTS * (WINDOW + 1)) {
        VisitState *visit_state = workbench_acquire(&c->workbench, now);
        if (visit_state == NULL) {
            now = mono_later(mono_add_ms(now, 1), workbench_next_time(&c->workbench));
            continue;
        }
        FetchNow begin = {.mono = now};
        visit_turn_begin(visit_state);
        FetchResult *result = fetch_step_begin(&c->rules, visit_state, &begin, &refused);
        require(result != NULL, "fetch_step_begin");
        answer(c, visit_state, result, now);
        n++;
        if (!workbench_release(&c->workbench, visit_state, mono_add_ms(now, 20))) {
            visit_state_delete(visit_state);
        }
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(Counted *counted);
    } parts[] = {{"parse", run_parse},   {"resolve", run_resolve}, {"digest", run_digest},
                 {"ingest", run_ingest}, {"writer", run_writer},   {"schedule", run_schedule},
                 {"fetch", run_fetch}};
    static Counted counted;
    for (size_t i = 0; argc == 2 && i < sizeof parts / sizeof *parts; i++) {
        if (strcmp(argv[1], parts[i].name) == 0) {
            counted.run = parts[i].run;
        }
    }
    if (counted.run == NULL) {
        (void)fprintf(
            stderr, "counts: expected parse, resolve, digest, ingest, writer, schedule or fetch\n");
        return 2;
    }
    set_up_page(&counted);
    set_up_store(&counted);
    if (strcmp(argv[1], "writer") == 0) {
        set_up_writer(&counted);
    }
    set_up_fetch(&counted);
    measured(&counted);
    VisitState *visit_state = NULL;
    MonoTime end = {INT64_MAX - 1}; /* all of them are due then */
    while ((visit_state = workbench_acquire(&counted.workbench, end)) != NULL) {
        visit_state_delete(visit_state);
    }
    workbench_destroy(&counted.workbench);
    tear_down_store(&counted);
    for (size_t i = 0; i < PAGES; i++) {
        free(counted.keys[i]);
    }
    url_destroy(&counted.base);
    digest_destroy(&counted.digest);
    html_parser_delete(counted.parser);
    buffer_destroy(&counted.page);
    return 0;
}
