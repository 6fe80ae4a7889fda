/* Windows of hosts against what is scheduled, in flight and stored: nothing is handed out twice,
 * nothing beyond the limit of a host, and the best first. */
#include "frontier/host/visit_window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dice.h"
#include "frontier/distributor/distributor.h"
#include "store/pages/page_db_read.h"
#include "store/schedule/schedule_read.h"
#include "store_fixture.h"
#include "unit.h"

enum { HOSTS = 2, MOST_URLS = 400, STEPS = 500, WINDOW = 8, LEVELS = 6, LIMIT = 30 };

typedef enum ModelState {
    MODEL_UNKNOWN,
    MODEL_WAITS,
    MODEL_IN_WINDOW,
    MODEL_TAKEN,
    MODEL_DONE
} ModelState;

typedef struct World {
    StoreFixture fixture;
    Distributor distributor;
    VisitState *hosts[HOSTS];
    Dice dice;
    size_t n_urls;
    ModelState states[MOST_URLS]; /* by index */
    uint32_t host_of[MOST_URLS];
    uint8_t level_of[MOST_URLS];
} World;

static void no_resolve(void *context, VisitState *visit_state)
{
    (void)context;
    (void)visit_state;
}

static World *set_up(const DistributorOptions *options, uint64_t seed)
{
    World *w = calloc(1, sizeof *w);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    PolitenessOptions politeness = {.host_delay_ms = 1000};
    DistributorSinks sinks = {.context = w, .resolve = no_resolve};
    w->dice.state = seed;
    store_fixture_open(&w->fixture);
    CU_ASSERT_EQUAL_FATAL(distributor_init(&w->distributor, options, &politeness, &sinks,
                                           w->fixture.store.db, w->fixture.store.schedule,
                                           w->fixture.store.hosts),
                          RESULT_OK);
    for (uint32_t i = 0; i < HOSTS; i++) {
        char origin[64];
        (void)snprintf(origin, sizeof origin, "http://h%u.example", i);
        CU_ASSERT_EQUAL_FATAL(visit_state_new(&w->hosts[i], i, origin, strlen(origin)), RESULT_OK);
        w->hosts[i]->window.bias = options->bias;
    }
    return w;
}

static void tear_down(World *w)
{
    for (size_t i = 0; i < HOSTS; i++) {
        visit_window_release(&w->distributor, w->hosts[i]);
        visit_state_delete(w->hosts[i]);
    }
    distributor_destroy(&w->distributor);
    store_fixture_close(&w->fixture, true);
    free(w);
}

static DistributorOptions options_with(LevelBias bias, uint64_t pages_per_host)
{
    return (DistributorOptions){.memory_bytes = (size_t)64 << 20,
                                .window_max = WINDOW,
                                .pages_per_host = pages_per_host,
                                .robots_agent = "ragno",
                                .bias = bias};
}

static const char *url_number(uint64_t index)
{
    static char url[64];
    (void)snprintf(url, sizeof url, "http://h%u.example/%u", (unsigned)index % HOSTS,
                   (unsigned)index);
    return url;
}

static void add_url(World *w, uint8_t level)
{
    if (w->n_urls == MOST_URLS) {
        return;
    }
    MDB_txn *txn = store_fixture_begin(&w->fixture, false);
    store_fixture_add(&w->fixture, txn, url_number(w->n_urls), level);
    store_fixture_commit(&w->fixture, txn);
    w->states[w->n_urls] = MODEL_WAITS;
    w->host_of[w->n_urls] = (uint32_t)w->n_urls % HOSTS;
    w->level_of[w->n_urls] = level;
    w->n_urls++;
}

static uint64_t count(const World *w, uint32_t host, ModelState state)
{
    uint64_t n = 0;
    for (size_t i = 0; i < w->n_urls; i++) {
        n += w->host_of[i] == host && w->states[i] == state;
    }
    return n;
}

/* ---- what holds at any time ---- */

static void check(World *w)
{
    uint64_t in_flight = 0;
    for (uint32_t host = 0; host < HOSTS; host++) {
        const VisitState *visit_state = w->hosts[host];
        const VisitWindow *window = &visit_state->window;
        CU_ASSERT_EQUAL(visit_state_count(visit_state), count(w, host, MODEL_IN_WINDOW));
        for (uint32_t i = window->next; i < window->count; i++) {
            const WindowUrl *url = &window->urls[i];
            CU_ASSERT_FATAL(url->index < w->n_urls);
            CU_ASSERT_EQUAL(w->states[url->index], MODEL_IN_WINDOW);
            CU_ASSERT_EQUAL(url->level, w->level_of[url->index]);
            CU_ASSERT_STRING_EQUAL(visit_state_url(visit_state, url), url_number(url->index));
            CU_ASSERT_EQUAL(url->length, strlen(url_number(url->index)));
        }
        uint64_t uncommitted = count(w, host, MODEL_IN_WINDOW) + count(w, host, MODEL_TAKEN);
        CU_ASSERT_EQUAL(visit_state->distributor.uncommitted, uncommitted);
        in_flight += uncommitted;
        uint64_t most = w->distributor.options.pages_per_host;
        CU_ASSERT_TRUE(most == 0 || uncommitted + count(w, host, MODEL_DONE) <= most);
    }
    CU_ASSERT_EQUAL(w->distributor.in_flight.count, in_flight);
    for (size_t i = 0; i < w->n_urls; i++) {
        bool is_away = w->states[i] == MODEL_IN_WINDOW || w->states[i] == MODEL_TAKEN;
        CU_ASSERT_EQUAL(map_get(&w->distributor.in_flight, map_key(i)) != NULL, is_away);
    }
}

/* ---- steps ---- */

/* The best of a host that wait, in order; how many. */
static size_t best_waiting(const World *w, uint32_t host, uint64_t *best)
{
    size_t n = 0;
    for (unsigned level = 0; level < LEVELS; level++) {
        for (size_t i = 0; i < w->n_urls; i++) {
            if (w->host_of[i] == host && w->states[i] == MODEL_WAITS && w->level_of[i] == level) {
                best[n++] = i;
            }
        }
    }
    return n;
}

static void step_refill(World *w, uint32_t host)
{
    VisitState *visit_state = w->hosts[host];
    uint64_t best[MOST_URLS];
    if (visit_state_n_ready(visit_state) > 0) {
        return;
    }
    const DistributorOptions *options = &w->distributor.options;
    uint32_t n_later = visit_state_count(visit_state);
    size_t n = best_waiting(w, host, best);
    uint64_t used = visit_state->distributor.uncommitted + count(w, host, MODEL_DONE);
    uint64_t left = options->pages_per_host == 0 ? UINT64_MAX : options->pages_per_host - used;
    size_t expected = n < WINDOW ? n : WINDOW;
    expected = expected < left ? expected : (size_t)left;
    MDB_txn *txn = store_fixture_begin(&w->fixture, true);
    CU_ASSERT_EQUAL(visit_window_refill(&w->distributor, txn, visit_state), RESULT_OK);
    page_db_txn_abort(w->fixture.store.db, txn);
    CU_ASSERT_EQUAL(visit_state->distributor.capped, left == 0);
    CU_ASSERT_EQUAL_FATAL(visit_state_count(visit_state), expected + n_later);
    size_t lower = options->bias.kind == LEVEL_BIAS_WEIGHTED
                       ? (size_t)(options->bias.lower_share * (double)expected + 0.5)
                       : 0;
    const VisitWindow *window = &visit_state->window;
    unsigned n_best = 0;
    for (size_t i = 0; i < expected; i++) {
        const WindowUrl *url = &window->urls[window->next + i];
        CU_ASSERT_EQUAL(w->states[url->index], MODEL_WAITS);
        /* With a bias the first one may have a turn before the best. */
        CU_ASSERT_TRUE(i == 0 || (i == 1 && options->bias.kind == LEVEL_BIAS_WEIGHTED) ||
                       w->level_of[url[-1].index] <= w->level_of[url->index]);
        w->states[url->index] = MODEL_IN_WINDOW;
    }
    for (size_t i = 0; i < expected; i++) {
        n_best += w->states[best[i]] == MODEL_IN_WINDOW;
        /* The head comes whole, and in order. */
        CU_ASSERT_TRUE(i + lower >= expected || w->states[best[i]] == MODEL_IN_WINDOW);
    }
    CU_ASSERT_TRUE(lower > 0 || n_best == expected);
}

/* The next URL of the window is sent to be fetched, or fails and waits. */
static void step_take(World *w, uint32_t host)
{
    VisitState *visit_state = w->hosts[host];
    const WindowUrl *url = visit_state_peek(visit_state);
    if (url == NULL) {
        return;
    }
    CU_ASSERT_EQUAL(w->states[url->index], MODEL_IN_WINDOW);
    if (dice_below(&w->dice, 3) == 0) {
        visit_state_defer(visit_state, 1, (MonoTime){INT64_C(1) << 40});
        return;
    }
    w->states[url->index] = MODEL_TAKEN;
    visit_state_take(visit_state);
}

/* The result of one that was taken is committed. */
static void step_commit(World *w, uint32_t host)
{
    size_t i = dice_below(&w->dice, w->n_urls + 1);
    for (size_t tries = 0; tries < w->n_urls; tries++, i++) {
        size_t index = i % w->n_urls;
        if (w->states[index] != MODEL_TAKEN || w->host_of[index] != host) {
            continue;
        }
        HostRecord record;
        MDB_txn *txn = store_fixture_begin(&w->fixture, false);
        CU_ASSERT_EQUAL(
            schedule_remove(w->fixture.store.schedule, txn, host, w->level_of[index], index),
            RESULT_OK);
        CU_ASSERT_EQUAL(host_rows_get(w->fixture.store.hosts, txn, host, &record), RESULT_OK);
        record.pages++;
        CU_ASSERT_EQUAL(host_rows_put(w->fixture.store.hosts, txn, host, &record), RESULT_OK);
        store_fixture_commit(&w->fixture, txn);
        (void)map_remove(&w->distributor.in_flight, map_key(index));
        distributor_set_uncommitted(&w->distributor, w->hosts[host],
                                    w->hosts[host]->distributor.uncommitted - 1);
        w->states[index] = MODEL_DONE;
        return;
    }
}

static void step_release(World *w, uint32_t host)
{
    VisitState *visit_state = w->hosts[host];
    bool all = dice_below(&w->dice, 2) == 0;
    const VisitWindow *window = &visit_state->window;
    for (uint32_t i = window->next; i < window->count; i++) {
        if (all || window->urls[i].later == 0) {
            w->states[window->urls[i].index] = MODEL_WAITS;
        }
    }
    if (all) {
        visit_window_release(&w->distributor, visit_state);
    } else {
        visit_window_release_ready(&w->distributor, visit_state);
    }
    CU_ASSERT_EQUAL(visit_state_n_ready(visit_state), 0);
}

static void run(const DistributorOptions *options, uint64_t seed)
{
    static void (*const steps[])(World *, uint32_t) = {step_refill, step_refill, step_take,
                                                       step_take,   step_commit, step_commit};
    World *w = set_up(options, seed);
    for (unsigned i = 0; i < STEPS; i++) {
        uint32_t host = (uint32_t)dice_below(&w->dice, HOSTS);
        if (i < WINDOW || dice_below(&w->dice, 4) == 0) {
            add_url(w, (uint8_t)dice_below(&w->dice, LEVELS));
        } else if (dice_below(&w->dice, 20) == 0) {
            step_release(w, host);
        } else {
            steps[dice_below(&w->dice, 6)](w, host);
        }
        check(w);
    }
    CU_ASSERT_TRUE(count(w, 0, MODEL_DONE) > 20);
    CU_ASSERT_TRUE(options->pages_per_host == 0 || w->hosts[0]->distributor.capped);
    tear_down(w);
}

static void the_best_come_first_and_nothing_twice(void)
{
    DistributorOptions options = options_with((LevelBias){.kind = LEVEL_BIAS_STRICT}, 0);
    run(&options, 1);
}

static void lower_levels_have_their_share(void)
{
    DistributorOptions options =
        options_with((LevelBias){.kind = LEVEL_BIAS_WEIGHTED, .lower_share = 0.4}, 0);
    run(&options, 2);
    options.bias.lower_share = 1.0;
    run(&options, 3);
}

static void no_host_has_more_in_flight_than_its_limit_leaves(void)
{
    DistributorOptions options = options_with((LevelBias){.kind = LEVEL_BIAS_STRICT}, LIMIT);
    run(&options, 4);
}

/* ---- one by one ---- */

static void take_refill(World *w, Result expected)
{
    MDB_txn *txn = store_fixture_begin(&w->fixture, true);
    CU_ASSERT_EQUAL(visit_window_refill(&w->distributor, txn, w->hosts[0]), expected);
    page_db_txn_abort(w->fixture.store.db, txn);
}

static void a_window_is_as_long_as_memory_and_appetite_allow(void)
{
    DistributorOptions options = options_with((LevelBias){.kind = LEVEL_BIAS_STRICT}, 0);
    options.memory_bytes = 1; /* some are always had */
    World *w = set_up(&options, 5);
    for (unsigned i = 0; i < 60; i++) {
        add_url(w, 0);
    }
    take_refill(w, RESULT_OK);
    CU_ASSERT_EQUAL(visit_state_count(w->hosts[0]), 4);
    w->distributor.options.memory_bytes = (size_t)64 << 20;
    w->hosts[0]->distributor.appetite = 5;
    static const uint32_t sizes[] = {5, 8, 8};
    for (size_t i = 0; i < 3; i++) {
        visit_window_release(&w->distributor, w->hosts[0]);
        take_refill(w, RESULT_OK);
        CU_ASSERT_EQUAL(visit_state_count(w->hosts[0]), sizes[i]);
    }
    tear_down(w);
}

/* Those that wait for a retry have their place as long as there is room for their texts. */
static void long_urls_share_the_room_for_texts(void)
{
    enum { LONG = 50000, N = 60 };
    DistributorOptions options = options_with((LevelBias){.kind = LEVEL_BIAS_STRICT}, 0);
    options.window_max = N;
    World *w = set_up(&options, 6);
    MDB_txn *txn = store_fixture_begin(&w->fixture, false);
    char *url = malloc(LONG + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(url);
    for (unsigned i = 0; i < N; i++) {
        StoreFixtureLevel level = {.fixture = &w->fixture, .txn = txn};
        PageSink sink = {.context = &level, .discovered = store_fixture_schedule};
        int head = snprintf(url, LONG, "http://h0.example/%u/", i);
        memset(url + head, 'x', (size_t)(LONG - head));
        url[LONG] = '\0';
        LinkInfo link = {.url = url};
        CU_ASSERT_EQUAL_FATAL(
            page_db_discover(w->fixture.store.db, txn, &link, NULL, 1, PAGE_DB_NO_INDEX, 0, &sink),
            0);
    }
    free(url);
    store_fixture_commit(&w->fixture, txn);
    VisitState *visit_state = w->hosts[0];
    take_refill(w, RESULT_OK);
    uint32_t fit = visit_state_count(visit_state);
    CU_ASSERT_TRUE(fit > N / 2 && fit < N);
    for (uint32_t i = 0; i < fit; i++) { /* all fail */
        visit_state_defer(visit_state, 1, (MonoTime){INT64_C(1) << 40});
    }
    take_refill(w, RESULT_OK);
    uint32_t n = visit_state_count(visit_state);
    CU_ASSERT_TRUE(visit_state_n_ready(visit_state) == N - fit && n > N - fit && n <= fit);
    CU_ASSERT_EQUAL(visit_state->distributor.uncommitted, n);
    CU_ASSERT_EQUAL(w->distributor.in_flight.count, n);
    for (uint32_t i = 0; i < n; i++) {
        const WindowUrl *kept = &visit_state->window.urls[i];
        CU_ASSERT_PTR_NOT_NULL(map_get(&w->distributor.in_flight, map_key(kept->index)));
        CU_ASSERT_EQUAL(strlen(visit_state_url(visit_state, kept)), LONG);
    }
    tear_down(w);
}

static void a_page_that_is_gone_is_passed_over(void)
{
    DistributorOptions options = options_with((LevelBias){.kind = LEVEL_BIAS_STRICT}, 0);
    World *w = set_up(&options, 7);
    add_url(w, 1);
    MDB_txn *txn = store_fixture_begin(&w->fixture, false);
    CU_ASSERT_EQUAL(schedule_put(w->fixture.store.schedule, txn, 0, 0, 77), RESULT_OK);
    store_fixture_commit(&w->fixture, txn);
    take_refill(w, RESULT_OK);
    CU_ASSERT_EQUAL(visit_state_count(w->hosts[0]), 1);
    CU_ASSERT_EQUAL(w->distributor.in_flight.count, 1);
    CU_ASSERT_TRUE(w->distributor.failed); /* a damaged database is not read for ever */
    tear_down(w);
}

UNIT_MAIN("visit_window",
          {"the best come first, and nothing twice", the_best_come_first_and_nothing_twice},
          {"lower levels have their share", lower_levels_have_their_share},
          {"no host has more in flight than its limit leaves",
           no_host_has_more_in_flight_than_its_limit_leaves},
          {"a window is as long as memory and appetite allow",
           a_window_is_as_long_as_memory_and_appetite_allow},
          {"long URLs share the room for texts", long_urls_share_the_room_for_texts},
          {"a page that is gone is passed over", a_page_that_is_gone_is_passed_over})
