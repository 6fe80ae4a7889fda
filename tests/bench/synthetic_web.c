#include "synthetic_web.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"

#define PARETO          1.3 /* exponent of attractiveness: in-degrees have 1 + that */
#define INSIDE          0.7 /* links to the own host */
#define LINKS_AT_LEAST  4u
#define LINKS_MORE      16u
#define TOPIC_HOSTS     0.05
#define TOPIC_ON_HOST   0.8 /* of a topic host's pages */
#define TOPIC_ELSEWHERE 0.01
#define TOPIC_TRIES     4 /* an author on the topic looks so often for a page on it */

double synthetic_web_draw(uint64_t *seed)
{
    *seed += UINT64_C(0x9E3779B97F4A7C15);
    return (double)(hash_mix(*seed) >> 11) * 0x1p-53;
}

static void *allocate(size_t n, size_t size)
{
    void *memory = calloc(n == 0 ? 1 : n, size);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static void make_hosts(SyntheticWeb *web, uint64_t *seed)
{
    double total = 0.0;
    for (size_t h = 0; h < web->n_hosts; h++) {
        total += pow((double)h + 1.0, -0.7);
    }
    size_t page = 0;
    for (size_t h = 0; h < web->n_hosts; h++) {
        web->first_page[h] = (uint32_t)page;
        double share = pow((double)h + 1.0, -0.7) / total;
        size_t size = 1 + (size_t)((double)(web->n_pages - web->n_hosts) * share);
        size_t room = web->n_pages - page - (web->n_hosts - h - 1);
        size = h + 1 == web->n_hosts || size > room ? room : size;
        bool is_topic_host = synthetic_web_draw(seed) < TOPIC_HOSTS;
        for (size_t i = 0; i < size; i++, page++) {
            web->host_of[page] = (uint32_t)h;
            web->on_topic[page] =
                synthetic_web_draw(seed) < (is_topic_host ? TOPIC_ON_HOST : TOPIC_ELSEWHERE);
        }
    }
    web->first_page[web->n_hosts] = (uint32_t)page;
    web->pull[0] = 0.0;
    for (size_t i = 0; i < web->n_pages; i++) {
        web->pull[i + 1] = web->pull[i] + pow(1.0 - synthetic_web_draw(seed), -1.0 / PARETO);
    }
}

/* A page of [first, end), by attractiveness. */
static uint32_t attracted(const SyntheticWeb *web, size_t first, size_t end, uint64_t *seed)
{
    double target =
        web->pull[first] + synthetic_web_draw(seed) * (web->pull[end] - web->pull[first]);
    size_t low = first;
    size_t high = end - 1;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        if (web->pull[middle] <= target) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return (uint32_t)low;
}

static uint32_t draw_target(const SyntheticWeb *web, size_t page, uint64_t *seed)
{
    size_t host = web->host_of[page];
    bool is_inside = synthetic_web_draw(seed) < INSIDE;
    size_t first = is_inside ? web->first_page[host] : 0;
    size_t end = is_inside ? web->first_page[host + 1] : web->n_pages;
    uint32_t target = attracted(web, first, end, seed);
    for (int i = 1; web->on_topic[page] && i < TOPIC_TRIES && !web->on_topic[target]; i++) {
        target = attracted(web, first, end, seed);
    }
    return target;
}

/* Navigation first: page k of a host links to pages 2k+1 and 2k+2, the first page of host h to
 * those of two further hosts; so all are reachable from page 0. */
static size_t add_navigation(const SyntheticWeb *web, size_t page, uint32_t *links)
{
    size_t host = web->host_of[page];
    size_t first = web->first_page[host];
    size_t size = web->first_page[host + 1] - first;
    size_t n = 0;
    for (size_t child = 2 * (page - first) + 1; child <= 2 * (page - first) + 2; child++) {
        if (child < size) {
            links[n++] = (uint32_t)(first + child);
        }
    }
    for (size_t next = 2 * host + 1; page == first && next <= 2 * host + 2; next++) {
        if (next < web->n_hosts) {
            links[n++] = web->first_page[next];
        }
    }
    return n;
}

SyntheticWeb *synthetic_web_new(size_t n_pages, size_t n_hosts, uint64_t seed)
{
    SyntheticWeb *web = allocate(1, sizeof *web);
    web->n_pages = n_pages;
    web->n_hosts = n_hosts;
    web->host_of = allocate(n_pages, sizeof *web->host_of);
    web->first_page = allocate(n_hosts + 1, sizeof *web->first_page);
    web->pull = allocate(n_pages + 1, sizeof *web->pull);
    web->on_topic = allocate(n_pages, sizeof *web->on_topic);
    web->first_link = allocate(n_pages + 1, sizeof *web->first_link);
    web->links = allocate(n_pages * (LINKS_AT_LEAST + LINKS_MORE + 4), sizeof *web->links);
    make_hosts(web, &seed);
    size_t n = 0;
    for (size_t page = 0; page < n_pages; page++) {
        web->first_link[page] = n;
        n += add_navigation(web, page, web->links + n);
        size_t more = LINKS_AT_LEAST + (size_t)(synthetic_web_draw(&seed) * LINKS_MORE);
        for (size_t k = 0; k < more; k++) {
            uint32_t target = draw_target(web, page, &seed);
            if (target != page) {
                web->links[n++] = target;
            }
        }
    }
    web->first_link[n_pages] = n;
    return web;
}

void synthetic_web_delete(SyntheticWeb *web)
{
    free(web->host_of);
    free(web->first_page);
    free(web->pull);
    free(web->on_topic);
    free(web->first_link);
    free(web->links);
    free(web);
}

void synthetic_web_url(const SyntheticWeb *web, size_t page, char url[SYNTHETIC_WEB_URL_BYTES])
{
    (void)snprintf(url, SYNTHETIC_WEB_URL_BYTES, "http://h%u.example/%zu",
                   (unsigned)web->host_of[page], page);
}

size_t synthetic_web_page(const char *url)
{
    return strtoul(strrchr(url, '/') + 1, NULL, 10);
}

CrawledPage *synthetic_web_crawl(const SyntheticWeb *web, size_t page)
{
    char url[SYNTHETIC_WEB_URL_BYTES];
    synthetic_web_url(web, page, url);
    CrawledPage *crawled = crawled_page_new(url);
    uint64_t seed = hash_mix(page + 1);
    for (size_t k = web->first_link[page]; crawled != NULL && k < web->first_link[page + 1]; k++) {
        synthetic_web_url(web, web->links[k], url);
        double noise = synthetic_web_draw(&seed);
        double score = web->on_topic[web->links[k]] ? 0.3 + 0.7 * noise : 0.7 * noise;
        (void)crawled_page_add_link(crawled, url, (float)score);
    }
    if (crawled == NULL) {
        abort();
    }
    crawled->score = web->on_topic[page] ? 0.9f : 0.1f;
    return crawled;
}

StreamState synthetic_web_next(void *state, Link *link)
{
    SyntheticWeb *web = state;
    while (web->at_page < web->n_pages && web->at_link == web->first_link[web->at_page + 1]) {
        web->at_page++;
    }
    if (web->at_page == web->n_pages) {
        return stream_state_end;
    }
    *link = (Link){(int64_t)web->at_page, web->links[web->at_link++]};
    return stream_state_next;
}

StreamState synthetic_web_reset(void *state)
{
    SyntheticWeb *web = state;
    web->at_page = 0;
    web->at_link = 0;
    return stream_state_init;
}
