/* The synthetic web that the benchmarks of the page store and the scorers crawl.
 *
 * 20 000 hosts of Zipf-like size, about two million pages, thirty links a page, four fifths of them
 * to the own host and all of them skewed to low numbers. Everything follows from a page's number by
 * splitmix64, so that every program sees the same pages: workload_checksum over the links of the
 * first 200 000 pages is WORKLOAD_CHECKSUM. Pages are visited breadth first from page 0. */
#ifndef TESTS_BENCH_WORKLOAD_H
#define TESTS_BENCH_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "store/records/crawled_page.h"

#define WORKLOAD_PAGES     200000u
#define WORKLOAD_HOSTS     20000u
#define WORKLOAD_MAX_LINKS 30u
#define WORKLOAD_CHECKSUM  UINT64_C(0x480bc583c7e887d6)
#define WORKLOAD_URL_BYTES 96

typedef struct WorkloadPage {
    uint64_t id; /* number in the universe */
    size_t n_links;
    uint64_t targets[WORKLOAD_MAX_LINKS]; /* numbers in the universe */
    float scores[WORKLOAD_MAX_LINKS];
    float score;
    uint64_t content_hash;
    double time; /* of the crawl */
} WorkloadPage;

typedef struct Workload {
    uint64_t *base;    /* first number of each host; base[hosts] = universe */
    uint64_t universe; /* pages in all */
    uint8_t *seen;     /* by number: known as page or link */
    uint64_t *queue;   /* numbers in order of discovery */
    size_t queue_head;
    size_t queue_tail;
    uint64_t lowest; /* every number below it was seen */
    uint64_t n_visited;
    uint64_t n_links;
    uint64_t checksum;
} Workload;

/* NULL without memory. */
Workload *workload_new(void);
void workload_delete(Workload *workload);
/* The next page of the breadth-first crawl. */
void workload_next(Workload *workload, WorkloadPage *page);
/* Distinct pages known so far, visited or linked. */
uint64_t workload_n_known(const Workload *workload);
/* The URL of a page, NUL-terminated; returns its length. */
size_t workload_url(const Workload *workload, uint64_t id, char url[WORKLOAD_URL_BYTES]);
/* The page as the library's input; the caller deletes it. NULL without memory. */
CrawledPage *workload_crawled_page(const Workload *workload, const WorkloadPage *page);

#endif
