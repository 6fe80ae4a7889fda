#include "workload.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_DRAWS 60

static uint64_t next_random(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static double uniform(uint64_t *state)
{
    return (double)(next_random(state) >> 11) * 0x1p-53;
}

static double fourth_power(double v)
{
    v *= v;
    v *= v;
    return v;
}

static uint64_t host_size(size_t host)
{
    double x = sqrt((double)(host + 1));
    uint32_t size = (uint32_t)(45000.0 / (x * sqrt(x)));
    return size < 1 ? 1 : size;
}

Workload *workload_new(void)
{
    Workload *w = calloc(1, sizeof *w);
    if (w == NULL) {
        return NULL;
    }
    w->base = calloc(WORKLOAD_HOSTS + 1, sizeof *w->base);
    if (w->base != NULL) {
        for (size_t d = 0; d < WORKLOAD_HOSTS; d++) {
            w->base[d + 1] = w->base[d] + host_size(d);
        }
        w->universe = w->base[WORKLOAD_HOSTS];
        w->seen = calloc(w->universe, sizeof *w->seen);
        w->queue = calloc(w->universe, sizeof *w->queue);
    }
    if (w->base == NULL || w->seen == NULL || w->queue == NULL) {
        workload_delete(w);
        return NULL;
    }
    return w;
}

void workload_delete(Workload *workload)
{
    if (workload != NULL) {
        free(workload->base);
        free(workload->seen);
        free(workload->queue);
        free(workload);
    }
}

static size_t host_of(const Workload *w, uint64_t id)
{
    size_t low = 0, high = WORKLOAD_HOSTS;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (w->base[middle] <= id) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static void fill_page(const Workload *w, WorkloadPage *page)
{
    size_t host = host_of(w, page->id);
    uint64_t state = 42 + page->id * UINT64_C(0xD1B54A32D192ED03);
    page->n_links = 0;
    for (int draw = 0; draw < MAX_DRAWS && page->n_links < WORKLOAD_MAX_LINKS; draw++) {
        size_t to_host = host;
        if (!(uniform(&state) < 0.8)) {
            to_host = (size_t)(WORKLOAD_HOSTS * fourth_power(uniform(&state)));
        }
        uint64_t size = w->base[to_host + 1] - w->base[to_host];
        uint64_t target =
            w->base[to_host] + (uint64_t)((double)size * fourth_power(uniform(&state)));
        float score = (float)uniform(&state);
        bool skip = target == page->id;
        for (size_t i = 0; i < page->n_links && !skip; i++) {
            skip = page->targets[i] == target;
        }
        if (!skip) {
            page->targets[page->n_links] = target;
            page->scores[page->n_links++] = score;
        }
    }
    page->score = (float)uniform(&state);
    page->content_hash = next_random(&state);
}

static void see(Workload *w, uint64_t id)
{
    if (!w->seen[id]) {
        w->seen[id] = 1;
        w->queue[w->queue_tail++] = id;
    }
}

void workload_next(Workload *workload, WorkloadPage *page)
{
    if (workload->queue_head == workload->queue_tail) {
        while (workload->lowest < workload->universe && workload->seen[workload->lowest]) {
            workload->lowest++;
        }
        see(workload, workload->lowest);
    }
    page->id = workload->queue[workload->queue_head++];
    page->time = 1400000000 + 0.01 * (double)workload->n_visited++;
    fill_page(workload, page);
    for (size_t i = 0; i < page->n_links; i++) {
        workload->checksum = workload->checksum * 31 + page->targets[i];
        see(workload, page->targets[i]);
    }
    workload->n_links += page->n_links;
}

uint64_t workload_n_known(const Workload *workload)
{
    return workload->queue_tail;
}

size_t workload_url(const Workload *workload, uint64_t id, char url[WORKLOAD_URL_BYTES])
{
    size_t host = host_of(workload, id);
    unsigned k = (unsigned)(id - workload->base[host]);
    return (size_t)snprintf(url, WORKLOAD_URL_BYTES,
                            "http://www.site%05u.com/section%02u/article-%u.html", (unsigned)host,
                            k % 37, k);
}

CrawledPage *workload_crawled_page(const Workload *workload, const WorkloadPage *page)
{
    char url[WORKLOAD_URL_BYTES];
    (void)workload_url(workload, page->id, url);
    CrawledPage *cp = crawled_page_new(url);
    if (cp == NULL) {
        return NULL;
    }
    cp->time = page->time;
    cp->score = page->score;
    int rc = crawled_page_set_hash64(cp, page->content_hash);
    for (size_t i = 0; i < page->n_links && rc == 0; i++) {
        (void)workload_url(workload, page->targets[i], url);
        rc = crawled_page_add_link(cp, url, page->scores[i]);
    }
    if (rc != 0) {
        crawled_page_delete(cp);
        return NULL;
    }
    return cp;
}
