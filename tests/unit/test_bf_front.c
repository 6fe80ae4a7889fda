#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "store/best_first/bf_front.h"
#include "schedule_fixture.h"
#include "unit.h"

typedef struct World {
    ScheduleFixture store;
    BFFront *front;
} World;

static uint64_t draw(World *w, uint64_t below)
{
    return schedule_fixture_draw(&w->store, below);
}

static MDB_txn *begin(World *w, unsigned flags)
{
    return schedule_fixture_begin(&w->store, flags);
}

static void world_start(World *w, uint64_t seed)
{
    schedule_fixture_start(&w->store, seed);
    w->front = bf_front_new(w->store.schedule);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w->front);
}

static void world_end(World *w)
{
    bf_front_delete(w->front);
    schedule_fixture_end(&w->store);
}

static void put(World *w, uint32_t host, unsigned level, uint64_t value)
{
    MDB_txn *txn = begin(w, 0);
    CU_ASSERT_EQUAL(schedule_put(w->store.schedule, txn, host, level, value), RESULT_OK);
    CU_ASSERT_EQUAL(mdb_txn_commit(txn), 0);
    CU_ASSERT_EQUAL(bf_front_offer(w->front, host, bf_order(level, value)), RESULT_OK);
}

/* Whether the entry was leased. */
static bool take_away(World *w, uint32_t host, BFOrder order)
{
    MDB_txn *txn = begin(w, 0);
    CU_ASSERT_EQUAL(
        schedule_remove(w->store.schedule, txn, host, bf_order_level(order), bf_order_value(order)),
        RESULT_OK);
    CU_ASSERT_EQUAL(mdb_txn_commit(txn), 0);
    bool was_leased = bf_front_end_lease(w->front, bf_order_index(order));
    bf_front_withdraw(w->front, host, order);
    return was_leased;
}

#define PAGES 3000u

/* The naive front: every page ever put, in an array. */
typedef struct Entry {
    uint32_t host;
    BFOrder order;
    bool scheduled;
    bool leased;
} Entry;

static Entry *naive_best(Entry *entries)
{
    Entry *best = NULL;
    for (size_t i = 0; i < PAGES; i++) {
        Entry *e = &entries[i];
        if (e->scheduled && !e->leased &&
            (best == NULL || e->order < best->order ||
             (e->order == best->order && e->host < best->host))) {
            best = e;
        }
    }
    return best;
}

static void one_take(World *w, Entry *entries)
{
    uint32_t host = 0;
    BFOrder order = 0;
    MDB_txn *txn = begin(w, MDB_RDONLY);
    bf_front_allow(w->front, 1u << 20);
    Result rc = bf_front_take(w->front, txn, 0.0, &host, &order);
    mdb_txn_abort(txn);
    Entry *expected = naive_best(entries);
    if (expected == NULL) {
        CU_ASSERT_EQUAL(rc, RESULT_NOT_FOUND);
        return;
    }
    CU_ASSERT_EQUAL_FATAL(rc, RESULT_OK);
    CU_ASSERT_EQUAL(host, expected->host);
    CU_ASSERT_EQUAL(order, expected->order);
    expected->leased = true;
}

static void takes_are_the_best_of_all_hosts(void)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        World w;
        world_start(&w, seed);
        Entry *entries = calloc(PAGES, sizeof *entries);
        const uint32_t n_hosts = seed % 2 == 0 ? 7 : 700;
        for (int step = 0; step < 12000; step++) {
            uint64_t index = draw(&w, PAGES);
            Entry *e = &entries[index];
            uint64_t kind = draw(&w, 100);
            if (kind < 45 && !e->scheduled) {
                unsigned level = (unsigned)draw(&w, 16);
                uint64_t value = draw(&w, 4) << BF_INDEX_BITS | index;
                *e = (Entry){(uint32_t)draw(&w, n_hosts), bf_order(level, value), true, false};
                put(&w, e->host, level, value);
            } else if (kind < 60 && e->scheduled) { /* crawled */
                CU_ASSERT_EQUAL(take_away(&w, e->host, e->order), e->leased);
                *e = (Entry){0};
            } else if (kind < 65 && e->leased) { /* given back */
                CU_ASSERT(bf_front_end_lease(w.front, index));
                CU_ASSERT_EQUAL(bf_front_offer(w.front, e->host, e->order), RESULT_OK);
                e->leased = false;
            } else if (kind < 98) {
                one_take(&w, entries);
            } else if (draw(&w, 100) == 0) { /* a restart: leases are forgotten, nothing else */
                bf_front_clear(w.front);
                for (size_t i = 0; i < PAGES; i++) {
                    entries[i].leased = false;
                }
            }
        }
        for (uint64_t i = 0; i < PAGES + 1; i++) {
            one_take(&w, entries);
        }
        for (uint64_t i = 0; i < PAGES; i++) {
            if (entries[i].scheduled) {
                (void)take_away(&w, entries[i].host, entries[i].order);
            }
        }
        CU_ASSERT_EQUAL(bf_front_hosts(w.front), 0);
        CU_ASSERT_EQUAL(bf_front_leases(w.front), 0);
        free(entries);
        world_end(&w);
    }
}

/* Takes everything that can be had now; counts per host. */
static size_t take_all(World *w, double now_s, size_t most, size_t *of_host, size_t n_hosts)
{
    size_t n = 0;
    MDB_txn *txn = begin(w, MDB_RDONLY);
    uint32_t host = 0;
    BFOrder order = 0;
    bf_front_allow(w->front, 1000);
    while (n < most && bf_front_take(w->front, txn, now_s, &host, &order) == RESULT_OK) {
        CU_ASSERT(host < n_hosts);
        of_host[host < n_hosts ? host : 0]++;
        n++;
    }
    mdb_txn_abort(txn);
    return n;
}

static void fill(World *w, uint32_t host, unsigned level, uint64_t n)
{
    MDB_txn *txn = begin(w, 0);
    for (uint64_t i = 0; i < n; i++) {
        (void)schedule_put(w->store.schedule, txn, host, level, (uint64_t)host << 15 | i);
    }
    CU_ASSERT_EQUAL(mdb_txn_commit(txn), 0);
}

static void hard_rates_are_never_exceeded(void)
{
    const double rates[] = {0.1, 1.0, 7.0, 40.0};
    for (size_t r = 0; r < 4; r++) {
        World w;
        world_start(&w, r);
        for (uint32_t host = 0; host < 3; host++) {
            fill(&w, host, 2 + host, 20000);
        }
        CU_ASSERT_EQUAL(bf_front_set_rates(w.front, -1.0, rates[r]), RESULT_OK);
        size_t of_host[3] = {0};
        const double seconds = 100.0;
        for (double t = 0.0; t < seconds; t += 0.05) {
            (void)take_all(&w, 1000.0 + t, 1000, of_host, 3);
        }
        for (size_t host = 0; host < 3; host++) {
            double burst = rates[r] > 1.0 ? rates[r] : 1.0;
            CU_ASSERT((double)of_host[host] <= rates[r] * seconds + burst);
            CU_ASSERT((double)of_host[host] >= rates[r] * seconds * 0.95);
        }
        world_end(&w);
    }
}

static void hosts_below_the_soft_rate_go_first(void)
{
    World w;
    world_start(&w, 1);
    fill(&w, 0, 0, 5000); /* the best URLs are all on one host */
    for (uint32_t host = 1; host < 50; host++) {
        fill(&w, host, 9, 100);
    }
    CU_ASSERT_EQUAL(bf_front_set_rates(w.front, 1.0, 16.0), RESULT_OK);
    size_t of_host[50] = {0};
    CU_ASSERT_EQUAL(take_all(&w, 5.0, 50, of_host, 50), 50);
    CU_ASSERT_EQUAL(of_host[0], 1);
    CU_ASSERT_EQUAL(of_host[49], 1);
    /* all are at the soft rate now: those above it share the rest, up to the hard rate */
    CU_ASSERT_EQUAL(take_all(&w, 5.0, 100, of_host, 50), 100);
    CU_ASSERT(of_host[0] >= 2 && of_host[0] <= 4);
    size_t rest = take_all(&w, 5.0, 100000, of_host, 50);
    CU_ASSERT_EQUAL(rest + 150, 50 * 16);
    for (size_t host = 0; host < 50; host++) {
        CU_ASSERT_EQUAL(of_host[host], 16);
    }
    CU_ASSERT_EQUAL(take_all(&w, 5.01, 100, of_host, 50), 0);
    CU_ASSERT_EQUAL(take_all(&w, 5.07, 100, of_host, 50), 50); /* 1/16 s later: one each */
    world_end(&w);
}

static void limits_may_be_one_sided_or_none(void)
{
    World w;
    world_start(&w, 1);
    fill(&w, 0, 0, 30);
    fill(&w, 1, 1, 30);
    size_t of_host[2] = {0};
    CU_ASSERT_EQUAL(bf_front_set_rates(w.front, 1.0, -1.0), RESULT_OK);
    CU_ASSERT_EQUAL(take_all(&w, 1.0, 3, of_host, 2), 3); /* only ordered by the soft limit */
    CU_ASSERT(of_host[0] == 2 && of_host[1] == 1);
    CU_ASSERT_EQUAL(take_all(&w, 1.0, 100, of_host, 2), 57);
    CU_ASSERT_EQUAL(bf_front_set_rates(w.front, 5.0, 0.0), RESULT_OK); /* nothing at all */
    CU_ASSERT_EQUAL(take_all(&w, 2.0, 100, of_host, 2), 0);
    CU_ASSERT_EQUAL(bf_front_set_rates(w.front, -1.0, -1.0), RESULT_OK);
    CU_ASSERT_EQUAL(take_all(&w, 3.0, 100, of_host, 2), 60);
    CU_ASSERT_EQUAL(take_all(&w, 3.0, 100, of_host, 2), 0);
    world_end(&w);
}

static void visits_from_elsewhere_count(void)
{
    World w;
    world_start(&w, 1);
    fill(&w, 0, 0, 30);
    size_t of_host[1] = {0};
    CU_ASSERT_EQUAL(bf_front_set_rates(w.front, -1.0, 2.0), RESULT_OK);
    bf_front_visit(w.front, 0, 10.0);
    CU_ASSERT_EQUAL(take_all(&w, 10.0, 100, of_host, 1), 1);
    CU_ASSERT_EQUAL(take_all(&w, 12.0, 100, of_host, 1), 2);
    world_end(&w);
}

static void without_effort_something_is_taken_all_the_same(void)
{
    World w;
    world_start(&w, 1);
    for (uint32_t host = 0; host < 2000; host++) {
        fill(&w, host, 5, 2);
    }
    MDB_txn *txn = begin(&w, MDB_RDONLY);
    uint8_t seen[2000] = {0};
    uint32_t host = 0;
    BFOrder order = 0;
    size_t n = 0;
    while (bf_front_take(w.front, txn, 0.0, &host, &order) == RESULT_OK) {
        CU_ASSERT_FATAL(host < 2000);
        seen[host]++;
        n++;
    }
    mdb_txn_abort(txn);
    CU_ASSERT_EQUAL(n, 4000);
    for (size_t i = 0; i < 2000; i++) {
        CU_ASSERT_EQUAL(seen[i], 2);
    }
    world_end(&w);
}

UNIT_MAIN("bf_front", {"takes are the best of all hosts", takes_are_the_best_of_all_hosts},
          {"hard rates are never exceeded", hard_rates_are_never_exceeded},
          {"hosts below the soft rate go first", hosts_below_the_soft_rate_go_first},
          {"limits may be one-sided or none", limits_may_be_one_sided_or_none},
          {"visits from elsewhere count", visits_from_elsewhere_count},
          {"without effort something is taken all the same",
           without_effort_something_is_taken_all_the_same})
