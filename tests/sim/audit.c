#include "audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/bits.h"

#define PRINTED_MAX 20u

typedef enum AuditUrl {
    URL_KNOWN = 1,  /* linked from a committed page, or a seed */
    URL_FLYING = 2, /* a request is in flight */
    URL_ENDED = 4,  /* its final result is not committed yet */
    URL_DONE = 8,   /* it is */
    URL_AGAIN = 16, /* what a crash may have lost */
    URL_LOST = 32,  /* done, and not in the backup that is its agent's directory now */
    URL_PAGE = 64   /* with status 200 */
} AuditUrl;

bool audit_init(Audit *audit, const World *world, const PolitenessOptions *politeness,
                int64_t robots_expiry_ms)
{
    *audit = (Audit){.world = world,
                     .host_delay_ms = politeness->host_delay_ms,
                     .ip_delay_ms = politeness->ip_delay_ms,
                     .crawl_delay_max_ms = politeness->crawl_delay_max_ms,
                     .retry_after_max_ms = politeness->retry_after_max_ms,
                     .robots_expiry_ms = robots_expiry_ms};
    audit->urls = calloc(world_n_pages(world), 1);
    audit->agents = calloc(world_n_pages(world), sizeof *audit->agents);
    audit->hosts = calloc(world->hosts, sizeof *audit->hosts);
    audit->addresses = calloc(world->addresses, sizeof *audit->addresses);
    if (audit->urls == NULL || audit->agents == NULL || audit->hosts == NULL ||
        audit->addresses == NULL) {
        audit_destroy(audit);
        return false;
    }
    /* Touched now, so that what grows later is the frontier's. */
    memset(audit->urls, 0, world_n_pages(world));
    for (uint32_t i = 0; i < world->hosts; i++) {
        audit->hosts[i].last_end_ms = INT64_MIN / 2;
        audit->hosts[i].kept_end_ms = INT64_MIN / 2;
        audit->hosts[i].agent = AUDIT_NOBODY;
    }
    for (uint32_t i = 0; i < world->addresses; i++) {
        audit->addresses[i].last_end_ms = INT64_MIN / 2;
    }
    return true;
}

void audit_destroy(Audit *audit)
{
    free(audit->urls);
    free(audit->agents);
    free(audit->hosts);
    free(audit->addresses);
    audit->urls = NULL;
    audit->agents = NULL;
    audit->hosts = NULL;
    audit->addresses = NULL;
}

size_t audit_bytes(const Audit *audit)
{
    return 3 * (size_t)world_n_pages(audit->world) + audit->world->hosts * (sizeof(AuditHost) + 4) +
           audit->world->addresses * sizeof(AuditAddress);
}

void audit_violation(Audit *audit, const char *what, WorldPage page, int64_t now_ms)
{
    if (audit->violations++ < PRINTED_MAX) {
        (void)fprintf(stderr, "sim: %" PRId64 " ms: %s: host %u page %u\n", now_ms, what, page.host,
                      page.page);
    }
}

static bool is_robots(WorldPage page)
{
    return page.page >= WORLD_ROBOTS_2;
}

/* A robots.txt that settles what may be fetched. */
static bool is_answer(const FetchResult *result)
{
    return result->answer.class == FETCH_OK && result->answer.status < 500 &&
           (result->answer.status < 300 || result->answer.status >= 400);
}

static uint8_t *url_of(const Audit *audit, WorldPage page)
{
    return &audit->urls[world_number(audit->world, page)];
}

static void check_page(Audit *audit, WorldPage page, bool is_check, int64_t now_ms)
{
    const AuditHost *host = &audit->hosts[page.host];
    uint8_t *url = url_of(audit, page);
    if (host->robots_ms == 0 ||
        (now_ms >= host->robots_ms + audit->robots_expiry_ms && !host->stale_robots)) {
        audit_violation(audit, "a page without robots.txt", page, now_ms);
    }
    if (world_forbids(audit->world, page)) {
        audit_violation(audit, "a page that robots.txt forbids", page, now_ms);
    }
    if ((*url & URL_KNOWN) == 0) {
        audit_violation(audit, "a URL that nobody has told of", page, now_ms);
    }
    if ((*url & URL_LOST) != 0) { /* its directory does not have it */
        *url = (uint8_t)((*url & ~(URL_LOST | URL_DONE)) | URL_AGAIN);
    }
    if ((*url & URL_FLYING) != 0) {
        audit_violation(audit, "a URL in flight twice", page, now_ms);
    }
    if (is_check) { /* changes nothing of the page */
        if ((*url & (URL_ENDED | URL_DONE | URL_AGAIN)) == 0) {
            audit_violation(audit, "a host is checked by a page that has not come", page, now_ms);
        }
        audit->checks++;
        *url |= URL_FLYING;
        return;
    }
    bool may_again = audit->forgets || (*url & URL_AGAIN) != 0;
    if (!may_again && (*url & (URL_ENDED | URL_DONE)) != 0) {
        audit_violation(audit, "a URL fetched twice", page, now_ms);
    }
    audit->refetched += may_again;
    *url = (uint8_t)((*url | URL_FLYING) & ~URL_AGAIN);
}

void audit_start(Audit *audit, uint16_t agent, WorldPage page, uint32_t address, bool is_check,
                 int64_t now_ms)
{
    AuditHost *host = &audit->hosts[page.host];
    AuditAddress *ip = &audit->addresses[address];
    now_ms += audit->behind_ms[agent];
    bool excused = now_ms < audit->excused_ms[agent];
    if (host->agent != agent) {
        bool has_read = bits_has(host->readers, agent);
        host->robots_ms = host->kept_robots_ms = has_read ? WORLD_START_MS : 0;
        host->stale_robots = false;
    }
    audit->requests++;
    if (audit->paused && !bits_has(audit->excused, agent)) {
        audit_violation(audit, "a request while all agents are paused", page, now_ms);
    }
    if (host->busy) {
        audit_violation(audit, "two requests to a host", page, now_ms);
    }
    if (ip->busy && !excused) {
        audit_violation(audit, "two requests to an address", page, now_ms);
    }
    if (now_ms < host->last_end_ms + host->need_ms) {
        audit_violation(audit, "the host's delay was cut short", page, now_ms);
    }
    if (now_ms < ip->lives_ms && !excused) {
        audit_violation(audit, "a request beside one of a machine that was lost", page, now_ms);
    }
    if (now_ms < ip->last_end_ms + audit->ip_delay_ms && !excused) {
        audit_violation(audit, "the address's delay was cut short", page, now_ms);
    }
    if (!is_robots(page)) {
        check_page(audit, page, is_check, now_ms);
        audit->agents[world_number(audit->world, page)] = (uint16_t)agent;
    }
    host->agent = agent;
    host->busy = true;
    if (!excused) {
        ip->agent = agent;
        ip->busy = true;
    }
}

static uint32_t need_of(const Audit *audit, WorldPage page, const FetchResult *result)
{
    int64_t need = audit->host_delay_ms;
    int64_t crawl_delay = world_crawl_delay_ms(audit->world, page.host);
    /* Its Crawl-delay is known from the answer on. */
    if (audit->hosts[page.host].robots_ms != 0 && crawl_delay > need) {
        need = crawl_delay < audit->crawl_delay_max_ms ? crawl_delay : audit->crawl_delay_max_ms;
    }
    const char *field = result->answer.header.data == NULL
                            ? NULL
                            : strstr(result->answer.header.data, "Retry-After: ");
    if (field != NULL && (result->answer.status == 429 || result->answer.status == 503)) {
        int64_t ms = strtoll(field + strlen("Retry-After: "), NULL, 10) * 1000;
        ms = ms < audit->retry_after_max_ms ? ms : audit->retry_after_max_ms;
        need = ms > need ? ms : need;
    }
    return (uint32_t)need;
}

void audit_end(Audit *audit, WorldPage page, uint32_t address, const FetchResult *result,
               int64_t end_ms)
{
    AuditHost *host = &audit->hosts[page.host];
    AuditAddress *ip = &audit->addresses[address];
    end_ms += audit->behind_ms[host->agent];
    host->busy = false;
    if (ip->agent == host->agent) {
        ip->busy = false;
        ip->last_end_ms = end_ms;
    }
    if (is_robots(page)) {
        bool answered = is_answer(result);
        bool pending = result->answer.class == FETCH_OK && result->answer.status / 100 == 3;
        if (answered) {
            host->robots_ms = end_ms;
            bits_set(host->readers, host->agent);
        }
        host->stale_robots = !answered && !pending && host->robots_ms != 0;
    } else {
        uint8_t *url = url_of(audit, page);
        *url = (uint8_t)(*url & ~URL_FLYING);
        if (result->final && !result->request.check) {
            *url |= URL_ENDED;
            audit->pages++;
        }
    }
    host->last_end_ms = end_ms;
    host->need_ms = need_of(audit, page, result);
}

void audit_refused(Audit *audit, uint16_t agent, WorldPage page, int64_t now_ms)
{
    uint8_t *url = url_of(audit, page);
    if (!world_forbids(audit->world, page)) {
        audit_violation(audit, "a page refused that robots.txt allows", page, now_ms);
    }
    if (!audit->forgets && (*url & URL_LOST) == 0 && (*url & (URL_ENDED | URL_DONE)) != 0) {
        audit_violation(audit, "a URL refused twice", page, now_ms);
    }
    *url |= URL_ENDED;
    audit->agents[world_number(audit->world, page)] = (uint16_t)agent;
    audit->refused++;
}

void audit_committed(Audit *audit, WorldPage page, const FetchResult *result, bool done)
{
    AuditHost *host = &audit->hosts[page.host];
    int64_t end_ms = result->cost.end.ns / 1000000 + audit->behind_ms[host->agent];
    if (result->kind != FETCHED_NOTHING) {
        host->kept_end_ms = end_ms;
        host->kept_need_ms = need_of(audit, page, result);
    }
    if (is_robots(page)) {
        host->kept_robots_ms = is_answer(result) ? end_ms : host->kept_robots_ms;
    } else if (done) {
        uint8_t *url = url_of(audit, page);
        *url = (uint8_t)((*url & ~(URL_ENDED | URL_PAGE)) | URL_DONE);
        *url |= result->answer.status == 200 ? URL_PAGE : 0;
    }
}

void audit_known(Audit *audit, WorldPage page)
{
    uint8_t *url = url_of(audit, page);
    audit->known += (*url & URL_KNOWN) == 0;
    *url |= URL_KNOWN;
}

void audit_given_up(Audit *audit, uint32_t host)
{
    audit->hosts[host].given_up = true;
}

void audit_crashed(Audit *audit, uint16_t agent, int64_t now_ms)
{
    uint32_t n = world_n_pages(audit->world);
    now_ms += audit->behind_ms[agent];
    for (uint32_t i = 0; i < n; i++) {
        if ((audit->urls[i] & (URL_FLYING | URL_ENDED)) != 0 &&
            audit->agents[i] == (uint16_t)agent) {
            audit->urls[i] = (uint8_t)((audit->urls[i] & ~(URL_FLYING | URL_ENDED)) | URL_AGAIN);
        }
    }
    for (uint32_t i = 0; i < audit->world->hosts; i++) {
        AuditHost *host = &audit->hosts[i];
        if (host->agent != agent) {
            continue;
        }
        if (host->busy) {
            host->last_end_ms = now_ms;
            host->busy = false;
        }
        /* The ordinary delay is owed in any case; more of it only if the reason was committed. */
        if (host->kept_end_ms != host->last_end_ms) {
            host->need_ms = (uint32_t)audit->host_delay_ms;
        }
        if (host->robots_ms != host->kept_robots_ms) {
            host->robots_ms = host->kept_robots_ms;
            host->stale_robots = false;
        }
    }
    for (uint32_t i = 0; i < audit->world->addresses; i++) {
        if (audit->addresses[i].busy && audit->addresses[i].agent == agent) {
            audit->addresses[i].last_end_ms = now_ms;
            audit->addresses[i].busy = false;
        }
    }
}

void audit_lives_on(Audit *audit, uint16_t agent, uint32_t address, int64_t end_ms)
{
    AuditAddress *ip = &audit->addresses[address];
    if (!ip->busy || ip->agent != agent) {
        return; /* it was in flight when the machine stood still (audit_stands_still) */
    }
    end_ms += audit->behind_ms[agent];
    ip->lives_ms = end_ms > ip->lives_ms ? end_ms : ip->lives_ms;
}

void audit_stands_still(Audit *audit, uint16_t agent, int64_t ms, int64_t grace_ms, int64_t now_ms)
{
    audit->behind_ms[agent] += ms;
    audit->excused_ms[agent] = now_ms + ms + grace_ms;
    for (uint32_t i = 0; i < audit->world->addresses; i++) {
        AuditAddress *ip = &audit->addresses[i];
        if (ip->agent == agent) {
            ip->busy = false;
            ip->agent = UINT16_MAX;
        }
    }
}

void audit_back_up(const Audit *audit, AuditBackup *backup)
{
    uint32_t n = world_n_pages(audit->world);
    backup->urls = malloc(n);
    backup->robots_ms = calloc(audit->world->hosts, sizeof *backup->robots_ms);
    if (backup->urls == NULL || backup->robots_ms == NULL) {
        abort();
    }
    memcpy(backup->urls, audit->urls, n);
    for (uint32_t i = 0; i < audit->world->hosts; i++) {
        backup->robots_ms[i] = audit->hosts[i].kept_robots_ms;
    }
}

void audit_backup_destroy(AuditBackup *backup)
{
    free(backup->urls);
    free(backup->robots_ms);
    *backup = (AuditBackup){.urls = NULL};
}

void audit_put_back(Audit *audit, uint16_t agent, const AuditBackup *backup, bool moved)
{
    uint32_t n = world_n_pages(audit->world);
    audit->forgets = audit->forgets || moved;
    for (uint32_t i = 0; i < n; i++) {
        bool done = (audit->urls[i] & URL_DONE) != 0;
        bool holds = (backup->urls[i] & (URL_DONE | URL_LOST)) == URL_DONE;
        if (done && (moved || (!holds && audit->agents[i] == (uint16_t)agent))) {
            audit->urls[i] = (uint8_t)((audit->urls[i] & ~URL_PAGE) | URL_LOST);
            audit->lost++;
        }
    }
    for (uint32_t i = 0; i < audit->world->hosts; i++) {
        AuditHost *host = &audit->hosts[i];
        if (moved || host->agent == agent) { /* what a server has asked for since is forgotten */
            host->need_ms = host->kept_need_ms = (uint32_t)audit->host_delay_ms;
        }
        if (host->agent == agent) {
            host->robots_ms = host->kept_robots_ms = backup->robots_ms[i];
            host->stale_robots = false;
        }
    }
}

bool audit_is_known(const Audit *audit, WorldPage page)
{
    return (*url_of(audit, page) & URL_KNOWN) != 0;
}

bool audit_has_links(const Audit *audit, WorldPage page)
{
    return (*url_of(audit, page) & URL_PAGE) != 0;
}

bool audit_is_done(const Audit *audit, WorldPage page)
{
    return (*url_of(audit, page) & URL_DONE) != 0;
}
