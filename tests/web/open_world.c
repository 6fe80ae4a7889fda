#include "open_world.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page.h"
#include "random.h"
#include "robots_txt.h"

#define MAX_DEPTH      64
#define MAX_LINKS      400
#define HREF_BYTES     (NAMES_TEXT_BYTES + MAX_DEPTH * 11 + 32)
#define EXTERNAL_SHARE 0.1
#define UP_SHARE       0.5

typedef struct HostShape {
    uint32_t max_depth;
    double mean_degree;
} HostShape;

static HostShape shape_of(const WebOptions *o, uint32_t host)
{
    Random random = {hash_mix(o->seed ^ 0x5348415045) + host};
    double m = o->depth;
    double depth = floor(exp(random_normal(&random) / 2 + log(m > 0 ? m : 0.1) - 0.125));
    double most = 3 * m < MAX_DEPTH ? 3 * m : MAX_DEPTH;
    double degree = exp(random_normal(&random) / 2 + log(o->degree > 0 ? o->degree : 0.1) - 0.125);
    double most_degree = 3 * o->degree;
    return (HostShape){(uint32_t)(depth < most ? depth : most),
                       degree < most_degree ? degree : most_degree};
}

/* Number of directories of "/a/b/index.html" or "/"; -1 if it is no path of this world. */
static int depth_of(const char *path, size_t length)
{
    static const char index[] = "/index.html";
    if (length == 1 && path[0] == '/') {
        return 0;
    }
    size_t tail = sizeof index - 1;
    if (length <= tail || memcmp(path + length - tail, index, tail) != 0) {
        return -1;
    }
    int depth = 0;
    for (size_t i = 0; i < length - tail; i++) {
        char next = path[i + 1];
        if (path[i] == '/' && next >= '0' && next <= '9') {
            depth++;
        } else if (path[i] < '0' || path[i] > '9') {
            return -1;
        }
    }
    return depth;
}

/* Popularity: log-uniform over the hosts; a factor above 1 gives host 0 what exceeds it. */
static uint32_t choose_host(const WebOptions *o, Random *random)
{
    double log_hosts = log(o->hosts);
    double excess = o->popularity > 1 ? o->popularity - 1 : 0;
    double site = exp((random_unit(random) * o->popularity - excess) * log_hosts) - 1;
    return site <= 0 ? 0 : site < o->hosts ? (uint32_t)site : o->hosts - 1;
}

/* Appends the path of a page `depth` directories down, each a number below degree. */
static void put_path(char *to, size_t room, uint32_t depth, uint32_t degree, Random *random)
{
    size_t length = 0;
    for (uint32_t i = 0; i < depth && length + 24 < room; i++) {
        length += (size_t)snprintf(to + length, room - length, "%u/",
                                   random_below(random, degree > 0 ? degree : 1));
    }
    (void)snprintf(to + length, room - length, "%s", depth > 0 ? "index.html" : "");
}

/* At a depth that fits the page's own host: on another one it may be too deep, and missing. */
static void put_external(const Site *site, HostShape own, uint32_t degree, Random *random,
                         char *href)
{
    uint32_t host = choose_host(site->options, random);
    double far = fabs(random_normal(random));
    uint32_t depth = (uint32_t)(own.max_depth * (far < 1 ? far : 1));
    char name[NAMES_TEXT_BYTES];
    names_of_host(site->names, host, name);
    int n = snprintf(href, HREF_BYTES, "%s://%s/", options_scheme(site->options), name);
    put_path(href + n, (size_t)(HREF_BYTES - n), depth, degree, random);
}

/* A link inside the host, up or down, relative or from the root. directory is the page's own,
 * "/3/1/". */
static void put_internal(const char *directory, size_t length, uint32_t depth, uint32_t degree,
                         Random *random, char *href)
{
    bool from_root = random_below(random, 3) == 0;
    const char *prefix = from_root ? directory : "";
    size_t n = from_root ? length : 0;
    if (depth > 0 && random_unit(random) < UP_SHARE) {
        if (!from_root) {
            (void)snprintf(href, HREF_BYTES, depth > 1 ? "../index.html" : "../");
            return;
        }
        for (n--; n > 0 && prefix[n - 1] != '/'; n--) {
        }
        (void)snprintf(href, HREF_BYTES, "%.*s%s", (int)n, prefix, depth > 1 ? "index.html" : "");
    } else {
        (void)snprintf(href, HREF_BYTES, "%.*s%u/index.html", (int)n, prefix,
                       random_below(random, degree > 0 ? degree : 1));
    }
}

static void write_page(const Site *site, uint32_t host, const char *path, size_t length,
                       uint32_t depth, Random *random, Reply *reply)
{
    HostShape shape = shape_of(site->options, host);
    double wanted = depth < shape.max_depth ? shape.mean_degree + random_normal(random) : 0;
    uint32_t degree = wanted < 0 ? 0 : wanted < MAX_LINKS ? (uint32_t)wanted : MAX_LINKS;
    size_t directory = length - (depth > 0 ? sizeof "index.html" - 1 : 0);
    PageWriter page = {reply, &site->text, random, 0};
    page_begin(&page, random->state, site->options->page_bytes, degree);
    char href[HREF_BYTES];
    for (uint32_t i = 0; i < degree; i++) {
        if (random_unit(random) < EXTERNAL_SHARE) {
            put_external(site, shape, degree, random, href);
        } else {
            put_internal(path, directory, depth, degree, random, href);
        }
        page_link(&page, href);
    }
    if (depth == 0 && robots_txt_forbids_private(site->options, host)) {
        page_link(&page, "/private/0/index.html");
    }
    page_end(&page);
}

void open_world_reply(const Site *site, uint32_t host, const char *path, size_t length,
                      Reply *reply)
{
    const WebOptions *o = site->options;
    static const char private[] = "/private";
    bool is_private = length > sizeof private && memcmp(path, private, sizeof private - 1) == 0;
    if (is_private) { /* a second tree of the same kind, to be found only by the disobedient */
        path += sizeof private - 1;
        length -= sizeof private - 1;
    }
    int depth = depth_of(path, length);
    Random random = {hash_64(path, length, o->seed + host * UINT64_C(0x9E3779B1) + is_private)};
    double fate = random_unit(&random);
    if (depth < 0 || (uint32_t)depth > shape_of(o, host).max_depth || fate < o->not_found) {
        reply_finish_status(reply, 404, "");
    } else if (fate < o->not_found + o->errors / 2) {
        reply_finish_status(reply, 500, "");
    } else if (fate < o->not_found + o->errors) {
        reply->end = REPLY_CLOSE; /* without a byte */
    } else {
        write_page(site, host, path, length, (uint32_t)depth, &random, reply);
    }
}
