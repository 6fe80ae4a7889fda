#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/pages/page_db_open.h"
#include "bf_world.h"
#include "fake_time.h"
#include "store/scorers/hits_scorer.h"
#include "store/scorers/page_rank_scorer.h"
#include "until.h"

#define NS_PER_MS INT64_C(1000000)

static void the_best_uncrawled_page_is_next_and_each_once(void)
{
    World w;
    world_start(&w);
    bf_scheduler_set_leases(w.sch, 1);
    add(&w, "1", (const char *const[]){"2", "3", "4", NULL}, (const float[]){0.5f, 0.7f, 0.1f});
    add(&w, "2", (const char *const[]){"5", "6", NULL}, (const float[]){0.2f, 0.3f});
    add(&w, "4", (const char *const[]){"7", "3", NULL}, (const float[]){0.8f, 0.05f});
    expect(&w, 2, "7 3");
    expect(&w, 1, "6");
    add_one(&w, "7", "9", 0.9f);
    expect(&w, 10, "9 5");
    expect(&w, 10, "");
    BFSchedulerCounts counts;
    CU_ASSERT_EQUAL(bf_scheduler_counts(w.sch, &counts), bf_scheduler_error_ok);
    CU_ASSERT_EQUAL(counts.scheduled, 4); /* 3, 5, 6, 9 are out and not yet crawled */
    CU_ASSERT_EQUAL(counts.requested, 4);
    world_end(&w);
}

static void scores_order_a_hundred_links_and_a_restart_goes_on(void)
{
    World w;
    world_start(&w);
    CrawledPage *page = crawled_page_new("http://example.com/");
    for (int i = 0; i < 100; i++) {
        char url[64];
        (void)snprintf(url, sizeof url, "http://example.com/%d", i);
        (void)crawled_page_add_link(page, url, (float)i / 100.0f);
    }
    CU_ASSERT_EQUAL(bf_scheduler_add(w.sch, page), bf_scheduler_error_ok);
    crawled_page_delete(page);
    for (int first = 99; first > 50; first -= 25) {
        PageRequest *request = NULL;
        CU_ASSERT_EQUAL_FATAL(bf_scheduler_request(w.sch, 25, &request), bf_scheduler_error_ok);
        CU_ASSERT_EQUAL(request->n_urls, 25);
        for (size_t i = 0; i < request->n_urls; i++) {
            char url[64];
            (void)snprintf(url, sizeof url, "http://example.com/%d", first - (int)i);
            CU_ASSERT_STRING_EQUAL(request->urls[i], url);
            add(&w, url, NULL, NULL);
        }
        page_request_delete(request);
        world_close(&w, 1);
        world_open(&w);
    }
    world_end(&w);
}

static void what_was_out_is_not_lost_by_a_crash(void)
{
    World w;
    world_start(&w);
    bf_scheduler_set_leases(w.sch, 1);
    add(&w, "http://a/", (const char *const[]){"http://a/1", "http://b/2", NULL},
        (const float[]){0.9f, 0.8f});
    expect(&w, 5, "http://a/1 http://b/2");
    add(&w, "http://b/2", NULL, NULL);
    world_close(&w, 1); /* the leases die with the process */
    world_open(&w);
    bf_scheduler_set_leases(w.sch, 1);
    expect(&w, 5, "http://a/1");
    expect(&w, 5, "");
    CU_ASSERT_EQUAL(bf_scheduler_reload(w.sch), bf_scheduler_error_ok);
    expect(&w, 5, "http://a/1");
    world_end(&w);
}

/* The documented way: a request takes pages out of the schedule. */
static void what_was_requested_is_not_handed_out_again(void)
{
    World w;
    BFSchedulerCounts counts;
    world_start(&w);
    add(&w, "http://a/", (const char *const[]){"http://a/1", "http://b/2", "http://b/3", NULL},
        (const float[]){0.9f, 0.8f, 0.7f});
    expect(&w, 2, "http://a/1 http://b/2");
    CU_ASSERT_EQUAL(bf_scheduler_counts(w.sch, &counts), bf_scheduler_error_ok);
    CU_ASSERT_EQUAL(counts.scheduled, 1);
    CU_ASSERT_EQUAL(counts.requested, 0);
    world_close(&w, 1);
    world_open(&w);
    expect(&w, 5, "http://b/3"); /* also after a restart */
    expect(&w, 5, "");
    add(&w, "http://b/2", NULL, NULL);
    CU_ASSERT_EQUAL(bf_scheduler_reload(w.sch), bf_scheduler_error_ok);
    expect(&w, 5, "http://a/1 http://b/3"); /* never crawled */
    world_end(&w);
}

static void tens_of_thousands_are_taken_out_once_each(void)
{
    World w;
    PageRequest *request = NULL;
    char url[64];
    size_t n = 0;
    world_start(&w);
    for (size_t page = 0; page < 10; page++) {
        (void)snprintf(url, sizeof url, "http://start.example/%zu", page);
        CrawledPage *crawled = crawled_page_new(url);
        for (size_t i = 0; i < 1000; i++) {
            (void)snprintf(url, sizeof url, "http://h%zu.example/%zu/%zu", i % 70, page, i);
            (void)crawled_page_add_link(crawled, url, (float)(i % 97) / 97.0f);
        }
        CU_ASSERT_EQUAL(bf_scheduler_add(w.sch, crawled), bf_scheduler_error_ok);
        crawled_page_delete(crawled);
    }
    do {
        page_request_delete(request);
        CU_ASSERT_EQUAL_FATAL(bf_scheduler_request(w.sch, 333, &request), bf_scheduler_error_ok);
        n += request->n_urls;
    } while (request->n_urls > 0);
    page_request_delete(request);
    BFSchedulerCounts counts;
    CU_ASSERT_EQUAL(bf_scheduler_counts(w.sch, &counts), bf_scheduler_error_ok);
    CU_ASSERT_EQUAL(n, 10000);
    CU_ASSERT_EQUAL(counts.scheduled, 0);
    world_end(&w);
}

static void a_page_db_has_one_scheduler_and_one_schedule(void)
{
    World w;
    BFScheduler *second = NULL;
    world_start(&w);
    CU_ASSERT_EQUAL(bf_scheduler_new(&second, w.db, "elsewhere"), bf_scheduler_error_locked);
    CU_ASSERT_PTR_NOT_NULL(error_message(second->error));
    bf_scheduler_delete(second);
    add_one(&w, "http://a/", "http://a/1", 0.5f);
    bf_scheduler_delete(w.sch);
    CU_ASSERT_EQUAL_FATAL(bf_scheduler_new(&w.sch, w.db, "elsewhere"), bf_scheduler_error_ok);
    expect(&w, 5, "http://a/1");
    world_end(&w);
}

static void a_deleted_schedule_can_be_loaded_again(void)
{
    World w;
    world_start(&w);
    add(&w, "http://a/", (const char *const[]){"http://a/1", "http://b/2", "http://b/3", NULL},
        (const float[]){0.1f, 0.8f, 0.3f});
    add(&w, "http://b/2", NULL, NULL);
    bf_scheduler_set_persist(w.sch, 0);
    world_close(&w, 1);
    world_open(&w);
    expect(&w, 5, "");
    CU_ASSERT_EQUAL(bf_scheduler_reload(w.sch), bf_scheduler_error_ok);
    expect(&w, 5, "http://b/3 http://a/1");
    world_end(&w);
}

static void pages_beyond_the_depth_are_not_scheduled(void)
{
    World w;
    world_start(&w);
    bf_scheduler_set_max_crawl_depth(w.sch, 2);
    add_one(&w, "_seed_0", "http://a/", 1.0f);
    add_one(&w, "http://a/", "http://a/1", 0.5f);
    expect(&w, 5, "http://a/1");
    add_one(&w, "http://a/1", "http://a/2", 0.5f);
    expect(&w, 5, "");
    bf_scheduler_set_max_crawl_depth(w.sch, 0);
    CU_ASSERT_EQUAL(bf_scheduler_reload(w.sch), bf_scheduler_error_ok);
    expect(&w, 5, "http://a/2");
    world_end(&w);
}

static void hosts_at_their_rate_wait(void)
{
    World w;
    world_start(&w);
    FakeTime time;
    fake_time_init(&time);
    bf_scheduler_set_time(w.sch, &time.keeper);
    CU_ASSERT_EQUAL(bf_scheduler_set_max_domain_crawl_rate(w.sch, 0.5f, 1.0f),
                    bf_scheduler_error_ok);
    add(&w, "_seed_",
        (const char *const[]){"http://hot/1", "http://hot/2", "http://hot/3", "http://cold/1",
                              NULL},
        (const float[]){0.9f, 0.8f, 0.7f, 0.1f});
    expect(&w, 10, "http://hot/1 http://cold/1");
    expect(&w, 10, "");
    fake_time_add(&time, 1010 * NS_PER_MS);
    expect(&w, 10, "http://hot/2");
    fake_time_add(&time, 500 * NS_PER_MS);
    expect(&w, 10, "");
    add(&w, "http://hot/elsewhere", NULL, NULL); /* a crawl that was not requested counts, too */
    fake_time_add(&time, 600 * NS_PER_MS);
    expect(&w, 10, "");
    fake_time_add(&time, 1000 * NS_PER_MS);
    expect(&w, 10, "http://hot/3");
    uint32_t domain = page_db_hash_get_domain(page_db_hash("http://hot/elsewhere"));
    CU_ASSERT_DOUBLE_EQUAL((double)page_db_get_domain_crawl_rate(w.db, domain), 1.0, 0.1);
    world_end(&w);
    fake_time_destroy(&time);
}

#define MANY_URLS 40000u

/* Number i of many: two in three on some host, the others on one. */
static void number_url(char url[64], size_t i)
{
    unsigned host = i % 3 == 0 ? 0 : (unsigned)(hash_mix(i) % 500);
    (void)snprintf(url, 64, "http://many%u.example/%zu", host, i);
}

/* Requests until nothing comes; each URL must come once. What is out of order by more than the
 * effort of a request allows is not looked at here. */
static void take_many(World *w, bool *seen, size_t *n)
{
    size_t got = 1;
    for (*n = 0; got > 0; *n += got) {
        PageRequest *request = NULL;
        CU_ASSERT_EQUAL_FATAL(bf_scheduler_request(w->sch, 100, &request), bf_scheduler_error_ok);
        got = request->n_urls;
        for (size_t i = 0; i < got; i++) {
            char url[64];
            size_t number = strtoul(strrchr(request->urls[i], '/') + 1, NULL, 10);
            CU_ASSERT_FATAL(number < MANY_URLS);
            number_url(url, number);
            CU_ASSERT_STRING_EQUAL(request->urls[i], url);
            CU_ASSERT_FALSE(seen[number]);
            seen[number] = true;
        }
        page_request_delete(request);
    }
}

static void tens_of_thousands_are_handed_out_once_each(void)
{
    World w;
    world_start(&w);
    bf_scheduler_set_leases(w.sch, 1);
    static bool seen[MANY_URLS];
    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < MANY_URLS;) {
        char url[64];
        (void)snprintf(url, sizeof url, "http://start.example/%zu", i);
        CrawledPage *page = crawled_page_new(url);
        for (size_t k = 0; k < 4000; k++, i++) {
            number_url(url, i);
            (void)crawled_page_add_link(page, url, (float)(hash_mix(i) % 1000) / 1000.0f);
        }
        CU_ASSERT_EQUAL(bf_scheduler_add(w.sch, page), bf_scheduler_error_ok);
        crawled_page_delete(page);
    }
    size_t n = 0;
    take_many(&w, seen, &n);
    CU_ASSERT_EQUAL(n, MANY_URLS);
    world_close(&w, 1); /* from the disk, too */
    world_open(&w);
    bf_scheduler_set_leases(w.sch, 1);
    memset(seen, 0, sizeof seen);
    take_many(&w, seen, &n);
    CU_ASSERT_EQUAL(n, MANY_URLS);
    world_end(&w);
}

static int counting_update(void *state)
{
    atomic_fetch_add((atomic_uint *)state, 1);
    return 0;
}

static int counting_get(void *state, size_t idx, float *score_old, float *score_new)
{
    (void)state;
    *score_old = 0.0f;
    *score_new = idx % 2 == 0 ? 0.9f : 0.1f;
    return 0;
}

/* Whether schedule and records tell the same: a reload would add what is missing. */
static void expect_consistent(World *w)
{
    BFSchedulerCounts before;
    BFSchedulerCounts after;
    CU_ASSERT_EQUAL(bf_scheduler_counts(w->sch, &before), bf_scheduler_error_ok);
    CU_ASSERT_EQUAL(bf_scheduler_reload(w->sch), bf_scheduler_error_ok);
    CU_ASSERT_EQUAL(bf_scheduler_counts(w->sch, &after), bf_scheduler_error_ok);
    CU_ASSERT_EQUAL(before.scheduled, after.scheduled);
    PageRequest *request = NULL;
    CU_ASSERT_EQUAL_FATAL(bf_scheduler_request(w->sch, 1000000, &request), bf_scheduler_error_ok);
    CU_ASSERT_EQUAL(request->n_urls, after.scheduled);
    page_request_delete(request);
}

/* A world whose update thread goes by the test's time, with a scorer that counts its updates. */
static void start_updates(World *w, FakeTime *time, atomic_uint *n_updates,
                          int (*get)(void *, size_t, float *, float *))
{
    fake_time_init(time);
    atomic_store(n_updates, 0);
    bf_scheduler_set_time(w->sch, &time->keeper);
    *w->sch->scorer = (Scorer){.state = n_updates, .update = counting_update, .get = get};
    CU_ASSERT_EQUAL_FATAL(bf_scheduler_update_start(w->sch), bf_scheduler_error_ok);
    fake_time_settle(time);
}

static void end_updates(World *w, FakeTime *time)
{
    CU_ASSERT_EQUAL(bf_scheduler_update_stop(w->sch), bf_scheduler_error_ok);
    expect_consistent(w);
    world_end(w);
    fake_time_destroy(time);
}

static BFSchedulerCounts counts_of(World *w)
{
    BFSchedulerCounts counts = {0};
    CU_ASSERT_EQUAL_FATAL(bf_scheduler_counts(w->sch, &counts), bf_scheduler_error_ok);
    return counts;
}

/* Time passes until the thread has ended all that it can do. */
static void be_silent(FakeTime *time)
{
    for (int i = 0; i < 100; i++) {
        fake_time_pass(time, 100);
    }
}

static void updates_wait_for_a_hundred_pages_or_their_time(void)
{
    World w;
    FakeTime time;
    atomic_uint n_updates;
    world_start(&w);
    start_updates(&w, &time, &n_updates, counting_get);
    add_web(&w, 0, 60, 400);
    add_web(&w, 60, 99, 400);
    be_silent(&time);
    CU_ASSERT_EQUAL(atomic_load(&n_updates), 0);
    add_web(&w, 99, 100, 400);
    be_silent(&time);
    CU_ASSERT_EQUAL(counts_of(&w).updates, 1);
    add_web(&w, 100, 150, 400);
    add_web(&w, 150, 199, 400);
    be_silent(&time);
    CU_ASSERT_EQUAL(atomic_load(&n_updates), 1);
    add_web(&w, 199, 200, 400);
    be_silent(&time);
    CU_ASSERT_EQUAL(counts_of(&w).updates, 2);
    CU_ASSERT_EQUAL(atomic_load(&n_updates), 2);
    bf_scheduler_set_update_interval(w.sch, 3600);
    fake_time_pass(&time, 3580000);
    CU_ASSERT_EQUAL(counts_of(&w).updates, 2);
    fake_time_pass(&time, 20000);
    CU_ASSERT_EQUAL(counts_of(&w).updates, 3);
    CU_ASSERT(counts_of(&w).moves > 100);
    end_updates(&w, &time);
}

/* Likes other pages at each update. */
static int turning_get(void *state, size_t idx, float *score_old, float *score_new)
{
    unsigned turn = atomic_load((atomic_uint *)state);
    *score_old = 0.0f;
    *score_new = (idx + turn) % 2 == 0 ? 0.9f : 0.1f;
    return 0;
}

static void moves_are_made_while_nobody_writes(void)
{
    World w;
    FakeTime time;
    atomic_uint n_updates;
    world_start(&w);
    add_web(&w, 0, 200, 4000);
    start_updates(&w, &time, &n_updates, turning_get);
    be_silent(&time);
    BFSchedulerCounts counts = counts_of(&w);
    CU_ASSERT(counts.moves > 100 && counts.update_txns > 1);
    CU_ASSERT_EQUAL(counts.updates, 1);
    end_updates(&w, &time);
}

/* The map is full in the middle of moves, of adds, or of both in turn: each is made once. */
static void moves_outlive_a_map_that_must_grow(void)
{
    World w;
    FakeTime time;
    atomic_uint n_updates;
    world_start(&w);
    world_close(&w, 0);
    const PageDBOptions options = {.no_sync = true, .map_bytes = (size_t)256 << 10};
    CU_ASSERT_EQUAL_FATAL(page_db_open(&w.db, w.dir, &options), page_db_error_ok);
    CU_ASSERT_EQUAL_FATAL(bf_scheduler_new(&w.sch, w.db, NULL), bf_scheduler_error_ok);
    start_updates(&w, &time, &n_updates, turning_get);
    for (uint64_t i = 0; i < 4000; i += 100) {
        add_web(&w, i, i + 100, 4000);
        fake_time_pass(&time, 100);
    }
    MDB_envinfo info;
    CU_ASSERT_EQUAL(mdb_env_info(page_db_env(w.db), &info), 0);
    CU_ASSERT(info.me_mapsize > options.map_bytes && counts_of(&w).moves > 100);
    end_updates(&w, &time);
}

/* The scorer's own update, which notes that it has begun. */
static int (*scorer_update)(void *state);
static atomic_bool has_begun;

static int noting_update(void *state)
{
    atomic_store(&has_begun, true);
    return scorer_update(state);
}

/* CPU time that the process takes for a stop while a computation runs that would never end. */
static int64_t stop_cpu_ms(World *w)
{
    scorer_update = w->sch->scorer->update;
    w->sch->scorer->update = noting_update;
    atomic_store(&has_begun, false);
    CU_ASSERT_EQUAL(bf_scheduler_update_start(w->sch), bf_scheduler_error_ok);
    add_web(w, 0, 300, 2000);
    CU_ASSERT_FATAL(UNTIL(atomic_load(&has_begun)));
    int64_t start_ns = cpu_process_ns();
    CU_ASSERT_EQUAL(bf_scheduler_update_stop(w->sch), bf_scheduler_error_ok);
    return (cpu_process_ns() - start_ns) / NS_PER_MS;
}

static void endless_computations_are_stopped(void)
{
    World w;
    world_start(&w);
    PageRankScorer *prs = NULL;
    CU_ASSERT_EQUAL_FATAL(page_rank_scorer_new(&prs, w.db), page_rank_scorer_error_ok);
    prs->page_rank->precision = -1.0f; /* is never reached */
    prs->page_rank->max_loops = 0;
    page_rank_scorer_set_use_content_scores(prs, 1);
    page_rank_scorer_setup(prs, w.sch->scorer);
    CU_ASSERT(stop_cpu_ms(&w) < 1000);
    CU_ASSERT_EQUAL(page_rank_scorer_delete(prs), page_rank_scorer_error_ok);
    HitsScorer *hs = NULL;
    CU_ASSERT_EQUAL_FATAL(hits_scorer_new(&hs, w.db), hits_scorer_error_ok);
    hs->hits->precision = -1.0f;
    hs->hits->max_loops = 0;
    hits_scorer_setup(hs, w.sch->scorer);
    CU_ASSERT(stop_cpu_ms(&w) < 1000);
    bf_scheduler_delete(w.sch);
    w.sch = NULL;
    CU_ASSERT_EQUAL(hits_scorer_delete(hs), hits_scorer_error_ok);
    world_end(&w);
}

typedef struct Crawlers {
    World *w;
    atomic_uint requested;
    atomic_bool is_done;
} Crawlers;

static void *request_main(void *argument)
{
    Crawlers *c = argument;
    while (!atomic_load(&c->is_done)) {
        PageRequest *request = NULL;
        if (bf_scheduler_request(c->w->sch, 20, &request) == bf_scheduler_error_ok) {
            atomic_fetch_add(&c->requested, (unsigned)request->n_urls);
        }
        page_request_delete(request);
    }
    return NULL;
}

static void *add_main(void *argument)
{
    Crawlers *c = argument;
    add_web(c->w, 0, 1500, 4000);
    return NULL;
}

static void *other_add_main(void *argument)
{
    Crawlers *c = argument;
    add_web(c->w, 2000, 3500, 4000);
    return NULL;
}

static void adds_requests_updates_and_stop_go_together(void)
{
    World w;
    world_start(&w);
    bf_scheduler_set_leases(w.sch, 1);
    PageRankScorer *prs = NULL;
    CU_ASSERT_EQUAL_FATAL(page_rank_scorer_new(&prs, w.db), page_rank_scorer_error_ok);
    page_rank_scorer_setup(prs, w.sch->scorer);
    CU_ASSERT_EQUAL(bf_scheduler_update_start(w.sch), bf_scheduler_error_ok);
    CU_ASSERT_EQUAL(bf_scheduler_update_start(w.sch), bf_scheduler_error_ok);
    Crawlers c = {.w = &w};
    pthread_t threads[3];
    void *(*const mains[])(void *) = {add_main, other_add_main, request_main};
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, mains[i], &c), 0);
    }
    for (int i = 0; i < 5; i++) {
        int64_t start_ns = cpu_process_ns(); /* of four threads; sanitizers are slow */
        CU_ASSERT_EQUAL(bf_scheduler_update_stop(w.sch), bf_scheduler_error_ok);
        CU_ASSERT(cpu_process_ns() - start_ns < 4000 * NS_PER_MS);
        CU_ASSERT_EQUAL(bf_scheduler_update_start(w.sch), bf_scheduler_error_ok);
    }
    (void)pthread_join(threads[0], NULL);
    (void)pthread_join(threads[1], NULL);
    atomic_store(&c.is_done, true);
    (void)pthread_join(threads[2], NULL);
    CU_ASSERT_EQUAL(bf_scheduler_update_stop(w.sch), bf_scheduler_error_ok);
    /* what the front has is what the schedule has: everything uncrawled, once */
    BFSchedulerCounts counts;
    CU_ASSERT_EQUAL(bf_scheduler_counts(w.sch, &counts), bf_scheduler_error_ok);
    PageRequest *rest = NULL;
    CU_ASSERT_EQUAL(bf_scheduler_request(w.sch, 100000, &rest), bf_scheduler_error_ok);
    CU_ASSERT_EQUAL(rest->n_urls + counts.requested, counts.scheduled);
    page_request_delete(rest);
    CU_ASSERT_EQUAL(bf_scheduler_reload(w.sch), bf_scheduler_error_ok);
    uint64_t scheduled = counts.scheduled;
    CU_ASSERT_EQUAL(bf_scheduler_counts(w.sch, &counts), bf_scheduler_error_ok);
    CU_ASSERT_EQUAL(counts.scheduled, scheduled);
    bf_scheduler_delete(w.sch);
    w.sch = NULL;
    (void)page_rank_scorer_delete(prs);
    world_end(&w);
}

UNIT_MAIN(
    "bf_scheduler",
    {"the best uncrawled page is next and each once",
     the_best_uncrawled_page_is_next_and_each_once},
    {"scores order a hundred links and a restart goes on",
     scores_order_a_hundred_links_and_a_restart_goes_on},
    {"what was out is not lost by a crash", what_was_out_is_not_lost_by_a_crash},
    {"what was requested is not handed out again", what_was_requested_is_not_handed_out_again},
    {"tens of thousands are taken out once each", tens_of_thousands_are_taken_out_once_each},
    {"a PageDB has one scheduler and one schedule", a_page_db_has_one_scheduler_and_one_schedule},
    {"a deleted schedule can be loaded again", a_deleted_schedule_can_be_loaded_again},
    {"pages beyond the depth are not scheduled", pages_beyond_the_depth_are_not_scheduled},
    {"hosts at their rate wait", hosts_at_their_rate_wait},
    {"tens of thousands are handed out once each", tens_of_thousands_are_handed_out_once_each},
    {"updates wait for a hundred pages or their time",
     updates_wait_for_a_hundred_pages_or_their_time},
    {"moves are made while nobody writes", moves_are_made_while_nobody_writes},
    {"moves outlive a map that must grow", moves_outlive_a_map_that_must_grow},
    {"endless computations are stopped", endless_computations_are_stopped},
    {"adds, requests, updates and stop go together", adds_requests_updates_and_stop_go_together})
