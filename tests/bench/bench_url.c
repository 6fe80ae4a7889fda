/* CPU time of resolving the links of a page: relative, absolute from the root, and full URLs,
 * nearly all in normal form, as real pages have them.
 *
 *   url.resolve_us            through url_parse, as the crawler does it
 *   url.resolve_standard_us   the same links through the states of the standard only (to stderr)
 *   the rest (to stderr)      what else is done with a URL, per URL */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "parse/host/domain.h"
#include "parse/filter/filter.h"
#include "parse/trap/trap.h"
#include "parse/url/url.h"
#include "parse/url/url_key.h"

static const char *const links[] = {
    "/",
    "/about",
    "/wiki/Special:Search?search=crawler&fulltext=1",
    "/static/css/main.3f2a91bc.chunk.css",
    "/articles/2024/03/17/how-to-build-a-web-crawler-in-c.html",
    "https://www.example.org/products/category/item-48213.html?ref=nav&sort=price",
    "https://cdn.example.net/assets/images/logo@2x.png",
    "http://blog.example.com/archives/2019/11/",
    "../index.html",
    "../../en/latest/reference/api/module.html#function-name",
    "chapter-12.html",
    "images/figure-3.svg",
    "?page=2&order=desc",
    "#content",
    "//fonts.example.com/css2?family=Inter:wght@400;700&display=swap",
    "https://en.wikipedia.example/wiki/Web_crawler",
    "/forum/viewtopic.php?f=12&t=48291&start=40&sid=0123456789abcdef",
    "./changelog",
    "https://www.example.org/de/hilfe/%C3%BCbersicht",
    "https://example.org:8443/login?next=%2Faccount%2Fsettings",
    "mailto:someone@example.org",
    "javascript:void(0)",
    "HTTPS://Example.ORG/Index.html",
    "/a path with spaces.html",
};

#define N_LINKS (sizeof links / sizeof *links)
#define ROUNDS  400000.0

static double measure(const Url *base, long rounds, bool standard, uint64_t *sum)
{
    size_t lengths[N_LINKS];
    for (size_t i = 0; i < N_LINKS; i++) {
        lengths[i] = strlen(links[i]);
    }
    Url url;
    url_init(&url);
    int64_t start = cpu_thread_ns();
    for (long round = 0; round < rounds; round++) {
        for (size_t i = 0; i < N_LINKS; i++) {
            Result rc = standard ? url_parse_standard(&url, base, links[i], lengths[i], NULL)
                                 : url_parse(&url, base, links[i], lengths[i]);
            *sum += rc == RESULT_OK ? url.length : 1;
        }
    }
    int64_t spent = cpu_thread_ns() - start;
    url_destroy(&url);
    return (double)spent / 1000.0 / ((double)rounds * (double)N_LINKS);
}

typedef struct Uses {
    Buffer out;
    Filter *filter;
    FilterScratch *scratch;
    uint64_t sum;
} Uses;

static void use_key(Uses *uses, const Url *url)
{
    static const UrlKeyOptions all = {true, true, true, true};
    buffer_reset(&uses->out);
    uses->sum += url_key(url, &all, &uses->out) == RESULT_OK;
}

static void use_pattern(Uses *uses, const Url *url)
{
    buffer_reset(&uses->out);
    uses->sum += trap_pattern(url, &uses->out) == RESULT_OK;
}

static void use_domain(Uses *uses, const Url *url)
{
    uses->sum += domain_of_url(url).length;
}

static void use_filter(Uses *uses, const Url *url)
{
    FilterInput input = {.url = url};
    uses->sum += filter_matches(uses->filter, &input, uses->scratch);
}

static void measure_use(const char *name, void (*use)(Uses *uses, const Url *url), Uses *uses,
                        const Url *base, long rounds)
{
    Url urls[N_LINKS];
    size_t n = 0;
    for (size_t i = 0; i < N_LINKS; i++) {
        url_init(&urls[n]);
        n += url_parse(&urls[n], base, links[i], strlen(links[i])) == RESULT_OK;
    }
    int64_t start = cpu_thread_ns();
    for (long round = 0; round < rounds; round++) {
        for (size_t i = 0; i < n; i++) {
            use(uses, &urls[i]);
        }
    }
    int64_t spent = cpu_thread_ns() - start;
    (void)fprintf(stderr, "%s = %.4f us\n", name,
                  (double)spent / 1000.0 / ((double)rounds * (double)n));
    for (size_t i = 0; i < n; i++) {
        url_destroy(&urls[i]);
    }
}

static bool measure_uses(const Url *base, long rounds)
{
    static const char text[] =
        "(SchemeEquals(http) or SchemeEquals(https)) and HostEndsWithOneOf(.org,.com,.net) and not "
        "PathEndsWithOneOf(.pdf,.jpg,.css) and URLShorterThan(2048) and "
        "DuplicateSegmentsLessThan(3) and not URLContainsRegex(\"[?&]sid=[0-9a-f]{16}\")";
    FilterError error;
    Uses uses = {.sum = 0};
    buffer_init(&uses.out, BUFFER_NO_LIMIT);
    bool ready = filter_compile(&uses.filter, text, strlen(text), NULL, &error) == RESULT_OK &&
                 filter_scratch_new(&uses.scratch) == RESULT_OK;
    if (ready) {
        measure_use("url.key_us", use_key, &uses, base, rounds);
        measure_use("trap.pattern_us", use_pattern, &uses, base, rounds);
        measure_use("domain.registered_us", use_domain, &uses, base, rounds);
        measure_use("filter.matches_us", use_filter, &uses, base, rounds);
    }
    filter_scratch_delete(uses.scratch);
    filter_delete(uses.filter);
    buffer_destroy(&uses.out);
    return ready && uses.sum > 0;
}

int main(void)
{
    const char *scale = getenv("SCALE");
    double factor = scale == NULL ? 1.0 : strtod(scale, NULL);
    long rounds = (long)(ROUNDS * factor) + 1;
    const char *text = "https://docs.example.org/en/stable/guide/intro/index.html?v=3";
    Url base;
    url_init(&base);
    if (url_parse(&base, NULL, text, strlen(text)) != RESULT_OK) {
        return 1;
    }
    uint64_t fast_sum = 0;
    uint64_t standard_sum = 0;
    (void)measure(&base, rounds / 10 + 1, false, &fast_sum);
    fast_sum = 0;
    double fast = measure(&base, rounds, false, &fast_sum);
    double standard = measure(&base, rounds, true, &standard_sum);
    (void)printf("url.resolve_us = %.4f us\n", fast);
    (void)fprintf(stderr, "url.resolve_standard_us = %.4f us\n", standard);
    bool used = measure_uses(&base, rounds / 20 + 1);
    url_destroy(&base);
    return used && fast_sum == standard_sum ? 0 : 1;
}
