/* A best-first scheduler in a directory of its own, and a small web to crawl; for tests. */
#ifndef TESTS_UNIT_BF_WORLD_H
#define TESTS_UNIT_BF_WORLD_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/pages/page_db_open.h"
#include "base/core/hash.h"
#include "store/best_first/bf_scheduler.h"
#include "folder_fixture.h"
#include "unit.h"

typedef struct World {
    char dir[64];
    PageDB *db;
    BFScheduler *sch;
} World;

static inline void world_open(World *w)
{
    const PageDBOptions options = {.no_sync = true, .map_bytes = (size_t)1 << 32};
    CU_ASSERT_EQUAL_FATAL(page_db_open(&w->db, w->dir, &options), page_db_error_ok);
    CU_ASSERT_EQUAL_FATAL(bf_scheduler_new(&w->sch, w->db, NULL), bf_scheduler_error_ok);
}

static inline void world_start(World *w)
{
    folder_make(w->dir);
    world_open(w);
}

static inline void world_close(World *w, int persist)
{
    bf_scheduler_delete(w->sch);
    page_db_set_persist(w->db, persist);
    CU_ASSERT_EQUAL(page_db_delete(w->db), page_db_error_ok);
}

static inline void world_end(World *w)
{
    world_close(w, 0);
    folder_remove(w->dir);
}

/* Adds a page with links; the list ends with NULL. */
static inline void add(World *w, const char *url, const char *const *links, const float *scores)
{
    CrawledPage *page = crawled_page_new(url);
    for (size_t i = 0; links != NULL && links[i] != NULL; i++) {
        (void)crawled_page_add_link(page, links[i], scores == NULL ? 0.5f : scores[i]);
    }
    CU_ASSERT_EQUAL(bf_scheduler_add(w->sch, page), bf_scheduler_error_ok);
    crawled_page_delete(page);
}

static inline void add_one(World *w, const char *url, const char *link, float score)
{
    const char *const links[] = {link, NULL};
    add(w, url, links, &score);
}

/* Requests n URLs and compares them with a list, in order, separated by blanks. */
static inline void expect(World *w, size_t n, const char *urls)
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

/* A page of a small synthetic web: links to a few pages, most to low numbers. */
static inline CrawledPage *web_page(uint64_t i, uint64_t n_pages)
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

static inline void add_web(World *w, uint64_t first, uint64_t end, uint64_t n_pages)
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

#endif
