/* Scorers that steer the best-first scheduler. */
#include <math.h>
#include <stdatomic.h>

#include "store/pages/page_db_read.h"
#include "bf_world.h"
#include "store/scorers/content_scorer.h"
#include "store/scorers/hits_scorer.h"
#include "store/scorers/page_rank_scorer.h"

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

static void reading_scores_can_be_stopped(void)
{
    World w;
    world_start(&w);
    add_web(&w, 0, 50, 400);
    atomic_bool stop = true;
    MMapArray *scores = NULL;
    CU_ASSERT_NOT_EQUAL(page_db_get_scores_until(w.db, &scores, &stop), page_db_error_ok);
    CU_ASSERT_PTR_NULL(scores);
    atomic_store(&stop, false);
    CU_ASSERT_EQUAL_FATAL(page_db_get_scores_until(w.db, &scores, &stop), page_db_error_ok);
    CU_ASSERT(scores->n_elements > 50);
    (void)mmap_array_delete(scores);
    world_end(&w);
}

UNIT_MAIN("bf_scorers", {"reading scores can be stopped", reading_scores_can_be_stopped},
          {"page rank steers what is requested", page_rank_steers_what_is_requested},
          {"hits steers what is requested", hits_steers_what_is_requested},
          {"new pages have estimates from their parents",
           new_pages_have_estimates_from_their_parents},
          {"content scores mix link and page", content_scores_mix_link_and_page},
          {"a scorer of the user's own steers", a_scorer_of_the_users_own_steers})
