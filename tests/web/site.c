#include "site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "closed_world.h"
#include "open_world.h"
#include "page.h"
#include "random.h"
#include "request_log.h"
#include "robots_txt.h"

Result site_init(Site *site, const WebOptions *options, const Names *names)
{
    memset(site, 0, sizeof *site);
    site->options = options;
    site->names = names;
    Result rc = text_init(&site->text, options->seed);
    if (rc == RESULT_OK) {
        rc = trick_kit_init(&site->kit);
    }
    if (rc == RESULT_OK && options->pages > 0) {
        site->host_of_page = closed_world_hosts(options);
        site->served = calloc(options->pages, sizeof *site->served);
        rc = site->host_of_page != NULL && site->served != NULL ? RESULT_OK : RESULT_MEMORY;
    }
    if (rc != RESULT_OK) {
        site_destroy(site);
    }
    return rc;
}

void site_destroy(Site *site)
{
    text_destroy(&site->text);
    trick_kit_destroy(&site->kit);
    free(site->host_of_page);
    free(site->served);
    site->host_of_page = NULL;
    site->served = NULL;
}

static bool is_path(const Request *request, const char *path)
{
    return request->target_length == strlen(path) &&
           memcmp(request->target, path, request->target_length) == 0;
}

/* Late answers: a share of them, normally distributed; decided by the page, so always the same. */
static void delay_reply(const WebOptions *o, const Request *request, uint32_t host, Reply *reply)
{
    Random random = {hash_64(request->target, request->target_length, o->seed ^ ~(uint64_t)host)};
    if (random_unit(&random) < o->delayed) {
        double ms = o->delay_ms + o->spread_ms * random_normal(&random);
        reply->delay_ms = ms > 1 ? (unsigned)ms : 1;
    }
}

static unsigned reply_for_host(const Site *site, uint32_t host, const Request *request,
                               Reply *reply)
{
    const WebOptions *o = site->options;
    unsigned flags = 0;
    if (is_path(request, "/robots.txt")) {
        char name[NAMES_TEXT_BYTES];
        names_of_host(site->names, host, name);
        robots_txt_reply(o, &site->kit, host, name, reply);
        return REQUEST_ROBOTS;
    }
    if (robots_txt_forbids(o, host, request->target, request->target_length)) {
        flags = REQUEST_FORBIDDEN;
    }
    if (o->sitemaps && o->pages > 0 && is_path(request, "/sitemap.xml")) {
        closed_world_sitemap(site, host, reply);
    } else if (o->pages > 0) {
        closed_world_reply(site, host, request, reply);
        flags |= reply->flags;
    } else {
        open_world_reply(site, host, request->target, request->target_length, reply);
    }
    if (o->delayed > 0) {
        delay_reply(o, request, host, reply);
    }
    return flags;
}

/* The small good site of hosts that misbehave elsewhere: a root and nine pages. */
static void reply_small_site(const Site *site, const Request *request, Reply *reply)
{
    size_t n = request->target_length;
    char digit = n == 7 ? request->target[1] : '0';
    bool is_page = n == 7 && memcmp(request->target + 2, ".html", 5) == 0;
    if (n != 1 && (!is_page || digit < '1' || digit > '9')) {
        reply_finish_status(reply, 404, "");
        return;
    }
    uint64_t key = hash_64(request->host, request->host_length, (uint64_t)digit);
    Random random = {key};
    PageWriter page = {reply, &site->text, &random, 0};
    page_begin(&page, key, 3000, 9);
    for (int i = 1; i <= 9; i++) {
        char href[32];
        (void)snprintf(href, sizeof href, "/%d.html", i);
        page_link(&page, href);
    }
    page_end(&page);
}

static unsigned reply_for_trick(Site *site, const Name *name, const Request *request, Reply *reply)
{
    bool robots = is_path(request, "/robots.txt");
    const Misbehaviour *trick = name->trick;
    TrickCall call = {site->options,
                      &site->kit,
                      request->host,
                      (int)request->host_length,
                      request->target,
                      (int)request->target_length,
                      0};
    if (trick->kind == TRICK_SITE || (trick->kind == TRICK_PAGES && !robots) ||
        (trick->kind == TRICK_ROBOTS && robots)) {
        call.visit = atomic_fetch_add(&site->visits[misbehaviour_index(trick)], 1);
        trick->reply(&call, reply);
    } else if (robots) {
        reply_append_string(reply, "User-agent: *\nDisallow:\n");
        reply_finish(reply, 200, "text/plain", "");
    } else {
        reply_small_site(site, request, reply);
    }
    return robots ? REQUEST_ROBOTS : 0;
}

unsigned site_reply(Site *site, const Request *request, Reply *reply)
{
    Name name = {.kind = NAME_UNKNOWN};
    if (request->host != NULL) {
        name = names_find(site->names, request->host, request->host_length);
    }
    switch (name.kind) {
    case NAME_HOST:
        return reply_for_host(site, name.number, request, reply);
    case NAME_MISBEHAVIOUR:
        return reply_for_trick(site, &name, request, reply);
    case NAME_ZONE:
    case NAME_SUFFIX:
    case NAME_UNKNOWN:
        break;
    }
    reply_finish_status(reply, 421, "");
    return 0;
}
