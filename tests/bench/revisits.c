#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/pages/page_db_open.h"
#include "steering.h"
#include "store/frequency/freq_scheduler.h"
#include "synthetic_web.h"

#define DAYS            100.0
#define VISITS_PER_DAY  0.5 /* of a page, on average */
#define SLOWEST_PER_DAY 0.01
#define FASTEST_PER_DAY 3.0
#define BATCH           50u
#define DAY_S           86400.0

/* A page that changes like a Poisson process. */
typedef struct LivePage {
    double rate; /* changes per day */
    uint64_t seed;
    double next_change; /* day */
    uint32_t version;
    double seen_at; /* day of the last visit; negative: none */
    size_t visits;
    double fresh_days;
} LivePage;

static void live_pages_start(LivePage *pages, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t seed = i * 7919 + 1;
        double u = synthetic_web_draw(&seed);
        LivePage *p = &pages[i];
        *p = (LivePage){.rate = SLOWEST_PER_DAY * pow(FASTEST_PER_DAY / SLOWEST_PER_DAY, u),
                        .seed = seed,
                        .seen_at = -1.0};
        p->next_change = -log1p(-synthetic_web_draw(&p->seed)) / p->rate;
    }
}

/* Time goes on to day: the copy was fresh until the first change after the last visit. */
static void live_page_visit(LivePage *p, double day)
{
    if (p->seen_at >= 0.0) {
        p->fresh_days += (p->next_change < day ? p->next_change : day) - p->seen_at;
    }
    while (p->next_change < day) {
        p->version++;
        p->next_change += -log1p(-synthetic_web_draw(&p->seed)) / p->rate;
    }
    p->seen_at = day;
    p->visits++;
}

static double freshness(LivePage *pages, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        live_page_visit(&pages[i], DAYS);
        pages[i].visits--;
        sum += pages[i].fresh_days;
    }
    return sum / ((double)n * DAYS);
}

static double freshness_of_uniform_visits(LivePage *pages, size_t n)
{
    live_pages_start(pages, n);
    double per_day = VISITS_PER_DAY * (double)n;
    for (size_t i = 0; (double)i / per_day < DAYS; i++) {
        live_page_visit(&pages[i % n], (double)i / per_day);
    }
    return freshness(pages, n);
}

static void crawl_all(FreqScheduler *sch, LivePage *pages, const size_t *which, size_t n,
                      double day)
{
    CrawledPage *crawled[BATCH] = {NULL};
    for (size_t i = 0; i < n; i++) {
        char url[SYNTHETIC_WEB_URL_BYTES];
        LivePage *p = &pages[which[i]];
        live_page_visit(p, day);
        (void)snprintf(url, sizeof url, "http://live.example/%zu", which[i]);
        crawled[i] = crawled_page_new(url);
        if (crawled[i] == NULL) {
            abort();
        }
        crawled[i]->time = 1e9 + day * DAY_S;
        (void)crawled_page_set_hash32(crawled[i], p->version);
    }
    if (page_db_add_batch(sch->page_db, (const CrawledPage *const *)crawled, n, NULL) !=
        page_db_error_ok) {
        abort();
    }
    for (size_t i = 0; i < n; i++) {
        crawled_page_delete(crawled[i]);
    }
}

/* Gives the scheduler frequencies that follow the true change rates. */
static void load_known(FreqScheduler *sch, const LivePage *pages, size_t n, double visits_per_s)
{
    MMapArray *array = NULL;
    double sum = 0.0; /* visits go by the square roots of the rates */
    if (mmap_array_new(&array, NULL, n, sizeof(PageFreq)) != mmap_array_error_ok) {
        abort();
    }
    for (size_t i = 0; i < n; i++) {
        sum += sqrt(pages[i].rate);
    }
    for (size_t i = 0; i < n; i++) {
        char url[SYNTHETIC_WEB_URL_BYTES];
        (void)snprintf(url, sizeof url, "http://live.example/%zu", i);
        PageFreq freq = {page_db_hash(url), (float)(visits_per_s * sqrt(pages[i].rate) / sum)};
        (void)mmap_array_set(array, i, &freq);
    }
    if (freq_scheduler_load_mmap(sch, array) != freq_scheduler_error_ok) {
        abort();
    }
    (void)mmap_array_delete(array);
}

static void visit_by_scheduler(FreqScheduler *sch, LivePage *pages, size_t n)
{
    live_pages_start(pages, n);
    size_t which[BATCH];
    double per_day = VISITS_PER_DAY * (double)n;
    double day = 0.0;
    for (size_t first = 0; first < n; first += BATCH) { /* the crawl that found them */
        size_t k = 0;
        for (; k < BATCH && first + k < n; k++) {
            which[k] = first + k;
        }
        crawl_all(sch, pages, which, k, day);
        day += (double)k / per_day;
    }
    load_known(sch, pages, n, per_day / DAY_S);
    while (day < DAYS) {
        PageRequest *request = NULL;
        if (freq_scheduler_request(sch, BATCH, &request) != freq_scheduler_error_ok) {
            abort();
        }
        for (size_t i = 0; i < request->n_urls; i++) {
            which[i] = synthetic_web_page(request->urls[i]);
        }
        crawl_all(sch, pages, which, request->n_urls, day);
        page_request_delete(request);
        day += BATCH / per_day;
    }
}

static const LivePage *sorted_pages; /* of the comparisons below */

static int by_rate(const void *a, const void *b)
{
    double x = sorted_pages[*(const size_t *)a].rate;
    double y = sorted_pages[*(const size_t *)b].rate;
    return (x > y) - (x < y);
}

static int by_visits(const void *a, const void *b)
{
    size_t x = sorted_pages[*(const size_t *)a].visits;
    size_t y = sorted_pages[*(const size_t *)b].visits;
    return (x > y) - (x < y);
}

/* Ranks by one of the orders; equal visits share their rank. */
static double *ranks(const LivePage *pages, size_t n, int (*order)(const void *, const void *),
                     bool ties)
{
    size_t *at = calloc(n, sizeof *at);
    double *rank = calloc(n, sizeof *rank);
    if (at == NULL || rank == NULL) {
        abort();
    }
    for (size_t i = 0; i < n; i++) {
        at[i] = i;
    }
    sorted_pages = pages;
    qsort(at, n, sizeof *at, order);
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;
        while (ties && end < n && pages[at[end]].visits == pages[at[i]].visits) {
            end++;
        }
        for (size_t k = i; k < end; k++) {
            rank[at[k]] = ((double)i + (double)end - 1.0) / 2.0;
        }
        i = end;
    }
    free(at);
    return rank;
}

static double rank_correlation(const LivePage *pages, size_t n)
{
    double *x = ranks(pages, n, by_rate, false);
    double *y = ranks(pages, n, by_visits, true);
    double mean = ((double)n - 1.0) / 2.0;
    double xy = 0.0;
    double xx = 0.0;
    double yy = 0.0;
    for (size_t i = 0; i < n; i++) {
        xy += (x[i] - mean) * (y[i] - mean);
        xx += (x[i] - mean) * (x[i] - mean);
        yy += (y[i] - mean) * (y[i] - mean);
    }
    free(x);
    free(y);
    return xy / sqrt(xx * yy);
}

/* One crawl of a hundred days in a database of its own. */
static void run_once(LivePage *pages, size_t n, const char *name)
{
    char dir[] = "/tmp/ragno-bench-revisits-XXXXXX";
    PageDB *db = NULL;
    FreqScheduler *sch = NULL;
    const PageDBOptions options = {.no_sync = true};
    if (mkdtemp(dir) == NULL || page_db_open(&db, dir, &options) != page_db_error_ok ||
        freq_scheduler_new(&sch, db, NULL) != freq_scheduler_error_ok) {
        abort();
    }
    visit_by_scheduler(sch, pages, n);
    double scheduled = freshness(pages, n);
    (void)printf("schedule.revisit.rank_correlation.%s = %.4f 1\n", name,
                 rank_correlation(pages, n));
    (void)printf("schedule.revisit.freshness.%s = %.4f 1\n", name, scheduled);
    freq_scheduler_delete(sch);
    page_db_set_persist(db, 0);
    (void)page_db_delete(db);
    (void)rmdir(dir);
}

void revisits_run(size_t n_pages)
{
    LivePage *pages = calloc(n_pages, sizeof *pages);
    if (pages == NULL) {
        abort();
    }
    (void)printf("schedule.revisit.freshness.uniform = %.4f 1\n",
                 freshness_of_uniform_visits(pages, n_pages));
    run_once(pages, n_pages, "known");
    free(pages);
}
