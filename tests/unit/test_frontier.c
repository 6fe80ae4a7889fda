#include <arpa/inet.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "frontier/distributor/frontier.h"

#include "store_fixture.h"
#include "unit.h"
#include "until.h"

/* ---- frontier ---- */

#define HOSTS     40u
#define ADDRESSES 10u
#define URLS      12u /* per host */
#define DELAY_MS  2
#define LONG_MS   30
#define AMPLE     ((size_t)1 << 20) /* for all hosts */
#define SCARCE    ((size_t)12 << 10)

/* The world around a frontier, one thread: names are resolved and URLs fetched at once, results are
 * committed one by one. */
typedef struct World {
    StoreFixture fixture;
    Frontier *frontier;
    Queue work; /* visit states that wait for an address or a fetch */
    Thread thread;
    atomic_uint fetched;
    atomic_uint wrong; /* a promise was broken */
    /* the world's thread alone */
    unsigned seen[HOSTS * URLS];
    MonoTime host_end[HOSTS];
    MonoTime address_end[ADDRESSES];
    atomic_uint n_fetching;
    size_t connections;
    int64_t delay_ms; /* of a host; of an address half of it */
} World;

static void on_resolve(void *context, VisitState *visit_state)
{
    World *w = context;
    (void)queue_push(&w->work, visit_state);
}

static void on_fetch(void *context, VisitState *visit_state)
{
    World *w = context;
    if (atomic_fetch_add(&w->n_fetching, 1) + 1 > w->connections) {
        atomic_fetch_add(&w->wrong, 1);
    }
    (void)queue_push(&w->work, visit_state);
}

static void on_drop(void *context, const VisitState *visit_state, FetchClass why)
{
    (void)visit_state;
    (void)why;
    World *w = context;
    atomic_fetch_add(&w->wrong, 1);
}

static void on_unresolved(void *context, const VisitState *visit_state, FetchClass why,
                          int64_t wait_ms)
{
    (void)why;
    (void)visit_state;
    (void)wait_ms;
    World *w = context;
    atomic_fetch_add(&w->wrong, 1);
}

static void resolve(World *w, VisitState *visit_state)
{
    struct in_addr in = {htonl(0x0b000000u + visit_state->identity.host % ADDRESSES)};
    visit_state->address.ip = ip_address_v4(&in);
    visit_state->address.expiry = MONO_NEVER;
    visit_state->address.class = FETCH_OK;
    frontier_resolved(w->frontier, visit_state);
}

static void commit(World *w, uint64_t index, uint32_t host, unsigned level)
{
    MDB_txn *txn = store_fixture_begin(&w->fixture, false);
    CU_ASSERT_EQUAL(schedule_remove(w->fixture.store.schedule, txn, host, level, index), RESULT_OK);
    store_fixture_commit(&w->fixture, txn);
    CommitNotice *notice = calloc(1, sizeof *notice);
    notice->done = calloc(1, sizeof *notice->done);
    notice->done[0] = (CommitDone){.index = index, .host = host};
    notice->n_done = 1;
    frontier_committed(w->frontier, notice);
}

static void fetch(World *w, VisitState *visit_state)
{
    const WindowUrl *url = visit_state_peek(visit_state);
    MonoTime now = mono_now();
    uint32_t host = visit_state->identity.host;
    uint32_t address = host % ADDRESSES;
    uint64_t index = url->index;
    unsigned level = url->level;
    if (w->seen[index]++ > 0 ||
        (w->host_end[host].ns > 0 && mono_ms_between(w->host_end[host], now) < w->delay_ms) ||
        (w->address_end[address].ns > 0 &&
         mono_ms_between(w->address_end[address], now) < w->delay_ms / 2)) {
        atomic_fetch_add(&w->wrong, 1);
    }
    visit_state_take(visit_state);
    MonoTime end = mono_now();
    w->host_end[host] = end;
    w->address_end[address] = end;
    visit_state->politeness.next_fetch = mono_add_ms(end, w->delay_ms);
    visit_state->politeness.ip_next_fetch = mono_add_ms(end, w->delay_ms / 2);
    atomic_fetch_sub(&w->n_fetching, 1);
    frontier_fetched(w->frontier, visit_state);
    frontier_call(w->frontier);
    commit(w, index, host, level);
    atomic_fetch_add(&w->fetched, 1);
}

static void *world_main(void *context)
{
    World *w = context;
    void *item = NULL;
    size_t n = 0;
    while (queue_pop(&w->work, &item, 1, &n, MONO_NEVER) == RESULT_OK) {
        VisitState *visit_state = item;
        if (visit_state->place == VISIT_STATE_RESOLVING) {
            resolve(w, visit_state);
        } else {
            fetch(w, visit_state);
        }
    }
    return NULL;
}

static World *set_up(size_t connections, size_t memory_bytes, int64_t delay_ms)
{
    World *w = calloc(1, sizeof *w);
    w->delay_ms = delay_ms;
    w->connections = connections;
    store_fixture_open(&w->fixture);
    MDB_txn *txn = store_fixture_begin(&w->fixture, false);
    for (unsigned host = 0; host < HOSTS; host++) {
        for (unsigned i = 0; i < URLS; i++) {
            char url[64];
            (void)snprintf(url, sizeof url, "http://h%u.example/%u", host, i);
            store_fixture_add(&w->fixture, txn, url, (uint8_t)(i % 4));
        }
    }
    store_fixture_commit(&w->fixture, txn);
    CU_ASSERT_EQUAL_FATAL(queue_init(&w->work, 1000), RESULT_OK);
    FrontierOptions options = {
        .distributor = {.memory_bytes = memory_bytes,
                        .window_max = 5,
                        .host_delay_ms = delay_ms,
                        .robots_agent = "ragno"},
        .politeness = {.host_delay_ms = delay_ms, .ip_delay_ms = delay_ms / 2},
        .connections = connections,
        .front_first = 4,
        .front_step = 4,
        .front_max = 1000};
    politeness_default_rules(options.politeness.rules);
    FrontierSinks sinks = {.hosts = {.context = w,
                                     .resolve = on_resolve,
                                     .drop = on_drop,
                                     .unresolved = on_unresolved},
                           .fetch = on_fetch};
    CU_ASSERT_EQUAL_FATAL(frontier_new(&w->frontier, &options, &sinks, w->fixture.store.db,
                                       w->fixture.store.schedule, w->fixture.store.hosts),
                          RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(thread_start(&w->thread, "world", world_main, w), RESULT_OK);
    return w;
}

static void tear_down(World *w)
{
    queue_close(&w->work);
    thread_join(&w->thread);
    frontier_stop(w->frontier);
    frontier_delete(w->frontier);
    queue_destroy(&w->work);
    store_fixture_close(&w->fixture, true);
    free(w);
}

static bool wait_for(World *w, unsigned fetched)
{
    return UNTIL(atomic_load(&w->fetched) >= fetched);
}

static unsigned visit_states_of(World *w)
{
    FrontierStats stats;
    frontier_stats(w->frontier, &stats);
    return (unsigned)stats.visit_states;
}

static void everything_is_fetched_once_and_politely(void)
{
    World *w = set_up(6, AMPLE, DELAY_MS);
    FrontierStats stats;
    CU_ASSERT_EQUAL(frontier_start(w->frontier), RESULT_OK);
    CU_ASSERT_TRUE(wait_for(w, HOSTS * URLS));
    CU_ASSERT_EQUAL(atomic_load(&w->fetched), HOSTS * URLS);
    CU_ASSERT_EQUAL(atomic_load(&w->wrong), 0);
    frontier_stats(w->frontier, &stats);
    CU_ASSERT_TRUE(stats.starved > 0);
    tear_down(w);
}

static void a_paused_frontier_hands_out_nothing(void)
{
    World *w = set_up(6, AMPLE, DELAY_MS);
    frontier_pause(w->frontier, true);
    CU_ASSERT_EQUAL(frontier_start(w->frontier), RESULT_OK);
    CU_ASSERT_TRUE(UNTIL(visit_states_of(w) >= 4)); /* the distributor goes on */
    CU_ASSERT_EQUAL(atomic_load(&w->fetched), 0);
    frontier_pause(w->frontier, false);
    CU_ASSERT_TRUE(wait_for(w, HOSTS * URLS));
    CU_ASSERT_EQUAL(atomic_load(&w->wrong), 0);
    tear_down(w);
}

static void connections_may_change_while_it_runs(void)
{
    World *w = set_up(50, AMPLE, DELAY_MS);
    frontier_set_connections(w->frontier, 0);
    CU_ASSERT_EQUAL(frontier_start(w->frontier), RESULT_OK);
    CU_ASSERT_EQUAL(atomic_load(&w->fetched), 0);
    frontier_set_connections(w->frontier, 2);
    CU_ASSERT_TRUE(wait_for(w, 20));
    frontier_set_connections(w->frontier, 50);
    CU_ASSERT_TRUE(wait_for(w, HOSTS * URLS));
    CU_ASSERT_EQUAL(atomic_load(&w->wrong), 0);
    tear_down(w);
}

static void hosts_make_room_for_better_ones_between_the_threads(void)
{
    World *w = set_up(6, SCARCE, LONG_MS);
    FrontierStats stats;
    CU_ASSERT_EQUAL(frontier_start(w->frontier), RESULT_OK);
    CU_ASSERT_TRUE(wait_for(w, HOSTS * URLS));
    CU_ASSERT_EQUAL(atomic_load(&w->wrong), 0);
    frontier_stats(w->frontier, &stats);
    CU_ASSERT_TRUE(stats.evictions > 0);
    tear_down(w);
}

/* ---- hunger ---- */

static const MonoTime START = {INT64_C(1000000000)};

static MonoTime at(int64_t ms)
{
    return mono_add_ms(START, ms);
}

static void a_front_that_starves_must_be_larger(void)
{
    Hunger hunger;
    hunger_init(&hunger, 100, 64, 200);
    CU_ASSERT_TRUE(hunger_starve(&hunger, 100, at(0)));
    CU_ASSERT_EQUAL(hunger_required(&hunger), 164);
    hunger_heard(&hunger);
    CU_ASSERT_TRUE(hunger_starve(&hunger, 164, at(0)));
    CU_ASSERT_EQUAL(hunger_required(&hunger), 200);
    hunger_heard(&hunger);
    CU_ASSERT_FALSE(hunger_starve(&hunger, 200, at(0)));
    CU_ASSERT_EQUAL(hunger_required(&hunger), 200);
    CU_ASSERT_EQUAL(atomic_load(&hunger.starved), 3);
}

static void a_message_is_not_sent_twice(void)
{
    Hunger hunger;
    hunger_init(&hunger, 100, 1, 200);
    CU_ASSERT_TRUE(hunger_starve(&hunger, 50, at(0)));
    CU_ASSERT_FALSE(hunger_starve(&hunger, 50, at(1000)));
    CU_ASSERT_EQUAL(hunger_required(&hunger), 100);
    hunger_heard(&hunger);
    CU_ASSERT_TRUE(hunger_starve(&hunger, 50, at(1000)));
}

static void who_has_had_all_there_is_waits_for_the_next_walk(void)
{
    Hunger hunger;
    hunger_init(&hunger, 100, 1, 200);
    CU_ASSERT_TRUE(hunger_starve(&hunger, 50, at(0)));
    hunger_heard(&hunger);
    hunger_fed(&hunger, true, at(300), at(0));
    CU_ASSERT_FALSE(hunger_starve(&hunger, 50, at(299)));
    CU_ASSERT_TRUE(hunger_starve(&hunger, 50, at(300)));
    hunger_heard(&hunger);
    hunger_fed(&hunger, true, at(0), at(300)); /* a walk is due, but has brought nothing now */
    CU_ASSERT_FALSE(hunger_starve(&hunger, 50, at(300 + HUNGER_PAUSE_MS - 1)));
    CU_ASSERT_TRUE(hunger_starve(&hunger, 50, at(300 + HUNGER_PAUSE_MS)));
}

static void who_was_not_hungry_is_heard_at_once(void)
{
    Hunger hunger;
    hunger_init(&hunger, 100, 1, 200);
    hunger_fed(&hunger, true, at(300), at(0));
    hunger_fed(&hunger, false, at(300), at(1));
    CU_ASSERT_TRUE(hunger_starve(&hunger, 50, at(2)));
}

/* ---- mailbox ---- */

static char letter[3];

static size_t taken(Mailbox *mailbox, MonoTime deadline)
{
    void *messages[MAILBOX_BATCH];
    size_t n = 0;
    CU_ASSERT_TRUE(mailbox_take(mailbox, messages, &n, deadline));
    for (size_t i = 0; i < n; i++) {
        CU_ASSERT_PTR_EQUAL(messages[i], &letter[i]);
    }
    return n;
}

static void what_is_posted_is_taken_in_order(void)
{
    Mailbox mailbox;
    CU_ASSERT_EQUAL_FATAL(mailbox_init(&mailbox, false), RESULT_OK);
    CU_ASSERT_TRUE(mailbox_post(&mailbox, &letter[0]));
    CU_ASSERT_TRUE(mailbox_post_by(&mailbox, &letter[1], MONO_NEVER));
    CU_ASSERT_TRUE(mailbox_post(&mailbox, &letter[2]));
    queue_call(&mailbox.queue);
    CU_ASSERT_EQUAL(taken(&mailbox, MONO_NEVER), 3);
    CU_ASSERT_EQUAL(taken(&mailbox, (MonoTime){0}), 0);
    CU_ASSERT_EQUAL(mailbox.look.ns, MONO_NEVER.ns); /* it has no runs */
    queue_destroy(&mailbox.queue);
}

/* Times lie so far from now that no machine is too slow for them. */
static void in_a_run_it_is_looked_into_once_in_a_while(void)
{
    Mailbox mailbox;
    CU_ASSERT_EQUAL_FATAL(mailbox_init(&mailbox, true), RESULT_OK);
    (void)mailbox_post(&mailbox, &letter[0]);
    mailbox.told = mono_add_ms(mono_now(), -3600000);
    CU_ASSERT_EQUAL(taken(&mailbox, MONO_NEVER), 1);
    CU_ASSERT_EQUAL(mailbox.look.ns, MONO_NEVER.ns); /* it came alone */
    (void)mailbox_post(&mailbox, &letter[0]);
    mailbox.told = mono_add_ms(mono_now(), 3600000);
    CU_ASSERT_EQUAL(taken(&mailbox, MONO_NEVER), 1);
    CU_ASSERT_TRUE(mono_before(mailbox.look, MONO_NEVER));
    CU_ASSERT_EQUAL(taken(&mailbox, MONO_NEVER), 0); /* it looks, and nothing is there */
    CU_ASSERT_EQUAL(mailbox.look.ns, MONO_NEVER.ns);
    queue_destroy(&mailbox.queue);
}

static void closed_it_takes_nothing_and_gives_what_is_left(void)
{
    Mailbox mailbox;
    void *messages[MAILBOX_BATCH];
    size_t n = 0;
    CU_ASSERT_EQUAL_FATAL(mailbox_init(&mailbox, true), RESULT_OK);
    (void)mailbox_post(&mailbox, &letter[0]);
    queue_close(&mailbox.queue);
    CU_ASSERT_FALSE(mailbox_post(&mailbox, &letter[1]));
    CU_ASSERT_FALSE(mailbox_post_by(&mailbox, &letter[1], MONO_NEVER));
    CU_ASSERT_EQUAL(taken(&mailbox, MONO_NEVER), 1);
    CU_ASSERT_FALSE(mailbox_take(&mailbox, messages, &n, MONO_NEVER));
    CU_ASSERT_EQUAL(n, 0);
    queue_destroy(&mailbox.queue);
}

UNIT_MAIN("frontier",
          {"everything is fetched once, and politely", everything_is_fetched_once_and_politely},
          {"a paused frontier hands out nothing", a_paused_frontier_hands_out_nothing},
          {"hosts make room for better ones between the threads",
           hosts_make_room_for_better_ones_between_the_threads},
          {"connections may change while it runs", connections_may_change_while_it_runs},
          {"a front that starves must be larger", a_front_that_starves_must_be_larger},
          {"a message is not sent twice", a_message_is_not_sent_twice},
          {"who has had all there is waits for the next walk",
           who_has_had_all_there_is_waits_for_the_next_walk},
          {"who was not hungry is heard at once", who_was_not_hungry_is_heard_at_once},
          {"what is posted is taken in order", what_is_posted_is_taken_in_order},
          {"in a run it is looked into once in a while",
           in_a_run_it_is_looked_into_once_in_a_while},
          {"closed, it takes nothing and gives what is left",
           closed_it_takes_nothing_and_gives_what_is_left})
