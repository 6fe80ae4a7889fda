/* Errands to hosts of other agents: what the distributor asks, is told, and tells. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "frontier/distributor/distributor.h"
#include "store_fixture.h"
#include "unit.h"

#define SECOND INT64_C(1000000000)
#define TARGET "http://h2.example/robots.txt"

typedef struct World {
    StoreFixture fixture;
    Distributor distributor;
    PolitenessOptions politeness;
    VisitState *resolving[8];
    size_t n_resolving;
    VisitState *ready[8];
    size_t n_ready;
    unsigned asked;
    uint32_t asked_host;
    char asked_url[64];
    unsigned told;
    uint64_t ticket;
    ErrandAnswer *answer; /* that was told last */
    MonoTime now;
    WallTime wall;
} World;

static void on_resolve(void *context, VisitState *visit_state)
{
    World *w = context;
    w->resolving[w->n_resolving++] = visit_state;
}

static void on_ready(void *context, VisitState *visit_state)
{
    World *w = context;
    w->ready[w->n_ready++] = visit_state;
}

static void on_recall(void *context, VisitState *visit_state)
{
    (void)context;
    (void)visit_state;
}

static void on_drop(void *context, const VisitState *visit_state, FetchClass why)
{
    (void)context;
    (void)visit_state;
    (void)why;
}

static void on_unresolved(void *context, const VisitState *visit_state, FetchClass why,
                          int64_t wait_ms)
{
    (void)context;
    (void)visit_state;
    (void)why;
    (void)wait_ms;
}

static void on_ask(void *context, uint32_t host, const char *url)
{
    World *w = context;
    w->asked++;
    w->asked_host = host;
    (void)snprintf(w->asked_url, sizeof w->asked_url, "%s", url);
}

static void on_tell(void *context, uint64_t ticket, ErrandAnswer *answer)
{
    World *w = context;
    w->told++;
    w->ticket = ticket;
    errand_answer_delete(w->answer);
    w->answer = answer;
}

static void add_url(World *w, const char *url)
{
    MDB_txn *txn = store_fixture_begin(&w->fixture, false);
    store_fixture_add(&w->fixture, txn, url, 0);
    store_fixture_commit(&w->fixture, txn);
}

static World *set_up(void)
{
    World *w = calloc(1, sizeof *w);
    DistributorOptions options = {.memory_bytes = (size_t)64 << 20,
                                  .window_max = 8,
                                  .host_delay_ms = 5000,
                                  .robots_agent = "ragno"};
    DistributorSinks sinks = {.context = w,
                              .todo = w,
                              .resolve = on_resolve,
                              .ready = on_ready,
                              .recall = on_recall,
                              .drop = on_drop,
                              .unresolved = on_unresolved,
                              .peers = {.context = w, .ask = on_ask, .tell = on_tell}};
    w->politeness = (PolitenessOptions){.host_delay_ms = 5000, .ip_delay_ms = 1000};
    politeness_default_rules(w->politeness.rules);
    w->now = (MonoTime){1000 * SECOND};
    w->wall = (WallTime){INT64_C(1700000000000000)};
    store_fixture_open(&w->fixture);
    CU_ASSERT_EQUAL_FATAL(distributor_init(&w->distributor, &options, &w->politeness, &sinks,
                                           w->fixture.store.db, w->fixture.store.schedule,
                                           w->fixture.store.hosts),
                          RESULT_OK);
    return w;
}

static void tear_down(World *w)
{
    distributor_destroy(&w->distributor);
    errand_answer_delete(w->answer);
    store_fixture_close(&w->fixture, true);
    free(w);
}

static void work(World *w)
{
    (void)distributor_work(&w->distributor, w->n_ready, 10, w->now, w->wall);
}

static void resolve(World *w, FetchClass class)
{
    while (w->n_resolving > 0) {
        VisitState *visit_state = w->resolving[--w->n_resolving];
        struct in_addr in = {htonl(0x0a000001u)};
        visit_state->address.class = class;
        visit_state->address.ip = ip_address_v4(&in);
        visit_state->address.expiry = mono_add_ms(w->now, 3600000);
        visit_state->news = NEWS_RESOLVED;
        distributor_receive(&w->distributor, visit_state, w->now, w->wall);
    }
}

/* h1's robots.txt redirects to h2's. */
static VisitState *send_asker(World *w)
{
    add_url(w, "http://h1.example/1");
    work(w);
    resolve(w, FETCH_OK);
    CU_ASSERT_EQUAL_FATAL(w->n_ready, 1);
    VisitState *asker = w->ready[--w->n_ready];
    asker->robots.elsewhere = true;
    asker->robots.target = strdup(TARGET);
    asker->place = VISIT_STATE_REFILLING;
    asker->news = NEWS_EMPTY;
    distributor_receive(&w->distributor, asker, w->now, w->wall);
    CU_ASSERT_EQUAL(asker->place, VISIT_STATE_ASKING);
    CU_ASSERT_EQUAL(w->asked, 1);
    CU_ASSERT_EQUAL(w->asked_host, asker->identity.host);
    CU_ASSERT_STRING_EQUAL(w->asked_url, TARGET);
    CU_ASSERT_EQUAL(w->distributor.n_asking, 1);
    CU_ASSERT_EQUAL(w->distributor.guests.count, 0); /* nobody is sent there from here */
    return asker;
}

static void tell(World *w, uint32_t host, ErrandOutcome outcome, ErrandAnswer *answer)
{
    distributor_told(&w->distributor, host, outcome, answer, w->now, w->wall);
}

static void the_answer_goes_to_a_fetching_thread_with_the_host(void)
{
    World *w = set_up();
    VisitState *asker = send_asker(w);
    ErrandAnswer *answer = errand_answer_new(FETCH_OK);
    tell(w, asker->identity.host, ERRAND_ANSWERED, answer);
    CU_ASSERT_EQUAL(w->distributor.n_asking, 0);
    CU_ASSERT_EQUAL_FATAL(w->n_ready, 1);
    CU_ASSERT_PTR_EQUAL(w->ready[0], asker);
    CU_ASSERT_PTR_EQUAL(asker->errands.answer, answer);
    CU_ASSERT_EQUAL(w->asked, 1); /* it is not asked for again */
    tell(w, asker->identity.host, ERRAND_ANSWERED, errand_answer_new(FETCH_OK)); /* too late */
    CU_ASSERT_PTR_EQUAL(asker->errands.answer, answer);
    tear_down(w);
}

static void a_host_of_ours_is_asked_from_here(void)
{
    World *w = set_up();
    VisitState *asker = send_asker(w);
    tell(w, asker->identity.host, ERRAND_OURS, NULL);
    CU_ASSERT_EQUAL(w->asked, 1);
    CU_ASSERT_EQUAL_FATAL(w->n_resolving, 1);
    CU_ASSERT_TRUE(w->resolving[0]->identity.guest);
    CU_ASSERT_STRING_EQUAL(w->resolving[0]->identity.hostname, "h2.example");
    resolve(w, FETCH_OK);
    CU_ASSERT_EQUAL_FATAL(w->n_ready, 1);
    CU_ASSERT_PTR_EQUAL(w->ready[0]->errands.askers, asker);
    tear_down(w);
}

static void an_owner_that_is_away_is_waited_for_and_nobody_is_charged(void)
{
    World *w = set_up();
    VisitState *asker = send_asker(w);
    tell(w, asker->identity.host, ERRAND_AWAY, NULL);
    CU_ASSERT_EQUAL(asker->robots.state, ROBOTS_REFUSING);
    CU_ASSERT_PTR_NULL(asker->robots.target); /* it begins with its own robots.txt again */
    CU_ASSERT_FALSE(asker->robots.elsewhere);
    CU_ASSERT_EQUAL(asker->robots.tries, 0);
    CU_ASSERT_EQUAL(asker->politeness.health.failures, 0);
    CU_ASSERT_FALSE(mono_before(asker->politeness.next_fetch, mono_add_ms(w->now, 60000)));
    CU_ASSERT_EQUAL(w->distributor.n_asking, 0);
    tear_down(w);
}

static void rules_in_force_stay_so_while_the_owner_is_away(void)
{
    World *w = set_up();
    VisitState *asker = send_asker(w);
    asker->robots.state = ROBOTS_KNOWN;
    CU_ASSERT_EQUAL(robots_allow_all(&asker->robots.rules), RESULT_OK);
    tell(w, asker->identity.host, ERRAND_AWAY, NULL);
    CU_ASSERT_EQUAL(asker->robots.state, ROBOTS_KNOWN);
    CU_ASSERT_TRUE(mono_before(w->now, asker->robots.expiry));
    CU_ASSERT_EQUAL_FATAL(w->n_ready, 1);
    tear_down(w);
}

static void ask_us(World *w, uint64_t ticket, const char *url)
{
    VisitState *asker = NULL;
    CU_ASSERT_EQUAL_FATAL(visit_state_new(&asker, UINT32_MAX, "http://h2.example", 17), RESULT_OK);
    asker->errands.ticket = ticket;
    asker->robots.elsewhere = true;
    asker->robots.target = strdup(url);
    distributor_asked(&w->distributor, asker, w->now, w->wall);
}

static void what_others_ask_is_fetched_from_a_guest(void)
{
    World *w = set_up();
    ask_us(w, 7, TARGET);
    CU_ASSERT_EQUAL(w->asked, 0);
    CU_ASSERT_EQUAL_FATAL(w->n_resolving, 1);
    resolve(w, FETCH_OK);
    CU_ASSERT_EQUAL_FATAL(w->n_ready, 1);
    VisitState *asker = w->ready[0]->errands.askers;
    CU_ASSERT_PTR_NOT_NULL_FATAL(asker);
    /* A fetching thread has the answer. */
    w->ready[0]->errands.askers = NULL;
    asker->errands.answer = errand_answer_new(FETCH_OK);
    asker->errands.answer->status = 200;
    asker->news = NEWS_ANSWERED;
    distributor_receive(&w->distributor, asker, w->now, w->wall);
    CU_ASSERT_EQUAL(w->told, 1);
    CU_ASSERT_EQUAL(w->ticket, 7);
    CU_ASSERT_EQUAL(w->answer->status, 200);
    CU_ASSERT_EQUAL(w->distributor.questions.count, 0);
    CU_ASSERT_EQUAL(w->distributor.n_asking, 0);
    tear_down(w);
}

static void what_others_ask_waits_for_a_host_at_work(void)
{
    World *w = set_up();
    add_url(w, "http://h2.example/1");
    work(w);
    resolve(w, FETCH_OK);
    CU_ASSERT_EQUAL_FATAL(w->n_ready, 1);
    VisitState *host = w->ready[--w->n_ready];
    ask_us(w, 7, TARGET);
    CU_ASSERT_EQUAL(w->n_resolving, 0);
    CU_ASSERT_TRUE(atomic_load(&host->signals.wanted));
    host->place = VISIT_STATE_REFILLING;
    host->news = NEWS_EMPTY;
    distributor_receive(&w->distributor, host, w->now, w->wall);
    CU_ASSERT_PTR_NOT_NULL(host->errands.askers);
    tear_down(w); /* and nothing is lost of one that is out at the end */
}

static void others_are_told_that_a_host_is_out_of_reach(void)
{
    World *w = set_up();
    ask_us(w, 7, TARGET);
    ask_us(w, 8, "http://h2.example/other.txt");
    resolve(w, FETCH_NO_NAME);
    CU_ASSERT_EQUAL(w->told, 2);
    CU_ASSERT_EQUAL(w->answer->status, 0);
    CU_ASSERT_EQUAL(w->answer->class, FETCH_NO_NAME);
    CU_ASSERT_EQUAL(w->distributor.questions.count, 0);
    CU_ASSERT_EQUAL(w->distributor.n_asking, 0);
    ask_us(w, 9, "mailto:nobody");
    CU_ASSERT_EQUAL(w->told, 3);
    CU_ASSERT_EQUAL(w->answer->class, FETCH_ROBOTS_ERROR);
    tear_down(w);
}

UNIT_MAIN("visit_errand",
          {"the answer of another agent goes to a fetching thread with its host",
           the_answer_goes_to_a_fetching_thread_with_the_host},
          {"a host of this agent is asked from here", a_host_of_ours_is_asked_from_here},
          {"an owner that is away is waited for, and nobody is charged",
           an_owner_that_is_away_is_waited_for_and_nobody_is_charged},
          {"rules in force stay so while the owner is away",
           rules_in_force_stay_so_while_the_owner_is_away},
          {"what others ask is fetched from a guest", what_others_ask_is_fetched_from_a_guest},
          {"what others ask waits for a host that is at work",
           what_others_ask_waits_for_a_host_at_work},
          {"others are told that a host is out of reach",
           others_are_told_that_a_host_is_out_of_reach})
