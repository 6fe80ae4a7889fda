#include <stdlib.h>
#include <string.h>

#include "store/pages/page_db_read.h"
#include "ingest/batch/ingest_batch.h"
#include "ingest/page/page_way.h"
#include "folder_fixture.h"
#include "ingest_fixture.h"
#include "ingest/ingest_writer.h"
#include "ingest/page/ingest_host.h"
#include "page/parsed_page.h"
#include "store/schedule/schedule.h"
#include "unit.h"

#define WALL_US   INT64_C(1700000000000000)
#define MAX_PAGES 8u

typedef struct World {
    IngestFixture ingest;
    ParsedPage *pages[MAX_PAGES];
    size_t n_pages;
    HostPlaces *places;
    bool hungry; /* batches are told so */
    bool woke;   /* the last batch told so */
} World;

static World *set_up(void)
{
    World *w = calloc(1, sizeof *w);
    w->ingest.options = (IngestOptions){.config.schedule_levels = SCHEDULE_DEFAULT_LEVELS,
                                        .config.score_depth_factor = 0.5,
                                        .config.scope_depth = 3,
                                        .config.fetch_max_redirects = 2};
    ingest_fixture_open(&w->ingest);
    return w;
}

static void tear_down(World *w)
{
    ingest_fixture_close(&w->ingest);
    free(w);
}

static uint64_t index_of(World *w, const char *url)
{
    uint64_t index = PAGE_DB_NO_INDEX;
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, true);
    (void)page_db_find(w->ingest.tables.store.db, txn, url, strlen(url), &index);
    page_db_txn_abort(w->ingest.tables.store.db, txn);
    return index;
}

static HostRecord record_of(World *w, uint32_t host)
{
    HostRecord record;
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, true);
    CU_ASSERT_EQUAL(host_rows_get(w->ingest.tables.store.hosts, txn, host, &record), RESULT_OK);
    page_db_txn_abort(w->ingest.tables.store.db, txn);
    return record;
}

static uint64_t scheduled(World *w)
{
    uint64_t entries = 0;
    uint64_t hosts = 0;
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, true);
    CU_ASSERT_EQUAL(schedule_counts(w->ingest.tables.store.schedule, txn, &entries, &hosts),
                    RESULT_OK);
    page_db_txn_abort(w->ingest.tables.store.db, txn);
    return entries;
}

/* A result for a URL that is known, put into the next batch. */
static FetchResult *result(World *w, FetchKind kind, const char *url, int status)
{
    FetchResult *fetch = fetch_result_new(kind);
    fetch->request.url = strdup(url);
    fetch->answer.status = status;
    fetch->answer.class = status < 100 ? FETCH_BROKEN : FETCH_OK;
    fetch->cost.wall_start = (WallTime){WALL_US};
    fetch->cost.start = (MonoTime){1000000000};
    fetch->cost.end = (MonoTime){1200000000};
    fetch->cost.bytes = 1000;
    if (kind != FETCHED_ROBOTS) {
        PageRef page = ingest_fixture_page(&w->ingest, url);
        fetch->request.has_page = true;
        fetch->final = true;
        fetch->request.index = page.index;
        fetch->host.id = page.host;
        fetch->request.level = page.level;
    }
    w->pages[w->n_pages] = parsed_page_new(fetch);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w->pages[w->n_pages]);
    w->n_pages++;
    return fetch;
}

/* Gives the last result a link. */
static void link_to(World *w, const char *url, char hop)
{
    ParsedPage *page = w->pages[w->n_pages - 1];
    size_t length = strlen(url);
    char *memory = malloc(sizeof(LinkInfo) + 1 + length + 1);
    page->links.list = (LinkInfo *)(void *)memory;
    page->links.hops = (uint8_t *)memory + sizeof(LinkInfo);
    page->links.bytes = memory + sizeof(LinkInfo) + 1;
    memcpy(page->links.bytes, url, length + 1);
    page->links.hops[0] = (uint8_t)hop;
    page->links.list[0] = (LinkInfo){.url = page->links.bytes, .score = 1};
    page->links.n = 1;
    page->parsed = true;
}

/* Commits the batch, or aborts it as a crash would; the notice is the caller's. */
static CommitNotice *commit(World *w, bool really)
{
    Batch batch;
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, false);
    CU_ASSERT_EQUAL_FATAL(batch_init(&batch, &w->ingest.options, &w->ingest.tables.store,
                                     w->ingest.log, &w->ingest.totals, txn, w->pages, w->n_pages),
                          RESULT_OK);
    batch.hungry = w->hungry;
    if (w->places != NULL) {
        CU_ASSERT_EQUAL(host_places_apply(w->places, &batch), RESULT_OK);
    }
    CU_ASSERT_EQUAL(page_way_apply(&batch), RESULT_OK);
    CU_ASSERT_EQUAL(batch_finish(&batch), RESULT_OK);
    w->woke = batch.woke;
    CommitNotice *notice = batch_notice(&batch);
    if (really) {
        store_fixture_commit(&w->ingest.tables, txn);
        w->ingest.totals = batch.totals;
        if (w->places != NULL) {
            host_places_settle(w->places);
        }
    } else {
        page_db_txn_abort(w->ingest.tables.store.db, txn);
    }
    batch_destroy(&batch);
    for (size_t i = 0; i < w->n_pages; i++) {
        parsed_page_delete(w->pages[i]);
    }
    w->n_pages = 0;
    return notice;
}

static void a_result_and_its_links_are_one_commit(void)
{
    World *w = set_up();
    ingest_fixture_seed(&w->ingest, "http://a.example/");
    CU_ASSERT_EQUAL(scheduled(w), 1);
    (void)result(w, FETCHED_PAGE, "http://a.example/", 200);
    link_to(w, "http://b.example/x", 'L');
    commit_notice_delete(commit(w, false)); /* a crash before the commit: nothing happened */
    CU_ASSERT_EQUAL(scheduled(w), 1);
    CU_ASSERT_EQUAL(index_of(w, "http://b.example/x"), PAGE_DB_NO_INDEX);
    CU_ASSERT_EQUAL(w->ingest.totals.pages, 0);
    (void)result(w, FETCHED_PAGE, "http://a.example/", 200);
    link_to(w, "http://b.example/x", 'L');
    CommitNotice *notice = commit(w, true);
    CU_ASSERT_EQUAL(scheduled(w), 1);
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, "http://a.example/").status, 200);
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, "http://a.example/").level, SCHEDULE_NO_LEVEL);
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, "http://b.example/x").depth, 1);
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, "http://b.example/x").level,
                    1); /* score 1 * 0.5^1 */
    CU_ASSERT_EQUAL(w->ingest.totals.pages, 1);
    CU_ASSERT_EQUAL(record_of(w, ingest_fixture_page(&w->ingest, "http://a.example/").host).pages,
                    1);
    CU_ASSERT_TRUE(notice->n_done == 1 && notice->done[0].index == 0);
    CU_ASSERT_TRUE(notice->n_hosts == 1 &&
                   notice->hosts[0].host ==
                       ingest_fixture_page(&w->ingest, "http://b.example/x").host);
    CU_ASSERT_EQUAL(notice->n_dropped, 0);
    commit_notice_delete(notice);
    tear_down(w);
}

static void a_retry_stays_scheduled_and_keeps_its_back_off(void)
{
    World *w = set_up();
    ingest_fixture_seed(&w->ingest, "http://a.example/");
    FetchResult *fetch = result(w, FETCHED_PAGE, "http://a.example/", STATUS_TIMEOUT);
    fetch->answer.class = FETCH_TIMEOUT;
    fetch->final = false;
    fetch->host.health = (HostHealth){.failures = 2, .last = FETCH_TIMEOUT};
    fetch->host.wait_ms = 120000;
    CommitNotice *notice = commit(w, true);
    CU_ASSERT_EQUAL(notice->n_done, 0);
    commit_notice_delete(notice);
    CU_ASSERT_EQUAL(scheduled(w), 1);
    HostRecord record = record_of(w, 0);
    CU_ASSERT_EQUAL(record.failures, 2);
    CU_ASSERT_EQUAL(record.last_failure, FETCH_TIMEOUT);
    CU_ASSERT_EQUAL(record.not_before_ms, WALL_US / 1000 + 200 + 120000 + HOST_WAIT_ROUNDING_MS);
    CU_ASSERT_EQUAL(w->ingest.totals.retries, 1);
    tear_down(w);
}

/* How often the URLs of a host have failed that will be tried again, and until when. */
static void what_is_tried_again_is_counted(void)
{
    World *w = set_up();
    int64_t end_ms = WALL_US / 1000 + 200;
    ingest_fixture_seed(&w->ingest, "http://a.example/");
    ingest_fixture_seed(&w->ingest, "http://a.example/b");
    for (uint8_t tries = 1; tries <= 2; tries++) {
        FetchResult *fetch = result(w, FETCHED_PAGE, "http://a.example/", 500);
        fetch->answer.class = FETCH_SERVER;
        fetch->final = false;
        fetch->request.tries_before = tries - 1;
        fetch->request.tries = tries;
        fetch->host.url_left_ms = 30000 / tries;
        commit_notice_delete(commit(w, true));
        HostRecord record = record_of(w, 0);
        CU_ASSERT_TRUE(record.retried == 1 && record.failed_tries == tries);
        CU_ASSERT_EQUAL(record.retried_until_ms, end_ms + 30000);
    }
    FetchResult *fetch = result(w, FETCHED_PAGE, "http://a.example/b", 500);
    fetch->answer.class = FETCH_SERVER;
    fetch->final = false;
    fetch->request.tries = 1;
    commit_notice_delete(commit(w, true));
    CU_ASSERT_TRUE(record_of(w, 0).retried == 2 && record_of(w, 0).failed_tries == 3);
    fetch = result(w, FETCHED_PAGE, "http://a.example/", 200);
    fetch->request.tries_before = 2;
    commit_notice_delete(commit(w, true));
    CU_ASSERT_TRUE(record_of(w, 0).retried == 1 && record_of(w, 0).failed_tries == 1);
    tear_down(w);
}

static void a_retry_after_outlives_the_url_it_ended(void)
{
    World *w = set_up();
    ingest_fixture_seed(&w->ingest, "http://a.example/");
    ingest_fixture_seed(&w->ingest, "http://a.example/no");
    FetchResult *fetch = result(w, FETCHED_PAGE, "http://a.example/", 503);
    fetch->answer.class = FETCH_BUSY;
    fetch->host.wait_ms = 3600000; /* its tries are used up: failures are 0 again */
    commit_notice_delete(commit(w, true));
    CU_ASSERT_EQUAL(record_of(w, 0).not_before_ms,
                    WALL_US / 1000 + 200 + 3600000 + HOST_WAIT_ROUNDING_MS);
    /* A URL that robots.txt refuses is no fetch: it changes nothing of that. */
    fetch = result(w, FETCHED_NOTHING, "http://a.example/no", STATUS_ROBOTS);
    fetch->answer.class = FETCH_OK;
    commit_notice_delete(commit(w, true));
    CU_ASSERT_EQUAL(record_of(w, 0).not_before_ms,
                    WALL_US / 1000 + 200 + 3600000 + HOST_WAIT_ROUNDING_MS);
    CU_ASSERT_EQUAL(record_of(w, 0).robots_denied, 1);
    fetch = result(w, FETCHED_NOTHING, "http://a.example/no", STATUS_DNS);
    fetch->request.has_page = false; /* nor does a name that fails meanwhile */
    fetch->host.wait_ms = 300000;
    commit_notice_delete(commit(w, true));
    CU_ASSERT_EQUAL(record_of(w, 0).not_before_ms,
                    WALL_US / 1000 + 200 + 3600000 + HOST_WAIT_ROUNDING_MS);
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, "http://a.example/no").status, STATUS_ROBOTS);
    CU_ASSERT_EQUAL(w->ingest.totals.refused[REFUSED_ROBOTS], 1);
    CU_ASSERT_EQUAL(scheduled(w), 0);
    tear_down(w);
}

static void a_url_given_up_leaves_with_its_reason(void)
{
    World *w = set_up();
    ingest_fixture_seed(&w->ingest, "http://a.example/");
    FetchResult *fetch = result(w, FETCHED_PAGE, "http://a.example/", STATUS_TIMEOUT);
    fetch->answer.class = FETCH_TIMEOUT;
    CommitNotice *notice = commit(w, true);
    CU_ASSERT_EQUAL(notice->n_done, 1);
    commit_notice_delete(notice);
    CU_ASSERT_EQUAL(scheduled(w), 0);
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, "http://a.example/").status, STATUS_TIMEOUT);
    CU_ASSERT_EQUAL(w->ingest.totals.by_status[0], 1);
    CU_ASSERT_EQUAL(w->ingest.totals.pages, 0);
    tear_down(w);
}

/* Puts a crawled page back on the schedule, as a revisit would. */
static void schedule_again(World *w, const char *url)
{
    PageRef page = ingest_fixture_page(&w->ingest, url);
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, false);
    CU_ASSERT_EQUAL(schedule_put(w->ingest.tables.store.schedule, txn, page.host, 0, page.index),
                    RESULT_OK);
    CU_ASSERT_EQUAL(
        page_db_set_state(w->ingest.tables.store.db, txn, page.index, page.status, 0, 0), 0);
    store_fixture_commit(&w->ingest.tables, txn);
}

static void what_is_confirmed_or_fails_keeps_content_links_and_status(void)
{
    static const int answers[] = {304, 404, 500, STATUS_TIMEOUT};
    World *w = set_up();
    ingest_fixture_seed(&w->ingest, "http://a.example/");
    (void)result(w, FETCHED_PAGE, "http://a.example/", 200);
    link_to(w, "http://a.example/1", 'L');
    w->pages[w->n_pages - 1]->hashes.body[0] = 7;
    commit_notice_delete(commit(w, true));
    PageRef before = ingest_fixture_page(&w->ingest, "http://a.example/");
    for (uint64_t i = 0; i < 4; i++) {
        schedule_again(w, "http://a.example/");
        FetchResult *fetch = result(w, FETCHED_PAGE, "http://a.example/", answers[i]);
        fetch->request.again = true;
        fetch->answer.class = answers[i] < 100 ? FETCH_TIMEOUT : FETCH_OK;
        commit_notice_delete(commit(w, true));
        PageRef after = ingest_fixture_page(&w->ingest, "http://a.example/");
        uint64_t *links = NULL;
        size_t n = 0;
        size_t n_diff = 0;
        MDB_txn *txn = store_fixture_begin(&w->ingest.tables, true);
        CU_ASSERT_EQUAL(
            page_db_get_links(w->ingest.tables.store.db, txn, after.index, &links, &n, &n_diff), 0);
        page_db_txn_abort(w->ingest.tables.store.db, txn);
        free(links);
        CU_ASSERT_EQUAL(n, 1);
        CU_ASSERT_EQUAL(after.n_crawls, i < 3 ? i + 2 : 4); /* no answer is no crawl */
        CU_ASSERT_EQUAL(after.n_changes, 0);
        CU_ASSERT_EQUAL(after.content_hash64, before.content_hash64);
        CU_ASSERT_EQUAL(after.status, 200);
        CU_ASSERT_EQUAL(after.level, SCHEDULE_NO_LEVEL);
        CU_ASSERT_EQUAL(scheduled(w), 1); /* the link */
        CU_ASSERT_EQUAL(record_of(w, 0).pages, 1);
    }
    tear_down(w);
}

static void a_page_that_changed_counts_once_among_the_pages_of_its_host(void)
{
    World *w = set_up();
    ingest_fixture_seed(&w->ingest, "http://a.example/");
    for (uint64_t i = 0; i < 3; i++) {
        FetchResult *fetch = result(w, FETCHED_PAGE, "http://a.example/", i == 0 ? 404 : 200);
        fetch->request.again = i > 0;
        w->pages[w->n_pages - 1]->hashes.body[0] = 7 + i;
        commit_notice_delete(commit(w, true));
        CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, "http://a.example/").n_changes, i);
        CU_ASSERT_EQUAL(record_of(w, 0).pages, i > 0);
        schedule_again(w, "http://a.example/");
    }
    tear_down(w);
}

static void parked_are(World *w, uint64_t entries, uint64_t hosts)
{
    uint64_t n_entries = 0;
    uint64_t n_hosts = 0;
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, true);
    CU_ASSERT_EQUAL(
        schedule_parked_counts(w->ingest.tables.store.schedule, txn, &n_entries, &n_hosts),
        RESULT_OK);
    page_db_txn_abort(w->ingest.tables.store.db, txn);
    CU_ASSERT_EQUAL(n_entries, entries);
    CU_ASSERT_EQUAL(n_hosts, hosts);
}

/* A host of three URLs, of which the first one's last try has failed; b.example has one. */
static void drop_a(World *w, bool park)
{
    ingest_fixture_seed(&w->ingest, "http://a.example/");
    ingest_fixture_seed(&w->ingest, "http://a.example/1");
    ingest_fixture_seed(&w->ingest, "http://a.example/2");
    ingest_fixture_seed(&w->ingest, "http://b.example/");
    FetchResult *fetch = result(w, FETCHED_PAGE, "http://a.example/", STATUS_CONNECT);
    fetch->answer.class = FETCH_REFUSED;
    fetch->final = false;
    fetch->host.drop = !park;
    fetch->host.park = park;
    CommitNotice *notice = commit(w, true);
    CU_ASSERT_TRUE(notice->n_dropped == 1 && notice->dropped[0] == 0);
    commit_notice_delete(notice);
}

static void a_dropped_host_is_set_aside_with_its_urls(void)
{
    for (int park = 0; park < 2; park++) {
        World *w = set_up();
        drop_a(w, park == 1);
        CU_ASSERT_EQUAL(scheduled(w), 1);
        parked_are(w, 3, 1);
        CU_ASSERT_EQUAL(record_of(w, 0).state, park == 1 ? HOST_PARKED : HOST_DROPPED);
        CU_ASSERT_EQUAL(record_of(w, 0).drop_class, FETCH_REFUSED);
        CU_ASSERT_TRUE(record_of(w, 0).parked_ms > 0);
        CU_ASSERT_EQUAL(w->ingest.totals.hosts_dropped, park == 1 ? 0 : 1);
        CU_ASSERT_EQUAL(w->ingest.totals.refused[REFUSED_HOST], 0);
        (void)result(w, FETCHED_PAGE, "http://b.example/", 200);
        link_to(w, "http://a.example/3", 'L');
        CommitNotice *notice = commit(w, true);
        CU_ASSERT_EQUAL(notice->n_hosts, 0);
        commit_notice_delete(notice);
        CU_ASSERT_EQUAL(scheduled(w), 0);
        parked_are(w, 4, 1);
        tear_down(w);
    }
}

static void a_seed_brings_its_host_back(void)
{
    World *w = set_up();
    drop_a(w, false);
    ingest_fixture_seed(&w->ingest, "http://b.example/other"); /* another host's */
    parked_are(w, 3, 1);
    ingest_fixture_seed(&w->ingest, "http://a.example/1");
    parked_are(w, 0, 0);
    CU_ASSERT_EQUAL(scheduled(w), 5);
    HostRecord record = record_of(w, 0);
    CU_ASSERT_TRUE(record.state == HOST_ACTIVE && record.failures == 0 && record.parked_ms == 0 &&
                   record.not_before_ms == 0);
    CU_ASSERT_EQUAL(w->ingest.totals.hosts_dropped, 0);
    tear_down(w);
}

static void a_revived_host_is_told_to_the_distributor(void)
{
    World *w = set_up();
    drop_a(w, true);
    Batch batch;
    uint64_t urls = 0;
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, false);
    CU_ASSERT_EQUAL_FATAL(batch_init(&batch, &w->ingest.options, &w->ingest.tables.store,
                                     w->ingest.log, &w->ingest.totals, txn, NULL, 0),
                          RESULT_OK);
    CU_ASSERT_EQUAL(ingest_host_revive(&batch, batch_host(&batch, 0), &urls), RESULT_OK);
    CU_ASSERT_EQUAL(urls, 3);
    CU_ASSERT_EQUAL(ingest_host_revive(&batch, batch_host(&batch, 0), &urls), RESULT_OK);
    CU_ASSERT_EQUAL(urls, 0); /* it is back */
    CU_ASSERT_EQUAL(ingest_host_revive(&batch, batch_host(&batch, 1), &urls), RESULT_OK);
    CU_ASSERT_EQUAL(urls, 0); /* and this one was never away */
    CU_ASSERT_EQUAL(batch_finish(&batch), RESULT_OK);
    CommitNotice *notice = batch_notice(&batch);
    CU_ASSERT_TRUE_FATAL(notice->n_hosts == 1 && notice->n_dropped == 0);
    CU_ASSERT_TRUE(notice->hosts[0].host == 0 && notice->hosts[0].revived);
    commit_notice_delete(notice);
    batch_destroy(&batch);
    store_fixture_commit(&w->ingest.tables, txn);
    parked_are(w, 0, 0);
    CU_ASSERT_EQUAL(scheduled(w), 4);
    tear_down(w);
}

/* Hosts that wait, first one first. */
static size_t waits(World *w, WaitEntry entries[4])
{
    size_t n = 0;
    uint64_t count = 0;
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, true);
    CU_ASSERT_EQUAL(wait_rows_read(w->ingest.tables.store.waits, txn, NULL, entries, 4, &n),
                    RESULT_OK);
    CU_ASSERT_EQUAL(lmdb_count(txn, w->ingest.tables.store.waits, &count, "count waits"),
                    RESULT_OK);
    CU_ASSERT_EQUAL(count, n);
    page_db_txn_abort(w->ingest.tables.store.db, txn);
    return n;
}

/* A failure of a host's page that is tried again. */
static FetchResult *fail(World *w, const char *url, FetchClass why, unsigned failures,
                         int64_t wait_ms)
{
    FetchResult *fetch = result(w, FETCHED_PAGE, url, fetch_status_of_class(why));
    fetch->answer.class = why;
    fetch->final = false;
    fetch->host.health = (HostHealth){.failures = failures, .last = why};
    fetch->host.wait_ms = wait_ms;
    return fetch;
}

static void who_waits_for_what_is_known(void)
{
    World *w = set_up();
    WaitEntry entries[4];
    ingest_fixture_seed(&w->ingest, "http://a.example/");
    ingest_fixture_seed(&w->ingest, "http://b.example/");
    ingest_fixture_seed(&w->ingest, "http://c.example/");
    CU_ASSERT_EQUAL(waits(w, entries), 0);
    fail(w, "http://a.example/", FETCH_REFUSED, 1, 600000);
    fail(w, "http://b.example/", FETCH_TIMEOUT, 2, 60000);
    (void)result(w, FETCHED_PAGE, "http://c.example/", 200);
    commit_notice_delete(commit(w, true));
    CU_ASSERT_EQUAL_FATAL(waits(w, entries), 2);
    int64_t end_ms = WALL_US / 1000 + 200 + HOST_WAIT_ROUNDING_MS;
    CU_ASSERT_TRUE(entries[0].host == 1 && entries[0].class == FETCH_TIMEOUT &&
                   entries[0].failures == 2 && entries[0].until_ms == end_ms + 60000);
    CU_ASSERT_TRUE(entries[1].host == 0 && entries[1].class == FETCH_REFUSED &&
                   entries[1].until_ms == end_ms + 600000);
    /* A further failure moves it, a success ends it, and so does giving up. */
    fail(w, "http://b.example/", FETCH_TIMEOUT, 3, 1200000);
    commit_notice_delete(commit(w, true));
    CU_ASSERT_EQUAL_FATAL(waits(w, entries), 2);
    CU_ASSERT_TRUE(entries[0].host == 0 && entries[1].host == 1 && entries[1].failures == 3);
    (void)result(w, FETCHED_PAGE, "http://b.example/", 200);
    commit_notice_delete(commit(w, true));
    CU_ASSERT_EQUAL(waits(w, entries), 1);
    FetchResult *last = result(w, FETCHED_PAGE, "http://a.example/", STATUS_CONNECT);
    last->host.drop = true;
    commit_notice_delete(commit(w, true));
    CU_ASSERT_EQUAL(waits(w, entries), 0);
    tear_down(w);
}

/* A robots.txt that leads out of reach: the distributor tells at once that the host waits, and its
 * redirect comes behind it, out of a parser. */
static void what_was_judged_earlier_does_not_undo_a_failure(void)
{
    World *w = set_up();
    WaitEntry entries[4];
    ingest_fixture_seed(&w->ingest, "http://a.example/");
    for (unsigned i = 1; i <= 3; i++) {
        uint16_t judgements = (uint16_t)(i * 30000); /* it wraps */
        fail(w, "http://a.example/", FETCH_ROBOTS_ERROR, i, i * 300000)->host.health.judgements =
            judgements;
        commit_notice_delete(commit(w, true));
        FetchResult *earlier = result(w, FETCHED_ROBOTS, "http://a.example/robots.txt", 301);
        earlier->host.health = (HostHealth){.judgements = (uint16_t)(judgements - 1)};
        commit_notice_delete(commit(w, true));
        CU_ASSERT_EQUAL_FATAL(waits(w, entries), 1);
        CU_ASSERT_TRUE(entries[0].class == FETCH_ROBOTS_ERROR && entries[0].failures == i);
    }
    FetchResult *later = result(w, FETCHED_ROBOTS, "http://a.example/robots.txt", 200);
    later->host.health = (HostHealth){.judgements = (uint16_t)(3 * 30000 + 1)};
    commit_notice_delete(commit(w, true));
    CU_ASSERT_EQUAL(waits(w, entries), 0);
    tear_down(w);
}

static void a_full_host_gets_no_more(void)
{
    World *w = set_up();
    w->ingest.options.limits.pages_per_host = 1;
    ingest_fixture_seed(&w->ingest, "http://a.example/");
    ingest_fixture_seed(&w->ingest, "http://a.example/1");
    (void)result(w, FETCHED_PAGE, "http://a.example/", 404); /* does not count */
    commit_notice_delete(commit(w, true));
    CU_ASSERT_EQUAL(record_of(w, 0).state, HOST_ACTIVE);
    ingest_fixture_seed(&w->ingest, "http://a.example/2");
    (void)result(w, FETCHED_PAGE, "http://a.example/1", 200);
    link_to(w, "http://a.example/3", 'L');
    CommitNotice *notice = commit(w, true);
    CU_ASSERT_EQUAL(notice->n_dropped, 1);
    commit_notice_delete(notice);
    CU_ASSERT_EQUAL(record_of(w, 0).state, HOST_FULL);
    CU_ASSERT_EQUAL(scheduled(w), 0);
    CU_ASSERT_EQUAL(w->ingest.totals.refused[REFUSED_QUOTA], 2);
    tear_down(w);
}

static void equal_bodies_of_a_host_are_duplicates(void)
{
    static const bool follow[] = {false, true};
    for (size_t i = 0; i < 2; i++) {
        World *w = set_up();
        w->ingest.options.config.parse_follow_duplicates = follow[i];
        ingest_fixture_seed(&w->ingest, "http://a.example/");
        ingest_fixture_seed(&w->ingest, "http://a.example/copy");
        ingest_fixture_seed(&w->ingest, "http://b.example/copy");
        static const char *const urls[] = {"http://a.example/", "http://a.example/copy",
                                           "http://b.example/copy"};
        for (size_t j = 0; j < 3; j++) {
            char target[64];
            (void)snprintf(target, sizeof target, "http://c.example/%zu", j);
            (void)result(w, FETCHED_PAGE, urls[j], 200);
            link_to(w, target, 'L');
            w->pages[w->n_pages - 1]->hashes.body[0] = 7;
        }
        commit_notice_delete(commit(w, true));
        CU_ASSERT_EQUAL(w->ingest.totals.duplicates, 1); /* another host's copy is none */
        CU_ASSERT_EQUAL(record_of(w, ingest_fixture_page(&w->ingest, urls[0]).host).duplicates, 1);
        CU_ASSERT_EQUAL(scheduled(w), follow[i] ? 3 : 2);
        CU_ASSERT_EQUAL(index_of(w, "http://c.example/1") != PAGE_DB_NO_INDEX, follow[i]);
        tear_down(w);
    }
}

/* Of the text with this number; 0: of one that is too short. */
static TextSketch sketch_of(uint64_t text)
{
    SketchBins bins = {.most = {0}};
    for (uint64_t i = 0; i < 300; i++) {
        sketch_add(&bins, hash_mix(text * 1000 + i));
    }
    return sketch_of_bins(&bins, text == 0 ? 0 : 300);
}

/* Which page has about this text; PAGE_DB_NO_INDEX: none. */
static uint64_t near_to(World *w, uint64_t text)
{
    NearMatch match = {.page = PAGE_DB_NO_INDEX};
    NearRows rows = w->ingest.tables.store.near;
    TextSketch sketch = sketch_of(text);
    rows.txn = store_fixture_begin(&w->ingest.tables, true);
    Result rc = near_rows_find(&rows, &sketch, PAGE_DB_NO_INDEX, &match);
    CU_ASSERT_TRUE(rc == RESULT_OK || rc == RESULT_NOT_FOUND);
    page_db_txn_abort(w->ingest.tables.store.db, rows.txn);
    return rc == RESULT_OK ? match.page : PAGE_DB_NO_INDEX;
}

static void a_page_that_changed_is_near_to_what_it_is_only(void)
{
    enum { text_a = 1, text_b = 2 };
    static const struct {
        uint64_t text;
        uint64_t body;
        int status;
        bool entered;
    } steps[] = {{text_a, 7, 200, true},
                 {text_b, 8, 200, true},
                 {text_b, 9, 200, true},
                 {text_a, 10, 302, false},
                 {text_a, 11, 200, true},
                 {text_a, 11, 200, true},
                 {text_b, 99, 200, false} /* the same as another page */,
                 {0, 12, 200, false}};
    World *w = set_up();
    w->ingest.options.config.parse_near_duplicates = NEAR_DUPLICATES_FLAG;
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, false);
    CU_ASSERT_EQUAL_FATAL(near_rows_open(txn, &w->ingest.tables.store.near), RESULT_OK);
    store_fixture_commit(&w->ingest.tables, txn);
    ingest_fixture_seed(&w->ingest, "http://a.example/other");
    ingest_fixture_seed(&w->ingest, "http://a.example/");
    (void)result(w, FETCHED_PAGE, "http://a.example/other", 200);
    w->pages[0]->hashes.body[0] = 99;
    commit_notice_delete(commit(w, true));
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        FetchResult *fetch = result(w, FETCHED_PAGE, "http://a.example/", steps[i].status);
        fetch->request.again = i > 0;
        w->pages[0]->hashes.body[0] = steps[i].body;
        w->pages[0]->hashes.sketch = sketch_of(steps[i].text);
        commit_notice_delete(commit(w, true));
        uint64_t page = index_of(w, "http://a.example/");
        bool is_a = steps[i].text == text_a;
        CU_ASSERT_EQUAL(near_to(w, text_a), steps[i].entered && is_a ? page : PAGE_DB_NO_INDEX);
        CU_ASSERT_EQUAL(near_to(w, text_b), steps[i].entered && !is_a ? page : PAGE_DB_NO_INDEX);
    }
    tear_down(w);
}

/* kind: what the crawl takes for a page's content; duplicates have the same body in any case. */
static void check_old_bodies(ContentKind kind)
{
    static const struct {
        const char *url;
        uint64_t body;
        int status;
        uint64_t duplicates; /* afterwards */
    } steps[] = {{"http://a.example/", 7, 200, 0},  {"http://a.example/", 8, 200, 0},
                 {"http://a.example/1", 7, 200, 0}, {"http://a.example/2", 8, 200, 1},
                 {"http://a.example/3", 7, 200, 2}, {"http://a.example/", 9, 302, 2},
                 {"http://a.example/4", 8, 200, 2}, {"http://a.example/1", 7, 200, 2},
                 {"http://a.example/5", 7, 200, 3}};
    World *w = set_up();
    ingest_fixture_seed(&w->ingest, "http://a.example/");
    for (size_t i = 1; i <= 5; i++) {
        char url[64];
        (void)snprintf(url, sizeof url, "http://a.example/%zu", i);
        ingest_fixture_seed(&w->ingest, url);
    }
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        FetchResult *fetch = result(w, FETCHED_PAGE, steps[i].url, steps[i].status);
        fetch->request.again = ingest_fixture_page(&w->ingest, steps[i].url).n_crawls > 0;
        w->pages[w->n_pages - 1]->hashes.kind = kind;
        w->pages[w->n_pages - 1]->hashes.text[0] = 1;
        w->pages[w->n_pages - 1]->hashes.body[0] = steps[i].body;
        w->pages[w->n_pages - 1]->hashes.body[1] = UINT64_C(0xffffffff00000000) + steps[i].body;
        commit_notice_delete(commit(w, true));
        CU_ASSERT_EQUAL(w->ingest.totals.duplicates, steps[i].duplicates);
        schedule_again(w, steps[i].url);
    }
    CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, "http://a.example/").n_changes,
                    kind == CONTENT_BODY ? 2 : 0);
    tear_down(w);
}

static void a_page_that_changed_stands_for_its_old_body_no_longer(void)
{
    check_old_bodies(CONTENT_BODY);
    check_old_bodies(CONTENT_TEXT);
}

/* One visit more of a page with this body and this text. */
static void visit(World *w, const char *url, ContentKind kind, uint64_t body, uint64_t text)
{
    FetchResult *fetch = result(w, FETCHED_PAGE, url, 200);
    fetch->request.again = ingest_fixture_page(&w->ingest, url).n_crawls > 0;
    ParsedPage *page = w->pages[w->n_pages - 1];
    page->hashes.kind = kind;
    page->hashes.body[0] = body;
    page->hashes.text[0] = text;
    commit_notice_delete(commit(w, true));
    schedule_again(w, url);
}

static void a_page_has_changed_when_its_content_has(void)
{
    static const char url[] = "http://a.example/";
    static const struct {
        ContentKind kind;
        uint64_t body;
        uint64_t text;
        uint64_t changes; /* afterwards */
    } steps[] = {{CONTENT_BODY, 7, 1, 0},   {CONTENT_BODY, 8, 1, 1},
                 {CONTENT_TEXT, 9, 1, 1}, /* hashed otherwise than before: nobody knows */
                 {CONTENT_TEXT, 10, 1, 1},  {CONTENT_TEXT, 10, 2, 2},
                 {CONTENT_TEXT, 11, 0, 3}, /* without text its body is its content */
                 {CONTENT_BODY, 12, 1, 3},  {CONTENT_BODY, 12, 2, 3},
                 {CONTENT_LINKS, 13, 3, 3}, {CONTENT_LINKS, 14, 3, 4}};
    World *w = set_up();
    ingest_fixture_seed(&w->ingest, url);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        visit(w, url, steps[i].kind, steps[i].body, steps[i].text);
        PageRef page = ingest_fixture_page(&w->ingest, url);
        CU_ASSERT_EQUAL(page.n_changes, steps[i].changes);
        CU_ASSERT_EQUAL(content_hash_kind(page.flags), steps[i].kind);
    }
    tear_down(w);
}

static void equal_texts_are_duplicates_on_demand(void)
{
    World *w = set_up();
    w->ingest.options.config.parse_duplicates = DUPLICATES_CONTENT;
    ingest_fixture_seed(&w->ingest, "http://a.example/");
    ingest_fixture_seed(&w->ingest, "http://a.example/1");
    visit(w, "http://a.example/", CONTENT_TEXT, 7, 1);
    visit(w, "http://a.example/1", CONTENT_TEXT, 8, 1);
    CU_ASSERT_EQUAL(w->ingest.totals.duplicates, 1);
    visit(w, "http://a.example/", CONTENT_TEXT, 9, 2); /* it stands for the old text no longer */
    visit(w, "http://a.example/1", CONTENT_TEXT, 8, 1);
    CU_ASSERT_EQUAL(w->ingest.totals.duplicates, 1);
    visit(w, "http://a.example/", CONTENT_TEXT, 7, 1);
    CU_ASSERT_EQUAL(w->ingest.totals.duplicates, 2);
    tear_down(w);
}

static void depth_and_redirects_have_limits(void)
{
    World *w = set_up();
    static const char *const chain[] = {"http://a.example/0", "http://a.example/1",
                                        "http://a.example/2", "http://a.example/3",
                                        "http://a.example/4"};
    ingest_fixture_seed(&w->ingest, chain[0]);
    for (size_t i = 0; i + 1 < 3; i++) {
        (void)result(w, FETCHED_PAGE, chain[i], 301);
        link_to(w, chain[i + 1], 'R');
        commit_notice_delete(commit(w, true));
    }
    CU_ASSERT_EQUAL(scheduled(w), 1);
    (void)result(w, FETCHED_PAGE, chain[2], 301);
    link_to(w, chain[3], 'R'); /* the third in a row */
    commit_notice_delete(commit(w, true));
    CU_ASSERT_EQUAL(scheduled(w), 0);
    CU_ASSERT_EQUAL(w->ingest.totals.refused[REFUSED_REDIRECTS], 1);
    (void)result(w, FETCHED_PAGE, chain[3], 200);
    link_to(w, chain[4], 'L'); /* four links from the seed */
    commit_notice_delete(commit(w, true));
    CU_ASSERT_EQUAL(w->ingest.totals.refused[REFUSED_DEPTH], 1);
    tear_down(w);
}

static void the_order_decides_the_level(void)
{
    static const ScheduleOrder orders[] = {ORDER_BREADTH_FIRST, ORDER_DEPTH_FIRST};
    for (size_t i = 0; i < 2; i++) {
        World *w = set_up();
        w->ingest.options.config.schedule_order = (int)orders[i];
        ingest_fixture_seed(&w->ingest, "http://a.example/");
        unsigned last = SCHEDULE_DEFAULT_LEVELS - 1;
        CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, "http://a.example/").level,
                        i == 0 ? 0 : last);
        (void)result(w, FETCHED_PAGE, "http://a.example/", 200);
        link_to(w, "http://a.example/1", 'L');
        commit_notice_delete(commit(w, true));
        CU_ASSERT_EQUAL(ingest_fixture_page(&w->ingest, "http://a.example/1").level,
                        i == 0 ? 1 : last - 1);
        tear_down(w);
    }
}

static void robots_rules_are_kept_with_their_host(void)
{
    World *w = set_up();
    ingest_fixture_seed(&w->ingest, "http://a.example/");
    FetchResult *fetch = result(w, FETCHED_ROBOTS, "http://a.example/robots.txt", 200);
    static const char body[] = "User-agent: *\nDisallow: /\n";
    (void)buffer_append(&fetch->answer.body, body, sizeof body - 1);
    fetch->host.robots_state = ROBOTS_KNOWN;
    fetch->host.robots_version = 3;
    fetch->host.robots_expiry_ms = 50000;
    fetch->host.crawl_delay_ms = 7000;
    commit_notice_delete(commit(w, true));
    HostRecord record = record_of(w, 0);
    CU_ASSERT_EQUAL(record.robots_state, ROBOTS_KNOWN);
    CU_ASSERT_EQUAL(record.robots_version, 3);
    CU_ASSERT_EQUAL(record.robots_expiry_ms, WALL_US / 1000 + 200 + 50000);
    CU_ASSERT_EQUAL(record.crawl_delay_ms, 7000);
    CU_ASSERT_EQUAL(record.robots_status, 200);
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, true);
    Buffer kept;
    buffer_init(&kept, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(host_rows_get_robots(w->ingest.tables.store.hosts, txn, 0, &kept), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&kept), body);
    buffer_reset(&kept);
    page_db_txn_abort(w->ingest.tables.store.db, txn);
    /* A refresh that fails leaves the old rules where they are. */
    fetch = result(w, FETCHED_ROBOTS, "http://a.example/robots.txt", 503);
    fetch->host.robots_state = ROBOTS_KNOWN;
    fetch->host.robots_version = 3;
    fetch->host.robots_expiry_ms = 9000;
    commit_notice_delete(commit(w, true));
    txn = store_fixture_begin(&w->ingest.tables, true);
    CU_ASSERT_EQUAL(host_rows_get_robots(w->ingest.tables.store.hosts, txn, 0, &kept), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&kept), body);
    buffer_reset(&kept);
    page_db_txn_abort(w->ingest.tables.store.db, txn);
    /* Another content replaces them; the audit can still ask for the old one. */
    fetch = result(w, FETCHED_ROBOTS, "http://a.example/robots.txt", 404);
    fetch->host.robots_state = ROBOTS_KNOWN;
    fetch->host.robots_version = 4;
    commit_notice_delete(commit(w, true));
    txn = store_fixture_begin(&w->ingest.tables, true);
    HostRows *hosts = w->ingest.tables.store.hosts;
    CU_ASSERT_EQUAL(host_rows_get_robots(hosts, txn, 0, &kept), RESULT_OK);
    CU_ASSERT_EQUAL(kept.length, 0);
    CU_ASSERT_EQUAL(host_rows_get_robots_version(hosts, txn, 0, 3, &kept), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&kept), body);
    buffer_reset(&kept);
    page_db_txn_abort(w->ingest.tables.store.db, txn);
    buffer_destroy(&kept);
    CU_ASSERT_EQUAL(w->ingest.totals.robots_files, 3);
    CU_ASSERT_EQUAL(w->ingest.totals.fetches, 3);
    CU_ASSERT_EQUAL(w->ingest.totals.pages, 0);
    tear_down(w);
}

static void totals_are_read_again(void)
{
    World *w = set_up();
    CrawlTotals totals;
    ingest_fixture_seed(&w->ingest, "http://a.example/");
    (void)result(w, FETCHED_PAGE, "http://a.example/", 200);
    commit_notice_delete(commit(w, true));
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, true);
    CU_ASSERT_EQUAL(ingest_kept_read(txn, w->ingest.tables.store.crawl, KEPT_TOTALS, &totals),
                    RESULT_OK);
    page_db_txn_abort(w->ingest.tables.store.db, txn);
    CU_ASSERT_EQUAL(memcmp(&totals, &w->ingest.totals, sizeof totals), 0);
    CU_ASSERT_EQUAL(totals.bytes, 1000);
    CU_ASSERT_EQUAL(totals.by_status[2], 1);
    tear_down(w);
}

/* Fetches one page that links to another; whether that woke a host. */
static bool wakes(World *w, const char *from, const char *to)
{
    (void)result(w, FETCHED_PAGE, from, 200);
    link_to(w, to, 'L');
    commit_notice_delete(commit(w, true));
    return w->woke;
}

static void a_host_with_nothing_else_to_fetch_is_woken(void)
{
    World *w = set_up();
    w->hungry = true;
    ingest_fixture_seed(&w->ingest, "http://a.example/");
    ingest_fixture_seed(&w->ingest, "http://a.example/2");
    ingest_fixture_seed(&w->ingest, "http://a.example/3");
    ingest_fixture_seed(&w->ingest, "http://a.example/4");
    CU_ASSERT_FALSE(wakes(w, "http://a.example/", "http://a.example/5")); /* has three more */
    CU_ASSERT_TRUE(wakes(w, "http://a.example/2", "http://b.example/"));  /* a new host */
    CU_ASSERT_FALSE(wakes(w, "http://a.example/3", "http://b.example/")); /* known */
    CU_ASSERT_FALSE(wakes(w, "http://a.example/4", "http://b.example/2"));
    CU_ASSERT_TRUE(wakes(w, "http://a.example/5", "http://a.example/6")); /* was its last */
    w->hungry = false;                                                    /* then nobody asks */
    CU_ASSERT_FALSE(wakes(w, "http://a.example/6", "http://c.example/"));
    tear_down(w);
}

static void a_host_whose_neighbours_have_urls_is_not_waited_for(void)
{
    World *w = set_up();
    HostPlaces places;
    IpAddress one;
    CU_ASSERT_EQUAL_FATAL(ip_address_parse("192.0.2.1", 9, &one), RESULT_OK);
    host_places_init(&places);
    w->places = &places;
    w->hungry = true;
    ingest_fixture_seed(&w->ingest, "http://a.example/");
    ingest_fixture_seed(&w->ingest, "http://b.example/");
    (void)host_places_add(&places, 0, &one);
    (void)host_places_add(&places, 1, &one);
    CU_ASSERT_FALSE(wakes(w, "http://a.example/", "http://a.example/2")); /* b has one */
    CU_ASSERT_TRUE(wakes(w, "http://b.example/", "http://c.example/"));   /* place unknown */
    CU_ASSERT_TRUE(wakes(w, "http://a.example/2", "http://a.example/3")); /* nobody else there */
    tear_down(w);
    host_places_destroy(&places);
}

static uint32_t hosts_at(World *w, uint64_t address)
{
    GroupRecord group;
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, true);
    CU_ASSERT_EQUAL(group_rows_get(w->ingest.tables.store.groups, txn, address, &group), RESULT_OK);
    page_db_txn_abort(w->ingest.tables.store.db, txn);
    return group.hosts;
}

static void addresses_count_once_whatever_commit_takes_them(void)
{
    World *w = set_up();
    HostPlaces places;
    IpAddress one;
    IpAddress other;
    CU_ASSERT_EQUAL_FATAL(ip_address_parse("192.0.2.1", 9, &one), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(ip_address_parse("192.0.2.2", 9, &other), RESULT_OK);
    host_places_init(&places);
    w->places = &places;
    ingest_fixture_seed(&w->ingest, "http://a.example/");
    ingest_fixture_seed(&w->ingest, "http://b.example/");
    ingest_fixture_seed(&w->ingest, "http://c.example/");
    CU_ASSERT_TRUE(host_places_add(&places, 0, &one));
    CU_ASSERT_FALSE(host_places_add(&places, 1, &one)); /* somebody is on his way */
    commit_notice_delete(commit(w, false));
    CU_ASSERT_EQUAL(record_of(w, 0).address, 0);
    CU_ASSERT_TRUE(host_places_add(&places, 2, &other)); /* he has been there */
    host_places_not_told(&places);
    CU_ASSERT_TRUE(host_places_add(&places, 2, &one)); /* it has its place already */
    commit_notice_delete(commit(w, true));
    commit_notice_delete(commit(w, true));
    CU_ASSERT_EQUAL(record_of(w, 0).address, group_key_of_address(&one));
    CU_ASSERT_EQUAL(record_of(w, 1).address, group_key_of_address(&one));
    CU_ASSERT_EQUAL(record_of(w, 2).address, group_key_of_address(&other));
    CU_ASSERT_EQUAL(hosts_at(w, group_key_of_address(&one)), 2);
    CU_ASSERT_EQUAL(hosts_at(w, group_key_of_address(&other)), 1);
    tear_down(w);
    host_places_destroy(&places);
}

/* A commit failed when the sieve had one of two links, and since then the first would be dropped:
 * as a feed too many here, or as a link to a full domain. */
static void a_page_whose_links_the_sieve_has_in_part_keeps_its_list(void)
{
    World *w = set_up();
    char directory[128];
    (void)snprintf(directory, sizeof directory, "%s.sieve", w->ingest.tables.path);
    SieveOptions options = {.directory = directory,
                            .db = w->ingest.tables.store.db,
                            .crawl = w->ingest.tables.store.crawl,
                            .memory_bytes = SIEVE_LEAST_MEMORY};
    IngestSieve sieve = {.sieve = NULL};
    SieveStats stats;
    char urls[2][32] = {"http://b.example/feed", "http://c.example/"};
    LinkInfo list[2] = {{.url = urls[0], .score = 1}, {.url = urls[1], .score = 1}};
    uint8_t hops[2] = {'L', 'L'};
    uint8_t kinds[2] = {link_kind_byte(&(PageLink){.kind = LINK_FEED}),
                        link_kind_byte(&(PageLink){.kind = LINK_A})};
    ingest_fixture_seed(&w->ingest, "http://a.example/");
    (void)result(w, FETCHED_PAGE, "http://a.example/", 200);
    ParsedPage *page = w->pages[0];
    page->parsed = true;
    page->links = (ParsedLinks){
        .list = list, .hops = hops, .kinds = kinds, .n = 2, .ticket = {.number = 1, .n_links = 1}};
    Batch batch;
    MDB_txn *txn = store_fixture_begin(&w->ingest.tables, false);
    CU_ASSERT_EQUAL_FATAL(sieve_open(&sieve.sieve, &options, txn), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(batch_init(&batch, &w->ingest.options, &w->ingest.tables.store,
                                     w->ingest.log, &w->ingest.totals, txn, w->pages, w->n_pages),
                          RESULT_OK);
    batch.sieve = &sieve;
    CU_ASSERT_EQUAL(page_way_apply(&batch), RESULT_OK);
    sieve_stats(sieve.sieve, &stats);
    CU_ASSERT_EQUAL(stats.pending, 1);
    CU_ASSERT_EQUAL(page->links.ticket.n_links, 2);
    page_db_txn_abort(w->ingest.tables.store.db, txn);
    batch_destroy(&batch);
    sieve_close(sieve.sieve);
    page->links = (ParsedLinks){.n = 0};
    parsed_page_delete(page);
    folder_remove(directory);
    tear_down(w);
}

UNIT_MAIN("ingest_batch",
          {"a page whose links the sieve has in part keeps its list",
           a_page_whose_links_the_sieve_has_in_part_keeps_its_list},
          {"a result and its links are one commit", a_result_and_its_links_are_one_commit},
          {"a retry stays scheduled and keeps its back-off",
           a_retry_stays_scheduled_and_keeps_its_back_off},
          {"what is tried again is counted", what_is_tried_again_is_counted},
          {"a Retry-After outlives the URL it ended", a_retry_after_outlives_the_url_it_ended},
          {"a URL given up leaves with its reason", a_url_given_up_leaves_with_its_reason},
          {"what is confirmed, or fails, keeps content, links and status",
           what_is_confirmed_or_fails_keeps_content_links_and_status},
          {"a page that changed counts once among the pages of its host",
           a_page_that_changed_counts_once_among_the_pages_of_its_host},
          {"a dropped host is set aside with its URLs", a_dropped_host_is_set_aside_with_its_urls},
          {"a seed brings its host back", a_seed_brings_its_host_back},
          {"a revived host is told to the distributor", a_revived_host_is_told_to_the_distributor},
          {"who waits for what is known", who_waits_for_what_is_known},
          {"what was judged earlier does not undo a failure",
           what_was_judged_earlier_does_not_undo_a_failure},
          {"a full host gets no more", a_full_host_gets_no_more},
          {"a page that changed is near to what it is only",
           a_page_that_changed_is_near_to_what_it_is_only},
          {"equal bodies of a host are duplicates", equal_bodies_of_a_host_are_duplicates},
          {"a page that changed stands for its old body no longer",
           a_page_that_changed_stands_for_its_old_body_no_longer},
          {"a page has changed when its content has", a_page_has_changed_when_its_content_has},
          {"equal texts are duplicates on demand", equal_texts_are_duplicates_on_demand},
          {"depth and redirects have limits", depth_and_redirects_have_limits},
          {"the order decides the level", the_order_decides_the_level},
          {"robots rules are kept with their host", robots_rules_are_kept_with_their_host},
          {"totals are read again", totals_are_read_again},
          {"a host with nothing else to fetch is woken",
           a_host_with_nothing_else_to_fetch_is_woken},
          {"a host whose neighbours have URLs is not waited for",
           a_host_whose_neighbours_have_urls_is_not_waited_for},
          {"addresses count once, whatever commit takes them",
           addresses_count_once_whatever_commit_takes_them})
