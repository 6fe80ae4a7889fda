/* The synthetic web of steering.h. */
#ifndef TESTS_BENCH_SYNTHETIC_WEB_H
#define TESTS_BENCH_SYNTHETIC_WEB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/records/crawled_page.h"
#include "store/records/link_stream.h"

#define SYNTHETIC_WEB_URL_BYTES 64

typedef struct SyntheticWeb {
    size_t n_pages;
    size_t n_hosts;
    uint32_t *host_of;    /* by page */
    uint32_t *first_page; /* by host; n_hosts + 1 */
    double *pull;         /* by page: sum of the attractiveness of the pages before it */
    bool *on_topic;
    size_t *first_link; /* by page; n_pages + 1 */
    uint32_t *links;
    size_t at_page; /* of the link stream */
    size_t at_link;
} SyntheticWeb;

SyntheticWeb *synthetic_web_new(size_t n_pages, size_t n_hosts, uint64_t seed);
void synthetic_web_delete(SyntheticWeb *web);

void synthetic_web_url(const SyntheticWeb *web, size_t page, char url[SYNTHETIC_WEB_URL_BYTES]);
/* The page of a URL. */
size_t synthetic_web_page(const char *url);
/* As a crawler sees it: links and pages have scores that say, with noise, whether they are on
 * topic. */
CrawledPage *synthetic_web_crawl(const SyntheticWeb *web, size_t page);
/* All links: a link stream over the web. */
StreamState synthetic_web_next(void *web, Link *link);
StreamState synthetic_web_reset(void *web);

/* Uniform in [0, 1). */
double synthetic_web_draw(uint64_t *seed);

#endif
