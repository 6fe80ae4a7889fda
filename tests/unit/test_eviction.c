/* Which hosts are worth their memory: a crawl in virtual time of far more hosts than there is
 * memory for, by the real distributor, workbench and tables. Hosts become known in random order;
 * the first URL of a host is good (one of ten levels), the others bad. What is checked on the way:
 * nothing is fetched twice or lost, hosts and addresses have their delays, nobody is evicted for an
 * equal, and no second has more evictions than it may. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dice.h"
#include "frontier/visit/workbench.h"
#include "frontier/distributor/distributor.h"
#include "store_fixture.h"
#include "unit.h"

#define SECOND        INT64_C(1000000000)
#define HOST_DELAY_MS 5000
#define IP_DELAY_MS   500
#define FETCH_MS      200
#define NAME_MS       50
#define URL_BYTES     40u
#define GOOD_LEVELS   10u
#define HOST_BYTES    1020u /* of memory, with two short URLs, most of the time */

typedef struct Plan {
    unsigned hosts;
    unsigned urls;      /* of each host */
    unsigned room;      /* hosts there is memory for; 0: for all */
    size_t connections; /* each makes 1000 / FETCH_MS fetches a second */
    unsigned per_step;  /* URLs that become known with each commit */
    int64_t commit_ms;  /* between two of them */
    bool uniform;       /* all at one level */
    bool scattered;     /* the URLs of a host become known at different times, any may be good */
    double lower_share; /* of a weighted bias; 0: strict */
    size_t until;       /* fetches to do; 0: all */
} Plan;

/* A fetch or a name that will be answered at a time; each kind takes equally long. */
typedef struct Pending {
    VisitState *visit_state;
    MonoTime end;
} Pending;

typedef struct Ring {
    Pending *items;
    size_t first;
    size_t count;
    size_t capacity;
} Ring;

typedef struct World {
    Plan plan;
    StoreFixture fixture;
    Distributor distributor;
    Workbench workbench;
    PolitenessOptions politeness;
    Ring names;
    Ring fetches;
    VisitState **recalled;
    size_t n_recalled;
    unsigned *order; /* in which URLs become known: host times urls plus page */
    uint32_t *ids;   /* of hosts: in the order in which they became known, from 1 */
    uint32_t n_ids;
    Dice dice;
    size_t known;        /* URLs so far */
    uint8_t *fetched;    /* by page index: how often */
    MonoTime *host_free; /* by host: not before */
    MonoTime *ip_free;
    bool *ip_busy;
    CommitDone *done; /* to be committed */
    uint32_t *levels;
    size_t n_done;
    size_t n_fetched;
    size_t n_of_level[SCHEDULE_MAX_LEVELS];
    size_t violations;
    size_t most_memory;
    size_t most_hosts;
    uint64_t most_evictions; /* in a second */
    uint64_t evictions_before;
    MonoTime second;
    MonoTime next_commit;
    MonoTime wake;
    size_t required;
    MonoTime now;
    uint32_t n_looks; /* at memory */
    size_t n_read;    /* records of hosts that wait, by them */
    size_t n_remembered;
} World;

static WallTime wall(const World *w)
{
    return (WallTime){INT64_C(1700000000000000) + w->now.ns / 1000};
}

/* ---- what is pending ------------------------------------------------------------------------- */

static void ring_push(Ring *ring, VisitState *visit_state, MonoTime end)
{
    CU_ASSERT_TRUE_FATAL(ring->count < ring->capacity);
    ring->items[(ring->first + ring->count++) % ring->capacity] = (Pending){visit_state, end};
}

static VisitState *ring_pop(Ring *ring, MonoTime now)
{
    if (ring->count == 0 || mono_before(now, ring->items[ring->first].end)) {
        return NULL;
    }
    VisitState *visit_state = ring->items[ring->first].visit_state;
    ring->first = (ring->first + 1) % ring->capacity;
    ring->count--;
    return visit_state;
}

static MonoTime ring_next(const Ring *ring)
{
    return ring->count == 0 ? MONO_NEVER : ring->items[ring->first].end;
}

/* ---- the world around ------------------------------------------------------------------------ */

static uint32_t address_of(uint32_t host)
{
    return host - host % 3 * (host > 2); /* some addresses have two hosts or three */
}

static void on_resolve(void *context, VisitState *visit_state)
{
    World *w = context;
    ring_push(&w->names, visit_state, mono_add_ms(w->now, NAME_MS));
}

static void on_ready(void *context, VisitState *visit_state)
{
    World *w = context;
    CU_ASSERT_EQUAL_FATAL(workbench_add(&w->workbench, visit_state, w->now), RESULT_OK);
}

static void on_recall(void *context, VisitState *visit_state)
{
    World *w = context;
    CU_ASSERT_TRUE_FATAL(w->n_recalled < w->plan.hosts);
    w->recalled[w->n_recalled++] = visit_state;
}

static void on_drop(void *context, const VisitState *visit_state, FetchClass why)
{
    (void)context;
    (void)visit_state;
    (void)why;
    CU_FAIL("no host is given up");
}

static void on_unresolved(void *context, const VisitState *visit_state, FetchClass why,
                          int64_t wait_ms)
{
    (void)why;
    (void)wait_ms;
    on_drop(context, visit_state, FETCH_DNS);
}

static void go_home(World *w, VisitState *visit_state)
{
    visit_state->place = VISIT_STATE_REFILLING;
    visit_state->news = NEWS_EMPTY;
    distributor_receive(&w->distributor, visit_state, w->now, wall(w));
}

/* All pages of a host together, unless scattered. */
static void shuffle(World *w)
{
    unsigned together = w->plan.scattered ? 1 : w->plan.urls;
    size_t n = (size_t)w->plan.hosts * w->plan.urls / together;
    for (size_t i = 0; i < n; i++) {
        size_t other = (size_t)dice_below(&w->dice, i + 1);
        w->order[i] = w->order[other];
        w->order[other] = (unsigned)i;
    }
    for (size_t i = n * together; i-- > 0;) { /* from the back: in place */
        w->order[i] = w->order[i / together] * together + (unsigned)(i % together);
    }
}

static World *set_up(const Plan *plan)
{
    World *w = calloc(1, sizeof *w);
    size_t pages = (size_t)plan->hosts * plan->urls;
    w->plan = *plan;
    w->now = (MonoTime){1000 * SECOND};
    w->second = w->now;
    w->politeness = (PolitenessOptions){.host_delay_ms = HOST_DELAY_MS, .ip_delay_ms = IP_DELAY_MS};
    w->names = (Ring){.items = calloc(plan->hosts, sizeof(Pending)), .capacity = plan->hosts};
    w->fetches =
        (Ring){.items = calloc(plan->connections, sizeof(Pending)), .capacity = plan->connections};
    w->recalled = calloc(plan->hosts, sizeof *w->recalled);
    w->order = calloc(pages, sizeof *w->order);
    w->ids = calloc(plan->hosts, sizeof *w->ids);
    w->fetched = calloc(pages, 1);
    w->host_free = calloc(plan->hosts, sizeof *w->host_free);
    w->ip_free = calloc(plan->hosts, sizeof *w->ip_free);
    w->ip_busy = calloc(plan->hosts, sizeof *w->ip_busy);
    w->done = calloc(pages, sizeof *w->done);
    w->levels = calloc(pages, sizeof *w->levels);
    w->required = 100;
    w->dice = (Dice){7};
    shuffle(w);
    store_fixture_open(&w->fixture);
    DistributorOptions options = {
        .memory_bytes = plan->room == 0 ? (size_t)1 << 40 : (size_t)plan->room * HOST_BYTES,
        .window_max = 8,
        .host_delay_ms = HOST_DELAY_MS,
        .robots_agent = "ragno",
        .bias = {.kind = plan->lower_share > 0 ? LEVEL_BIAS_WEIGHTED : LEVEL_BIAS_STRICT,
                 .lower_share = plan->lower_share}};
    DistributorSinks sinks = {.context = w,
                              .todo = w,
                              .resolve = on_resolve,
                              .ready = on_ready,
                              .recall = on_recall,
                              .drop = on_drop,
                              .unresolved = on_unresolved};
    politeness_default_rules(w->politeness.rules);
    CU_ASSERT_EQUAL_FATAL(distributor_init(&w->distributor, &options, &w->politeness, &sinks,
                                           w->fixture.store.db, w->fixture.store.schedule,
                                           w->fixture.store.hosts),
                          RESULT_OK);
    workbench_init(&w->workbench, (MonoTime){0});
    workbench_set_bias(&w->workbench, &options.bias);
    return w;
}

static void tear_down(World *w)
{
    workbench_destroy(&w->workbench);
    distributor_destroy(&w->distributor);
    store_fixture_close(&w->fixture, true);
    free(w->names.items);
    free(w->fetches.items);
    free(w->recalled);
    free(w->order);
    free(w->ids);
    free(w->fetched);
    free(w->host_free);
    free(w->ip_free);
    free(w->ip_busy);
    free(w->done);
    free(w->levels);
    free(w);
}

/* ---- one step -------------------------------------------------------------------------------- */

static uint8_t level_of(World *w, unsigned page)
{
    uint8_t good = (uint8_t)dice_below(&w->dice, GOOD_LEVELS);
    return w->plan.uniform ? 5 : page == 0 || w->plan.scattered ? good : good / 2 + GOOD_LEVELS;
}

/* URLs that become known. */
static void discover(World *w, MDB_txn *txn, CommitHost *news, size_t *n_news)
{
    size_t until = w->known + w->plan.per_step;
    size_t all = (size_t)w->plan.hosts * w->plan.urls;
    for (; w->known < until && w->known < all; w->known++) {
        unsigned host = w->order[w->known] / w->plan.urls;
        unsigned page = w->order[w->known] % w->plan.urls;
        char url[URL_BYTES];
        (void)snprintf(url, sizeof url, "http://h%u.example/%u", host, page);
        uint8_t level = level_of(w, page);
        store_fixture_add(&w->fixture, txn, url, level);
        w->ids[host] = w->ids[host] == 0 ? ++w->n_ids : w->ids[host];
        news[(*n_news)++] = (CommitHost){.host = w->ids[host] - 1, .level = level};
    }
}

static void commit(World *w)
{
    CommitHost *news = calloc(w->plan.per_step, sizeof *news);
    CommitNotice notice = {
        .news = NEWS_COMMITTED, .done = w->done, .n_done = w->n_done, .hosts = news};
    MDB_txn *txn = store_fixture_begin(&w->fixture, false);
    for (size_t i = 0; i < w->n_done; i++) {
        CU_ASSERT_EQUAL(schedule_remove(w->fixture.store.schedule, txn, w->done[i].host,
                                        w->levels[i], w->done[i].index),
                        RESULT_OK);
    }
    discover(w, txn, news, &notice.n_hosts);
    store_fixture_commit(&w->fixture, txn);
    distributor_committed(&w->distributor, &notice, w->now, wall(w));
    w->n_done = 0;
    w->next_commit = mono_add_ms(w->now, w->plan.commit_ms);
    free(news);
}

static void begin_fetches(World *w)
{
    while (w->workbench.n_acquired < w->plan.connections) {
        VisitState *visit_state = workbench_acquire(&w->workbench, w->now);
        if (visit_state == NULL) {
            size_t front = workbench_front(&w->workbench) + w->workbench.n_acquired;
            w->required += front >= w->required ? 100 : 0;
            return;
        }
        const WindowUrl *url = visit_state_peek(visit_state);
        uint32_t ip = address_of(visit_state->identity.host);
        w->violations += mono_before(w->now, w->host_free[visit_state->identity.host]) ||
                         mono_before(w->now, w->ip_free[ip]) || w->ip_busy[ip];
        w->violations += w->fetched[url->index] > 0;
        w->fetched[url->index]++;
        w->ip_busy[ip] = true;
        w->n_fetched++;
        w->n_of_level[url->level]++;
        w->done[w->n_done] = (CommitDone){.index = url->index, .host = visit_state->identity.host};
        w->levels[w->n_done++] = url->level;
        ring_push(&w->fetches, visit_state, mono_add_ms(w->now, FETCH_MS));
    }
}

static void end_fetch(World *w, VisitState *visit_state)
{
    uint32_t ip = address_of(visit_state->identity.host);
    visit_state_take(visit_state);
    visit_state->politeness.next_fetch = mono_add_ms(w->now, HOST_DELAY_MS);
    visit_state->politeness.ip_next_fetch = mono_add_ms(w->now, IP_DELAY_MS);
    w->host_free[visit_state->identity.host] = visit_state->politeness.next_fetch;
    w->ip_free[ip] = visit_state->politeness.ip_next_fetch;
    w->ip_busy[ip] = false;
    if (!workbench_release(&w->workbench, visit_state, w->now)) {
        go_home(w, visit_state);
    }
}

static void answer_name(World *w, VisitState *visit_state)
{
    struct in_addr in = {htonl(0x0b000000u + address_of(visit_state->identity.host))};
    visit_state->address.class = FETCH_OK;
    visit_state->address.ip = ip_address_v4(&in);
    visit_state->address.expiry = mono_add_ms(w->now, 600000);
    visit_state->news = NEWS_RESOLVED;
    distributor_receive(&w->distributor, visit_state, w->now, wall(w));
}

static void read_recalls(World *w)
{
    for (size_t i = 0; i < w->n_recalled; i++) {
        VisitState *visit_state = w->recalled[i];
        if (workbench_recall(&w->workbench, visit_state, w->now)) {
            go_home(w, visit_state);
        }
        distributor_recalled(&w->distributor, visit_state);
    }
    w->n_recalled = 0;
}

static void work(World *w)
{
    size_t front = workbench_front(&w->workbench) + w->workbench.n_acquired;
    w->wake = distributor_work(&w->distributor, front, w->required, w->now, wall(w));
    size_t memory = w->distributor.memory;
    size_t hosts = w->distributor.visit_states.count;
    w->most_memory = memory > w->most_memory ? memory : w->most_memory;
    w->most_hosts = hosts > w->most_hosts ? hosts : w->most_hosts;
    if (mono_ms_between(w->second, w->now) >= 1000) {
        uint64_t evictions = w->distributor.steering.evictions - w->evictions_before;
        w->most_evictions = evictions > w->most_evictions ? evictions : w->most_evictions;
        w->evictions_before = w->distributor.steering.evictions;
        w->second = w->now;
    }
}

/* What a look at memory that was due has read. */
static void count_reads(World *w)
{
    const Steering *steering = &w->distributor.steering;
    if (steering->n_looks != w->n_looks) {
        w->n_looks = steering->n_looks;
        w->n_read += steering->reads;
        w->n_remembered += steering->remembered;
    }
}

static void step(World *w)
{
    MonoTime next = w->next_commit; /* some always comes */
    MonoTime times[] = {ring_next(&w->names), ring_next(&w->fetches), w->wake,
                        w->workbench.n_acquired < w->plan.connections
                            ? workbench_next_time(&w->workbench)
                            : MONO_NEVER};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        next = mono_before(times[i], next) ? times[i] : next;
    }
    w->now = mono_later(w->now, next);
    VisitState *visit_state = NULL;
    while ((visit_state = ring_pop(&w->names, w->now)) != NULL) {
        answer_name(w, visit_state);
    }
    while ((visit_state = ring_pop(&w->fetches, w->now)) != NULL) {
        end_fetch(w, visit_state);
    }
    begin_fetches(w);
    if (!mono_before(w->now, w->next_commit)) {
        commit(w);
    }
    work(w);
    count_reads(w);
    read_recalls(w);
}

/* Crawls; checks what holds of every crawl. */
static World *crawl(const Plan *plan)
{
    World *w = set_up(plan);
    size_t all = (size_t)plan->hosts * plan->urls;
    size_t until = plan->until > 0 ? plan->until : all;
    MonoTime limit = mono_add_ms(w->now, 3600000 + (int64_t)all * FETCH_MS);
    while (w->n_fetched < until && mono_before(w->now, limit)) {
        step(w);
    }
    CU_ASSERT_EQUAL(w->violations, 0);
    CU_ASSERT_EQUAL(w->n_fetched, until);
    if (plan->room > 0) {
        size_t bound = w->distributor.options.memory_bytes;
        CU_ASSERT_TRUE(w->most_memory < bound + bound / 50 + 4000);
    }
    uint64_t per_second = w->most_hosts / 8 > 32 ? w->most_hosts / 8 : 32;
    CU_ASSERT_TRUE(w->most_evictions <= 2 * per_second + 1); /* windows of a second, out of step */
    return w;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Fetches of the best levels, of the first tenth of the crawl. */
static size_t best_in_first_tenth(const Plan *plan, uint64_t *evictions)
{
    World *w = crawl(plan);
    size_t best = w->n_of_level[0] + w->n_of_level[1];
    *evictions = w->distributor.steering.evictions;
    (void)printf("room=%u hosts_in_memory=%zu best=%zu of %zu, %.0f s, evictions=%llu (%llu) "
                 "reads=%zu remembered=%zu\n",
                 plan->room, w->most_hosts, best, w->n_fetched, (double)(w->now.ns / SECOND) - 1000,
                 (unsigned long long)*evictions, (unsigned long long)w->most_evictions, w->n_read,
                 w->n_remembered);
    /* The best hosts that wait are not read anew at each look. */
    CU_ASSERT_TRUE(plan->room == 0 || w->n_remembered > w->n_read);
    tear_down(w);
    return best;
}

static void order_follows_levels_in_a_hundredth_of_the_memory(void)
{
    unsigned n = 50000;
    Plan plan = {.hosts = n,
                 .urls = 2,
                 .connections = n / 5000,
                 .per_step = n / 200, /* all are known after 40 seconds */
                 .commit_ms = 100,
                 .until = n * 2 / 10};
    uint64_t evictions = 0;
    size_t unbounded = best_in_first_tenth(&plan, &evictions);
    CU_ASSERT_EQUAL(evictions, 0);
    CU_ASSERT_TRUE(unbounded > plan.until * 8 / 10); /* there is an order to follow */
    plan.room = n / 100;
    size_t bounded = best_in_first_tenth(&plan, &evictions);
    CU_ASSERT_TRUE(evictions > 0);
    CU_ASSERT_TRUE((double)bounded >= 0.9 * (double)unbounded);
}

/* Any host may become good again at any time, also while it is being evicted; results are committed
 * long after the next fetch would be allowed. */
static void every_url_is_fetched_once_whoever_is_evicted(void)
{
    Plan plan = {
        .hosts = 600, .urls = 10, .connections = 40, .per_step = 60, .room = 60, .scattered = true};
    for (plan.commit_ms = 700; plan.commit_ms <= 7000; plan.commit_ms *= 10, plan.per_step *= 10) {
        World *w = crawl(&plan);
        CU_ASSERT_TRUE(w->distributor.steering.evictions > 100);
        for (int i = 0; i < 600; i++) {
            step(w);
        }
        CU_ASSERT_EQUAL(w->n_fetched, 6000);
        CU_ASSERT_EQUAL(w->distributor.in_flight.count, 0);
        CU_ASSERT_EQUAL(w->distributor.steering.n_leaving, 0);
        tear_down(w);
    }
}

static size_t of_lower_levels(unsigned room, double lower_share)
{
    Plan plan = {.hosts = 8000,
                 .urls = 2,
                 .connections = 5,
                 .per_step = 400,
                 .commit_ms = 100,
                 .room = room,
                 .lower_share = lower_share,
                 .until = 3000};
    World *w = crawl(&plan);
    size_t lower = 0;
    for (size_t level = 6; level < SCHEDULE_MAX_LEVELS; level++) {
        lower += w->n_of_level[level];
    }
    tear_down(w);
    return lower;
}

static void a_weighted_bias_lets_lower_levels_through_whatever_the_memory(void)
{
    size_t unbounded = of_lower_levels(0, 0.2);
    size_t bounded = of_lower_levels(200, 0.2);
    size_t strict = of_lower_levels(200, 0);
    (void)printf("of lower levels: %zu, %zu, strict %zu\n", unbounded, bounded, strict);
    CU_ASSERT_TRUE(unbounded > 100 && unbounded < 1200); /* two fifths: of hosts, and of URLs */
    CU_ASSERT_TRUE(bounded > unbounded / 2 && bounded < 2 * unbounded);
    CU_ASSERT_TRUE(strict < bounded / 3);
}

static void equals_never_change_places(void)
{
    Plan plan = {.hosts = 2000,
                 .urls = 3,
                 .connections = 40,
                 .per_step = 60,
                 .commit_ms = 100,
                 .room = 50,
                 .uniform = true};
    World *w = crawl(&plan);
    CU_ASSERT_EQUAL(w->distributor.steering.evictions, 0);
    tear_down(w);
}

UNIT_MAIN("eviction",
          {"the order follows the levels in a hundredth of the memory",
           order_follows_levels_in_a_hundredth_of_the_memory},
          {"every URL is fetched once, whoever is evicted",
           every_url_is_fetched_once_whoever_is_evicted},
          {"a weighted bias lets lower levels through, whatever the memory",
           a_weighted_bias_lets_lower_levels_through_whatever_the_memory},
          {"equals never change places", equals_never_change_places})
