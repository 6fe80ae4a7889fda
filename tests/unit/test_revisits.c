/* Do revisits follow changes? A hundred virtual days of pages whose change rates are known to the
 * test. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/pages/page_db_open.h"
#include "dice.h"
#include "store/frequency/freq_scheduler.h"
#include "folder_fixture.h"
#include "unit.h"

#define PAGES          300u
#define DAYS           100.0
#define DAY_S          86400.0
#define VISITS_PER_DAY (0.5 * PAGES)
#define BATCH          30u

/* A page that changes like a Poisson process. */
typedef struct LivePage {
    double rate; /* changes per day */
    double next_change;
    double seen_at;
    double fresh_days;
    uint32_t version;
    unsigned visits;
} LivePage;

typedef struct World {
    char dir[64];
    PageDB *db;
    FreqScheduler *sch;
    LivePage pages[PAGES];
    Dice dice;
    double day;
} World;

/* Uniform in [0, 1). */
static double draw(World *w)
{
    return (double)(dice_next(&w->dice) >> 11) * 0x1p-53;
}

static double next_change(World *w, const LivePage *page)
{
    return -log1p(-draw(w)) / page->rate;
}

static void world_start(World *w)
{
    *w = (World){.dice = {7}};
    const PageDBOptions options = {.no_sync = true};
    folder_make(w->dir);
    CU_ASSERT_EQUAL_FATAL(page_db_open(&w->db, w->dir, &options), page_db_error_ok);
    CU_ASSERT_EQUAL_FATAL(freq_scheduler_new(&w->sch, w->db, NULL), freq_scheduler_error_ok);
    for (size_t i = 0; i < PAGES; i++) { /* from one change in a hundred days to three a day */
        w->pages[i].rate = 0.01 * pow(300.0, draw(w));
        w->pages[i].next_change = next_change(w, &w->pages[i]);
    }
}

static void world_end(World *w)
{
    freq_scheduler_delete(w->sch);
    page_db_set_persist(w->db, 0);
    CU_ASSERT_EQUAL(page_db_delete(w->db), page_db_error_ok);
    folder_remove(w->dir);
}

/* The copy was fresh until the first change after the last visit. */
static void visit(World *w, LivePage *page, double day)
{
    if (page->visits > 0) {
        page->fresh_days += fmin(page->next_change, day) - page->seen_at;
    }
    while (page->next_change < day) {
        page->version++;
        page->next_change += next_change(w, page);
    }
    page->seen_at = day;
    page->visits++;
}

static void crawl(World *w, size_t i)
{
    char url[64];
    visit(w, &w->pages[i], w->day);
    (void)snprintf(url, sizeof url, "http://live.example/%zu", i);
    CrawledPage *page = crawled_page_new(url);
    page->time = 1.7e9 + w->day * DAY_S;
    (void)crawled_page_set_hash32(page, w->pages[i].version);
    CU_ASSERT_EQUAL_FATAL(freq_scheduler_add(w->sch, page), freq_scheduler_error_ok);
    crawled_page_delete(page);
    w->day += 1.0 / VISITS_PER_DAY;
}

static void crawl_all_once(World *w)
{
    for (size_t i = 0; i < PAGES; i++) {
        crawl(w, i);
    }
}

static void crawl_requested(World *w)
{
    PageRequest *request = NULL;
    CU_ASSERT_EQUAL_FATAL(freq_scheduler_request(w->sch, BATCH, &request), freq_scheduler_error_ok);
    CU_ASSERT_EQUAL_FATAL(request->n_urls, BATCH);
    for (size_t i = 0; i < request->n_urls; i++) {
        crawl(w, strtoul(strrchr(request->urls[i], '/') + 1, NULL, 10));
    }
    page_request_delete(request);
}

/* Spearman's, with equal ranks for equal visits. */
static double rank_correlation(const LivePage *pages)
{
    double xy = 0.0;
    double xx = 0.0;
    double yy = 0.0;
    for (size_t i = 0; i < PAGES; i++) {
        double x = 0.0;
        double y = 0.0;
        for (size_t k = 0; k < PAGES; k++) {
            x += (pages[k].rate < pages[i].rate) - (pages[k].rate > pages[i].rate);
            y += (pages[k].visits < pages[i].visits) - (pages[k].visits > pages[i].visits);
        }
        xy += x * y;
        xx += x * x;
        yy += y * y;
    }
    return xy / sqrt(xx * yy);
}

static double freshness(World *w)
{
    double sum = 0.0;
    for (size_t i = 0; i < PAGES; i++) {
        visit(w, &w->pages[i], DAYS);
        w->pages[i].visits--;
        sum += w->pages[i].fresh_days;
    }
    return sum / (PAGES * DAYS);
}

static double freshness_of_uniform_visits(void)
{
    World w;
    world_start(&w);
    for (size_t i = 0; w.day < DAYS; i++, w.day += 1.0 / VISITS_PER_DAY) {
        visit(&w, &w.pages[i % PAGES], w.day);
    }
    double result = freshness(&w);
    world_end(&w);
    return result;
}

static void known_rates_are_followed(void)
{
    World w;
    world_start(&w);
    crawl_all_once(&w);
    double sum = 0; /* visits go by the square roots of the rates */
    for (size_t i = 0; i < PAGES; i++) {
        sum += sqrt(w.pages[i].rate);
    }
    MMapArray *array = NULL;
    CU_ASSERT_EQUAL_FATAL(mmap_array_new(&array, NULL, PAGES, sizeof(PageFreq)),
                          mmap_array_error_ok);
    for (size_t i = 0; i < PAGES; i++) {
        char url[64];
        (void)snprintf(url, sizeof url, "http://live.example/%zu", i);
        PageFreq freq = {page_db_hash(url),
                         (float)(VISITS_PER_DAY / DAY_S * sqrt(w.pages[i].rate) / sum)};
        (void)mmap_array_set(array, i, &freq);
    }
    CU_ASSERT_EQUAL(freq_scheduler_load_mmap(w.sch, array), freq_scheduler_error_ok);
    (void)mmap_array_delete(array);
    while (w.day < DAYS) {
        crawl_requested(&w);
    }
    CU_ASSERT(rank_correlation(w.pages) > 0.99);
    CU_ASSERT(freshness(&w) > freshness_of_uniform_visits() + 0.01);
    world_end(&w);
}

UNIT_MAIN("revisits", {"known rates are followed", known_rates_are_followed})
