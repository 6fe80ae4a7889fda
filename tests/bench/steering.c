#include "store/pages/page_db_open.h"
#include "steering.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/best_first/bf_scheduler.h"
#include "store/scorers/content_scorer.h"
#include "store/scorers/hits_scorer.h"
#include "store/scorers/page_rank_scorer.h"
#include "synthetic_web.h"

#define REQUEST      100u
#define UPDATE_SHARE 1.04 /* scores are updated when the crawl has grown by so much */
#define POINTS       3u

static const unsigned percents[POINTS] = {5, 10, 20};

/* A crawl as it goes: what it has reached at the points. */
typedef struct Progress {
    const char *name;
    size_t n_pages; /* of the web */
    size_t fetched;
    double mass; /* PageRank fetched so far */
    size_t on_topic;
    double mass_at[POINTS];
    double harvest_at[POINTS];
} Progress;

static void fetched(Progress *p, const SyntheticWeb *web, const float *rank, size_t page)
{
    p->fetched++;
    p->mass += (double)rank[page];
    p->on_topic += web->on_topic[page];
    for (size_t i = 0; i < POINTS; i++) {
        if (p->fetched * 100 <= web->n_pages * percents[i]) {
            p->mass_at[i] = p->mass;
            p->harvest_at[i] = (double)p->on_topic / (double)p->fetched;
        }
    }
}

static size_t to_fetch(const SyntheticWeb *web)
{
    return web->n_pages * percents[POINTS - 1] / 100;
}

/* The PageRank of every page of the whole web, sum 1. */
static float *rank_all(SyntheticWeb *web, const char *dir)
{
    PageRank *pr = NULL;
    float *rank = calloc(web->n_pages, sizeof *rank);
    if (rank == NULL || page_rank_new(&pr, dir, web->n_pages) != page_rank_error_ok ||
        page_rank_compute(pr, web, synthetic_web_next, synthetic_web_reset) != page_rank_error_ok) {
        abort();
    }
    for (size_t i = 0; i < web->n_pages; i++) {
        float old = 0;
        (void)page_rank_get(pr, i, &old, &rank[i]);
    }
    (void)page_rank_delete(pr);
    return rank;
}

/* Breadth first, or, with a score for every page, the best known page first: a plain binary heap.
 */
typedef struct Frontier {
    uint32_t *pages;
    float *keys; /* least first */
    size_t n;
} Frontier;

static void swap(Frontier *f, size_t a, size_t b)
{
    uint32_t page = f->pages[a];
    float key = f->keys[a];
    f->pages[a] = f->pages[b];
    f->keys[a] = f->keys[b];
    f->pages[b] = page;
    f->keys[b] = key;
}

static void frontier_push(Frontier *f, uint32_t page, float key)
{
    size_t i = f->n++;
    f->pages[i] = page;
    f->keys[i] = key;
    for (; i > 0 && f->keys[i] < f->keys[(i - 1) / 2]; i = (i - 1) / 2) {
        swap(f, i, (i - 1) / 2);
    }
}

static uint32_t frontier_pop(Frontier *f)
{
    uint32_t page = f->pages[0];
    swap(f, 0, --f->n);
    for (size_t i = 0;;) {
        size_t child = 2 * i + 1;
        if (child + 1 < f->n && f->keys[child + 1] < f->keys[child]) {
            child++;
        }
        if (child >= f->n || f->keys[i] <= f->keys[child]) {
            break;
        }
        swap(f, i, child);
        i = child;
    }
    return page;
}

static void crawl_plainly(Progress *p, const SyntheticWeb *web, const float *rank, bool omniscient)
{
    Frontier f = {.pages = calloc(web->n_pages, sizeof *f.pages),
                  .keys = calloc(web->n_pages, sizeof *f.keys)};
    bool *seen = calloc(web->n_pages, sizeof *seen);
    if (f.pages == NULL || f.keys == NULL || seen == NULL) {
        abort();
    }
    float order = 0.0f;
    frontier_push(&f, 0, order);
    seen[0] = true;
    while (p->fetched < to_fetch(web) && f.n > 0) {
        uint32_t page = frontier_pop(&f);
        fetched(p, web, rank, page);
        for (size_t k = web->first_link[page]; k < web->first_link[page + 1]; k++) {
            uint32_t to = web->links[k];
            if (!seen[to]) {
                seen[to] = true;
                order += 1.0f;
                frontier_push(&f, to, omniscient ? -rank[to] : order);
            }
        }
    }
    free(f.pages);
    free(f.keys);
    free(seen);
}

static void add_all(BFScheduler *sch, const SyntheticWeb *web, const size_t *pages, size_t n)
{
    CrawledPage *crawled[REQUEST];
    for (size_t i = 0; i < n; i++) {
        crawled[i] = synthetic_web_crawl(web, pages[i]);
    }
    if (bf_scheduler_add_batch(sch, (const CrawledPage *const *)crawled, n) !=
        bf_scheduler_error_ok) {
        abort();
    }
    for (size_t i = 0; i < n; i++) {
        crawled_page_delete(crawled[i]);
    }
}

static void crawl_by_scheduler(Progress *p, const SyntheticWeb *web, const float *rank,
                               BFScheduler *sch)
{
    size_t pages[REQUEST] = {0};
    size_t n = 1; /* page 0 is the seed */
    size_t updated_at = 0;
    while (n > 0 && p->fetched < to_fetch(web)) {
        add_all(sch, web, pages, n);
        for (size_t i = 0; i < n; i++) {
            fetched(p, web, rank, pages[i]);
        }
        if ((double)p->fetched >= (double)updated_at * UPDATE_SHARE) {
            updated_at = p->fetched;
            if (bf_scheduler_update(sch) != bf_scheduler_error_ok) {
                (void)fprintf(stderr, "%s: update failed\n", p->name);
            }
        }
        PageRequest *request = NULL;
        if (bf_scheduler_request(sch, REQUEST, &request) != bf_scheduler_error_ok) {
            abort();
        }
        n = request->n_urls;
        for (size_t i = 0; i < n; i++) {
            pages[i] = synthetic_web_page(request->urls[i]);
        }
        page_request_delete(request);
    }
}

typedef enum Way { WAY_PAGE_RANK, WAY_HITS, WAY_PLAIN_HITS, WAY_CONTENT, WAY_CLASSIFIER } Way;

static void crawl_scored(Progress *p, const SyntheticWeb *web, const float *rank, const char *dir,
                         Way way)
{
    PageDB *db = NULL;
    BFScheduler *sch = NULL;
    PageRankScorer *prs = NULL;
    HitsScorer *hs = NULL;
    ContentScorer cs;
    const PageDBOptions options = {.no_sync = true};
    if (page_db_open(&db, dir, &options) != page_db_error_ok ||
        bf_scheduler_new(&sch, db, NULL) != bf_scheduler_error_ok ||
        page_rank_scorer_new(&prs, db) != page_rank_scorer_error_ok ||
        hits_scorer_new(&hs, db) != hits_scorer_error_ok) {
        abort();
    }
    bf_scheduler_set_leases(sch, 1);
    if (way == WAY_PAGE_RANK) {
        page_rank_scorer_setup(prs, sch->scorer);
    } else if (way == WAY_HITS || way == WAY_PLAIN_HITS) {
        if (way == WAY_PLAIN_HITS) {
            hits_scorer_set_jump(hs, 0.0f);
        }
        hits_scorer_setup(hs, sch->scorer);
    } else {
        /* A classifier sees pages and no links: score.scorer = command. */
        content_scorer_init(&cs, way == WAY_CLASSIFIER ? 1.0f : CONTENT_SCORER_PAGE_SHARE);
        content_scorer_setup(&cs, sch->scorer);
    }
    crawl_by_scheduler(p, web, rank, sch);
    bf_scheduler_delete(sch);
    (void)page_rank_scorer_delete(prs);
    (void)hits_scorer_delete(hs);
    page_db_set_persist(db, 0);
    (void)page_db_delete(db);
}

static void print_mass(const Progress *p)
{
    for (size_t i = 0; i < POINTS; i++) {
        (void)printf("schedule.mass_at_%upct.%s = %.4f 1\n", percents[i], p->name, p->mass_at[i]);
    }
}

void steering_run(size_t n_pages, size_t n_hosts)
{
    char dir[] = "/tmp/ragno-bench-steering-XXXXXX";
    if (mkdtemp(dir) == NULL) {
        abort();
    }
    SyntheticWeb *web = synthetic_web_new(n_pages, n_hosts, 1);
    float *rank = rank_all(web, dir);
    Progress breadth = {.name = "breadth_first"};
    Progress omniscient = {.name = "omniscient"};
    Progress page_rank = {.name = "pagerank"};
    Progress hits = {.name = "hits"};
    Progress plain_hits = {.name = "hits_plain"};
    Progress content = {.name = "content"};
    Progress classifier = {.name = "classifier"};
    crawl_plainly(&breadth, web, rank, false);
    crawl_plainly(&omniscient, web, rank, true);
    crawl_scored(&page_rank, web, rank, dir, WAY_PAGE_RANK);
    crawl_scored(&hits, web, rank, dir, WAY_HITS);
    crawl_scored(&plain_hits, web, rank, dir, WAY_PLAIN_HITS);
    crawl_scored(&content, web, rank, dir, WAY_CONTENT);
    crawl_scored(&classifier, web, rank, dir, WAY_CLASSIFIER);
    print_mass(&breadth);
    print_mass(&page_rank);
    print_mass(&hits);
    print_mass(&plain_hits);
    print_mass(&omniscient);
    (void)printf("schedule.harvest.breadth_first = %.4f 1\n", breadth.harvest_at[1]);
    (void)printf("schedule.harvest.pagerank = %.4f 1\n", page_rank.harvest_at[1]);
    (void)printf("schedule.harvest.content = %.4f 1\n", content.harvest_at[1]);
    (void)printf("schedule.harvest.classifier = %.4f 1\n", classifier.harvest_at[1]);
    free(rank);
    synthetic_web_delete(web);
    (void)rmdir(dir);
}
