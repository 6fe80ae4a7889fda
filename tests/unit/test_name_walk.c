/* Names that lead nowhere beside hosts that answer, in virtual time: the real distributor over real
 * tables, name servers that answer so many questions in each step, and a commit behind each. */
#include <arpa/inet.h>
#include <stdlib.h>

#include "frontier/distributor/distributor.h"
#include "frontier/host/visit_home.h"
#include "store_fixture.h"
#include "unit.h"

#define SECOND     INT64_C(1000000000)
#define STEP_MS    200
#define MOST_HOSTS 8192u
#define GOOD       20u

typedef struct World {
    StoreFixture fixture;
    Distributor distributor;
    PolitenessOptions politeness;
    VisitState *names[MOST_HOSTS]; /* asked for, a ring: never more than there are hosts */
    size_t n_names;
    size_t first_name;
    VisitState *ready[MOST_HOSTS];
    size_t n_ready;
    uint32_t given_up[MOST_HOSTS];
    size_t n_given_up;
    bool asked[MOST_HOSTS]; /* by host */
    size_t n_asked;         /* hosts */
    size_t n_questions;
    size_t most_bytes; /* of those without an address */
    size_t most_memory;
    FetchClass answer; /* to names that lead nowhere */
    uint32_t first_bad;
    MonoTime now;
    WallTime wall;
} World;

static void on_resolve(void *context, VisitState *visit_state)
{
    World *w = context;
    uint32_t host = visit_state->identity.host;
    CU_ASSERT_TRUE_FATAL(host < MOST_HOSTS && w->n_names < MOST_HOSTS);
    w->names[(w->first_name + w->n_names++) % MOST_HOSTS] = visit_state;
    w->n_asked += !w->asked[host];
    w->asked[host] = true;
    w->n_questions++;
}

static void on_ready(void *context, VisitState *visit_state)
{
    World *w = context;
    CU_ASSERT_TRUE_FATAL(w->n_ready < MOST_HOSTS);
    w->ready[w->n_ready++] = visit_state;
}

static void on_recall(void *context, VisitState *visit_state)
{
    (void)context;
    (void)visit_state;
    CU_FAIL("nobody is sent away");
}

static void put_record(World *w, uint32_t host, const HostRecord *record)
{
    MDB_txn *txn = store_fixture_begin(&w->fixture, false);
    CU_ASSERT_EQUAL(host_rows_put(w->fixture.store.hosts, txn, host, record), RESULT_OK);
    store_fixture_commit(&w->fixture, txn);
}

static HostRecord get_record(World *w, uint32_t host)
{
    HostRecord record;
    MDB_txn *txn = store_fixture_begin(&w->fixture, true);
    CU_ASSERT_EQUAL(host_rows_get(w->fixture.store.hosts, txn, host, &record), RESULT_OK);
    page_db_txn_abort(w->fixture.store.db, txn);
    return record;
}

static void on_drop(void *context, const VisitState *visit_state, FetchClass why)
{
    World *w = context;
    CU_ASSERT_EQUAL(why, FETCH_NO_NAME);
    w->given_up[w->n_given_up++] = visit_state->identity.host;
}

static void on_unresolved(void *context, const VisitState *visit_state, FetchClass why,
                          int64_t wait_ms)
{
    World *w = context;
    (void)why;
    int64_t now_ms = w->wall.us / 1000;
    HostRecord record = {.not_before_ms = now_ms + wait_ms, .noted_ms = now_ms};
    put_record(w, visit_state->identity.host, &record);
}

static void on_placed(void *context, const VisitState *visit_state)
{
    HostRecord record = {.address = 1};
    put_record(context, visit_state->identity.host, &record);
}

/* hosts: with an address, for which there is room. */
static World *set_up(size_t hosts)
{
    World *w = calloc(1, sizeof *w);
    w->politeness = (PolitenessOptions){.host_delay_ms = STEP_MS, .ip_delay_ms = STEP_MS};
    politeness_default_rules(w->politeness.rules);
    w->now = (MonoTime){1000 * SECOND};
    w->wall = (WallTime){INT64_C(1700000000000000)};
    w->answer = FETCH_NO_NAME;
    store_fixture_open(&w->fixture);
    DistributorOptions options = {.memory_bytes = hosts * 2048,
                                  .window_max = 4,
                                  .host_delay_ms = STEP_MS,
                                  .robots_agent = "ragno"};
    DistributorSinks sinks = {.context = w,
                              .todo = w,
                              .resolve = on_resolve,
                              .ready = on_ready,
                              .recall = on_recall,
                              .drop = on_drop,
                              .unresolved = on_unresolved,
                              .placed = on_placed};
    CU_ASSERT_EQUAL_FATAL(distributor_init(&w->distributor, &options, &w->politeness, &sinks,
                                           w->fixture.store.db, w->fixture.store.schedule,
                                           w->fixture.store.hosts),
                          RESULT_OK);
    return w;
}

static void tear_down(World *w)
{
    distributor_destroy(&w->distributor);
    store_fixture_close(&w->fixture, true);
    free(w);
}

/* A commit brings n hosts that a page links to; the first one's number is that of `first`. */
static void name_hosts(World *w, uint32_t first, uint32_t n, uint8_t level, uint64_t parent)
{
    CommitHost *hosts = calloc(n, sizeof *hosts);
    MDB_txn *txn = store_fixture_begin(&w->fixture, false);
    for (uint32_t i = 0; i < n; i++) {
        char url[64];
        (void)snprintf(url, sizeof url, "http://h%05u.example/", first + i);
        store_fixture_add_link(&w->fixture, txn, url, level, parent);
        hosts[i] = (CommitHost){.host = first + i, .level = level};
    }
    store_fixture_commit(&w->fixture, txn);
    CommitNotice notice = {.news = NEWS_COMMITTED, .hosts = hosts, .n_hosts = n};
    distributor_committed(&w->distributor, &notice, w->now, w->wall);
    free(hosts);
}

static void answer_names(World *w, size_t n)
{
    for (; n > 0 && w->n_names > 0; n--) {
        VisitState *visit_state = w->names[w->first_name];
        w->first_name = (w->first_name + 1) % MOST_HOSTS;
        w->n_names--;
        struct in_addr in = {htonl(0x0a000000u + visit_state->identity.host)};
        bool leads = visit_state->identity.host < w->first_bad;
        visit_state->address.class = leads ? FETCH_OK : w->answer;
        if (leads) {
            visit_state->address.ip = ip_address_v4(&in);
            visit_state->address.expiry = mono_add_ms(w->now, 3600000);
        }
        visit_state->news = NEWS_RESOLVED;
        distributor_receive(&w->distributor, visit_state, w->now, w->wall);
    }
}

/* What was given up leaves the schedule. */
static void commit_drops(World *w)
{
    MDB_txn *txn = store_fixture_begin(&w->fixture, false);
    for (size_t i = 0; i < w->n_given_up; i++) {
        uint64_t removed = 0;
        CU_ASSERT_EQUAL(
            schedule_clear_host(w->fixture.store.schedule, txn, w->given_up[i], &removed),
            RESULT_OK);
    }
    store_fixture_commit(&w->fixture, txn);
    CommitNotice notice = {
        .news = NEWS_COMMITTED, .dropped = w->given_up, .n_dropped = w->n_given_up};
    distributor_committed(&w->distributor, &notice, w->now, w->wall);
    w->n_given_up = 0;
}

static void pass(World *w, size_t answers)
{
    w->now = mono_add_ms(w->now, STEP_MS);
    w->wall.us += INT64_C(1000) * STEP_MS;
    (void)distributor_work(&w->distributor, w->n_ready, 1000, w->now, w->wall);
    answer_names(w, answers);
    commit_drops(w);
    size_t bytes = w->distributor.names.bytes;
    w->most_bytes = bytes > w->most_bytes ? bytes : w->most_bytes;
    w->most_memory =
        w->distributor.memory > w->most_memory ? w->distributor.memory : w->most_memory;
}

/* Every good host that is ready fetches all that it has, and its commit brings one URL more. */
static void fetch(World *w, uint32_t step)
{
    size_t n = w->n_ready;
    VisitState *homes[GOOD];
    uint32_t hosts[GOOD];
    memcpy(homes, w->ready, n * sizeof *homes);
    w->n_ready = 0;
    for (size_t i = 0; i < n; i++) {
        CommitDone done[4];
        size_t n_done = 0;
        hosts[i] = homes[i]->identity.host;
        MDB_txn *txn = store_fixture_begin(&w->fixture, false);
        for (const WindowUrl *url = visit_state_peek(homes[i]); url != NULL && n_done < 4;
             url = visit_state_peek(homes[i])) {
            done[n_done++] = (CommitDone){.index = url->index, .host = hosts[i]};
            CU_ASSERT_EQUAL(
                schedule_remove(w->fixture.store.schedule, txn, hosts[i], url->level, url->index),
                RESULT_OK);
            visit_state_take(homes[i]);
        }
        char url[64];
        (void)snprintf(url, sizeof url, "http://h%05u.example/%u", hosts[i], step);
        store_fixture_add(&w->fixture, txn, url, 3);
        store_fixture_commit(&w->fixture, txn);
        homes[i]->place = VISIT_STATE_REFILLING;
        homes[i]->news = NEWS_EMPTY;
        homes[i]->politeness.next_fetch = mono_add_ms(w->now, STEP_MS);
        distributor_receive(&w->distributor, homes[i], w->now, w->wall);
        CommitHost news = {.host = hosts[i], .level = 3};
        CommitNotice notice = {
            .news = NEWS_COMMITTED, .done = done, .n_done = n_done, .hosts = &news, .n_hosts = 1};
        distributor_committed(&w->distributor, &notice, w->now, w->wall);
    }
}

/* Page 0 is on host 0; good hosts are seeds. */
static World *with_good_hosts(size_t room)
{
    World *w = set_up(room);
    w->first_bad = GOOD;
    name_hosts(w, 0, GOOD, 3, PAGE_DB_NO_INDEX);
    pass(w, GOOD);
    CU_ASSERT_EQUAL(w->n_ready, GOOD);
    return w;
}

static void names_that_lead_nowhere_take_nobodys_place(void)
{
    World *w = with_good_hosts(200);
    name_hosts(w, GOOD, 4000, 1, 0); /* of a better level than all that good hosts have */
    size_t least = GOOD;
    for (uint32_t step = 0; step < 300; step++) {
        fetch(w, step);
        pass(w, 40);
        least = w->n_ready < least ? w->n_ready : least;
    }
    CU_ASSERT_EQUAL(least, GOOD);
    CU_ASSERT_EQUAL(w->distributor.steering.evictions, 0);
    CU_ASSERT_TRUE(w->most_bytes <= w->distributor.options.memory_bytes / NAME_SHARE + 2048);
    CU_ASSERT_TRUE(w->most_memory <= w->distributor.options.memory_bytes);
    CU_ASSERT_TRUE(w->n_asked > 3000);
    tear_down(w);
}

static void every_name_is_asked_for_at_last(void)
{
    World *w = with_good_hosts(200);
    name_hosts(w, GOOD, 2000, 1, 0);
    name_hosts(w, GOOD + 2000, 100, 2, 1);
    for (uint32_t step = 0; step < 800 && w->n_asked < GOOD + 2100; step++) {
        fetch(w, step);
        pass(w, 40);
    }
    CU_ASSERT_EQUAL(w->n_asked, GOOD + 2100);
    for (uint32_t step = 1000; step < 1010; step++) {
        fetch(w, step);
        pass(w, 40);
    }
    CU_ASSERT_EQUAL(w->n_questions, GOOD + 2100); /* and none twice */
    CU_ASSERT_EQUAL(w->distributor.names.count, 0);
    CU_ASSERT_EQUAL(w->distributor.names.bytes, 0);
    tear_down(w);
}

/* Two pages: a bomb, and one that names ten hosts, which is committed after it. */
static void a_page_with_few_names_does_not_wait_for_one_with_many(void)
{
    World *w = with_good_hosts(400);
    name_hosts(w, GOOD, 6000, 1, 0);
    pass(w, 40);
    w->asked[GOOD + 6000] = false;
    name_hosts(w, GOOD + 6000, 10, 1, 1);
    size_t n = 0;
    for (uint32_t step = 0; step < 10 && n < 10; step++) {
        fetch(w, step);
        pass(w, 40);
        n = 0;
        for (uint32_t i = 0; i < 10; i++) {
            n += w->asked[GOOD + 6000 + i];
        }
    }
    CU_ASSERT_EQUAL(n, 10);
    CU_ASSERT_TRUE(w->n_asked < 1000);
    tear_down(w);
}

/* Seeds, which no page names: a thousand of one registered domain, and ten others. */
static void names_of_one_domain_take_turns_with_others(void)
{
    World *w = with_good_hosts(400);
    for (uint32_t i = 0; i < 1010; i++) {
        HostRecord record = {.domain = i < 1000 ? 77 : 1000 + i};
        put_record(w, GOOD + i, &record);
    }
    name_hosts(w, GOOD, 1000, 1, PAGE_DB_NO_INDEX);
    name_hosts(w, GOOD + 1000, 10, 1, PAGE_DB_NO_INDEX);
    size_t n = 0;
    for (uint32_t i = 0; i < 10; i++) {
        n += w->asked[GOOD + 1000 + i];
    }
    CU_ASSERT_EQUAL(n, 10);
    CU_ASSERT_TRUE(w->n_asked < 500);
    tear_down(w);
}

/* Name servers fail: those names are asked for again in five minutes, and others have their room.
 */
static void a_name_that_waits_for_long_waits_on_disk(void)
{
    World *w = with_good_hosts(200);
    w->answer = FETCH_DNS;
    name_hosts(w, GOOD, 1000, 1, 0);
    for (uint32_t step = 0; step < 600; step++) {
        fetch(w, step);
        pass(w, 40);
    }
    CU_ASSERT_EQUAL(w->n_asked, GOOD + 1000);
    CU_ASSERT_EQUAL(w->n_questions, GOOD + 1000);
    CU_ASSERT_EQUAL(w->distributor.visit_states.count, GOOD);
    CU_ASSERT_TRUE(get_record(w, GOOD + 1).not_before_ms > w->wall.us / 1000);
    w->answer = FETCH_NO_NAME;
    for (uint32_t step = 1000; step < 3000; step++) {
        fetch(w, step);
        pass(w, 40);
    }
    CU_ASSERT_EQUAL(w->n_questions, GOOD + 2000);
    tear_down(w);
}

/* All names lead somewhere: hosts that come true are as many as there is memory for, better ones
 * among them, and the rest waits. */
static void names_that_lead_somewhere_fill_the_memory(void)
{
    World *w = set_up(200);
    w->first_bad = UINT32_MAX;
    name_hosts(w, 0, 2000, 3, PAGE_DB_NO_INDEX);
    for (uint32_t step = 0; step < 100; step++) {
        pass(w, 40);
    }
    size_t most = w->distributor.options.memory_bytes;
    CU_ASSERT_TRUE(w->most_memory <= most);
    CU_ASSERT_TRUE(w->distributor.memory > most * 3 / 4);
    CU_ASSERT_TRUE(w->n_ready > 100);
    tear_down(w);
}

UNIT_MAIN("name_walk",
          {"names that lead nowhere take nobody's place",
           names_that_lead_nowhere_take_nobodys_place},
          {"every name is asked for at last", every_name_is_asked_for_at_last},
          {"a page with few names does not wait for one with many",
           a_page_with_few_names_does_not_wait_for_one_with_many},
          {"names of one domain take turns with others",
           names_of_one_domain_take_turns_with_others},
          {"a name that waits for long waits on disk", a_name_that_waits_for_long_waits_on_disk},
          {"names that lead somewhere fill the memory", names_that_lead_somewhere_fill_the_memory})
