#include "world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"

#define FANOUT         8u
#define PAGES_EXPONENT 0.8
#define HOUR_MS        INT64_C(3600000)

/* Parts of a thousand. */
typedef enum HostKind {
    HOST_GOOD,
    HOST_NO_NAME,
    HOST_BAD_DNS,
    HOST_REFUSES,
    HOST_NO_ROUTE,
    HOST_NO_TLS,
    HOST_FLAKY,
    HOST_BUSY,   /* now and then */
    HOST_SWAMPED /* more often than not */
} HostKind;

static uint64_t roll(const World *world, uint64_t a, uint64_t b, uint64_t c)
{
    return hash_mix(world->seed + hash_mix(a + hash_mix(b + hash_mix(c + 1))));
}

/* A power law over 0 .. n-1 with the smaller numbers more often. */
static uint32_t skewed(uint64_t random, uint32_t n)
{
    double unit = (double)(random >> 11) * 0x1p-53;
    uint32_t i = (uint32_t)(pow(unit, 2.0) * (double)n);
    return i < n ? i : n - 1;
}

bool world_init(World *world, uint64_t seed, uint32_t urls, uint32_t hosts, uint32_t addresses,
                uint32_t host_urls)
{
    *world = (World){.seed = seed,
                     .hosts = hosts,
                     .addresses = addresses,
                     .trouble = 1,
                     .slow_ms = 20000,
                     .hour_ms = HOUR_MS};
    world->first = calloc((size_t)hosts + 1, sizeof *world->first);
    if (world->first == NULL) {
        return false;
    }
    double sum = 0;
    for (uint32_t i = 0; i < hosts; i++) {
        sum += pow((double)i + 1, -PAGES_EXPONENT);
    }
    double scale = urls > hosts ? (double)(urls - hosts) / sum : 0;
    for (uint32_t i = 0; i < hosts; i++) {
        double pages = 1 + floor(scale * pow((double)i + 1, -PAGES_EXPONENT));
        world->first[i + 1] = world->first[i] + (pages < host_urls ? (uint32_t)pages : host_urls);
    }
    return true;
}

void world_destroy(World *world)
{
    free(world->first);
    world->first = NULL;
}

uint32_t world_pages(const World *world, uint32_t host)
{
    return world->first[host + 1] - world->first[host];
}

uint32_t world_number(const World *world, WorldPage page)
{
    return world->first[page.host] + page.page;
}

uint32_t world_n_pages(const World *world)
{
    return world->first[world->hosts];
}

/* ---- names
 * ----------------------------------------------------------------------------------------- */

static bool is_https(uint32_t host)
{
    return host % 5 == 4;
}

size_t world_url(const World *world, WorldPage page, char text[WORLD_URL_BYTES])
{
    (void)world;
    int n = snprintf(text, WORLD_URL_BYTES, "%s://h%u.example/d%u/%u",
                     is_https(page.host) ? "https" : "http", page.host, page.page % 10, page.page);
    return n < 0 ? 0 : (size_t)n;
}

bool world_host(const World *world, const char *hostname, uint32_t *host)
{
    char *end = NULL;
    if (hostname[0] != 'h') {
        return false;
    }
    unsigned long number = strtoul(hostname + 1, &end, 10);
    *host = (uint32_t)number;
    return *end == '.' && number < world->hosts;
}

bool world_locate(const World *world, const char *url, size_t length, WorldPage *page)
{
    const char *name = strstr(url, "://");
    const char *slash = name == NULL ? NULL : strchr(name + 3, '/');
    if (slash == NULL || !world_host(world, name + 3, &page->host)) {
        return false;
    }
    if (strcmp(slash, "/robots.txt") == 0) {
        page->page = WORLD_ROBOTS;
        return true;
    }
    if (strcmp(slash, "/robots-2.txt") == 0) {
        page->page = WORLD_ROBOTS_2;
        return true;
    }
    const char *last = strrchr(slash, '/');
    page->page = (uint32_t)strtoul(last + 1, NULL, 10);
    char again[WORLD_URL_BYTES];
    return world_url(world, *page, again) == length && memcmp(again, url, length) == 0;
}

/* ---- hosts
 * ------------------------------------------------------------------------------------------ */

static HostKind kind_of(const World *world, uint32_t host)
{
    static const struct {
        HostKind kind;
        unsigned parts;
    } kinds[] = {{HOST_NO_NAME, 10}, {HOST_BAD_DNS, 10}, {HOST_REFUSES, 10}, {HOST_NO_ROUTE, 5},
                 {HOST_NO_TLS, 5},   {HOST_FLAKY, 40},   {HOST_BUSY, 40},    {HOST_SWAMPED, 10}};
    uint64_t part = roll(world, host, 1, 0) % 1000;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        uint64_t parts = (uint64_t)kinds[i].parts * world->trouble;
        if (part < parts) {
            return kinds[i].kind;
        }
        part -= parts;
    }
    return HOST_GOOD;
}

WorldName world_resolve(const World *world, uint32_t host, int64_t now_ms)
{
    uint64_t luck = roll(world, host, 2, (uint64_t)now_ms);
    HostKind kind = kind_of(world, host);
    WorldName name = {.class = FETCH_OK, .delay_ms = 5 + (int64_t)(luck % 300)};
    if (kind == HOST_NO_NAME) {
        name.class = FETCH_NO_NAME;
        return name;
    }
    if ((kind == HOST_BAD_DNS && luck / 1000 % 2 == 0) || luck / 1000 % 500 == 0) {
        name.class = FETCH_DNS;
        name.delay_ms = 15000;
        return name;
    }
    /* One host in twenty moves every few hours. */
    uint64_t epoch = 0;
    uint64_t habits = roll(world, host, 3, 0);
    if (habits % 20 == 0) {
        epoch =
            (uint64_t)(now_ms / (world->hour_ms + (int64_t)(habits / 20 % 10) * world->hour_ms));
    }
    uint64_t place = roll(world, host, 4, epoch);
    name.address =
        world->even ? (uint32_t)(place % world->addresses) : skewed(place, world->addresses);
    name.ttl_ms = 60000 + (int64_t)(habits / 1000 % 24) * world->hour_ms;
    return name;
}

typedef enum RobotsKind {
    ROBOTS_NONE, /* 404 */
    ROBOTS_RULES,
    ROBOTS_REDIRECT, /* to a second file with the rules */
    ROBOTS_LATE,     /* 503 for the first hour */
    ROBOTS_NEVER     /* 500 */
} RobotsKind;

static RobotsKind robots_kind(const World *world, uint32_t host)
{
    uint64_t part = roll(world, host, 5, 0) % 100;
    return part < 50   ? ROBOTS_NONE
           : part < 95 ? ROBOTS_RULES
           : part < 98 ? ROBOTS_REDIRECT
           : part < 99 ? ROBOTS_LATE
                       : ROBOTS_NEVER;
}

int64_t world_crawl_delay_ms(const World *world, uint32_t host)
{
    uint64_t part = roll(world, host, 6, 0);
    return robots_kind(world, host) != ROBOTS_NONE && part % 10 == 0
               ? (int64_t)(part / 10 % 30) * 1000
               : -1;
}

bool world_forbids(const World *world, WorldPage page)
{
    return page.page % 10 == 7 && robots_kind(world, page.host) != ROBOTS_NONE;
}

size_t world_robots_text(const World *world, uint32_t host, char *text, size_t size)
{
    int n = snprintf(text, size, "User-agent: *\nDisallow: /d7/\n");
    int64_t delay_ms = world_crawl_delay_ms(world, host);
    if (delay_ms >= 0) {
        n += snprintf(text + n, size - (size_t)n, "Crawl-delay: %d\n", (int)(delay_ms / 1000));
    }
    return (size_t)n;
}

/* ---- replies
 * ---------------------------------------------------------------------------------------- */

static WorldReply robots_reply(const World *world, WorldPage page, int64_t now_ms)
{
    WorldReply reply = {.class = FETCH_OK, .status = 200, .retry_after_s = -1};
    switch (robots_kind(world, page.host)) {
    case ROBOTS_NONE:
        reply.status = 404;
        break;
    case ROBOTS_RULES:
        break;
    case ROBOTS_REDIRECT:
        if (page.page == WORLD_ROBOTS) {
            reply.status = 301;
        }
        break;
    case ROBOTS_LATE:
        if (now_ms < WORLD_START_MS + world->hour_ms) {
            reply.status = 503;
            reply.class = FETCH_BUSY;
        }
        break;
    case ROBOTS_NEVER:
        reply.status = 500;
        break;
    }
    return reply;
}

static FetchClass trouble(const World *world, uint32_t host, uint64_t luck)
{
    static const FetchClass classes[] = {FETCH_TIMEOUT, FETCH_BROKEN, FETCH_REFUSED,
                                         FETCH_CONNECT_TIME, FETCH_SLOW};
    switch (kind_of(world, host)) {
    case HOST_REFUSES:
        return FETCH_REFUSED;
    case HOST_NO_ROUTE:
        return FETCH_NO_ROUTE;
    case HOST_NO_TLS:
        return FETCH_TLS;
    case HOST_FLAKY:
        return luck % 8 == 0 ? classes[luck / 8 % 5] : FETCH_OK;
    case HOST_BUSY:
        return luck % 20 == 0 ? FETCH_BUSY : FETCH_OK;
    case HOST_SWAMPED:
        return luck % 10 < 7 ? FETCH_BUSY : FETCH_OK;
    case HOST_GOOD:
    case HOST_NO_NAME:
    case HOST_BAD_DNS:
        break;
    }
    return luck % 1000 == 0 ? FETCH_BROKEN : FETCH_OK;
}

/* Below the links of its root a flaky host is mostly dead links: many that fail in a row, so that
 * it is checked by a page that has come. */
static bool has_dead_links(const World *world, WorldPage page)
{
    return world->breaks && kind_of(world, page.host) == HOST_FLAKY && page.page > FANOUT;
}

WorldReply world_fetch(const World *world, WorldPage page, int64_t now_ms)
{
    uint64_t luck = roll(world, page.host, page.page, (uint64_t)now_ms + UINT64_C(0x100000000));
    uint64_t nature = roll(world, page.host, page.page, 7);
    bool robots = page.page >= WORLD_ROBOTS_2;
    WorldReply reply = {.class = FETCH_OK, .status = 200, .retry_after_s = -1};
    FetchClass class = trouble(world, page.host, luck);
    if (class != FETCH_OK && class != FETCH_BUSY) {
        reply.class = class;
        reply.status = 0;
        reply.duration_ms = class == FETCH_REFUSED ? 50 : world->slow_ms;
        return reply;
    }
    if (class == FETCH_BUSY) {
        reply.class = FETCH_BUSY;
        reply.status = luck / 64 % 2 == 0 ? 429 : 503;
        reply.retry_after_s = luck / 128 % 3 == 0 ? -1 : (int64_t)(luck / 512 % 900);
    } else if (robots) {
        reply = robots_reply(world, page, now_ms);
    } else if (page.page > 0 && nature % 100 < 8) {
        reply.status = 404;
    } else if (nature % 100 < (has_dead_links(world, page) ? 60 : 9)) {
        reply.class = world->breaks ? FETCH_SERVER : FETCH_OK;
        reply.status = 500;
    } else if (nature % 100 < 12 && page.page * FANOUT + 1 < world_pages(world, page.host)) {
        reply.status = 301;
        reply.location = page.page * FANOUT + 1;
    }
    reply.content = nature % 50 == 49 ? page.host : nature | 1; /* some are copies of each other */
    reply.duration_ms = 50 + (int64_t)(luck >> 20) % 400;
    return reply;
}

size_t world_links(const World *world, WorldPage page, WorldLink links[WORLD_LINKS_MAX])
{
    size_t n = 0;
    uint32_t pages = world_pages(world, page.host);
    uint64_t random = roll(world, page.host, page.page, 8);
    for (uint32_t i = 1; i <= FANOUT; i++) {
        uint64_t child = (uint64_t)page.page * FANOUT + i;
        if (child < pages) {
            links[n++] = (WorldLink){.to = {page.host, (uint32_t)child},
                                     .score = (float)(random >> (8 * (i - 1)) & 0xff) / 255.0f};
        }
    }
    links[n++] = (WorldLink){.to = {page.host, (uint32_t)(random % pages)}, .score = 0.1f};
    uint32_t other = (uint32_t)((random >> 20) % world->hosts);
    links[n++] = (WorldLink){.to = {other, 0}, .score = 0.8f};
    if (world->far) {
        uint32_t far = (uint32_t)(hash_mix(random) % world_pages(world, other));
        links[n++] = (WorldLink){.to = {other, far}, .score = 0.5f};
    }
    return n;
}
