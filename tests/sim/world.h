/* The web of the simulation: hosts, addresses, names, pages and misbehaviour, all computed from a
 * seed. Nothing is stored but where the pages of a host begin, so that a world of twenty million
 * pages costs four bytes a host.
 *
 * Pages per host fall off as a power law; hosts share addresses as a power law. Page k of a host
 * links to pages 8k+1 .. 8k+8 of the same host, to one page of it at random, and to the root of
 * some other host. Replies depend on (seed, URL, time): the same run sees the same web.
 *
 * What there is: names that do not exist, or fail now and then, or move to another address; hosts
 * that refuse, cannot be reached, speak no TLS, are overloaded (429, 503, Retry-After), reset or
 * time out; robots.txt that allows, forbids a tenth, asks for a Crawl-delay, redirects, fails for
 * an hour or for ever; pages that are 404, 500, redirects, or copies of another page. */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frontier/visit/politeness.h"

#define WORLD_ROBOTS    UINT32_MAX       /* robots.txt instead of a page number */
#define WORLD_ROBOTS_2  (UINT32_MAX - 1) /* where some of them redirect to */
#define WORLD_URL_BYTES 96
#define WORLD_START_MS  INT64_C(3600000) /* a clock never starts at 0 */
#define WORLD_LINKS_MAX 12u
#define WORLD_HOST_URLS 100000u /* at five seconds each, six days */

typedef struct World {
    uint64_t seed;
    uint32_t hosts;
    uint32_t addresses;
    uint32_t trouble; /* times as many bad hosts as usual (1: an eighth are) */
    int64_t slow_ms;  /* what a fetch takes that times out */
    int64_t hour_ms;  /* hosts move to other addresses after some; a late robots.txt takes one */
    bool breaks;      /* a 500 is tried again, and flaky hosts are full of them */
    bool even;        /* addresses have as many hosts each */
    bool far;         /* links lead to other pages of other hosts than their roots, too */
    uint32_t *first;  /* hosts + 1: number of the first page of a host, over all; owned */
} World;

typedef struct WorldPage {
    uint32_t host;
    uint32_t page; /* of the host, or WORLD_ROBOTS */
} WorldPage;

typedef struct WorldName {
    FetchClass class;
    uint32_t address;
    int64_t ttl_ms;
    int64_t delay_ms;
} WorldName;

typedef struct WorldReply {
    FetchClass class;
    int status; /* when there is one */
    int64_t duration_ms;
    int64_t retry_after_s; /* -1 = none */
    uint32_t location;     /* page of the same host a redirect leads to */
    uint64_t content;      /* equal for equal bodies */
} WorldReply;

typedef struct WorldLink {
    WorldPage to;
    float score;
} WorldLink;

/* About so many pages in all, of a host at most host_urls. False without memory. */
bool world_init(World *world, uint64_t seed, uint32_t urls, uint32_t hosts, uint32_t addresses,
                uint32_t host_urls);
void world_destroy(World *world);
uint32_t world_pages(const World *world, uint32_t host);
/* The number of a page over all hosts. */
uint32_t world_number(const World *world, WorldPage page);
uint32_t world_n_pages(const World *world);

/* Writes the URL; its length. */
size_t world_url(const World *world, WorldPage page, char text[WORLD_URL_BYTES]);
/* What a URL or a host name means; false: not of this world. */
bool world_locate(const World *world, const char *url, size_t length, WorldPage *page);
bool world_host(const World *world, const char *hostname, uint32_t *host);

WorldName world_resolve(const World *world, uint32_t host, int64_t now_ms);
WorldReply world_fetch(const World *world, WorldPage page, int64_t now_ms);
/* The links of a page with status 200. */
size_t world_links(const World *world, WorldPage page, WorldLink links[WORLD_LINKS_MAX]);

/* robots.txt of a host: its Crawl-delay (-1 = none), and whether it forbids pages whose number ends
 * in 7. */
int64_t world_crawl_delay_ms(const World *world, uint32_t host);
bool world_forbids(const World *world, WorldPage page);
size_t world_robots_text(const World *world, uint32_t host, char *text, size_t size);

#endif
