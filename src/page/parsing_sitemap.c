#include "page/parsing_sitemap.h"

#include <string.h>

#include "base/thread/log.h"
#include "page/parsing_links.h"
#include "parse/robots/robots.h"
#include "parse/sitemap/sitemap_xml.h"

typedef struct Reading {
    Parser *parser;
    const ParsedPage *page;
    bool may_nest; /* sitemaps below this one are wanted */
} Reading;

void parsing_sitemap_robots(Parser *parser, ParsedPage *page)
{
    const FetchResult *fetch = page->fetch;
    Robots *robots = NULL;
    size_t length = 0;
    const char *file = fetch_result_text(fetch, &length);
    if (!parser->options->sitemaps || fetch->request.is_usage_file || fetch->answer.status < 200 ||
        fetch->answer.status >= 300 ||
        url_parse(&parser->source, NULL, fetch->request.url, strlen(fetch->request.url)) !=
            RESULT_OK ||
        robots_parse(file, length, parser->options->robots_agent, &robots) != RESULT_OK) {
        return;
    }
    for (size_t i = 0; i < robots_n_sitemaps(robots); i++) {
        const char *text = robots_sitemap(robots, i);
        if (url_parse(&parser->target, &parser->source, text, strlen(text)) == RESULT_OK) {
            parsing_links_add(parser, page, &parser->target, LINK_SITEMAP, 1.0f);
        }
    }
    robots_delete(robots);
}

/* Whether an answer that was found as a page is a feed, or a sitemap, by its type and beginning. */
static bool looks_like_feed(const HttpContentType *type, const Buffer *body)
{
    static const char *const types[] = {"application/rss+xml",
                                        "application/atom+xml",
                                        "application/rdf+xml",
                                        "application/xml",
                                        "text/xml",
                                        "text/html"};
    bool may_be = false;
    for (size_t i = 0; i < sizeof types / sizeof *types && !may_be; i++) {
        may_be = http_header_is_type(type, types[i]);
    }
    const char *text = buffer_string(body);
    text += strspn(text, " \t\r\n\f\xef\xbb\xbf");
    size_t before = (size_t)(text - buffer_string(body));
    return may_be && *text == '<' && sitemap_xml_may_be(text, body->length - before);
}

bool parsing_sitemap_expected(const Parser *parser, const ParsedPage *page,
                              const HttpContentType *type)
{
    const FetchRequest *request = &page->fetch->request;
    bool may_lead_to_it = parser->options->sitemaps || request->depth <= 1; /* a seed's redirect */
    return page->fetch->answer.status >= 200 && page->fetch->answer.status < 300 &&
           (request->hop == 'S' || request->hop == 'M' || (request->hop == 'R' && may_lead_to_it) ||
            (parser->options->sitemaps && looks_like_feed(type, parser->body)));
}

/* An entry without hints is worth as much as a link. */
static float parsing_sitemap_score_of(const Reading *reading, const SitemapEntry *entry)
{
    int64_t now_s = reading->page->fetch->cost.wall_start.us / 1000000;
    return reading->parser->options->sitemap_hints ? (float)sitemap_hint_factor(entry, now_s)
                                                   : 1.0f;
}

static bool on_entry(void *context, const SitemapEntry *entry)
{
    const Reading *reading = context;
    if (entry->is_sitemap && !reading->may_nest) {
        parsing_links_refuse(reading->parser, reading->page, entry->url->href, entry->url->length,
                             REFUSED_DEPTH);
    } else {
        size_t before = reading->parser->n_kept;
        parsing_links_add(reading->parser, reading->page, entry->url, LINK_SITEMAP,
                          parsing_sitemap_score_of(reading, entry));
        if (reading->parser->n_kept > before && entry->lastmod_s > 0) {
            reading->parser->kept[before].lastmod_s = entry->lastmod_s;
            reading->parser->n_dates++;
        }
    }
    return true;
}

bool parsing_sitemap_read(Parser *parser, const ParsedPage *page)
{
    const FetchResult *fetch = page->fetch;
    Reading reading = {.parser = parser,
                       .page = page,
                       .may_nest = fetch->request.depth + 1u < parser->options->sitemap_depth};
    SitemapInput input = {.body = buffer_string(parser->body),
                          .length = parser->body->length,
                          .is_truncated = fetch->answer.truncated != TRUNCATED_NOT,
                          .url = fetch->request.url,
                          .url_length = strlen(fetch->request.url)};
    SitemapReport report = {.kind = SITEMAP_UNKNOWN};
    Result rc = sitemap_parse(parser->sitemap, &input, on_entry, &reading, &report);
    if (report.kind == SITEMAP_UNKNOWN) {
        return false;
    }
    if (rc != RESULT_OK || report.is_broken) {
        LOG_INFO("parse", "sitemap read in part", "url=%s entries=%llu reason=\"%s\"",
                 fetch->request.url, (unsigned long long)report.n_entries,
                 rc != RESULT_OK ? result_name(rc) : "broken");
    }
    return true;
}
