#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "store/bf_scheduler.h"
#include "store/content_scorer.h"
#include "store/hits_scorer.h"
#include "store/page_rank_scorer.h"
#include "unit.h"

typedef struct World {
    char dir[64];
    PageDB *db;
    BFScheduler *sch;
} World;

static void world_open(World *w)
{
    const PageDBOptions options = {.no_sync = true, .map_bytes = (size_t)1 << 32};
    CU_ASSERT_EQUAL_FATAL(page_db_open(&w->db, w->dir, &options), page_db_error_ok);
    CU_ASSERT_EQUAL_FATAL(bf_scheduler_new(&w->sch, w->db, NULL), bf_scheduler_error_ok);
}

static void world_start(World *w)
{
    (void)snprintf(w->dir, sizeof w->dir, "/tmp/ragno-bf-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(w->dir));
    world_open(w);
}

static void world_close(World *w, int persist)
{
    bf_scheduler_delete(w->sch);
    page_db_set_persist(w->db, persist);
    CU_ASSERT_EQUAL(page_db_delete(w->db), page_db_error_ok);
}

static void world_end(World *w)
{
    world_close(w, 0);
    (void)rmdir(w->dir);
}

/* Adds a page with links; the list ends with NULL. */
static void add(World *w, const char *url, const char *const *links, const float *scores)
{
    CrawledPage *page = crawled_page_new(url);
    for (size_t i = 0; links != NULL && links[i] != NULL; i++) {
        (void)crawled_page_add_link(page, links[i], scores == NULL ? 0.5f : scores[i]);
    }
    CU_ASSERT_EQUAL(bf_scheduler_add(w->sch, page), bf_scheduler_error_ok);
    crawled_page_delete(page);
}

static void add_one(World *w, const char *url, const char *link, float score)
{
    const char *const links[] = {link, NULL};
    add(w, url, links, &score);
}

/* Requests n URLs and compares them with a list, in order, separated by blanks. */
static void expect(World *w, size_t n, const char *urls)
{
    PageRequest *request = NULL;
    char got[4096] = "";
    CU_ASSERT_EQUAL_FATAL(bf_scheduler_request(w->sch, n, &request), bf_scheduler_error_ok);
    for (size_t i = 0; i < request->n_urls; i++) {
        size_t length = strlen(got);
        (void)snprintf(got + length, sizeof got - length, "%s%s", i == 0 ? "" : " ",
                       request->urls[i]);
    }
    CU_ASSERT_STRING_EQUAL(got, urls);
    page_request_delete(request);
}

static void the_best_uncrawled_page_is_next_and_each_once(void)
{
    World w;
    world_start(&w);
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
    add(&w, "http://a/", (const char *const[]){"http://a/1", "http://b/2", NULL},
        (const float[]){0.9f, 0.8f});
    expect(&w, 5, "http://a/1 http://b/2");
    add(&w, "http://b/2", NULL, NULL);
    world_close(&w, 1); /* the leases die with the process */
    world_open(&w);
    expect(&w, 5, "http://a/1");
    CU_ASSERT_EQUAL(bf_scheduler_release(w.sch, "http://a/1"), bf_scheduler_error_ok);
    CU_ASSERT_EQUAL(bf_scheduler_release(w.sch, "http://a/1"), bf_scheduler_error_no_page);
    CU_ASSERT_EQUAL(bf_scheduler_release(w.sch, "http://never/"), bf_scheduler_error_no_page);
    expect(&w, 5, "http://a/1");
    expect(&w, 5, "");
    CU_ASSERT_EQUAL(bf_scheduler_reload(w.sch), bf_scheduler_error_ok);
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

static double fake_now(void *context)
{
    return *(double *)context;
}

static void hosts_at_their_rate_wait(void)
{
    World w;
    world_start(&w);
    double now_s = 100.0;
    bf_scheduler_set_clock(w.sch, fake_now, &now_s);
    CU_ASSERT_EQUAL(bf_scheduler_set_max_domain_crawl_rate(w.sch, 0.5f, 1.0f),
                    bf_scheduler_error_ok);
    add(&w, "_seed_",
        (const char *const[]){"http://hot/1", "http://hot/2", "http://hot/3", "http://cold/1",
                              NULL},
        (const float[]){0.9f, 0.8f, 0.7f, 0.1f});
    expect(&w, 10, "http://hot/1 http://cold/1");
    expect(&w, 10, "");
    now_s += 1.01;
    expect(&w, 10, "http://hot/2");
    now_s += 0.5;
    expect(&w, 10, "");
    add(&w, "http://hot/elsewhere", NULL, NULL); /* a crawl that was not requested counts, too */
    now_s += 0.6;
    expect(&w, 10, "");
    now_s += 1.0;
    expect(&w, 10, "http://hot/3");
    uint32_t domain = page_db_hash_get_domain(page_db_hash("http://hot/elsewhere"));
    CU_ASSERT_DOUBLE_EQUAL((double)page_db_get_domain_crawl_rate(w.db, domain), 1.0, 0.1);
    world_end(&w);
}

/* A page of a small synthetic web: links to a few pages, most to low numbers. */
static CrawledPage *web_page(uint64_t i, uint64_t n_pages)
{
    char url[64];
    (void)snprintf(url, sizeof url, "http://host%u.example/%u", (unsigned)(i % 50), (unsigned)i);
    CrawledPage *page = crawled_page_new(url);
    page->score = (float)(hash_mix(i) % 100) / 100.0f;
    uint64_t seed = i * 977;
    for (int k = 0; k < 8; k++) {
        seed += UINT64_C(0x9E3779B97F4A7C15);
        double u = (double)(hash_mix(seed) >> 11) * 0x1p-53;
        uint64_t to = (uint64_t)((double)n_pages * u * u * u);
        (void)snprintf(url, sizeof url, "http://host%u.example/%u", (unsigned)(to % 50),
                       (unsigned)to);
        (void)crawled_page_add_link(page, url, (float)(hash_mix(to) % 100) / 100.0f);
    }
    return page;
}

static void add_web(World *w, uint64_t first, uint64_t end, uint64_t n_pages)
{
    CrawledPage *pages[64];
    for (uint64_t i = first; i < end;) {
        size_t n = 0;
        for (; n < 64 && i < end; n++, i++) {
            pages[n] = web_page(i, n_pages);
        }
        CU_ASSERT_EQUAL(bf_scheduler_add_batch(w->sch, (const CrawledPage *const *)pages, n),
                        bf_scheduler_error_ok);
        for (size_t k = 0; k < n; k++) {
            crawled_page_delete(pages[k]);
        }
    }
}

/* Requests everything; whether the scorer's scores fall, level by level. */
static void expect_falling_scores(World *w, const Scorer *scorer)
{
    PageRequest *request = NULL;
    CU_ASSERT_EQUAL_FATAL(bf_scheduler_request(w->sch, 100000, &request), bf_scheduler_error_ok);
    CU_ASSERT(request->n_urls > 500);
    double last = 1.0;
    size_t rising = 0;
    size_t distinct = 0;
    for (size_t i = 0; i < request->n_urls; i++) {
        uint64_t index = 0;
        float old = 0;
        float score = 0;
        CU_ASSERT_EQUAL(page_db_get_idx(w->db, page_db_hash(request->urls[i]), &index),
                        page_db_error_ok);
        CU_ASSERT_EQUAL(scorer->get(scorer->state, index, &old, &score), 0);
        rising += (double)score > last * 1.4143;
        distinct += (double)score < last / 1.4143;
        last = (double)score > 0 ? (double)score : last;
    }
    CU_ASSERT_EQUAL(rising, 0);
    CU_ASSERT(distinct >= 1);
    page_request_delete(request);
}

static void page_rank_steers_what_is_requested(void)
{
    World w;
    world_start(&w);
    PageRankScorer *prs = NULL;
    CU_ASSERT_EQUAL_FATAL(page_rank_scorer_new(&prs, w.db), page_rank_scorer_error_ok);
    page_rank_scorer_setup(prs, w.sch->scorer);
    add_web(&w, 0, 1000, 5000);
    CU_ASSERT_EQUAL(bf_scheduler_update(w.sch), bf_scheduler_error_ok);
    add_web(&w, 1000, 1500, 5000); /* estimates beside scores */
    CU_ASSERT_EQUAL(bf_scheduler_update(w.sch), bf_scheduler_error_ok);
    BFSchedulerCounts counts;
    CU_ASSERT_EQUAL(bf_scheduler_counts(w.sch, &counts), bf_scheduler_error_ok);
    CU_ASSERT_EQUAL(counts.updates, 2);
    CU_ASSERT(counts.moves > 100);
    CU_ASSERT_EQUAL(bf_scheduler_update(w.sch), bf_scheduler_error_ok); /* nothing is new */
    uint64_t moves = counts.moves;
    CU_ASSERT_EQUAL(bf_scheduler_counts(w.sch, &counts), bf_scheduler_error_ok);
    CU_ASSERT(counts.moves - moves < 20);
    expect_falling_scores(&w, w.sch->scorer);
    bf_scheduler_delete(w.sch);
    w.sch = NULL;
    CU_ASSERT_EQUAL(page_rank_scorer_delete(prs), page_rank_scorer_error_ok);
    world_end(&w);
}

static void hits_steers_what_is_requested(void)
{
    World w;
    world_start(&w);
    HitsScorer *hs = NULL;
    CU_ASSERT_EQUAL_FATAL(hits_scorer_new(&hs, w.db), hits_scorer_error_ok);
    hits_scorer_set_use_content_scores(hs, 1);
    hits_scorer_setup(hs, w.sch->scorer);
    add_web(&w, 0, 1500, 5000);
    CU_ASSERT_EQUAL(bf_scheduler_update(w.sch), bf_scheduler_error_ok);
    expect_falling_scores(&w, w.sch->scorer);
    bf_scheduler_delete(w.sch);
    w.sch = NULL;
    CU_ASSERT_EQUAL(hits_scorer_delete(hs), hits_scorer_error_ok);
    world_end(&w);
}

static void new_pages_have_estimates_from_their_parents(void)
{
    World w;
    world_start(&w);
    PageRankScorer *prs = NULL;
    CU_ASSERT_EQUAL_FATAL(page_rank_scorer_new(&prs, w.db), page_rank_scorer_error_ok);
    page_rank_scorer_setup(prs, w.sch->scorer);
    for (int i = 0; i < 30; i++) { /* "good" is linked by many, "poor" by one */
        char url[32];
        (void)snprintf(url, sizeof url, "http://a/%d", i);
        add(&w, url, (const char *const[]){"http://a/good", i == 0 ? "http://a/poor" : NULL, NULL},
            NULL);
    }
    CU_ASSERT_EQUAL(bf_scheduler_update(w.sch), bf_scheduler_error_ok);
    expect(&w, 2, "http://a/good http://a/poor");
    add_one(&w, "http://a/poor", "http://a/of_poor", 0.9f);
    add_one(&w, "http://a/good", "http://a/of_good", 0.1f);
    expect(&w, 2, "http://a/of_good http://a/of_poor");
    /* the documented function says the same, from the database */
    PageInfo info = {.linked_from = page_db_hash("http://a/good"), .score = 0.5f};
    float of_good = 0;
    float of_poor = 0;
    CU_ASSERT_EQUAL(page_rank_scorer_add(prs, &info, &of_good), 0);
    info.linked_from = page_db_hash("http://a/poor");
    CU_ASSERT_EQUAL(page_rank_scorer_add(prs, &info, &of_poor), 0);
    CU_ASSERT(of_good > 5.0f * of_poor && of_poor > 0.0f);
    bf_scheduler_delete(w.sch);
    w.sch = NULL;
    (void)page_rank_scorer_delete(prs);
    world_end(&w);
}

static void content_scores_mix_link_and_page(void)
{
    World w;
    world_start(&w);
    ContentScorer cs;
    content_scorer_init(&cs, 0.5f);
    content_scorer_setup(&cs, w.sch->scorer);
    CrawledPage *page = crawled_page_new("http://on-topic/");
    page->score = 1.0f;
    (void)crawled_page_add_link(page, "http://on-topic/1", 0.4f); /* 0.7 */
    CU_ASSERT_EQUAL(bf_scheduler_add(w.sch, page), bf_scheduler_error_ok);
    crawled_page_delete(page);
    page = crawled_page_new("http://off/");
    page->score = 0.0f;
    (void)crawled_page_add_link(page, "http://off/1", 0.8f); /* 0.4 */
    CU_ASSERT_EQUAL(bf_scheduler_add(w.sch, page), bf_scheduler_error_ok);
    crawled_page_delete(page);
    CU_ASSERT_EQUAL(bf_scheduler_update(w.sch), bf_scheduler_error_ok);
    expect(&w, 2, "http://on-topic/1 http://off/1");
    world_end(&w);
}

/* A scorer with nothing but the documented functions: likes short URLs, whoever links to them. */
static int short_update(void *state)
{
    *(int *)state += 1;
    return 0;
}

static int short_add(void *state, const PageInfo *page_info, float *score)
{
    (void)state;
    *score = page_info->linked_from == page_db_hash("http://a/") && page_info->depth == 1
                 ? 1.0f / (float)strlen(page_info->url)
                 : 0.0f;
    return 0;
}

static int short_get(void *state, size_t idx, float *score_old, float *score_new)
{
    (void)state;
    *score_old = 0.0f;
    *score_new = idx == 1 ? 0.9f : 0.001f; /* the first link has become the best */
    return 0;
}

static void a_scorer_of_the_users_own_steers(void)
{
    World w;
    world_start(&w);
    int n_updates = 0;
    *w.sch->scorer =
        (Scorer){.state = &n_updates, .update = short_update, .add = short_add, .get = short_get};
    const char *const links[] = {"http://a/long_long_long_long_long_long", "http://a/short",
                                 "http://a/in_the_middle_of", NULL};
    add(&w, "http://a/", links, (const float[]){0.9f, 0.1f, 0.5f});
    expect(&w, 1, "http://a/short");
    CU_ASSERT_EQUAL(bf_scheduler_update(w.sch), bf_scheduler_error_ok);
    CU_ASSERT_EQUAL(n_updates, 1);
    expect(&w, 2, "http://a/long_long_long_long_long_long http://a/in_the_middle_of");
    world_end(&w);
}

/* Waits until the thread has made n updates; false after ten seconds. */
static bool wait_for_updates(World *w, uint64_t n)
{
    MonoTime deadline = mono_add_ms(mono_now(), 10000);
    BFSchedulerCounts counts = {0};
    while (counts.updates < n && mono_before(mono_now(), deadline)) {
        (void)poll(NULL, 0, 1);
        CU_ASSERT_EQUAL_FATAL(bf_scheduler_counts(w->sch, &counts), bf_scheduler_error_ok);
    }
    return counts.updates >= n;
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

static void updates_wait_for_a_hundred_pages_or_their_time(void)
{
    World w;
    world_start(&w);
    atomic_uint n_updates = 0;
    *w.sch->scorer = (Scorer){.state = &n_updates, .update = counting_update, .get = counting_get};
    CU_ASSERT_EQUAL(bf_scheduler_update_start(w.sch), bf_scheduler_error_ok);
    add_web(&w, 0, 60, 400);
    add_web(&w, 60, 99, 400);
    add_web(&w, 99, 100, 400);
    CU_ASSERT(wait_for_updates(&w, 1));
    add_web(&w, 100, 150, 400);
    add_web(&w, 150, 199, 400);
    add_web(&w, 199, 200, 400);
    CU_ASSERT(wait_for_updates(&w, 2));
    CU_ASSERT_EQUAL(atomic_load(&n_updates), 2);
    bf_scheduler_set_update_interval(w.sch, 1);
    CU_ASSERT(wait_for_updates(&w, 3));
    CU_ASSERT_EQUAL(bf_scheduler_update_stop(w.sch), bf_scheduler_error_ok);
    BFSchedulerCounts counts;
    CU_ASSERT_EQUAL(bf_scheduler_counts(w.sch, &counts), bf_scheduler_error_ok);
    CU_ASSERT(counts.moves > 100 && counts.longest_update_ms > 0.0);
    CU_ASSERT(counts.longest_update_cpu_ms < 500.0);
    world_end(&w);
}

/* Milliseconds that stop takes while a computation runs that would never end. */
static int64_t stop_ms(World *w)
{
    CU_ASSERT_EQUAL(bf_scheduler_update_start(w->sch), bf_scheduler_error_ok);
    add_web(w, 0, 300, 2000);
    (void)poll(NULL, 0, 50); /* it is at work by now, or begins when it is stopped */
    MonoTime start = mono_now();
    CU_ASSERT_EQUAL(bf_scheduler_update_stop(w->sch), bf_scheduler_error_ok);
    return mono_ms_between(start, mono_now());
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
    CU_ASSERT(stop_ms(&w) < 1000); /* 100 with a processor of its own */
    CU_ASSERT_EQUAL(page_rank_scorer_delete(prs), page_rank_scorer_error_ok);
    HitsScorer *hs = NULL;
    CU_ASSERT_EQUAL_FATAL(hits_scorer_new(&hs, w.db), hits_scorer_error_ok);
    hs->hits->precision = -1.0f;
    hs->hits->max_loops = 0;
    hits_scorer_setup(hs, w.sch->scorer);
    CU_ASSERT(stop_ms(&w) < 1000);
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
            for (size_t i = 0; i < request->n_urls; i += 7) {
                (void)bf_scheduler_release(c->w->sch, request->urls[i]);
            }
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
        MonoTime start = mono_now();
        CU_ASSERT_EQUAL(bf_scheduler_update_stop(w.sch), bf_scheduler_error_ok);
        CU_ASSERT(mono_ms_between(start, mono_now()) < 2000); /* sanitizers are slow */
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

UNIT_MAIN("bf_scheduler",
          {"the best uncrawled page is next and each once",
           the_best_uncrawled_page_is_next_and_each_once},
          {"scores order a hundred links and a restart goes on",
           scores_order_a_hundred_links_and_a_restart_goes_on},
          {"what was out is not lost by a crash", what_was_out_is_not_lost_by_a_crash},
          {"a deleted schedule can be loaded again", a_deleted_schedule_can_be_loaded_again},
          {"pages beyond the depth are not scheduled", pages_beyond_the_depth_are_not_scheduled},
          {"hosts at their rate wait", hosts_at_their_rate_wait},
          {"page rank steers what is requested", page_rank_steers_what_is_requested},
          {"hits steers what is requested", hits_steers_what_is_requested},
          {"new pages have estimates from their parents",
           new_pages_have_estimates_from_their_parents},
          {"content scores mix link and page", content_scores_mix_link_and_page},
          {"a scorer of the user's own steers", a_scorer_of_the_users_own_steers},
          {"updates wait for a hundred pages or their time",
           updates_wait_for_a_hundred_pages_or_their_time},
          {"endless computations are stopped", endless_computations_are_stopped},
          {"adds, requests, updates and stop go together",
           adds_requests_updates_and_stop_go_together})
