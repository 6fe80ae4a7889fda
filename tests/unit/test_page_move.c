/* What becomes of a page and of a host when their slot moves: here, and in the outbox. */
#include "ingest/move/page_move.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents_fixture.h"
#include "ingest/page/ingest_host.h"
#include "store/pages/page_db_read.h"
#include "store/tables/host_rows.h"
#include "unit.h"

enum { LEVELS = 8, MOST_RECORDS = 8 };

static const IngestOptions options = {.config.schedule_levels = LEVELS,
                                      .config.score_depth_factor = 0.5,
                                      .config.scope_depth = 30,
                                      .config.fetch_max_redirects = 4};

typedef struct World {
    ClusterTable table;
    Agent agent; /* 0 of two */
    char host[64];
} World;

static World *set_up(void)
{
    World *w = calloc(1, sizeof *w);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    CU_ASSERT_EQUAL_FATAL(cluster_table_create(&w->table, agents_fixture_uuid, "", 2), RESULT_OK);
    agents_fixture_open(&w->agent, 0, &w->table, &options);
    for (unsigned n = 0;
         n == 0 || cluster_table_owner_of_url(&w->table, w->host, strlen(w->host)) != 0; n++) {
        (void)snprintf(w->host, sizeof w->host, "http://h%u.example", n);
    }
    return w;
}

static void tear_down(World *w)
{
    agents_fixture_close(&w->agent);
    cluster_table_destroy(&w->table);
    free(w);
}

static const char *url_of(const World *w, const char *path)
{
    return agents_fixture_url(w->host, path);
}

static PageRef page_of(World *w, const char *path)
{
    return ingest_fixture_page(&w->agent.ingest, url_of(w, path));
}

static HostRecord record_of(World *w)
{
    HostRecord record;
    StoreFixture *tables = &w->agent.ingest.tables;
    MDB_txn *txn = store_fixture_begin(tables, true);
    CU_ASSERT_EQUAL(host_rows_get(tables->store.hosts, txn, 0, &record), RESULT_OK);
    page_db_txn_abort(tables->store.db, txn);
    return record;
}

/* The result of a known URL: an answer, or a refusal before the fetch. */
static void settle(World *w, const char *path, int status)
{
    ParsedPage *page = agents_fixture_result(&w->agent, url_of(w, path), NULL, 'L', 0);
    page->fetch->kind = status < 0 ? FETCHED_NOTHING : FETCHED_PAGE;
    page->fetch->answer.status = status;
    agents_fixture_commit(&w->agent, &page, 1, NULL, NULL, NULL, true);
}

/* ---- what is in the outbox ---- */

typedef struct Sent {
    LinkRecord links[MOST_RECORDS];
    size_t n_links;
    HostMove hosts[MOST_RECORDS];
    size_t n_hosts;
} Sent;

/* What there is for agent 1; texts are not kept. */
static Sent sent(World *w)
{
    Sent all = {.n_links = 0};
    OutboxRange range;
    Buffer rows = {.limit = BUFFER_NO_LIMIT};
    Result rc = ingest_cluster_read_outbox(&w->agent.cluster, w->agent.ingest.tables.store.db, 1, 0,
                                           SIZE_MAX / 2, &rows, &range);
    WireReader in = wire_reader(rows.data, rc == RESULT_OK ? rows.length : 0);
    while (wire_left(&in) > 0) {
        BlockHeader header;
        const void *body = NULL;
        LinkBlockReader reader;
        CU_ASSERT_EQUAL_FATAL(block_read(&in, &header, &body), BLOCK_GOOD);
        if (header.kind == BLOCK_HOSTS) {
            CU_ASSERT_EQUAL(host_block_read(&header, body, &all.hosts[all.n_hosts]), RESULT_OK);
            CU_ASSERT_TRUE(all.hosts[all.n_hosts].length == strlen(w->host) &&
                           memcmp(all.hosts[all.n_hosts].origin, w->host, strlen(w->host)) == 0);
            all.n_hosts++;
            continue;
        }
        link_block_reader_init(&reader, &header, body);
        while (all.n_links < MOST_RECORDS &&
               link_block_next(&reader, &all.links[all.n_links]) == RESULT_OK) {
            all.links[all.n_links++].url = NULL;
        }
        link_block_reader_destroy(&reader);
    }
    buffer_destroy(&rows);
    return all;
}

/* ---- work in a batch ---- */

typedef struct Work {
    World *w;
    const char *path;
    Result (*page)(Batch *batch, const PageRef *page, uint16_t to);
    bool visits_again; /* schedule.mode = continuous */
    bool known;
    uint64_t urls;
} Work;

static Result work_on_page(Batch *batch, void *context)
{
    const Work *work = context;
    static Revisits *const some = (Revisits *)(uintptr_t)64; /* only whether there are any counts */
    PageRef page;
    uint64_t index = 0;
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    const char *text = url_of(work->w, work->path);
    PageDB *db = batch->store->db;
    CU_ASSERT_EQUAL_FATAL(page_db_find(db, batch->txn, text, strlen(text), &index), 0);
    CU_ASSERT_EQUAL_FATAL(page_db_get(db, batch->txn, index, &page, &url), 0);
    batch->revisits = work->visits_again ? some : NULL;
    Result rc = work->page(batch, &page, 1);
    batch->revisits = NULL;
    buffer_destroy(&url);
    return rc;
}

static void do_page(World *w, const char *path,
                    Result (*what)(Batch *batch, const PageRef *page, uint16_t to),
                    bool visits_again)
{
    Work work = {.w = w, .path = path, .page = what, .visits_again = visits_again};
    agents_fixture_commit(&w->agent, NULL, 0, work_on_page, &work, NULL, true);
}

static Result adopt(Batch *batch, const PageRef *page, uint16_t to)
{
    (void)to;
    return page_move_adopt(batch, page);
}

/* A crawled page is scheduled for its next visit. */
static Result schedule_visit(Batch *batch, const PageRef *page, uint16_t to)
{
    (void)to;
    CU_ASSERT_EQUAL(
        page_db_set_state(batch->store->db, batch->txn, page->index, page->status, 3, page->tries),
        0);
    return schedule_put(batch->store->schedule, batch->txn, page->host, 3, page->index);
}

static Result set_stub(Batch *batch, const PageRef *page, uint16_t to)
{
    (void)to;
    return batch_result_of(batch, page_db_set_flags(batch->store->db, batch->txn, page->index,
                                                    (uint8_t)(page->flags | STUB_FLAG)));
}

/* ---- leaving ---- */

static void a_page_leaves_by_what_became_of_it(void)
{
    static const struct {
        int status;    /* of its result; 0: it had none */
        bool revisits; /* pages are visited again */
        bool is_done;  /* for the new owner */
        uint32_t urls; /* of its host, as they count here then */
        int kept;      /* status */
    } rows[] = {
        {0, false, false, 0, 0},                          /* scheduled: it is there */
        {200, false, true, 1, 200},                       /* fetched here */
        {200, true, false, 1, 200},                       /* and visited again there */
        {404, false, true, 1, 404},                       /* likewise */
        {STATUS_ROBOTS, false, true, 1, STATUS_ROBOTS},   /* refused for good */
        {STATUS_TIMEOUT, false, true, 1, STATUS_TIMEOUT}, /* given up */
        {STATUS_DENIED, false, false, 0, 0},              /* held: the new owner asks its rules */
        {STATUS_SCOPE, true, false, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        World *w = set_up();
        agents_fixture_seed(&w->agent, url_of(w, "/x"));
        if (rows[i].status != 0) {
            settle(w, "/x", rows[i].status);
        }
        do_page(w, "/x", page_move_leave, rows[i].revisits);
        Sent all = sent(w);
        PageRef page = page_of(w, "/x");
        CU_ASSERT_EQUAL_FATAL(all.n_links, 1);
        CU_ASSERT_EQUAL(all.links[0].done, rows[i].is_done);
        CU_ASSERT_TRUE(all.links[0].hop == 'M' && all.links[0].depth == 0);
        CU_ASSERT_TRUE(page_is_stub(&page) && page.level == PAGE_DB_NO_LEVEL);
        CU_ASSERT_EQUAL(page.status, rows[i].kept);
        CU_ASSERT_EQUAL(agents_fixture_scheduled(&w->agent), 0);
        CU_ASSERT_EQUAL(record_of(w).urls, rows[i].urls);
        CU_ASSERT_EQUAL(record_of(w).queued, 0);
        CU_ASSERT_EQUAL(w->agent.cluster.totals.urls_sent, 1);
        tear_down(w);
    }
}

/* A visit that is due is not among the URLs that were never fetched. */
static void a_visit_that_leaves_takes_no_url_from_the_queue(void)
{
    World *w = set_up();
    agents_fixture_seed(&w->agent, url_of(w, "/x"));
    agents_fixture_seed(&w->agent, url_of(w, "/new"));
    settle(w, "/x", 200);
    do_page(w, "/x", schedule_visit, true);
    CU_ASSERT_EQUAL(record_of(w).queued, 1);
    do_page(w, "/x", page_move_leave, true);
    CU_ASSERT_TRUE(record_of(w).queued == 1 && record_of(w).urls == 2);
    CU_ASSERT_EQUAL(agents_fixture_scheduled(&w->agent), 1);
    do_page(w, "/new", page_move_leave, true);
    CU_ASSERT_TRUE(record_of(w).queued == 0 && record_of(w).urls == 1);
    tear_down(w);
}

static void what_was_sent_is_sent_again_as_it_is(void)
{
    World *w = set_up();
    agents_fixture_seed(&w->agent, url_of(w, "/x"));
    agents_fixture_seed(&w->agent, url_of(w, "/y"));
    settle(w, "/x", 200);
    do_page(w, "/x", page_move_leave, false);
    do_page(w, "/y", page_move_leave, false);
    do_page(w, "/x", page_move_tell, false);
    do_page(w, "/y", page_move_tell, false);
    do_page(w, "/y", page_move_leave, false); /* a stub, once more */
    Sent all = sent(w);
    static const bool done[] = {true, false, true, false, false};
    CU_ASSERT_EQUAL_FATAL(all.n_links, 5);
    for (size_t i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL(all.links[i].done, done[i]);
    }
    CU_ASSERT_EQUAL(record_of(w).urls, 1);
    tear_down(w);
}

/* ---- coming ---- */

static void a_stub_is_scheduled_unless_it_is_over(void)
{
    World *w = set_up();
    static const char *const paths[] = {"/new", "/crawled", "/robots"};
    for (size_t i = 0; i < 3; i++) {
        agents_fixture_seed(&w->agent, url_of(w, paths[i]));
    }
    settle(w, "/crawled", 200);
    settle(w, "/robots", STATUS_ROBOTS);
    for (size_t i = 0; i < 3; i++) {
        do_page(w, paths[i], page_move_leave, false);
        do_page(w, paths[i], adopt, false);
        PageRef page = page_of(w, paths[i]);
        CU_ASSERT_FALSE(page_is_stub(&page));
        CU_ASSERT_EQUAL(page.level, i == 0 ? 0 : PAGE_DB_NO_LEVEL);
    }
    CU_ASSERT_EQUAL(agents_fixture_scheduled(&w->agent), 1);
    CU_ASSERT_TRUE(record_of(w).urls == 3 && record_of(w).queued == 1);
    tear_down(w);
}

static Result finish(Batch *batch, const PageRef *page, uint16_t to)
{
    (void)to;
    LinkRecord record = {.url = page->url, .length = page->url_length, .done = true};
    return page_move_finish(batch, &record);
}

static void what_is_done_elsewhere_is_not_fetched(void)
{
    World *w = set_up();
    agents_fixture_seed(&w->agent, url_of(w, "/x"));
    agents_fixture_seed(&w->agent, url_of(w, "/stub"));
    do_page(w, "/stub", set_stub, false);
    for (unsigned round = 0; round < 2; round++) { /* again has no effect */
        do_page(w, "/x", finish, false);
        PageRef page = page_of(w, "/x");
        CU_ASSERT_TRUE(page_is_done(&page) && page.level == PAGE_DB_NO_LEVEL && page.status == 0);
        CU_ASSERT_TRUE(record_of(w).urls == 1 && record_of(w).queued == 1);
    }
    do_page(w, "/x", adopt, false);
    CU_ASSERT_EQUAL(page_of(w, "/x").level, PAGE_DB_NO_LEVEL);
    /* Of a page that was crawled here the bit has another meaning. */
    agents_fixture_seed(&w->agent, url_of(w, "/crawled"));
    settle(w, "/crawled", 200);
    uint8_t flags = page_of(w, "/crawled").flags;
    do_page(w, "/crawled", finish, false);
    CU_ASSERT_EQUAL(page_of(w, "/crawled").flags, flags);
    CU_ASSERT_EQUAL(sent(w).n_links, 0);
    tear_down(w);
}

/* ---- hosts ---- */

static Result close_host(Batch *batch, void *context)
{
    Work *work = context;
    return host_move_close(batch, 0, &work->known);
}

static Result open_host(Batch *batch, void *context)
{
    (void)context;
    return host_move_open(batch, 0);
}

static Result send_host(Batch *batch, void *context)
{
    (void)context;
    return host_move_send(batch, 0, 1);
}

static Result drop_host(Batch *batch, void *context)
{
    Work *work = context;
    return ingest_host_set_aside(batch, batch_host(batch, 0), &work->urls);
}

static Result add_host(Batch *batch, void *context)
{
    const Work *work = context;
    uint32_t id = 0;
    return batch_result_of(batch, page_db_host_add(batch->store->db, batch->txn, work->w->host,
                                                   strlen(work->w->host), &id));
}

static void do_host(World *w, AgentWork what, Work *work)
{
    *work = (Work){.w = w};
    agents_fixture_commit(&w->agent, NULL, 0, what, work, NULL, true);
}

static void a_host_that_leaves_is_parked_and_comes_back_whole(void)
{
    World *w = set_up();
    Work work;
    do_host(w, add_host, &work);
    do_host(w, close_host, &work);
    CU_ASSERT_FALSE(work.known); /* nothing of it was ever scheduled here */
    CU_ASSERT_EQUAL(record_of(w).state, HOST_ACTIVE);
    agents_fixture_seed(&w->agent, url_of(w, "/x"));
    agents_fixture_seed(&w->agent, url_of(w, "/y"));
    for (unsigned round = 0; round < 2; round++) {
        do_host(w, close_host, &work);
        CU_ASSERT_TRUE(work.known && record_of(w).state == HOST_MOVED);
        CU_ASSERT_EQUAL(agents_fixture_scheduled(&w->agent), 0);
    }
    CU_ASSERT_EQUAL(record_of(w).queued, 2);
    for (unsigned round = 0; round < 2; round++) {
        do_host(w, open_host, &work);
        CU_ASSERT_EQUAL(record_of(w).state, HOST_ACTIVE);
        CU_ASSERT_EQUAL(agents_fixture_scheduled(&w->agent), 2);
    }
    do_host(w, drop_host, &work);
    CU_ASSERT_EQUAL(w->agent.ingest.totals.hosts_dropped, 1);
    do_host(w, open_host, &work); /* it has not moved */
    CU_ASSERT_EQUAL(record_of(w).state, HOST_DROPPED);
    do_host(w, close_host, &work);
    CU_ASSERT_EQUAL(w->agent.ingest.totals.hosts_dropped, 0);
    do_host(w, open_host, &work);
    CU_ASSERT_EQUAL(agents_fixture_scheduled(&w->agent), 2);
    tear_down(w);
}

static Result take_host(Batch *batch, void *context)
{
    const Work *work = context;
    HostMove move = {.origin = work->w->host,
                     .length = strlen(work->w->host),
                     .pages = 9,
                     .crawl_delay_ms = 4000,
                     .wait_ms = 60000,
                     .extra_ms = 5,
                     .rested_ms = 6,
                     .failures = 3,
                     .last_failure = FETCH_TIMEOUT};
    return host_move_take(batch, &move);
}

/* The same host as another agent knew it, which was well there. */
static Result take_host_again(Batch *batch, void *context)
{
    const Work *work = context;
    HostMove move = {.origin = work->w->host, .length = strlen(work->w->host), .wait_ms = 10};
    return host_move_take(batch, &move);
}

static void what_a_host_is_owed_here_is_not_shortened_by_what_comes_late(void)
{
    World *w = set_up();
    Work work;
    agents_fixture_seed(&w->agent, url_of(w, "/x"));
    settle(w, "/x", 200);
    do_host(w, take_host, &work);
    int64_t before_ms = record_of(w).not_before_ms;
    do_host(w, take_host_again, &work);
    HostRecord record = record_of(w);
    CU_ASSERT_EQUAL(record.not_before_ms, before_ms);
    CU_ASSERT_TRUE(record.failures == 3 && record.extra_ms == 5 && record.rested_ms == 6);
    tear_down(w);
}

static void what_its_new_owner_must_know_goes_with_the_host(void)
{
    World *w = set_up();
    Work work;
    agents_fixture_seed(&w->agent, url_of(w, "/x"));
    settle(w, "/x", 200);
    for (unsigned round = 0; round < 2; round++) { /* again counts once */
        do_host(w, take_host, &work);
        HostRecord record = record_of(w);
        CU_ASSERT_TRUE(record.pages == 1 && record.elsewhere == 8 && host_pages(&record) == 9);
        CU_ASSERT_TRUE(record.crawl_delay_ms == 4000 && record.failures == 3 &&
                       record.last_failure == FETCH_TIMEOUT);
        CU_ASSERT_TRUE(record.extra_ms == 5 && record.rested_ms == 6);
        CU_ASSERT_EQUAL(record.not_before_ms, record.last_fetch_ms + 60000);
        CU_ASSERT_EQUAL(record.noted_ms, record.last_fetch_ms);
    }
    do_host(w, send_host, &work);
    Sent all = sent(w);
    CU_ASSERT_EQUAL_FATAL(all.n_hosts, 1);
    const HostMove *host = &all.hosts[0];
    CU_ASSERT_TRUE(host->pages == 9 && host->crawl_delay_ms == 4000 && host->failures == 3);
    CU_ASSERT_TRUE(host->extra_ms == 5 && host->rested_ms == 6 &&
                   host->last_failure == FETCH_TIMEOUT);
    CU_ASSERT_TRUE(host->wait_ms <= 60000); /* time has passed since */
    tear_down(w);
}

UNIT_MAIN("page_move", {"a page leaves by what became of it", a_page_leaves_by_what_became_of_it},
          {"a visit that leaves takes no URL from the queue",
           a_visit_that_leaves_takes_no_url_from_the_queue},
          {"what was sent is sent again as it is", what_was_sent_is_sent_again_as_it_is},
          {"a stub is scheduled unless it is over", a_stub_is_scheduled_unless_it_is_over},
          {"what is done elsewhere is not fetched", what_is_done_elsewhere_is_not_fetched},
          {"a host that leaves is parked, and comes back whole",
           a_host_that_leaves_is_parked_and_comes_back_whole},
          {"what its new owner must know goes with the host",
           what_its_new_owner_must_know_goes_with_the_host},
          {"what a host is owed here is not shortened by what comes late",
           what_a_host_is_owed_here_is_not_shortened_by_what_comes_late})
