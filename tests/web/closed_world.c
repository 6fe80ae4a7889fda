#include "closed_world.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "change.h"
#include "page.h"
#include "random.h"
#include "robots_txt.h"

#define BRANCHING       10
#define SCATTER         UINT64_C(2654435761) /* a prime above any number of pages */
#define REDIRECT_SHARE  0.004
#define FORBIDDEN_SHARE 0.05
#define MAX_LINKS       400
#define HREF_BYTES      (NAMES_TEXT_BYTES + CLOSED_PATH_BYTES + 32)
#define SITEMAP_MOST    5000

uint32_t *closed_world_hosts(const WebOptions *o)
{
    uint32_t *hosts = malloc(o->pages * sizeof *hosts);
    for (uint32_t i = 0; hosts != NULL && i < o->pages; i++) {
        Random random = {hash_mix(o->seed ^ 0x484F5354) + i};
        double u = pow(random_unit(&random), 1 + o->skew);
        hosts[i] = i < o->hosts ? i : (uint32_t)(u * o->hosts);
    }
    return hosts;
}

size_t closed_world_path(const Site *site, uint32_t i, char path[CLOSED_PATH_BYTES])
{
    if (i < site->options->hosts) {
        return (size_t)snprintf(path, CLOSED_PATH_BYTES, "/");
    }
    const char *form = "/d%u/p%u.html";
    if (i % 13 == 5 && !robots_txt_forbids_private(site->options, site->host_of_page[i])) {
        form = "/private/d%u/p%u.html";
    } else if (i % 11 == 3) {
        form = "/d%u/page?id=%u";
    } else if (i % 17 == 8) {
        form = "/d%u/deep/er/p%u.html";
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    return (size_t)snprintf(path, CLOSED_PATH_BYTES, form, i % 7, i);
#pragma GCC diagnostic pop
}

/* href to another path of the same host, relative to the page's own path. */
static void put_relative(const char *from, const char *to, char *href)
{
    size_t length = 0;
    for (const char *c = from + 1; *c != '\0' && *c != '?'; c++) {
        if (*c == '/') {
            memcpy(href + length, "../", 3);
            length += 3;
        }
    }
    (void)snprintf(href + length, HREF_BYTES - length, "%s", to[1] != '\0' ? to + 1 : "./");
    if (to[1] == '\0' && length > 0) {
        href[length] = '\0'; /* "../" alone */
    }
}

/* A link from a page at `from` on `host` to `path` on `target`, in one of the usual forms. */
static void put_link(const Site *site, PageWriter *page, uint32_t host, const char *from,
                     uint32_t target, const char *path)
{
    char href[HREF_BYTES];
    uint32_t form = random_below(page->random, 3);
    if (target != host || form == 0) {
        char name[NAMES_TEXT_BYTES];
        names_of_host(site->names, target, name);
        (void)snprintf(href, sizeof href, "%s://%s%s", options_scheme(site->options), name, path);
    } else if (form == 1) {
        (void)snprintf(href, sizeof href, "%s", path);
    } else {
        put_relative(from, path, href);
    }
    page_link(page, href);
}

static void link_page(const Site *site, PageWriter *page, uint32_t host, const char *from,
                      uint32_t target, bool redirected)
{
    char path[CLOSED_PATH_BYTES];
    if (redirected) {
        (void)snprintf(path, sizeof path, "/go/%u", target);
    } else {
        closed_world_path(site, target, path);
    }
    put_link(site, page, host, from, site->host_of_page[target], path);
}

/* What an ordinary link leads to: the r-th most popular page has an in-degree of about
 * r^(1/in_degree - 1). */
static uint32_t draw_target(const WebOptions *o, Random *random)
{
    uint32_t rank = (uint32_t)(pow(random_unit(random), o->in_degree) * o->pages);
    return o->scatter ? (uint32_t)(rank * SCATTER % o->pages) : rank;
}

/* A link that leads to none of the N pages, or to one of them in the ordinary way. */
static void link_anything(const Site *site, PageWriter *page, uint32_t host, const char *from)
{
    const WebOptions *o = site->options;
    double u = random_unit(page->random);
    uint32_t target = draw_target(o, page->random);
    char path[CLOSED_PATH_BYTES];
    if (u < o->not_found) {
        (void)snprintf(path, sizeof path, "/missing/m%u.html", target);
        put_link(site, page, host, from, host, path);
    } else if (u < o->not_found + o->errors) {
        (void)snprintf(path, sizeof path, "/broken/b%u.html", target);
        put_link(site, page, host, from, host, path);
    } else if (u > 1 - FORBIDDEN_SHARE && robots_txt_forbids_private(o, host)) {
        (void)snprintf(path, sizeof path, "/private/f%u.html", target);
        put_link(site, page, host, from, host, path);
    } else {
        link_page(site, page, host, from, target, random_unit(page->random) < REDIRECT_SHARE);
    }
}

/* As manuals have it: the page's first link is of a kind that is not followed, and a later one to
 * the same place is. */
static void add_next(const Site *site, PageWriter *page, uint32_t target)
{
    char name[NAMES_TEXT_BYTES];
    char path[CLOSED_PATH_BYTES];
    names_of_host(site->names, site->host_of_page[target], name);
    closed_world_path(site, target, path);
    reply_printf(page->reply, "<link rel=\"next\" href=\"%s://%s%s\">\n",
                 options_scheme(site->options), name, path);
}

/* A version in letters: digits are a counter, which is no change of a page's text. */
static void write_version(Reply *reply, uint64_t version)
{
    char letters[17];
    for (unsigned i = 0; i < 16; i++) {
        letters[i] = (char)('a' + (version >> (60 - 4 * i) & 0xF));
    }
    letters[16] = '\0';
    reply_printf(reply, "version %s</p>\n<p>", letters + 8);
}

static void write_page(const Site *site, uint32_t i, const char *path, const Request *request,
                       Reply *reply)
{
    const WebOptions *o = site->options;
    Change change = {.version = 0};
    if (o->change_ms > 0) {
        change_look(site, i, request, &change);
        reply->flags |= change.flags;
    }
    if (change.not_modified) {
        reply_finish(reply, 304, NULL, change.header);
        return;
    }
    Random random = {hash_mix(o->seed ^ 0x50414745) + i};
    double wanted = o->degree * (0.5 + random_unit(&random)) - (i < o->pages / BRANCHING ? 10 : 0);
    uint32_t extra = wanted < 0 ? 0 : wanted < MAX_LINKS ? (uint32_t)wanted : MAX_LINKS;
    uint64_t first = (uint64_t)i * BRANCHING + 1;
    uint32_t children = 0;
    while (children < BRANCHING && first + children < o->pages) {
        children++;
    }
    PageWriter page = {reply, &site->text, &random, 0};
    page_begin(&page, i, o->page_bytes, children + extra);
    if (o->change_ms > 0) {
        write_version(reply, change.version);
    }
    if (children > 0) {
        add_next(site, &page, (uint32_t)first);
    }
    for (uint32_t child = 0; child < children; child++) {
        link_page(site, &page, site->host_of_page[i], path, (uint32_t)first + child, false);
    }
    for (uint32_t k = 0; k < extra; k++) {
        link_anything(site, &page, site->host_of_page[i], path);
    }
    page_end_with(&page, change.header);
}

/* The last number in the path, or UINT32_MAX. */
static uint32_t number_in(const char *path)
{
    const char *digits = NULL;
    for (const char *c = path + 1; *path == '/' && *c != '\0'; c++) {
        if (isdigit((unsigned char)*c) && !isdigit((unsigned char)c[-1])) {
            digits = c;
        }
    }
    if (digits == NULL) {
        return UINT32_MAX;
    }
    unsigned long long value = strtoull(digits, NULL, 10);
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static void redirect_to(const Site *site, uint32_t target, Reply *reply)
{
    char name[NAMES_TEXT_BYTES];
    char path[CLOSED_PATH_BYTES];
    char location[HREF_BYTES];
    names_of_host(site->names, site->host_of_page[target], name);
    closed_world_path(site, target, path);
    (void)snprintf(location, sizeof location, "Location: %s://%s%s\r\n",
                   options_scheme(site->options), name, path);
    reply_finish_status(reply, target % 2 == 0 ? 301 : 302, location);
}

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void write_forbidden(const Site *site, uint32_t host, uint32_t number, Reply *reply)
{
    Random random = {hash_mix(site->options->seed ^ host) + number};
    PageWriter page = {reply, &site->text, &random, 0};
    char href[64];
    page_begin(&page, (uint64_t)host << 32 | number, 1000, 1);
    (void)snprintf(href, sizeof href, "f%u.html", number + 1);
    page_link(&page, href); /* disobedience is led on */
    page_end(&page);
}

void closed_world_reply(const Site *site, uint32_t host, const Request *request, Reply *reply)
{
    const WebOptions *o = site->options;
    const char *target = request->target;
    size_t length = request->target_length;
    char asked[CLOSED_PATH_BYTES] = "";
    if (length < sizeof asked) {
        memcpy(asked, target, length);
    }
    uint32_t number = length == 1 ? host : number_in(asked[0] != '\0' ? asked : "/");
    char path[CLOSED_PATH_BYTES];
    if (number < o->pages && site->host_of_page[number] == host &&
        closed_world_path(site, number, path) == length && memcmp(path, asked, length) == 0) {
        write_page(site, number, path, request, reply);
    } else if (starts_with(asked, "/go/") && number < o->pages &&
               site->host_of_page[number] == host) {
        redirect_to(site, number, reply);
    } else if (starts_with(asked, "/private/f") && robots_txt_forbids_private(o, host)) {
        write_forbidden(site, host, number, reply);
    } else if (starts_with(asked, "/broken/") && number % 2 == 0) {
        reply->end = REPLY_CLOSE;
    } else {
        reply_finish_status(reply, starts_with(asked, "/broken/") ? 500 : 404, "");
    }
}

void closed_world_sitemap(const Site *site, uint32_t host, Reply *reply)
{
    char name[NAMES_TEXT_BYTES];
    char path[CLOSED_PATH_BYTES];
    names_of_host(site->names, host, name);
    reply_append_string(reply, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns="
                               "\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n");
    uint32_t listed = 0;
    for (uint32_t i = 0; i < site->options->pages && listed < SITEMAP_MOST; i++) {
        if (site->host_of_page[i] == host) {
            closed_world_path(site, i, path);
            reply_printf(reply, "<url><loc>%s://%s%s</loc><lastmod>2026-01-%02u</lastmod></url>\n",
                         options_scheme(site->options), name, path, i % 28 + 1);
            listed++;
        }
    }
    reply_append_string(reply, "</urlset>\n");
    reply_finish(reply, 200, "application/xml", "");
}

void closed_world_print(const Site *site, FILE *file)
{
    char name[NAMES_TEXT_BYTES];
    char path[CLOSED_PATH_BYTES];
    for (uint32_t i = 0; i < site->options->pages; i++) {
        names_of_host(site->names, site->host_of_page[i], name);
        closed_world_path(site, i, path);
        fprintf(file, "%s://%s%s\n", options_scheme(site->options), name, path);
    }
}
