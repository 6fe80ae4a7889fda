#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/pages/page_db_read.h"
#include "base/thread/log.h"
#include "frontier/distributor/distributor.h"
#include "frontier/distributor/host_walk.h"
#include "dice.h"
#include "store_fixture.h"
#include "unit.h"

#define SECOND   INT64_C(1000000000)
#define MAX_AWAY 4096u

/* The world around a distributor: what it sends away is kept in arrays until the test goes on. */
typedef struct World {
    StoreFixture fixture;
    Distributor distributor;
    PolitenessOptions politeness;
    VisitState *resolving[MAX_AWAY];
    size_t n_resolving;
    VisitState *ready[MAX_AWAY];
    size_t n_ready;
    VisitState *recalled[MAX_AWAY];
    size_t n_recalled;
    size_t n_left;
    uint32_t last_left;
    size_t n_drops;
    FetchClass last_drop;
    size_t n_unresolved;
    int64_t last_wait_ms;
    MonoTime now;
    WallTime wall;
} World;

static void on_resolve(void *context, VisitState *visit_state)
{
    World *w = context;
    CU_ASSERT_EQUAL(visit_state->place, VISIT_STATE_RESOLVING);
    CU_ASSERT_TRUE_FATAL(w->n_resolving < MAX_AWAY);
    w->resolving[w->n_resolving++] = visit_state;
}

static void on_ready(void *context, VisitState *visit_state)
{
    World *w = context;
    CU_ASSERT_EQUAL(visit_state->place, VISIT_STATE_QUEUED);
    CU_ASSERT_TRUE(visit_state_count(visit_state) > 0);
    CU_ASSERT_TRUE(mono_before(w->now, visit_state->address.expiry));
    CU_ASSERT_TRUE_FATAL(w->n_ready < MAX_AWAY);
    w->ready[w->n_ready++] = visit_state;
}

static void on_recall(void *context, VisitState *visit_state)
{
    World *w = context;
    CU_ASSERT_TRUE(visit_state->distributor.recalled);
    CU_ASSERT_TRUE_FATAL(w->n_recalled < MAX_AWAY);
    w->recalled[w->n_recalled++] = visit_state;
}

static void on_drop(void *context, const VisitState *visit_state, FetchClass why)
{
    World *w = context;
    CU_ASSERT_TRUE(why == visit_state->address.class || why == FETCH_BAD_PORT);
    w->last_drop = why;
    w->n_drops++;
}

static void on_unresolved(void *context, const VisitState *visit_state, FetchClass why,
                          int64_t wait_ms)
{
    (void)why;
    (void)visit_state;
    World *w = context;
    w->n_unresolved++;
    w->last_wait_ms = wait_ms;
}

static void on_left(void *context, uint32_t host)
{
    World *w = context;
    w->n_left++;
    w->last_left = host;
}

static DistributorOptions standard(void)
{
    return (DistributorOptions){.memory_bytes = (size_t)64 << 20,
                                .window_max = 8,
                                .host_delay_ms = 5000,
                                .robots_agent = "ragno"};
}

static void open_distributor(World *w, const DistributorOptions *options)
{
    DistributorSinks sinks = {.context = w,
                              .todo = w,
                              .resolve = on_resolve,
                              .ready = on_ready,
                              .recall = on_recall,
                              .drop = on_drop,
                              .unresolved = on_unresolved};
    CU_ASSERT_EQUAL_FATAL(distributor_init(&w->distributor, options, &w->politeness, &sinks,
                                           w->fixture.store.db, w->fixture.store.schedule,
                                           w->fixture.store.hosts),
                          RESULT_OK);
}

static World *set_up(const DistributorOptions *options)
{
    World *w = calloc(1, sizeof *w);
    w->politeness = (PolitenessOptions){.host_delay_ms = 5000, .ip_delay_ms = 1000};
    politeness_default_rules(w->politeness.rules);
    w->now = (MonoTime){1000 * SECOND};
    w->wall = (WallTime){INT64_C(1700000000000000)};
    store_fixture_open(&w->fixture);
    open_distributor(w, options);
    return w;
}

static void tear_down(World *w)
{
    distributor_destroy(&w->distributor); /* frees those away, too: the test holds them no longer */
    store_fixture_close(&w->fixture, true);
    free(w);
}

static void pass(World *w, int64_t ms)
{
    w->now = mono_add_ms(w->now, ms);
    w->wall.us += ms * 1000;
}

static MonoTime work(World *w, size_t required)
{
    return distributor_work(&w->distributor, w->n_ready, required, w->now, w->wall);
}

/* Adds urls pages of host number; the i-th at level i % 3. */
static void add_urls(World *w, unsigned host, unsigned first, unsigned urls)
{
    MDB_txn *txn = store_fixture_begin(&w->fixture, false);
    for (unsigned i = first; i < first + urls; i++) {
        char url[64];
        (void)snprintf(url, sizeof url, "http://h%u.example/%u", host, i);
        store_fixture_add(&w->fixture, txn, url, (uint8_t)(i % 3));
    }
    store_fixture_commit(&w->fixture, txn);
}

static uint32_t host_id(World *w, unsigned host)
{
    char origin[64];
    uint32_t id = 0;
    int n = snprintf(origin, sizeof origin, "http://h%u.example", host);
    MDB_txn *txn = store_fixture_begin(&w->fixture, true);
    CU_ASSERT_EQUAL(page_db_host_find(w->fixture.store.db, txn, origin, (size_t)n, &id), 0);
    page_db_txn_abort(w->fixture.store.db, txn);
    return id;
}

static void put_record(World *w, uint32_t host, const HostRecord *record)
{
    MDB_txn *txn = store_fixture_begin(&w->fixture, false);
    CU_ASSERT_EQUAL(host_rows_put(w->fixture.store.hosts, txn, host, record), RESULT_OK);
    store_fixture_commit(&w->fixture, txn);
}

static void answer(World *w, VisitState *visit_state, FetchClass class, int64_t ttl_ms)
{
    struct in_addr in = {htonl(0x0a000000u + visit_state->identity.host)};
    visit_state->address.class = class;
    if (class == FETCH_OK) {
        visit_state->address.ip = ip_address_v4(&in);
        visit_state->address.expiry = mono_add_ms(w->now, ttl_ms);
    }
    visit_state->news = NEWS_RESOLVED;
    distributor_receive(&w->distributor, visit_state, w->now, w->wall);
}

static void answer_all(World *w, FetchClass class)
{
    while (w->n_resolving > 0) {
        VisitState *visit_state = w->resolving[--w->n_resolving];
        answer(w, visit_state, class, 3600000);
    }
}

static void come_home(World *w, size_t place)
{
    VisitState *visit_state = w->ready[place];
    w->ready[place] = w->ready[--w->n_ready];
    visit_state->place = VISIT_STATE_REFILLING;
    visit_state->news = NEWS_EMPTY;
    distributor_receive(&w->distributor, visit_state, w->now, w->wall);
}

/* Commits results: their entries leave the schedule, the distributor hears of it. */
static void commit(World *w, const CommitDone *done, size_t n, const uint32_t *levels)
{
    CommitNotice notice = {.news = NEWS_COMMITTED, .n_done = n};
    notice.done = malloc((n + 1) * sizeof *done);
    memcpy(notice.done, done, n * sizeof *done);
    MDB_txn *txn = store_fixture_begin(&w->fixture, false);
    for (size_t i = 0; i < n; i++) {
        CU_ASSERT_EQUAL(
            schedule_remove(w->fixture.store.schedule, txn, done[i].host, levels[i], done[i].index),
            RESULT_OK);
    }
    store_fixture_commit(&w->fixture, txn);
    distributor_committed(&w->distributor, &notice, w->now, w->wall);
    free(notice.done);
}

/* Takes and commits everything in the window of ready[place]; how many. */
static size_t fetch_window(World *w, size_t place, int64_t next_fetch_ms)
{
    CommitDone done[64];
    uint32_t levels[64];
    size_t n = 0;
    VisitState *visit_state = w->ready[place];
    const WindowUrl *url = NULL;
    while ((url = visit_state_peek(visit_state)) != NULL && n < 64) {
        done[n] = (CommitDone){.index = url->index, .host = visit_state->identity.host};
        levels[n++] = url->level;
        visit_state_take(visit_state);
    }
    visit_state->politeness.next_fetch = mono_add_ms(w->now, next_fetch_ms);
    come_home(w, place);
    commit(w, done, n, levels);
    return n;
}

/* Hosts that got new URLs, none of them better than what they have. */
static void notice_hosts(World *w, const uint32_t *hosts, size_t n_hosts, uint32_t *dropped,
                         size_t n_dropped)
{
    CommitHost news[64];
    for (size_t i = 0; i < n_hosts; i++) {
        news[i] = (CommitHost){.host = hosts[i], .level = SCHEDULE_MAX_LEVELS - 1};
    }
    CommitNotice notice = {.news = NEWS_COMMITTED,
                           .hosts = news,
                           .n_hosts = n_hosts,
                           .dropped = dropped,
                           .n_dropped = n_dropped};
    distributor_committed(&w->distributor, &notice, w->now, w->wall);
}

/* ---- tests ------------------------------------------------------------------------------------
 */

static void a_host_is_found_resolved_and_sent_on_best_first(void)
{
    DistributorOptions options = standard();
    World *w = set_up(&options);
    add_urls(w, 1, 0, 6);
    (void)work(w, 10);
    CU_ASSERT_EQUAL_FATAL(w->n_resolving, 1);
    CU_ASSERT_STRING_EQUAL(w->resolving[0]->identity.hostname, "h1.example");
    CU_ASSERT_EQUAL(w->distributor.n_resolving, 1);
    answer_all(w, FETCH_OK);
    CU_ASSERT_EQUAL_FATAL(w->n_ready, 1);
    VisitState *visit_state = w->ready[0];
    CU_ASSERT_EQUAL(visit_state_count(visit_state), 6);
    static const char *const expected[] = {"/0", "/3", "/1", "/4", "/2", "/5"};
    for (size_t i = 0; i < 6; i++) {
        char url[64];
        (void)snprintf(url, sizeof url, "http://h1.example%s", expected[i]);
        CU_ASSERT_STRING_EQUAL(visit_state_url(visit_state, visit_state_peek(visit_state)), url);
        visit_state_take(visit_state);
    }
    /* While it is away nothing of it is handed out again. */
    pass(w, 60000);
    (void)work(w, 10);
    CU_ASSERT_EQUAL(w->n_resolving, 0);
    come_home(w, 0);
    CU_ASSERT_EQUAL(w->n_ready, 0); /* all six are in flight */
    tear_down(w);
}

static void windows_are_refilled_until_all_is_done(void)
{
    DistributorOptions options = standard();
    World *w = set_up(&options);
    add_urls(w, 1, 0, 50);
    (void)work(w, 10);
    answer_all(w, FETCH_OK);
    size_t fetched = 0;
    size_t rounds = 0;
    while (w->n_ready > 0 && rounds++ < 100) {
        CU_ASSERT_TRUE(visit_state_count(w->ready[0]) <= 8);
        fetched += fetch_window(w, 0, 5000);
        CU_ASSERT_EQUAL(w->n_resolving, 0);
        pass(w, 5000);
    }
    CU_ASSERT_EQUAL(fetched, 50);
    CU_ASSERT_EQUAL(w->distributor.in_flight.count, 0);
    tear_down(w);
}

static void an_expired_address_is_asked_for_again_before_anything_else(void)
{
    DistributorOptions options = standard();
    World *w = set_up(&options);
    add_urls(w, 1, 0, 20);
    (void)work(w, 10);
    answer(w, w->resolving[--w->n_resolving], FETCH_OK, 2000);
    CU_ASSERT_EQUAL_FATAL(w->n_ready, 1);
    pass(w, 2000);
    visit_state_take(w->ready[0]); /* comes home with URLs left */
    come_home(w, 0);
    CU_ASSERT_EQUAL(w->n_ready, 0);
    CU_ASSERT_EQUAL_FATAL(w->n_resolving, 1);
    CU_ASSERT_EQUAL(visit_state_count(w->resolving[0]), 7);
    answer_all(w, FETCH_OK);
    CU_ASSERT_EQUAL_FATAL(w->n_ready, 1);
    CU_ASSERT_EQUAL(visit_state_count(w->ready[0]), 7);
    tear_down(w);
}

/* Stores that so many pages of the host have come. */
static void store_pages(World *w, uint32_t host, uint32_t pages)
{
    HostRecord record = {.state = HOST_ACTIVE, .pages = pages};
    put_record(w, host, &record);
}

static void a_host_never_has_more_in_flight_than_it_may_still_store(void)
{
    DistributorOptions options = standard();
    options.pages_per_host = 10;
    World *w = set_up(&options);
    add_urls(w, 1, 0, 40);
    (void)work(w, 10);
    answer_all(w, FETCH_OK);
    CU_ASSERT_EQUAL_FATAL(w->n_ready, 1);
    uint32_t host = w->ready[0]->identity.host;
    CU_ASSERT_EQUAL(visit_state_count(w->ready[0]), 8);
    store_pages(w, host, 4); /* of eight, four are duplicates */
    CU_ASSERT_EQUAL(fetch_window(w, 0, 0), 8);
    CU_ASSERT_EQUAL_FATAL(w->n_ready, 1); /* it waited for the commit, not for a second */
    CU_ASSERT_EQUAL(visit_state_count(w->ready[0]), 6);
    store_pages(w, host, 9);
    CU_ASSERT_EQUAL(fetch_window(w, 0, 0), 6);
    CU_ASSERT_EQUAL_FATAL(w->n_ready, 1);
    CU_ASSERT_EQUAL(visit_state_count(w->ready[0]), 1);
    CU_ASSERT_EQUAL(fetch_window(w, 0, 0), 1); /* none of which is stored */
    CU_ASSERT_EQUAL_FATAL(w->n_ready, 1);
    CU_ASSERT_EQUAL(visit_state_count(w->ready[0]), 1);
    store_pages(w, host, 10);
    CU_ASSERT_EQUAL(fetch_window(w, 0, 0), 1);
    CU_ASSERT_EQUAL(w->n_ready, 0);
    notice_hosts(w, NULL, 0, &host, 1);
    pass(w, 60000);
    (void)work(w, 10);
    CU_ASSERT_EQUAL(w->n_ready + w->n_resolving, 0);
    tear_down(w);
}

static void an_idle_host_is_forgotten_after_its_politeness_time_only(void)
{
    DistributorOptions options = standard();
    World *w = set_up(&options);
    add_urls(w, 1, 0, 3);
    (void)work(w, 10);
    answer_all(w, FETCH_OK);
    CU_ASSERT_EQUAL(fetch_window(w, 0, 30000), 3);
    pass(w, 29999);
    (void)work(w, 10);
    CU_ASSERT_EQUAL(w->distributor.visit_states.count, 1);
    CU_ASSERT_TRUE(w->distributor.memory > 0);
    pass(w, 1);
    (void)work(w, 10);
    CU_ASSERT_EQUAL(w->distributor.visit_states.count, 0);
    CU_ASSERT_EQUAL(w->distributor.memory, 0);
    tear_down(w);
}

static void a_host_with_uncommitted_results_is_not_forgotten(void)
{
    DistributorOptions options = standard();
    World *w = set_up(&options);
    add_urls(w, 1, 0, 1);
    (void)work(w, 10);
    answer_all(w, FETCH_OK);
    CommitDone done = {.index = visit_state_peek(w->ready[0])->index,
                       .host = w->ready[0]->identity.host};
    uint32_t level = visit_state_peek(w->ready[0])->level;
    visit_state_take(w->ready[0]);
    come_home(w, 0);
    for (int i = 0; i < 5; i++) {
        pass(w, 60000);
        (void)work(w, 10);
        CU_ASSERT_EQUAL(w->distributor.visit_states.count, 1);
        CU_ASSERT_EQUAL(w->n_ready + w->n_resolving, 0);
    }
    commit(w, &done, 1, &level);
    pass(w, 2000);
    (void)work(w, 10);
    CU_ASSERT_EQUAL(w->distributor.visit_states.count, 0);
    tear_down(w);
}

static void new_urls_wake_an_idle_host(void)
{
    DistributorOptions options = standard();
    World *w = set_up(&options);
    add_urls(w, 1, 0, 3);
    (void)work(w, 10);
    answer_all(w, FETCH_OK);
    CU_ASSERT_EQUAL(fetch_window(w, 0, 30000), 3);
    MonoTime next =
        w->distributor.visit_states.count == 1
            ? ((VisitState *)map_get(&w->distributor.visit_states, map_key(host_id(w, 1))))
                  ->politeness.next_fetch
            : (MonoTime){0};
    add_urls(w, 1, 3, 2);
    uint32_t host = host_id(w, 1);
    notice_hosts(w, &host, 1, NULL, 0);
    CU_ASSERT_EQUAL_FATAL(w->n_ready, 1);
    CU_ASSERT_EQUAL(visit_state_count(w->ready[0]), 2);
    CU_ASSERT_EQUAL(w->ready[0]->politeness.next_fetch.ns,
                    next.ns); /* and its politeness is kept */
    tear_down(w);
}

static void a_name_that_fails_waits_and_is_given_up_at_last(void)
{
    DistributorOptions options = standard();
    World *w = set_up(&options);
    add_urls(w, 1, 0, 20);
    (void)work(w, 10);
    static const int64_t waits[] = {300000, 600000, 1200000};
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL_FATAL(w->n_resolving, 1);
        answer_all(w, FETCH_DNS);
        CU_ASSERT_EQUAL(w->n_unresolved, i + 1);
        CU_ASSERT_EQUAL(w->last_wait_ms, waits[i]);
        CU_ASSERT_EQUAL(w->distributor.in_flight.count, 0);
        pass(w, waits[i] - 1);
        (void)work(w, 10);
        CU_ASSERT_EQUAL(w->n_resolving, 0);
        pass(w, 1);
        (void)work(w, 10);
    }
    CU_ASSERT_EQUAL(w->n_drops, 0);
    answer_all(w, FETCH_DNS);
    CU_ASSERT_EQUAL(w->n_drops, 1);
    CU_ASSERT_EQUAL(w->n_ready, 0);
    tear_down(w);
}

static void a_name_that_fails_does_not_shorten_the_hosts_wait(void)
{
    DistributorOptions options = standard();
    World *w = set_up(&options);
    add_urls(w, 1, 0, 20);
    (void)work(w, 10);
    answer(w, w->resolving[--w->n_resolving], FETCH_OK, 2000);
    MonoTime until = mono_add_ms(w->now, 3600000); /* a Retry-After of an hour */
    w->ready[0]->politeness.next_fetch = until;
    pass(w, 2000);
    come_home(w, 0);
    answer_all(w, FETCH_DNS); /* five minutes */
    CU_ASSERT_EQUAL(w->n_unresolved, 1);
    pass(w, 3000000);
    (void)work(w, 10);
    CU_ASSERT_EQUAL(w->n_resolving, 0);
    const VisitState *visit_state = map_get(&w->distributor.visit_states, map_key(host_id(w, 1)));
    CU_ASSERT_TRUE(visit_state != NULL && visit_state->politeness.next_fetch.ns == until.ns);
    tear_down(w);
}

static void a_host_given_up_is_not_born_again_before_the_database_knows(void)
{
    DistributorOptions options = standard();
    World *w = set_up(&options);
    add_urls(w, 1, 0, 20);
    (void)work(w, 10);
    answer_all(w, FETCH_NO_NAME);
    CU_ASSERT_EQUAL(w->n_drops, 1);
    for (int i = 0; i < 20; i++) { /* the commit takes its time */
        pass(w, 700);
        (void)work(w, 10);
        answer_all(w, FETCH_NO_NAME);
    }
    CU_ASSERT_EQUAL(w->n_drops, 1);
    uint64_t removed = 0;
    uint32_t host = host_id(w, 1);
    MDB_txn *txn = store_fixture_begin(&w->fixture, false);
    HostRecord record = {.state = HOST_DROPPED};
    CU_ASSERT_EQUAL(host_rows_put(w->fixture.store.hosts, txn, host, &record), RESULT_OK);
    CU_ASSERT_EQUAL(schedule_clear_host(w->fixture.store.schedule, txn, host, &removed), RESULT_OK);
    store_fixture_commit(&w->fixture, txn);
    CU_ASSERT_EQUAL(removed, 20);
    notice_hosts(w, NULL, 0, &host, 1);
    for (int i = 0; i < 5; i++) {
        pass(w, 10000);
        (void)work(w, 10);
    }
    CU_ASSERT_EQUAL(w->distributor.visit_states.count, 0);
    CU_ASSERT_EQUAL(w->n_resolving, 0);
    tear_down(w);
}

static void memory_is_bounded_and_every_host_has_its_turn(void)
{
    DistributorOptions options = standard();
    options.memory_bytes = 20000;
    World *w = set_up(&options);
    for (unsigned host = 0; host < 100; host++) {
        add_urls(w, host, 0, 6);
    }
    size_t fetched = 0;
    size_t most = 0;
    for (int round = 0; round < 3000 && fetched < 600; round++) {
        (void)work(w, 1000);
        answer_all(w, FETCH_OK);
        most = w->distributor.memory > most ? w->distributor.memory : most;
        while (w->n_ready > 0) {
            fetched += fetch_window(w, 0, 5000);
        }
        pass(w, 1000);
    }
    CU_ASSERT_EQUAL(fetched, 600);
    CU_ASSERT_TRUE(most > 10000 && most < 20000 + 3000);
    tear_down(w);
}

static void a_host_that_must_wait_long_stays_on_disk(void)
{
    DistributorOptions options = standard();
    World *w = set_up(&options);
    add_urls(w, 1, 0, 3);
    uint32_t host = host_id(w, 1);
    HostRecord record = {
        .failures = 2, .last_failure = FETCH_TIMEOUT, .not_before_ms = w->wall.us / 1000 + 600000};
    put_record(w, host, &record);
    int64_t born = 0;
    int64_t start = w->now.ns;
    MonoTime not_before = mono_add_ms(w->now, 600000);
    while (w->n_resolving == 0 && w->now.ns < start + 700 * SECOND) {
        (void)work(w, 10);
        born = w->now.ns;
        pass(w, 1000);
    }
    CU_ASSERT_EQUAL_FATAL(w->n_resolving, 1);
    CU_ASSERT_TRUE(born >= start + 530 * SECOND);
    CU_ASSERT_EQUAL(w->resolving[0]->politeness.health.failures, 2);
    CU_ASSERT_EQUAL(w->resolving[0]->politeness.health.last, FETCH_TIMEOUT);
    CU_ASSERT_TRUE(w->resolving[0]->politeness.next_fetch.ns >= not_before.ns);
    tear_down(w);
}

/* When the host of the record gets its first question to a name server, in seconds from now; -1:
 * not within a day. */
static int64_t loaded_after(World *w, const HostRecord *record)
{
    int64_t start = w->now.ns;
    add_urls(w, 1, 0, 3);
    put_record(w, host_id(w, 1), record);
    while (w->n_resolving == 0 && w->now.ns < start + 86400 * SECOND) {
        (void)work(w, 10);
        pass(w, 5000);
    }
    return w->n_resolving == 0 ? -1 : (w->now.ns - start) / SECOND;
}

/* The clock was a day ahead when the record was written: its wait of 600 s is believed, not its
 * date. */
static void a_record_from_the_future_waits_as_long_as_it_said(void)
{
    DistributorOptions options = standard();
    World *w = set_up(&options);
    int64_t noted_ms = w->wall.us / 1000 + 86400000;
    HostRecord record = {.failures = 2,
                         .last_failure = FETCH_TIMEOUT,
                         .noted_ms = noted_ms,
                         .not_before_ms = noted_ms + 600000};
    int64_t s = loaded_after(w, &record);
    CU_ASSERT_TRUE(s >= 530 && s <= 700);
    tear_down(w);
}

/* The clock is set back by a day while the crawl runs. */
static void a_clock_that_is_set_back_makes_nobody_wait_longer(void)
{
    DistributorOptions options = standard();
    World *w = set_up(&options);
    int64_t noted_ms = w->wall.us / 1000;
    HostRecord record = {.failures = 2,
                         .last_failure = FETCH_TIMEOUT,
                         .noted_ms = noted_ms,
                         .not_before_ms = noted_ms + 600000};
    (void)work(w, 10);
    w->wall.us -= INT64_C(86400000000);
    int64_t s = loaded_after(w, &record);
    CU_ASSERT_TRUE(s >= 530 && s <= 700);
    tear_down(w);
}

static void hosts_that_wait_long_make_room_once_the_disk_knows(void)
{
    DistributorOptions options = standard();
    options.memory_bytes = 20000;
    World *w = set_up(&options);
    for (unsigned host = 0; host < 200; host++) {
        add_urls(w, host, 0, 6);
    }
    (void)work(w, 1000);
    answer_all(w, FETCH_OK);
    size_t first = w->n_ready;
    CU_ASSERT_TRUE(first > 5 && first < 50);
    uint32_t waiting[50];
    MonoTime until = mono_add_ms(w->now, 3600000);
    for (size_t i = 0; i < first; i++) { /* all refuse: nothing was taken, an hour to wait */
        waiting[i] = w->ready[0]->identity.host;
        w->ready[0]->politeness.next_fetch = until;
        w->ready[0]->politeness.health = (HostHealth){.failures = 1, .last = FETCH_REFUSED};
        come_home(w, 0);
    }
    for (int i = 0; i < 10; i++) { /* not committed yet: they stay */
        pass(w, 5000);
        (void)work(w, 1000);
    }
    for (size_t i = 0; i < first; i++) {
        CU_ASSERT_PTR_NOT_NULL(map_get(&w->distributor.visit_states, map_key(waiting[i])));
        HostRecord record = {.failures = 1,
                             .last_failure = FETCH_REFUSED,
                             .not_before_ms = w->wall.us / 1000 + mono_ms_between(w->now, until)};
        put_record(w, waiting[i], &record);
    }
    for (int i = 0; i < 10; i++) {
        pass(w, 1000);
        (void)work(w, 1000);
    }
    size_t stayed = 0;
    for (size_t i = 0; i < first; i++) {
        stayed += map_get(&w->distributor.visit_states, map_key(waiting[i])) != NULL;
    }
    CU_ASSERT_TRUE(stayed < first * 3 / 4);
    CU_ASSERT_TRUE(w->n_resolving > first / 4); /* others have their turn */
    tear_down(w);
}

static void dropped_and_full_hosts_are_never_loaded(void)
{
    static const HostState states[] = {HOST_DROPPED, HOST_FULL, HOST_DENIED, HOST_MOVED};
    DistributorOptions options = standard();
    World *w = set_up(&options);
    for (unsigned i = 0; i < sizeof states / sizeof *states; i++) {
        add_urls(w, i, 0, 3);
        HostRecord record = {.state = (uint8_t)states[i]};
        put_record(w, host_id(w, i), &record);
    }
    for (int i = 0; i < 50; i++) {
        (void)work(w, 10);
        pass(w, 1000);
    }
    CU_ASSERT_EQUAL(w->n_resolving, 0);
    CU_ASSERT_EQUAL(w->distributor.visit_states.count, 0);
    tear_down(w);
}

/* Whoever moves a host to another agent must know when nothing of it is under way here. */
static void a_host_that_is_dropped_is_told_of_when_it_has_left(void)
{
    DistributorOptions options = standard();
    World *w = set_up(&options);
    w->distributor.sinks.peers = (DistributorPeers){.context = w, .left = on_left};
    add_urls(w, 0, 0, 3);
    add_urls(w, 1, 0, 3);
    (void)work(w, 10);
    answer_all(w, FETCH_OK);
    CU_ASSERT_EQUAL_FATAL(w->n_ready, 2);
    uint32_t host = w->ready[0]->identity.host;
    HostRecord record = {.state = HOST_MOVED};
    put_record(w, host, &record);
    put_record(w, 77, &record);
    uint32_t dropped[] = {host, 77};
    notice_hosts(w, NULL, 0, dropped, 2);
    CU_ASSERT_TRUE(w->n_left == 1 && w->last_left == 77); /* it was not in memory */
    const WindowUrl *url = visit_state_peek(w->ready[0]);
    CommitDone done = {.index = url->index, .host = host};
    uint32_t level = url->level;
    visit_state_take(w->ready[0]); /* one is fetched meanwhile */
    w->ready[0]->politeness.next_fetch = w->now;
    distributor_recalled(&w->distributor, w->ready[0]);
    come_home(w, 0);
    for (int i = 0; i < 20; i++) {
        pass(w, 1000);
        (void)work(w, 10);
    }
    CU_ASSERT_EQUAL(w->n_left, 1); /* its result is not committed */
    commit(w, &done, 1, &level);
    for (int i = 0; i < 5; i++) {
        pass(w, 1000);
        (void)work(w, 10);
    }
    CU_ASSERT_TRUE(w->n_left == 2 && w->last_left == host);
    CU_ASSERT_PTR_NULL(map_get(&w->distributor.visit_states, map_key(host)));
    CU_ASSERT_EQUAL(w->distributor.visit_states.count, 1);
    tear_down(w);
}

static void a_full_host_is_loaded_when_its_pages_are_visited_again(void)
{
    DistributorOptions options = standard();
    options.visits_full_hosts = true;
    World *w = set_up(&options);
    add_urls(w, 0, 0, 3);
    HostRecord record = {.state = HOST_FULL};
    put_record(w, host_id(w, 0), &record);
    (void)work(w, 10);
    CU_ASSERT_EQUAL(w->n_resolving, 1);
    tear_down(w);
}

static void a_resumed_crawl_waits_out_the_delays_of_its_last_run(void)
{
    DistributorOptions options = standard();
    options.floor = (MonoTime){1000 * SECOND};
    World *w = set_up(&options);
    add_urls(w, 1, 0, 3);
    add_urls(w, 2, 0, 3);
    HostRecord record = {.crawl_delay_ms = 60000};
    w->distributor.politeness.crawl_delay_max_ms = 300000;
    put_record(w, host_id(w, 2), &record);
    (void)work(w, 10);
    CU_ASSERT_EQUAL_FATAL(w->n_resolving, 2);
    for (size_t i = 0; i < 2; i++) {
        int64_t delay = strcmp(w->resolving[i]->identity.hostname, "h1.example") == 0 ? 5 : 60;
        CU_ASSERT_EQUAL(w->resolving[i]->politeness.next_fetch.ns, (1000 + delay) * SECOND);
    }
    tear_down(w);
}

static void robots_rules_survive_on_disk_until_they_expire(void)
{
    DistributorOptions options = standard();
    World *w = set_up(&options);
    static const char body[] = "User-agent: *\nDisallow: /no\nCrawl-delay: 7\n";
    for (unsigned i = 0; i < 4; i++) {
        add_urls(w, i, 0, 1);
        HostRecord record = {.robots_state = i == 2 ? ROBOTS_REFUSING : ROBOTS_KNOWN,
                             .robots_version = 4,
                             .robots_expiry_ms = w->wall.us / 1000 + (i == 1 ? -1 : 5000)};
        put_record(w, host_id(w, i), &record);
        MDB_txn *txn = store_fixture_begin(&w->fixture, false);
        if (i != 3) {
            CU_ASSERT_EQUAL(store_fixture_put_robots(w->fixture.store.hosts, txn, (uint32_t)i, body,
                                                     sizeof body - 1),
                            RESULT_OK);
        }
        store_fixture_commit(&w->fixture, txn);
    }
    (void)work(w, 10);
    CU_ASSERT_EQUAL_FATAL(w->n_resolving, 4);
    for (size_t i = 0; i < 4; i++) {
        const VisitState *visit_state = w->resolving[i];
        bool known = visit_state->identity.host == 0 || visit_state->identity.host == 3;
        CU_ASSERT_EQUAL(visit_state->robots.version, 4);
        CU_ASSERT_EQUAL(visit_state->robots.state == ROBOTS_KNOWN, known);
        CU_ASSERT_EQUAL(visit_state->robots.rules != NULL, known);
        if (known) {
            CU_ASSERT_EQUAL(visit_state->robots.expiry.ns, w->now.ns + 5 * SECOND);
            CU_ASSERT_EQUAL(robots_allows(visit_state->robots.rules, "/no", 3, NULL),
                            visit_state->identity.host == 3);
        }
    }
    tear_down(w);
}

static int64_t own_delay(void *context, const char *hostname, int64_t standard_ms)
{
    (void)context;
    return strcmp(hostname, "h2.example") == 0 ? 60000 : standard_ms;
}

static void a_site_may_have_its_own_delay(void)
{
    DistributorOptions options = standard();
    options.host_delay = own_delay;
    World *w = set_up(&options);
    add_urls(w, 1, 0, 1);
    add_urls(w, 2, 0, 1);
    (void)work(w, 10);
    CU_ASSERT_EQUAL_FATAL(w->n_resolving, 2);
    for (size_t i = 0; i < 2; i++) {
        bool own = strcmp(w->resolving[i]->identity.hostname, "h2.example") == 0;
        CU_ASSERT_EQUAL(w->resolving[i]->politeness.delay_ms, own ? 60000 : 5000);
    }
    tear_down(w);
}

static void with_nothing_to_do_it_sleeps(void)
{
    DistributorOptions options = standard();
    World *w = set_up(&options);
    CU_ASSERT_TRUE(mono_ms_between(w->now, work(w, 10)) >= 500); /* an empty schedule */
    add_urls(w, 1, 0, 3);
    pass(w, 60000);
    (void)work(w, 10);
    answer_all(w, FETCH_OK);
    pass(w, 60000);
    CU_ASSERT_TRUE(mono_ms_between(w->now, work(w, 10)) >= 500); /* its only host is away */
    CU_ASSERT_TRUE(mono_ms_between(w->now, work(w, 0)) >= 500);  /* the front is large enough */
    tear_down(w);
}

static void a_failing_database_does_not_make_it_spin(void)
{
    DistributorOptions options = standard();
    World *w = set_up(&options);
    add_urls(w, 1, 0, 20);
    (void)work(w, 10);
    answer_all(w, FETCH_OK);
    while (visit_state_count(w->ready[0]) > 0) {
        visit_state_take(w->ready[0]);
    }
    /* Tables of a transaction that was aborted: every read of them fails. */
    Schedule *broken = NULL;
    MDB_txn *txn = store_fixture_begin(&w->fixture, false);
    CU_ASSERT_EQUAL(schedule_open_named(&broken, txn, "broken", NULL), RESULT_OK);
    page_db_txn_abort(w->fixture.store.db, txn);
    w->distributor.schedule = broken;
    log_set_level(LOG_LEVEL_ERROR);
    come_home(w, 0);
    for (int i = 0; i < 10; i++) {
        CU_ASSERT_TRUE(mono_before(w->now, work(w, 10)));
        pass(w, 2000);
    }
    log_set_level(LOG_LEVEL_INFO);
    CU_ASSERT_EQUAL(w->n_ready, 0);
    w->distributor.schedule = w->fixture.store.schedule;
    pass(w, 2000);
    (void)work(w, 10);
    CU_ASSERT_EQUAL(w->n_ready, 1); /* and it goes on when the database is back */
    schedule_close(broken);
    tear_down(w);
}

static void long_urls_fill_more_than_one_window(void)
{
    DistributorOptions options = standard();
    options.window_max = 12000;
    World *w = set_up(&options);
    char url[240];
    MDB_txn *txn = store_fixture_begin(&w->fixture, false);
    for (unsigned i = 0; i < 12000; i++) {
        int n = snprintf(url, sizeof url, "http://h1.example/%05u/", i);
        memset(url + n, 'x', sizeof url - 1 - (size_t)n);
        url[sizeof url - 1] = '\0';
        store_fixture_add(&w->fixture, txn, url, 0);
    }
    store_fixture_commit(&w->fixture, txn);
    char log_path[96];
    struct stat log;
    (void)snprintf(log_path, sizeof log_path, "%s.log", w->fixture.path);
    CU_ASSERT_EQUAL(log_open(log_path, LOG_LEVEL_WARN, LOG_LEVEL_ERROR), RESULT_OK);
    (void)work(w, 10);
    answer_all(w, FETCH_OK);
    size_t fetched = 0;
    while (w->n_ready > 0 && fetched < 12000) {
        CommitDone *done = calloc(12000, sizeof *done);
        uint32_t *levels = calloc(12000, sizeof *levels);
        size_t n = 0;
        VisitState *visit_state = w->ready[0];
        const WindowUrl *head = NULL;
        while ((head = visit_state_peek(visit_state)) != NULL && n < 12000) {
            CU_ASSERT_EQUAL(head->length, 239);
            done[n++] = (CommitDone){.index = head->index, .host = visit_state->identity.host};
            visit_state_take(visit_state);
        }
        come_home(w, 0);
        commit(w, done, n, levels);
        fetched += n;
        free(done);
        free(levels);
    }
    CU_ASSERT_EQUAL(fetched, 12000);
    CU_ASSERT_TRUE(stat(log_path, &log) == 0 && log.st_size == 0); /* nobody complained */
    log_close();
    (void)unlink(log_path);
    tear_down(w);
}

/* ---- random work -------------------------------------------------------------------------------
 */

#define MODEL_HOSTS 60u
#define MODEL_URLS  3000u

typedef struct HandedOut {
    uint8_t taken[MODEL_URLS]; /* in flight, uncommitted */
    uint8_t finished[MODEL_URLS];
    CommitDone waiting[MODEL_URLS];
    uint32_t levels[MODEL_URLS];
    size_t n_waiting;
    size_t n_finished;
} HandedOut;

static void take_some(World *w, HandedOut *h, Dice *dice)
{
    if (w->n_ready == 0) {
        return;
    }
    size_t place = dice_below(dice, w->n_ready);
    VisitState *visit_state = w->ready[place];
    size_t n = dice_below(dice, 10);
    const WindowUrl *url = NULL;
    while (n-- > 0 && (url = visit_state_peek(visit_state)) != NULL) {
        CU_ASSERT_FALSE(h->taken[url->index] || h->finished[url->index]); /* invariant 1 */
        h->taken[url->index] = 1;
        h->levels[h->n_waiting] = url->level;
        h->waiting[h->n_waiting++] =
            (CommitDone){.index = url->index, .host = visit_state->identity.host};
        visit_state_take(visit_state);
    }
    visit_state->politeness.next_fetch = mono_add_ms(w->now, (int64_t)dice_below(dice, 20000));
    if (visit_state_count(visit_state) == 0 || !mono_before(w->now, visit_state->address.expiry)) {
        come_home(w, place);
    }
}

static void commit_some(World *w, HandedOut *h, Dice *dice)
{
    size_t n = h->n_waiting == 0 ? 0 : dice_below(dice, h->n_waiting) + 1;
    for (size_t i = 0; i < n; i++) {
        h->taken[h->waiting[i].index] = 0;
        h->finished[h->waiting[i].index] = 1;
        h->n_finished++;
    }
    commit(w, h->waiting, n, h->levels);
    h->n_waiting -= n;
    memmove(h->waiting, h->waiting + n, h->n_waiting * sizeof *h->waiting);
    memmove(h->levels, h->levels + n, h->n_waiting * sizeof *h->levels);
}

static void resolve_one(World *w, Dice *dice)
{
    if (w->n_resolving > 0) {
        size_t place = dice_below(dice, w->n_resolving);
        VisitState *visit_state = w->resolving[place];
        w->resolving[place] = w->resolving[--w->n_resolving];
        bool fails = dice_below(dice, 12) == 0 && visit_state->politeness.health.failures < 2;
        answer(w, visit_state, fails ? FETCH_DNS : FETCH_OK, (int64_t)dice_below(dice, 90000) + 1);
        if (!fails) {
            visit_state->politeness.health.failures = 0;
        }
    }
}

/* The todo thread reads a recall some time: not in order here. */
static void read_some_recall(World *w, Dice *dice)
{
    if (w->n_recalled == 0) {
        return;
    }
    size_t place = dice_below(dice, w->n_recalled);
    VisitState *visit_state = w->recalled[place];
    w->recalled[place] = w->recalled[--w->n_recalled];
    for (size_t i = 0; i < w->n_ready; i++) {
        if (w->ready[i] == visit_state) {
            come_home(w, i);
            break;
        }
    }
    distributor_recalled(&w->distributor, visit_state);
}

static void random_work_hands_out_every_url_once(void)
{
    DistributorOptions options = standard();
    options.memory_bytes = 30000;
    World *w = set_up(&options);
    HandedOut *h = calloc(1, sizeof *h);
    Dice dice = {6};
    unsigned added = 0;
    for (size_t step = 0; step < 200000 && h->n_finished < MODEL_URLS; step++) {
        switch (dice_below(&dice, 6)) {
        case 0:
            pass(w, (int64_t)dice_below(&dice, 3000));
            (void)work(w, 40);
            break;
        case 1:
            resolve_one(w, &dice);
            break;
        case 2:
            if (added < MODEL_URLS) { /* fifty at a time, the hosts told of it or not */
                unsigned host = (unsigned)dice_below(&dice, MODEL_HOSTS);
                add_urls(w, host, added, 50);
                added += 50;
                uint32_t id = host_id(w, host);
                notice_hosts(w, &id, 1, NULL, 0);
            }
            break;
        case 3:
            commit_some(w, h, &dice);
            read_some_recall(w, &dice);
            break;
        default:
            take_some(w, h, &dice);
            break;
        }
    }
    CU_ASSERT_EQUAL(h->n_finished, MODEL_URLS);
    for (int i = 0; i < 400 && w->distributor.visit_states.count > 0; i++) {
        pass(w, 60000);
        (void)work(w, 40);
        answer_all(w, FETCH_OK);
        read_some_recall(w, &dice);
    }
    CU_ASSERT_TRUE(w->distributor.steering.evictions > 10);
    CU_ASSERT_EQUAL(w->distributor.visit_states.count, w->n_ready);
    CU_ASSERT_EQUAL(w->distributor.in_flight.count, 0);
    CU_ASSERT_TRUE(w->distributor.n_resolving == 0 && w->distributor.n_away == w->n_ready);
    free(h);
    tear_down(w);
}

/* One URL of host h1 at a level of its own. */
static void add_at(World *w, const char *path, uint8_t level)
{
    char url[64];
    (void)snprintf(url, sizeof url, "http://h1.example/%s", path);
    MDB_txn *txn = store_fixture_begin(&w->fixture, false);
    store_fixture_add(&w->fixture, txn, url, level);
    store_fixture_commit(&w->fixture, txn);
}

static void tell(World *w, uint8_t level, ScheduleChange *moved, size_t n_moved)
{
    CommitHost host = {.host = host_id(w, 1), .level = level};
    CommitNotice notice = {.news = NEWS_COMMITTED,
                           .hosts = &host,
                           .n_hosts = n_moved == 0,
                           .moved = moved,
                           .n_moved = n_moved};
    distributor_committed(&w->distributor, &notice, w->now, w->wall);
}

/* The todo thread has read the recall: the visit state comes home, if it waits there. */
static void read_recall(World *w, bool waits)
{
    VisitState *visit_state = w->recalled[--w->n_recalled];
    if (waits) {
        CU_ASSERT_PTR_EQUAL_FATAL(visit_state, w->ready[0]);
        come_home(w, 0);
    }
    distributor_recalled(&w->distributor, visit_state);
}

static void a_better_url_replaces_the_window(void)
{
    DistributorOptions options = standard();
    World *w = set_up(&options);
    for (unsigned i = 0; i < 20; i++) {
        char path[8];
        (void)snprintf(path, sizeof path, "%u", i);
        add_at(w, path, 5);
    }
    (void)work(w, 10);
    answer_all(w, FETCH_OK);
    CU_ASSERT_EQUAL_FATAL(w->n_ready, 1);
    add_at(w, "worse", 5);
    tell(w, 5, NULL, 0);
    CU_ASSERT_EQUAL(w->n_recalled, 0);
    add_at(w, "better", 4);
    tell(w, 4, NULL, 0);
    tell(w, 4, NULL, 0);
    CU_ASSERT_EQUAL_FATAL(w->n_recalled, 1); /* once */
    read_recall(w, true);
    CU_ASSERT_EQUAL_FATAL(w->n_ready, 1);
    VisitState *visit_state = w->ready[0];
    CU_ASSERT_STRING_EQUAL(visit_state_url(visit_state, visit_state_peek(visit_state)),
                           "http://h1.example/better");
    CU_ASSERT_EQUAL(visit_state_count(visit_state), 4); /* half: the last one was out of date */
    CU_ASSERT_EQUAL(w->distributor.in_flight.count, 4); /* what was given back is free */
    (void)fetch_window(w, 0, 0);
    CU_ASSERT_EQUAL_FATAL(w->n_ready, 1);
    CU_ASSERT_EQUAL(visit_state_count(w->ready[0]), 8); /* this one was not */
    tear_down(w);
}

static void a_window_whose_urls_moved_is_read_anew(void)
{
    DistributorOptions options = standard();
    World *w = set_up(&options);
    add_at(w, "a", 2);
    add_at(w, "b", 3);
    for (unsigned i = 0; i < 20; i++) {
        char path[8];
        (void)snprintf(path, sizeof path, "%u", i);
        add_at(w, path, 9);
    }
    (void)work(w, 10);
    answer_all(w, FETCH_OK);
    CU_ASSERT_EQUAL_FATAL(w->n_ready, 1);
    VisitState *visit_state = w->ready[0];
    uint64_t a = visit_state_peek(visit_state)->index;
    /* one that is not in the window moves, and not to its front */
    ScheduleChange behind = {
        .index = a + 20, .host = visit_state->identity.host, .from = 9, .to = 8};
    tell(w, 0, &behind, 1);
    CU_ASSERT_EQUAL(w->n_recalled, 0);
    /* the first one moves down while the visit state is at a fetcher */
    ScheduleChange down = {.index = a, .host = visit_state->identity.host, .from = 2, .to = 12};
    MDB_txn *txn = store_fixture_begin(&w->fixture, false);
    CU_ASSERT_EQUAL(schedule_change(w->fixture.store.schedule, txn, &down, 1), RESULT_OK);
    store_fixture_commit(&w->fixture, txn);
    tell(w, 0, &down, 1);
    CU_ASSERT_EQUAL_FATAL(w->n_recalled, 1);
    CU_ASSERT_TRUE(atomic_load(&visit_state->signals.wanted)); /* it comes home after this fetch */
    read_recall(w, false);
    come_home(w, 0);
    CU_ASSERT_EQUAL_FATAL(w->n_ready, 1);
    CU_ASSERT_FALSE(atomic_load(&visit_state->signals.wanted));
    CU_ASSERT_EQUAL(visit_state_peek(visit_state)->index, a + 1);
    CU_ASSERT_EQUAL(visit_state_level(visit_state), 3);
    tear_down(w);
}

static void a_recalled_visit_state_is_not_forgotten(void)
{
    DistributorOptions options = standard();
    World *w = set_up(&options);
    add_at(w, "a", 5);
    (void)work(w, 10);
    answer_all(w, FETCH_OK);
    add_at(w, "b", 2);
    tell(w, 2, NULL, 0);
    CU_ASSERT_EQUAL_FATAL(w->n_recalled, 1); /* and is not read for long */
    while (w->n_ready > 0) {
        (void)fetch_window(w, 0, 0);
    }
    for (unsigned i = 0; i < 5; i++) {
        pass(w, 60000);
        (void)work(w, 0);
    }
    CU_ASSERT_EQUAL(w->distributor.visit_states.count, 1);
    read_recall(w, false);
    pass(w, 60000);
    (void)work(w, 0);
    CU_ASSERT_EQUAL(w->distributor.visit_states.count, 0);
    tear_down(w);
}

static void a_weighted_window_has_a_share_of_lower_levels(void)
{
    DistributorOptions options = standard();
    options.window_max = 20;
    options.bias = (LevelBias){.kind = LEVEL_BIAS_WEIGHTED, .lower_share = 0.2};
    World *w = set_up(&options);
    for (unsigned i = 0; i < 60; i++) {
        char path[8];
        (void)snprintf(path, sizeof path, "%u", i);
        add_at(w, path, i < 40 ? 1 : i < 50 ? 6 : 11);
    }
    (void)work(w, 10);
    answer_all(w, FETCH_OK);
    CU_ASSERT_EQUAL_FATAL(w->n_ready, 1);
    VisitState *visit_state = w->ready[0];
    CU_ASSERT_EQUAL(visit_state_count(visit_state), 20);
    size_t of_level[SCHEDULE_MAX_LEVELS] = {0};
    uint64_t seen = 0;
    for (uint32_t i = 0; i < 20; i++) {
        const WindowUrl *url = visit_state_peek(visit_state);
        of_level[url->level]++;
        CU_ASSERT_EQUAL(seen & UINT64_C(1) << url->index, 0);
        seen |= UINT64_C(1) << url->index;
        visit_state_take(visit_state);
    }
    CU_ASSERT_EQUAL(of_level[1], 16);
    CU_ASSERT_TRUE(of_level[6] >= 1 && of_level[11] >= 1 && of_level[6] >= of_level[11]);
    CU_ASSERT_EQUAL(of_level[6] + of_level[11], 4);
    tear_down(w);
}

/* ---- who makes room ---------------------------------------------------------------------------
 */

static void add_url_of(World *w, unsigned host, unsigned page, uint8_t level)
{
    char url[64];
    (void)snprintf(url, sizeof url, "http://h%u.example/%u", host, page);
    MDB_txn *txn = store_fixture_begin(&w->fixture, false);
    store_fixture_add(&w->fixture, txn, url, level);
    store_fixture_commit(&w->fixture, txn);
}

static void tell_of(World *w, unsigned host, uint8_t level)
{
    CommitHost news = {.host = host_id(w, host), .level = level};
    CommitNotice notice = {.news = NEWS_COMMITTED, .hosts = &news, .n_hosts = 1};
    distributor_committed(&w->distributor, &notice, w->now, w->wall);
}

/* Host 1, at level 9, fills the memory; host 2 is better, and host 1 has been recalled for it. */
static World *set_up_eviction(bool with_host_3)
{
    DistributorOptions options = standard();
    World *w = set_up(&options);
    add_url_of(w, 1, 0, 9);
    add_url_of(w, 1, 1, 9);
    if (with_host_3) {
        add_url_of(w, 3, 0, 0);
    }
    (void)work(w, 10);
    answer_all(w, FETCH_OK);
    CU_ASSERT_EQUAL_FATAL(w->n_ready, with_host_3 ? 2 : 1);
    w->distributor.options.memory_bytes = w->distributor.memory;
    add_url_of(w, 2, 0, 2);
    tell_of(w, 2, 2);
    CU_ASSERT_EQUAL(w->n_resolving, 0);
    pass(w, 2000);
    (void)work(w, 10);
    CU_ASSERT_EQUAL_FATAL(w->n_recalled, 1);
    CU_ASSERT_EQUAL(w->recalled[0]->identity.host, host_id(w, 1));
    CU_ASSERT_EQUAL(w->distributor.steering.evictions, 1);
    return w;
}

static void an_evicted_host_is_forgotten_when_its_time_and_its_results_allow(void)
{
    World *w = set_up_eviction(false);
    const WindowUrl *url = visit_state_peek(w->ready[0]);
    CommitDone done = {.index = url->index, .host = w->ready[0]->identity.host};
    uint32_t level = url->level;
    visit_state_take(w->ready[0]); /* it was at a fetcher */
    w->ready[0]->politeness.next_fetch = mono_add_ms(w->now, 40000);
    read_recall(w, true);
    CU_ASSERT_EQUAL(w->n_ready, 0);
    CU_ASSERT_EQUAL(w->distributor.in_flight.count, 1); /* what was not taken is free */
    w->distributor.options.memory_bytes = 1;            /* or its window's room would do */
    for (int i = 0; i < 39; i++) {
        pass(w, 1000);
        (void)work(w, 10);
        CU_ASSERT_PTR_NOT_NULL(map_get(&w->distributor.visit_states, map_key(host_id(w, 1))));
    }
    add_url_of(w, 1, 2, 1); /* better than the one that it made room for */
    tell_of(w, 1, 1);
    for (int i = 0; i < 5; i++) { /* its result is not committed */
        pass(w, 1000);
        (void)work(w, 10);
        CU_ASSERT_EQUAL(w->n_resolving, 0);
    }
    commit(w, &done, 1, &level);
    pass(w, 1000);
    (void)work(w, 10);
    CU_ASSERT_EQUAL(w->distributor.steering.n_leaving, 0);
    CU_ASSERT_EQUAL_FATAL(w->n_resolving, 1);
    CU_ASSERT_EQUAL(w->resolving[0]->identity.host, host_id(w, 1)); /* it comes back first */
    CU_ASSERT_EQUAL(visit_state_level(w->resolving[0]), 1);
    tear_down(w);
}

static void an_evicted_host_that_others_ask_stays(void)
{
    World *w = set_up_eviction(true);
    size_t place = w->ready[0]->identity.host == host_id(w, 3) ? 0 : 1;
    VisitState *asker = w->ready[place];
    VisitState *server = w->ready[1 - place];
    asker->robots.elsewhere = true;
    asker->robots.target = strdup("http://h1.example/robots.txt");
    come_home(w, place);
    CU_ASSERT_EQUAL(asker->place, VISIT_STATE_ASKING);
    read_recall(w, true);
    CU_ASSERT_EQUAL(w->distributor.steering.n_leaving, 0);
    CU_ASSERT_EQUAL_FATAL(w->n_ready, 1);
    CU_ASSERT_PTR_EQUAL(w->ready[0], server);
    CU_ASSERT_PTR_EQUAL(server->errands.askers, asker);
    CU_ASSERT_EQUAL(visit_state_count(server), 2);
    tear_down(w);
}

/* Its first URL is committed while it is asked for a robots.txt of another host. */
static void a_guest_that_becomes_a_host_while_it_is_out_is_looked_for_soon(void)
{
    DistributorOptions options = standard();
    World *w = set_up(&options);
    HostRecord record = {.not_before_ms = w->wall.us / 1000 + 3600000};
    for (unsigned host = 4; host < 8; host++) { /* what walks come by for nothing */
        add_url_of(w, host, 0, 0);
        put_record(w, host_id(w, host), &record);
    }
    add_url_of(w, 3, 0, 0);
    (void)work(w, 10);
    answer_all(w, FETCH_OK);
    CU_ASSERT_EQUAL_FATAL(w->n_ready, 1);
    w->ready[0]->robots.elsewhere = true;
    w->ready[0]->robots.target = strdup("http://h1.example/robots.txt");
    come_home(w, 0);
    CU_ASSERT_EQUAL_FATAL(w->distributor.guests.count, 1);
    pass(w, 2000);
    (void)work(w, 10);
    pass(w, 2000);
    (void)work(w, 10); /* walks find nothing: the next one is far */
    add_url_of(w, 1, 0, 0);
    tell_of(w, 1, 0);
    CU_ASSERT_PTR_NULL(map_get(&w->distributor.visit_states, map_key(host_id(w, 1))));
    CU_ASSERT_FALSE(mono_before(mono_add_ms(w->now, 1000), w->distributor.walk.next));
    tear_down(w);
}

static void an_evicted_host_that_must_wait_long_is_forgotten_once_the_disk_knows(void)
{
    World *w = set_up_eviction(false);
    MonoTime until = mono_add_ms(w->now, 3600000);
    w->ready[0]->politeness.next_fetch = until;
    read_recall(w, true);
    CU_ASSERT_EQUAL(w->distributor.steering.n_leaving, 0); /* its room cannot be counted on */
    for (int i = 0; i < 10; i++) {
        pass(w, 5000);
        (void)work(w, 10);
        CU_ASSERT_PTR_NOT_NULL(map_get(&w->distributor.visit_states, map_key(host_id(w, 1))));
    }
    HostRecord record = {.not_before_ms = w->wall.us / 1000 + mono_ms_between(w->now, until)};
    put_record(w, host_id(w, 1), &record);
    pass(w, 5000);
    (void)work(w, 10);
    CU_ASSERT_PTR_NULL(map_get(&w->distributor.visit_states, map_key(host_id(w, 1))));
    tear_down(w);
}

static void add_resting_hosts(World *w, unsigned n)
{
    HostRecord record = {.not_before_ms = w->wall.us / 1000 + 3600000};
    MDB_txn *txn = store_fixture_begin(&w->fixture, false);
    for (unsigned host = 0; host < n; host++) {
        char url[64];
        (void)snprintf(url, sizeof url, "http://r%u.example/", host);
        store_fixture_add(&w->fixture, txn, url, 0);
        CU_ASSERT_EQUAL_FATAL(host_rows_put(w->fixture.store.hosts, txn, host, &record), RESULT_OK);
    }
    store_fixture_commit(&w->fixture, txn);
}

/* A snapshot that is held for long keeps the database from using room again. */
static void a_walk_over_resting_hosts_takes_many_short_looks(void)
{
    enum { RESTING = 40000, AT_ONCE = 256 * HOST_WALK_BATCH };
    DistributorOptions options = standard();
    World *w = set_up(&options);
    add_resting_hosts(w, RESTING);
    add_url_of(w, 1, 0, 0); /* behind them all */
    size_t looks = 1;
    while (w->n_resolving == 0 && looks < 100) {
        MonoTime next = work(w, 10);
        CU_ASSERT_TRUE(w->n_resolving > 0 || next.ns == w->now.ns);
        looks += w->n_resolving == 0;
    }
    CU_ASSERT_EQUAL(looks, RESTING / AT_ONCE + 1);
    tear_down(w);
}

/* While memory is full: the share of steering in the time does not grow with what it reads. */
static void a_look_that_reads_many_hosts_is_followed_by_a_longer_pause(void)
{
    DistributorOptions options = standard();
    options.memory_bytes = 0; /* is full */
    World *w = set_up(&options);
    add_resting_hosts(w, 5000);
    MonoTime next = work(w, 10);
    CU_ASSERT_EQUAL(w->distributor.steering.reads, 64 * HOST_WALK_BATCH);
    CU_ASSERT_EQUAL(mono_ms_between(w->now, next), 250 + 256);
    tear_down(w);
}

static void hosts_on_bad_ports_are_given_up_when_they_are_met(void)
{
    static const char *const urls[] = {"http://a.example:0/1", "http://a.example:22/1",
                                       "http://a.example:81/1"};
    PortSet ports;
    Buffer error;
    buffer_init(&error, 100);
    CU_ASSERT_EQUAL(port_set_parse(&ports, "80-100", &error), RESULT_OK);
    DistributorOptions options = standard();
    options.ports = &ports;
    World *w = set_up(&options);
    MDB_txn *txn = store_fixture_begin(&w->fixture, false);
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        store_fixture_add(&w->fixture, txn, urls[i], 0);
    }
    store_fixture_commit(&w->fixture, txn);
    for (int i = 0; i < 50; i++) { /* each is given up once, and not met again and again */
        (void)work(w, 10);
        pass(w, 1000);
    }
    CU_ASSERT_EQUAL(w->n_drops, 2);
    CU_ASSERT_EQUAL(w->last_drop, FETCH_BAD_PORT);
    CU_ASSERT_EQUAL(w->n_resolving, 1);
    tear_down(w);
    buffer_destroy(&error);
}

static void notice_revived(World *w, uint32_t host, unsigned level)
{
    CommitHost news = {.host = host, .level = (uint8_t)level, .revived = true};
    CommitNotice notice = {.news = NEWS_COMMITTED, .hosts = &news, .n_hosts = 1};
    distributor_committed(&w->distributor, &notice, w->now, w->wall);
}

/* Its first visit state is still there, given up; another one takes its place. */
static void a_host_that_was_brought_back_is_loaded_anew(void)
{
    DistributorOptions options = standard();
    World *w = set_up(&options);
    add_urls(w, 1, 0, 6);
    uint32_t host = host_id(w, 1);
    (void)work(w, 10);
    answer_all(w, FETCH_NO_NAME);
    CU_ASSERT_EQUAL(w->n_drops, 1);
    notice_hosts(w, NULL, 0, &host, 1);
    CU_ASSERT_EQUAL(w->distributor.visit_states.count, 1);
    notice_revived(w, host, 0);
    CU_ASSERT_EQUAL_FATAL(w->n_resolving, 1);
    CU_ASSERT_EQUAL(w->distributor.visit_states.count, 1);
    VisitState *visit_state = w->resolving[0];
    CU_ASSERT_FALSE(visit_state->politeness.dropped || visit_state->distributor.retired);
    CU_ASSERT_EQUAL(visit_state->politeness.health.failures, 0);
    CU_ASSERT_EQUAL(visit_state_count(visit_state), 6);
    tear_down(w);
}

/* It is out while it is set aside and brought back: it comes home, and is loaded then. */
static void a_host_that_is_out_when_it_is_brought_back_is_loaded_when_it_is_home(void)
{
    DistributorOptions options = standard();
    World *w = set_up(&options);
    add_urls(w, 1, 0, 6);
    uint32_t host = host_id(w, 1);
    (void)work(w, 10);
    answer_all(w, FETCH_OK);
    CU_ASSERT_EQUAL_FATAL(w->n_ready, 1);
    notice_hosts(w, NULL, 0, &host, 1);
    notice_revived(w, host, 0);
    CU_ASSERT_EQUAL(w->n_resolving, 0);
    CU_ASSERT_EQUAL_FATAL(w->n_recalled, 1); /* it may be waiting for a retry: it comes home now */
    read_recall(w, true);
    for (int i = 0; i < 5 && w->n_resolving == 0; i++) {
        pass(w, 1000);
        (void)work(w, 10);
    }
    CU_ASSERT_EQUAL_FATAL(w->n_resolving, 1);
    CU_ASSERT_FALSE(w->resolving[0]->distributor.retired);
    CU_ASSERT_EQUAL(visit_state_count(w->resolving[0]), 6);
    tear_down(w);
}

UNIT_MAIN("distributor",
          {"a host is found, resolved and sent on, best URL first",
           a_host_is_found_resolved_and_sent_on_best_first},
          {"windows are refilled until all is done", windows_are_refilled_until_all_is_done},
          {"an expired address is asked for again before anything else",
           an_expired_address_is_asked_for_again_before_anything_else},
          {"a host never has more in flight than it may still store",
           a_host_never_has_more_in_flight_than_it_may_still_store},
          {"an idle host is forgotten after its politeness time only",
           an_idle_host_is_forgotten_after_its_politeness_time_only},
          {"a host with uncommitted results is not forgotten",
           a_host_with_uncommitted_results_is_not_forgotten},
          {"new URLs wake an idle host", new_urls_wake_an_idle_host},
          {"a name that fails waits and is given up at last",
           a_name_that_fails_waits_and_is_given_up_at_last},
          {"a name that fails does not shorten the host's wait",
           a_name_that_fails_does_not_shorten_the_hosts_wait},
          {"a host given up is not born again before the database knows",
           a_host_given_up_is_not_born_again_before_the_database_knows},
          {"memory is bounded and every host has its turn",
           memory_is_bounded_and_every_host_has_its_turn},
          {"a host that must wait long stays on disk", a_host_that_must_wait_long_stays_on_disk},
          {"a record from the future waits as long as it said",
           a_record_from_the_future_waits_as_long_as_it_said},
          {"a clock that is set back makes nobody wait longer",
           a_clock_that_is_set_back_makes_nobody_wait_longer},
          {"hosts that wait long make room once the disk knows",
           hosts_that_wait_long_make_room_once_the_disk_knows},
          {"dropped and full hosts are never loaded", dropped_and_full_hosts_are_never_loaded},
          {"a host that is dropped is told of when it has left",
           a_host_that_is_dropped_is_told_of_when_it_has_left},
          {"a full host is loaded when its pages are visited again",
           a_full_host_is_loaded_when_its_pages_are_visited_again},
          {"a resumed crawl waits out the delays of its last run",
           a_resumed_crawl_waits_out_the_delays_of_its_last_run},
          {"robots rules survive on disk until they expire",
           robots_rules_survive_on_disk_until_they_expire},
          {"a site may have its own delay", a_site_may_have_its_own_delay},
          {"with nothing to do it sleeps", with_nothing_to_do_it_sleeps},
          {"a failing database does not make it spin", a_failing_database_does_not_make_it_spin},
          {"long URLs fill more than one window", long_urls_fill_more_than_one_window},
          {"random work hands out every URL once", random_work_hands_out_every_url_once},
          {"a better URL replaces the window", a_better_url_replaces_the_window},
          {"a window whose URLs moved is read anew", a_window_whose_urls_moved_is_read_anew},
          {"a recalled visit state is not forgotten", a_recalled_visit_state_is_not_forgotten},
          {"an evicted host is forgotten when its time and its results allow",
           an_evicted_host_is_forgotten_when_its_time_and_its_results_allow},
          {"an evicted host that others ask stays", an_evicted_host_that_others_ask_stays},
          {"a guest that becomes a host while it is out is looked for soon",
           a_guest_that_becomes_a_host_while_it_is_out_is_looked_for_soon},
          {"an evicted host that must wait long is forgotten once the disk knows",
           an_evicted_host_that_must_wait_long_is_forgotten_once_the_disk_knows},
          {"a weighted window has a share of lower levels",
           a_weighted_window_has_a_share_of_lower_levels},
          {"a walk over resting hosts takes many short looks",
           a_walk_over_resting_hosts_takes_many_short_looks},
          {"a look that reads many hosts is followed by a longer pause",
           a_look_that_reads_many_hosts_is_followed_by_a_longer_pause},
          {"hosts on bad ports are given up when they are met",
           hosts_on_bad_ports_are_given_up_when_they_are_met},
          {"a host that was brought back is loaded anew",
           a_host_that_was_brought_back_is_loaded_anew},
          {"a host that is out when it is brought back is loaded when it is home",
           a_host_that_is_out_when_it_is_brought_back_is_loaded_when_it_is_home})
