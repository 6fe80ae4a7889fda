/* The crawler's own pieces in virtual time: the chore, the schedule, ingest's batches, made-up
 * results; crashes at any moment. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/schedule/schedule_read.h"
#include "store/pages/page_db_read.h"
#include "base/core/hash.h"
#include "dice.h"
#include "ingest/batch/ingest_batch.h"
#include "ingest/page/page_way.h"
#include "ingest/revisit/revisits.h"
#include "store/frequency/freq_scheduler.h"
#include "store_fixture.h"
#include "unit.h"

#define DAY       86400.0
#define START_S   1700000000.0
#define MOST_TAKE 64u
#define GOOD_HASH UINT64_C(0x1234567)

/* A page of the simulated web: changes like a Poisson process. */
typedef struct LivePage {
    double rate; /* changes per second */
    Dice dice;
    double next_change_s;
    uint32_t version;
    uint64_t index;
    int status; /* what it answers: 200, or what a test wants */
    double seen_s;
    double fresh_s; /* time for which the crawler's copy was right */
    uint32_t visits;
} LivePage;

typedef struct World {
    StoreFixture fixture;
    IngestOptions options;
    RevisitsOptions revisit_options;
    Revisits *revisits;
    IngestChore chore;
    CrawlLog *log;
    CrawlTotals totals;
    RevisitTotals visits;
    LivePage *pages;
    uint32_t n_pages;
    uint32_t n_hosts;
    double now_s;
    Dice dice;
    bool has_slow;     /* the first host is slow: */
    size_t slow_most;  /* so many of its pages in a visit */
    unsigned crash_in; /* one of so many transactions is lost; 0: none */
    unsigned crashes;
} World;

static WallTime wall_of(void *context)
{
    const World *w = context;
    return (WallTime){(int64_t)(w->now_s * 1e6)};
}

static MonoTime mono_of(void *context)
{
    const World *w = context;
    return (MonoTime){(int64_t)((w->now_s - START_S + 1000) * 1e9)};
}

static double draw(Dice *dice)
{
    return ((double)(dice_next(dice) >> 11) + 0.5) * 0x1p-53;
}

/* ---- the world --------------------------------------------------------------------------------
 */

/* The tables as after a start, and a chore that remembers nothing. */
static void open_revisits(World *w)
{
    MDB_txn *txn = store_fixture_begin(&w->fixture, false);
    ScheduleOptions schedule = {
        .levels = 16, .score_top = 1.0f, .score_ratio = 2.0f, .has_express = true};
    schedule_close(w->fixture.store.schedule);
    CU_ASSERT_EQUAL_FATAL(schedule_open(&w->fixture.store.schedule, txn, &schedule,
                                        page_db_journal(w->fixture.store.db)),
                          RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(revisit_rows_open(&w->fixture.store.revisits, txn, true), RESULT_OK);
    store_fixture_commit(&w->fixture, txn);
    CU_ASSERT_EQUAL_FATAL(revisits_new(&w->revisits, &w->revisit_options, &w->fixture.store),
                          RESULT_OK);
    w->chore = revisits_chore(w->revisits);
}

static void close_revisits(World *w)
{
    revisits_delete(w->revisits);
    revisit_rows_close(w->fixture.store.revisits);
}

static void restart(World *w)
{
    close_revisits(w);
    store_fixture_close(&w->fixture, false);
    store_fixture_reopen(&w->fixture);
    open_revisits(w);
}

static World *set_up(uint32_t n_pages, uint32_t n_hosts)
{
    World *w = calloc(1, sizeof *w);
    w->options = (IngestOptions){.config.schedule_levels = SCHEDULE_DEFAULT_LEVELS,
                                 .config.score_depth_factor = 0.5,
                                 .config.scope_depth = 3,
                                 .config.fetch_max_redirects = 2};
    w->revisit_options =
        (RevisitsOptions){.policy = {.default_s = 2 * DAY,
                                     .min_s = 0.1 * DAY,
                                     .max_s = 30 * DAY,
                                     .power = 0.5,
                                     .margin = -1,
                                     .tries = 3},
                          .clock = {.context = w, .wall = wall_of, .mono = mono_of}};
    w->now_s = START_S;
    w->n_pages = n_pages;
    w->n_hosts = n_hosts;
    w->dice = (Dice){.state = 99};
    w->pages = calloc(n_pages, sizeof *w->pages);
    store_fixture_open(&w->fixture);
    CU_ASSERT_EQUAL_FATAL(crawl_log_open(&w->log, w->fixture.path, NULL, false, SKIPPED_OFF),
                          RESULT_OK);
    open_revisits(w);
    for (uint32_t i = 0; i < n_pages; i++) {
        LivePage *p = &w->pages[i];
        Dice seed = {.state = i};
        p->rate = 0.01 * pow(300, draw(&seed)) / DAY; /* 0.01 to 3 changes a day */
        p->dice = (Dice){.state = i + 1000};
        p->status = 200;
        p->seen_s = -1;
        p->next_change_s = START_S - log(draw(&p->dice)) / p->rate;
    }
    return w;
}

static void tear_down(World *w)
{
    close_revisits(w);
    crawl_log_close(w->log);
    store_fixture_close(&w->fixture, true);
    free(w->pages);
    free(w);
}

static void url_of(const World *w, uint32_t page, char url[64])
{
    (void)snprintf(url, 64, "http://h%u.test/%u", page % w->n_hosts, page);
}

/* Opens a batch; pages may be NULL. */
static void begin(World *w, Batch *batch, ParsedPage **pages, size_t n)
{
    MDB_txn *txn = store_fixture_begin(&w->fixture, false);
    CU_ASSERT_EQUAL_FATAL(
        batch_init(batch, &w->options, &w->fixture.store, w->log, &w->totals, txn, pages, n),
        RESULT_OK);
    batch->revisits = w->revisits;
    batch->visits = w->visits;
}

/* Commits; or crashes, before or after the commit, and starts again. True: it was committed. */
static bool end(World *w, Batch *batch)
{
    bool crash = w->crash_in > 0 && dice_below(&w->dice, w->crash_in) == 0;
    bool commit = !crash || dice_below(&w->dice, 2) == 0;
    CU_ASSERT_EQUAL(batch_finish(batch), RESULT_OK);
    if (commit) {
        store_fixture_commit(&w->fixture, batch->txn);
        w->totals = batch->totals;
        w->visits = batch->visits;
    } else {
        page_db_txn_abort(w->fixture.store.db, batch->txn);
    }
    batch_destroy(batch);
    if (crash) {
        w->crashes++;
        restart(w);
    }
    return commit;
}

static void seed_all(World *w)
{
    Batch batch;
    begin(w, &batch, NULL, 0);
    for (uint32_t i = 0; i < w->n_pages; i++) {
        char url[64];
        uint64_t added = 0;
        url_of(w, i, url);
        LinkInfo link = {.url = url, .score = 1};
        CU_ASSERT_EQUAL(page_way_seed(&batch, &link, NULL, 1, &added), RESULT_OK);
        CU_ASSERT_EQUAL(
            page_db_find(w->fixture.store.db, batch.txn, url, strlen(url), &w->pages[i].index), 0);
    }
    unsigned crash_in = w->crash_in;
    w->crash_in = 0;
    (void)end(w, &batch);
    w->crash_in = crash_in;
}

/* The chore, as the ingest thread would let it run. */
static void run_chore(World *w)
{
    for (int i = 0; i < 10000 && w->chore.due(w->chore.context).ns <= mono_of(w).ns; i++) {
        Batch batch;
        unsigned crashes = w->crashes;
        begin(w, &batch, NULL, 0);
        CU_ASSERT_EQUAL(w->chore.run(w->chore.context, &batch, MONO_NEVER), RESULT_OK);
        if (w->crash_in > 0 && dice_below(&w->dice, 5) == 0) { /* the disk is full, for once */
            page_db_txn_abort(w->fixture.store.db, batch.txn);
            batch_destroy(&batch);
            w->chore.ended(w->chore.context, RESULT_FULL);
            continue;
        }
        (void)end(w, &batch);
        if (w->crashes == crashes) {
            w->chore.ended(w->chore.context, RESULT_OK);
        }
    }
}

/* Time goes on for the page's copy: it was right until the first change after the last visit. */
static void live(LivePage *p, double now_s)
{
    if (p->seen_s >= 0) {
        p->fresh_s += fmin(p->next_change_s, now_s) - p->seen_s;
    }
    while (p->next_change_s < now_s) {
        p->version++;
        p->next_change_s -= log(draw(&p->dice)) / p->rate;
    }
    p->seen_s = now_s;
}

/* What a fetch of the page brings. Even pages have validators and answer 304. */
static ParsedPage *fetch(World *w, uint32_t i, const PageRef *page)
{
    LivePage *p = &w->pages[i];
    FetchResult *fetch = fetch_result_new(FETCHED_PAGE);
    char url[64];
    RevisitNote note;
    MDB_txn *txn = store_fixture_begin(&w->fixture, true);
    CU_ASSERT_EQUAL(revisit_rows_note_get(w->fixture.store.revisits, txn, page->index, &note),
                    RESULT_OK);
    page_db_txn_abort(w->fixture.store.db, txn);
    live(p, w->now_s);
    url_of(w, i, url);
    char etag[32];
    (void)snprintf(etag, sizeof etag, "\"v%u\"", p->version);
    fetch->request.url = strdup(url);
    fetch->request.again = page->n_crawls > 0;
    fetch->answer.status = i % 2 == 0 && strcmp(etag, note.etag) == 0 ? 304 : p->status;
    fetch->answer.class = p->status < 100 ? FETCH_TIMEOUT : FETCH_OK;
    fetch->host.drop = p->status == STATUS_CONNECT; /* the retry table is at its end */
    fetch->cost.wall_start = wall_of(w);
    fetch->cost.start = mono_of(w);
    fetch->cost.end = fetch->cost.start;
    fetch->request.has_page = true;
    fetch->final = true;
    fetch->request.index = page->index;
    fetch->host.id = page->host;
    fetch->request.level = page->level;
    ParsedPage *parsed = parsed_page_new(fetch);
    parsed->about.etag = i % 2 == 0 && fetch->answer.status == 200 ? strdup(etag) : NULL;
    parsed->hashes.body[0] = fetch->answer.status == 304 ? 0 : hash_mix(i + GOOD_HASH) + p->version;
    parsed->hashes.body[1] = 1;
    parsed->parsed = true;
    return parsed;
}

/* Visits what is scheduled, at most `most` pages of each host and MOST_TAKE in a batch. */
static void visit(World *w, size_t at_most)
{
    for (uint32_t host = 0; host < w->n_hosts; host++) {
        size_t most = w->has_slow && host == 0 ? w->slow_most : at_most;
        ScheduleItem items[MOST_TAKE];
        ParsedPage *pages[MOST_TAKE];
        uint32_t which[MOST_TAKE];
        size_t n = 0;
        Buffer url;
        buffer_init(&url, BUFFER_NO_LIMIT);
        MDB_txn *txn = store_fixture_begin(&w->fixture, true);
        HostRecord record;
        CU_ASSERT_EQUAL(host_rows_get(w->fixture.store.hosts, txn, host, &record), RESULT_OK);
        if ((double)record.not_before_ms > w->now_s * 1e3) {
            most = 0; /* it rests */
        }
        CU_ASSERT_EQUAL(schedule_head(w->fixture.store.schedule, txn, host, NULL, items, most, &n),
                        RESULT_OK);
        PageRef refs[MOST_TAKE];
        for (size_t k = 0; k < n; k++) {
            CU_ASSERT_EQUAL(page_db_get(w->fixture.store.db, txn, items[k].index, &refs[k], &url),
                            0);
            which[k] = (uint32_t)strtoul(strrchr(buffer_string(&url), '/') + 1, NULL, 10);
            CU_ASSERT_EQUAL(refs[k].level, items[k].level);
        }
        page_db_txn_abort(w->fixture.store.db, txn);
        buffer_destroy(&url);
        for (size_t k = 0; k < n; k++) {
            pages[k] = fetch(w, which[k], &refs[k]);
        }
        Batch batch;
        begin(w, &batch, pages, n);
        CU_ASSERT_EQUAL(page_way_apply(&batch), RESULT_OK);
        if (end(w, &batch)) {
            for (size_t k = 0; k < n; k++) {
                w->pages[which[k]].visits++;
            }
        }
        for (size_t k = 0; k < n; k++) {
            parsed_page_delete(pages[k]);
        }
    }
}

static void pass(World *w, double days, double step_s, size_t most)
{
    double until = w->now_s + days * DAY;
    while (w->now_s < until) {
        run_chore(w);
        visit(w, most);
        w->now_s += step_s;
    }
}

/* Every crawled page has one next visit; what is scheduled is there once, at the page's level. */
static void check_promises(World *w)
{
    uint64_t n = 0;
    uint64_t crawled = 0;
    ScheduleEntry entries[256];
    ScheduleScan scan = {.started = false};
    Buffer url;
    buffer_init(&url, BUFFER_NO_LIMIT);
    uint8_t *seen = calloc(w->n_pages, 1);
    MDB_txn *txn = store_fixture_begin(&w->fixture, true);
    for (uint32_t i = 0; i < w->n_pages; i++) {
        PageRef page;
        RevisitDue due;
        CU_ASSERT_EQUAL(page_db_get(w->fixture.store.db, txn, i, &page, &url), 0);
        crawled += page.n_crawls > 0;
        CU_ASSERT_EQUAL(revisit_rows_get(w->fixture.store.revisits, txn, i, &due),
                        page.n_crawls > 0 ? RESULT_OK : RESULT_NOT_FOUND);
    }
    CU_ASSERT_EQUAL(revisit_rows_count(w->fixture.store.revisits, txn, &n), RESULT_OK);
    CU_ASSERT_EQUAL(n, crawled);
    size_t k = 0;
    do {
        CU_ASSERT_EQUAL(schedule_scan(w->fixture.store.schedule, txn, &scan, entries, 256, &k),
                        RESULT_OK);
        for (size_t e = 0; e < k; e++) {
            PageRef page;
            CU_ASSERT_EQUAL(seen[entries[e].index]++, 0);
            CU_ASSERT_EQUAL(page_db_get(w->fixture.store.db, txn, entries[e].index, &page, &url),
                            0);
            CU_ASSERT_EQUAL(page.level, entries[e].level);
        }
    } while (k == 256);
    page_db_txn_abort(w->fixture.store.db, txn);
    buffer_destroy(&url);
    free(seen);
}

static PageRef ref_of(World *w, uint32_t i)
{
    PageRef page = {.index = 0};
    Buffer url;
    buffer_init(&url, BUFFER_NO_LIMIT);
    MDB_txn *txn = store_fixture_begin(&w->fixture, true);
    CU_ASSERT_EQUAL(page_db_get(w->fixture.store.db, txn, w->pages[i].index, &page, &url), 0);
    page_db_txn_abort(w->fixture.store.db, txn);
    buffer_destroy(&url);
    return page;
}

static Result due_of(World *w, uint32_t i, RevisitDue *due)
{
    MDB_txn *txn = store_fixture_begin(&w->fixture, true);
    Result rc = revisit_rows_get(w->fixture.store.revisits, txn, w->pages[i].index, due);
    page_db_txn_abort(w->fixture.store.db, txn);
    return rc;
}

/* ---- figures ----------------------------------------------------------------------------------
 */

typedef struct Ranked {
    double value;
    uint32_t page;
} Ranked;

static int compare_ranked(const void *a, const void *b)
{
    const Ranked *x = a;
    const Ranked *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

/* Ranks of values, equal ones share the mean. */
static void rank(Ranked *values, uint32_t n, double *ranks)
{
    qsort(values, n, sizeof *values, compare_ranked);
    for (uint32_t i = 0; i < n;) {
        uint32_t same = i;
        while (same < n && values[same].value == values[i].value) {
            same++;
        }
        for (uint32_t k = i; k < same; k++) {
            ranks[values[k].page] = (i + same - 1) / 2.0;
        }
        i = same;
    }
}

static double rank_correlation(const World *w)
{
    uint32_t n = w->n_pages;
    Ranked *values = calloc(n, sizeof *values);
    double *a = calloc(n, sizeof *a);
    double *b = calloc(n, sizeof *b);
    for (uint32_t i = 0; i < n; i++) {
        values[i] = (Ranked){w->pages[i].rate, i};
    }
    rank(values, n, a);
    for (uint32_t i = 0; i < n; i++) {
        values[i] = (Ranked){w->pages[i].visits, i};
    }
    rank(values, n, b);
    double mean = (n - 1) / 2.0;
    double ab = 0;
    double aa = 0;
    double bb = 0;
    for (uint32_t i = 0; i < n; i++) {
        ab += (a[i] - mean) * (b[i] - mean);
        aa += (a[i] - mean) * (a[i] - mean);
        bb += (b[i] - mean) * (b[i] - mean);
    }
    free(values);
    free(a);
    free(b);
    return ab / sqrt(aa * bb);
}

/* The freshness that pages with these rates have from as many visits, all pages alike. */
static double uniform_freshness(const World *w, double visits, double days)
{
    double sum = 0;
    double interval_s = days * DAY * w->n_pages / visits;
    for (uint32_t i = 0; i < w->n_pages; i++) {
        double changes = w->pages[i].rate * interval_s;
        sum += -expm1(-changes) / changes;
    }
    return sum / w->n_pages;
}

/* ---- tests ------------------------------------------------------------------------------------
 */

static void visits_follow_the_rates_through_a_hundred_days_of_crashes(void)
{
    World *w = set_up(400, 40);
    w->crash_in = 200;
    seed_all(w);
    for (int day = 0; day < 100; day++) {
        pass(w, 1, DAY / 12, 20);
        if (day % 10 == 0) {
            check_promises(w);
        }
    }
    check_promises(w);
    double visits = 0;
    double fresh = 0;
    for (uint32_t i = 0; i < w->n_pages; i++) {
        live(&w->pages[i], w->now_s);
        visits += w->pages[i].visits;
        fresh += w->pages[i].fresh_s / (100 * DAY) / w->n_pages;
        CU_ASSERT_EQUAL(ref_of(w, i).n_crawls, w->pages[i].visits);
    }
    double uniform = uniform_freshness(w, visits, 100);
    double correlation = rank_correlation(w);
    (void)fprintf(stderr,
                  "rank correlation %.3f, freshness %.4f, uniform %.4f, %.2f visits a day of a "
                  "page, %u crashes\n",
                  correlation, fresh, uniform, visits / 100 / w->n_pages, w->crashes);
    CU_ASSERT_TRUE(correlation > 0.9);
    CU_ASSERT_TRUE(fresh > uniform);
    CU_ASSERT_TRUE(w->crashes > 20);
    CU_ASSERT_TRUE(w->visits.not_modified > 0);
    CU_ASSERT_TRUE(w->visits.changed > 0);
    tear_down(w);
}

/* A host with far more pages due than it can be asked for visits all alike. */
static void an_overloaded_host_serves_all_pages_in_turn(void)
{
    World *w = set_up(500, 2);
    w->revisit_options.policy.power = 0;
    w->revisit_options.policy.default_s = 0.1 * DAY;
    w->crash_in = 100;
    restart(w);
    seed_all(w);
    pass(w, 5, DAY / 24, 8); /* 192 visits a day and host; 2500 would be due */
    for (uint32_t i = 0; i < w->n_pages; i++) {
        CU_ASSERT_TRUE(w->pages[i].visits > 0); /* new pages are not starved by old ones */
        w->pages[i].visits = 0;
    }
    pass(w, 20, DAY / 24, 8);
    check_promises(w);
    uint32_t least = UINT32_MAX;
    uint32_t most = 0;
    for (uint32_t i = 0; i < w->n_pages; i++) {
        least = w->pages[i].visits < least ? w->pages[i].visits : least;
        most = w->pages[i].visits > most ? w->pages[i].visits : most;
    }
    (void)fprintf(stderr, "visits of a page %u to %u\n", least, most);
    CU_ASSERT_TRUE(least >= 14);
    CU_ASSERT_TRUE(most <= least + 3);
    tear_down(w);
}

/* All that the host has to fetch is what the chore has just scheduled. */
static void several_due_pages_wake_a_host_that_had_nothing_else(void)
{
    World *w = set_up(3, 1);
    Batch batch;
    seed_all(w);
    visit(w, 3);
    w->now_s += 40 * DAY; /* beyond policy.max_s: all are due */
    begin(w, &batch, NULL, 0);
    batch.hungry = true;
    CU_ASSERT_EQUAL(w->chore.run(w->chore.context, &batch, MONO_NEVER), RESULT_OK);
    CU_ASSERT_EQUAL(batch_finish(&batch), RESULT_OK);
    CU_ASSERT_TRUE(batch.woke);
    store_fixture_commit(&w->fixture, batch.txn);
    batch_destroy(&batch);
    tear_down(w);
}

static void what_the_command_built_is_what_the_crawl_does(void)
{
    World *w = set_up(30, 30);
    seed_all(w);
    visit(w, 1); /* a crawl; then the command */
    FreqScheduler *sch = NULL;
    CU_ASSERT_EQUAL_FATAL(freq_scheduler_new(&sch, w->fixture.store.db, NULL),
                          freq_scheduler_error_ok);
    sch->persist = 1;
    CU_ASSERT_EQUAL(freq_scheduler_clear(sch), freq_scheduler_error_ok);
    MDB_cursor *cursor = NULL;
    CU_ASSERT_EQUAL(freq_scheduler_cursor_open(sch, &cursor), freq_scheduler_error_ok);
    for (uint32_t i = 0; i < w->n_pages; i++) {
        char url[64];
        url_of(w, i, url);
        float days = i < 10 ? 1 : i < 20 ? 4 : 0; /* the last ten: not at all */
        CU_ASSERT_EQUAL(freq_scheduler_cursor_write(sch, cursor, page_db_hash(url),
                                                    days > 0 ? 1 / (days * 86400) : 0),
                        freq_scheduler_error_ok);
    }
    CU_ASSERT_EQUAL(freq_scheduler_cursor_commit(sch, cursor), freq_scheduler_error_ok);
    freq_scheduler_delete(sch);
    MDB_txn *txn = store_fixture_begin(&w->fixture, false);
    CU_ASSERT_EQUAL(revisit_rows_settled_put(w->fixture.store.revisits, txn, w->n_pages),
                    RESULT_OK);
    store_fixture_commit(&w->fixture, txn);
    w->crash_in = 50;
    restart(w);
    pass(w, 40, DAY / 24, 5);
    for (uint32_t i = 0; i < w->n_pages; i++) {
        uint32_t n = w->pages[i].visits;
        CU_ASSERT_TRUE(i < 10 ? n >= 38 && n <= 41 : i < 20 ? n >= 10 && n <= 11 : n == 1);
    }
    tear_down(w);
}

static void pages_of_an_earlier_crawl_are_entered(void)
{
    World *w = set_up(100, 10);
    Revisits *revisits = w->revisits;
    seed_all(w);
    w->revisits = NULL; /* schedule.mode = once */
    visit(w, 10);
    w->revisits = revisits;
    RevisitDue due;
    CU_ASSERT_EQUAL(due_of(w, 0, &due), RESULT_NOT_FOUND);
    w->now_s += DAY / 2;
    run_chore(w);
    check_promises(w);
    CU_ASSERT_EQUAL(due_of(w, 0, &due), RESULT_OK);
    CU_ASSERT_TRUE(due.time_s > START_S + DAY - 1 && due.time_s < START_S + 2 * DAY + 1);
    tear_down(w);
}

static void a_page_that_is_gone_is_given_up_and_one_that_fails_is_not(void)
{
    World *w = set_up(3, 3);
    RevisitDue due;
    seed_all(w);
    run_chore(w);
    visit(w, 1);
    PageRef before = ref_of(w, 0);
    w->pages[0].status = 404;
    w->pages[1].status = 500;
    w->pages[2].status = STATUS_TIMEOUT;
    w->pages[0].rate = w->pages[1].rate = w->pages[2].rate = 1e-12;
    for (int i = 0; i < 3; i++) {
        w->pages[i].next_change_s = HUGE_VAL;
        w->pages[i].version++; /* so that it is no 304 */
    }
    pass(w, 90, DAY / 12, 1);
    PageRef after = ref_of(w, 0);
    CU_ASSERT_EQUAL(w->pages[0].visits, 4); /* 1 + schedule.revisit_tries */
    CU_ASSERT_EQUAL(due_of(w, 0, &due), RESULT_NOT_FOUND);
    CU_ASSERT_EQUAL(after.n_crawls, 4);
    CU_ASSERT_EQUAL(after.n_changes, 0);
    CU_ASSERT_EQUAL(after.content_hash64, before.content_hash64);
    CU_ASSERT_EQUAL(after.status, 200);
    CU_ASSERT_EQUAL(due_of(w, 1, &due), RESULT_OK);
    CU_ASSERT_TRUE(w->pages[1].visits > 4);
    CU_ASSERT_EQUAL(due_of(w, 2, &due), RESULT_OK);
    CU_ASSERT_TRUE(w->pages[2].visits > 4);
    CU_ASSERT_EQUAL(ref_of(w, 2).n_crawls, 1);
    CU_ASSERT_EQUAL(w->visits.gone, 3);
    CU_ASSERT_EQUAL(w->visits.ended, 1);
    tear_down(w);
}

static void a_page_crawled_often_enough_is_left_alone(void)
{
    World *w = set_up(2, 2);
    RevisitDue due;
    w->revisit_options.policy.max_n_crawls = 5;
    restart(w);
    seed_all(w);
    pass(w, 60, DAY / 4, 1);
    CU_ASSERT_EQUAL(w->pages[0].visits, 5);
    CU_ASSERT_EQUAL(due_of(w, 0, &due), RESULT_NOT_FOUND);
    tear_down(w);
}

/* With rules of its own, which are freed with it. */
static void a_new_policy_decides_from_the_next_visit_on(void)
{
    static const char text[] = "/1$ 6h\n";
    World *w = set_up(10, 2);
    RevisitPolicy policy = w->revisit_options.policy;
    size_t line = 0;
    char why[FREQ_RULES_WHY_BYTES] = "";
    uint32_t before[10];
    policy.min_s = policy.max_s = 4 * DAY;
    CU_ASSERT_EQUAL(revisits_set_policy(w->revisits, &policy), RESULT_OK);
    seed_all(w);
    pass(w, 40, DAY / 16, 10);
    policy.min_s = DAY / 10;
    policy.max_s = DAY / 2;
    CU_ASSERT_EQUAL_FATAL(freq_rules_new(&policy.rules, text, sizeof text - 1, &line, why),
                          RESULT_OK);
    CU_ASSERT_EQUAL(revisits_set_policy(w->revisits, &policy), RESULT_OK);
    for (uint32_t i = 0; i < 10; i++) {
        before[i] = w->pages[i].visits;
        CU_ASSERT_TRUE(before[i] >= 9 && before[i] <= 11);
    }
    pass(w, 4, DAY / 16, 10); /* what was due within four days has been visited then */
    for (uint32_t i = 0; i < 10; i++) {
        CU_ASSERT_TRUE(w->pages[i].visits > before[i]);
        before[i] = w->pages[i].visits;
    }
    pass(w, 10, DAY / 16, 10);
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t visits = w->pages[i].visits - before[i];
        CU_ASSERT_TRUE(i == 1 ? visits > 30 : visits >= 17 && visits < 30);
    }
    tear_down(w);
}

static void a_host_that_fails_rests_and_is_given_up_at_last(void)
{
    World *w = set_up(1, 1);
    HostRecord record = {.state = HOST_ACTIVE, .failures = 4};
    CU_ASSERT_TRUE(revisits_rest(w->revisits, &record));
    CU_ASSERT_EQUAL(record.failures, 0);
    CU_ASSERT_EQUAL(record.not_before_ms, (int64_t)((START_S + 2 * DAY) * 1e3));
    CU_ASSERT_TRUE(revisits_rest(w->revisits, &record));
    CU_ASSERT_EQUAL(record.not_before_ms, (int64_t)((START_S + 4 * DAY) * 1e3));
    CU_ASSERT_FALSE(revisits_rest(w->revisits, &record));
    tear_down(w);
}

/* Nothing that waits at a host is lost while it rests, nor when it is given up: it is set aside. */
static void pages_of_a_host_that_rests_come_back(void)
{
    World *w = set_up(6, 2);
    RevisitDue due;
    seed_all(w);
    run_chore(w);
    visit(w, 3);
    for (uint32_t i = 0; i < w->n_pages; i++) {
        w->pages[i].status = STATUS_CONNECT;
    }
    pass(w, 2.5, DAY / 24, 1); /* the first failure, and a rest of two days begins */
    CU_ASSERT_EQUAL(w->visits.rests, 2);
    check_promises(w);
    for (uint32_t i = 0; i < w->n_pages; i += 2) {
        w->pages[i].status = 200; /* the first host is well again */
    }
    restart(w);
    pass(w, 20, DAY / 24, 3);
    for (uint32_t i = 0; i < w->n_pages; i++) {
        CU_ASSERT_EQUAL(due_of(w, i, &due), RESULT_OK);
        CU_ASSERT_EQUAL(ref_of(w, i).n_crawls > 3, i % 2 == 0);
    }
    HostRecord record;
    MDB_txn *txn = store_fixture_begin(&w->fixture, true);
    CU_ASSERT_EQUAL(host_rows_get(w->fixture.store.hosts, txn, 0, &record), RESULT_OK);
    CU_ASSERT_EQUAL(record.rests, 0);
    CU_ASSERT_EQUAL(host_rows_get(w->fixture.store.hosts, txn, 1, &record), RESULT_OK);
    CU_ASSERT_EQUAL(record.state, HOST_DROPPED);
    page_db_txn_abort(w->fixture.store.db, txn);
    tear_down(w);
}

/* A host at its limit of pages takes no new ones, and has the old ones visited. */
static void a_full_host_is_visited_again(void)
{
    World *w = set_up(20, 1);
    w->options.limits.pages_per_host = 10;
    seed_all(w);
    run_chore(w);
    visit(w, 12);
    w->crash_in = 20;
    pass(w, 20, DAY / 12, 5);
    uint32_t visited = 0;
    for (uint32_t i = 0; i < w->n_pages; i++) {
        visited += w->pages[i].visits > 3;
        CU_ASSERT_TRUE(w->pages[i].visits == 0 || w->pages[i].visits > 3);
    }
    CU_ASSERT_EQUAL(visited, 12);
    tear_down(w);
}

#define STEPS 10u /* a day */
#define SLOW  4u  /* steps from visit to visit of the slow host */

/* The first host may be asked every fourth step. */
static bool slow_first(void *context, const char *hostname, Config *config)
{
    const World *w = context;
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    *config =
        (Config){.politeness_host_delay =
                     strcmp(hostname, "h0.test") == 0 ? (int64_t)(DAY * 1e3 * SLOW / STEPS) : 0};
    return false;
}

typedef struct HalfFigures {
    double visits; /* a day */
    double fresh;  /* the share of the time for which a copy was right */
} HalfFigures;

/* Two hosts of 60 pages each, the budget is one visit of a page in two days. */
static void live_with_a_slow_host(bool known, HalfFigures of[2])
{
    const double days = 24;
    const double learning = 12;
    World *w = set_up(120, 2);
    w->revisit_options.policy.optimal = true;
    w->options.host_config = known ? slow_first : NULL;
    w->options.host_context = w;
    restart(w);
    seed_all(w);
    pass(w, 1, DAY / STEPS, MOST_TAKE);
    w->has_slow = true;
    for (unsigned step = 0; step < STEPS * (learning + days); step++) {
        if (step == STEPS * learning) { /* what went before is learning */
            for (uint32_t i = 0; i < w->n_pages; i++) {
                live(&w->pages[i], w->now_s);
                w->pages[i].fresh_s = 0;
                w->pages[i].visits = 0;
            }
        }
        w->slow_most = step % SLOW == 0 ? 1 : 0;
        pass(w, 0.8 / STEPS, DAY / STEPS, MOST_TAKE);
    }
    of[0] = of[1] = (HalfFigures){.visits = 0};
    for (uint32_t i = 0; i < w->n_pages; i++) {
        of[i % 2].visits += w->pages[i].visits / days;
        of[i % 2].fresh += w->pages[i].fresh_s / (days * DAY) / (w->n_pages / 2);
    }
    tear_down(w);
}

static void what_a_slow_host_cannot_use_others_get(void)
{
    HalfFigures without[2];
    HalfFigures with[2];
    live_with_a_slow_host(false, without);
    live_with_a_slow_host(true, with);
    CU_ASSERT_TRUE(with[0].visits + with[1].visits > 58.8); /* of a budget of 60 a day */
    CU_ASSERT_TRUE(with[1].visits > 1.3 * without[1].visits);
    CU_ASSERT_TRUE(with[1].fresh > without[1].fresh + 0.02);
    CU_ASSERT_TRUE(with[0].visits > 0.8 * without[0].visits);
    CU_ASSERT_TRUE(with[0].fresh > without[0].fresh - 0.01);
}

UNIT_MAIN("continuous",
          {"several due pages wake a host that had nothing else",
           several_due_pages_wake_a_host_that_had_nothing_else},
          {"what a slow host cannot use others get", what_a_slow_host_cannot_use_others_get},
          {"visits follow the rates through a hundred days of crashes",
           visits_follow_the_rates_through_a_hundred_days_of_crashes},
          {"an overloaded host serves all pages in turn",
           an_overloaded_host_serves_all_pages_in_turn},
          {"what the command built is what the crawl does",
           what_the_command_built_is_what_the_crawl_does},
          {"pages of an earlier crawl are entered", pages_of_an_earlier_crawl_are_entered},
          {"a page that is gone is given up, and one that fails is not",
           a_page_that_is_gone_is_given_up_and_one_that_fails_is_not},
          {"a page crawled often enough is left alone", a_page_crawled_often_enough_is_left_alone},
          {"a new policy decides from the next visit on",
           a_new_policy_decides_from_the_next_visit_on},
          {"a host that fails rests, and is given up at last",
           a_host_that_fails_rests_and_is_given_up_at_last},
          {"pages of a host that rests come back", pages_of_a_host_that_rests_come_back},
          {"a full host is visited again", a_full_host_is_visited_again})
