/* Input: a sitemap. Limits hold, addresses are http(s), and a file that is cut gives a prefix of
 * what the whole gives or a sign that it is broken. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "parse/sitemap/sitemap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool check_entry(void *context, const SitemapEntry *entry)
{
    uint64_t *n = context;
    (*n)++;
    assert(strlen(entry->loc) <= entry->loc_length);
    assert(entry->loc_length > 0 && entry->loc_length <= 200);
    assert(memcmp(entry->url->href, "http", 4) == 0);
    assert(entry->priority == -1.0 || (entry->priority >= 0.0 && entry->priority <= 1.0));
    assert(strlen(entry->lastmod) <= 64);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SitemapOptions options = {
        .max_bytes = 1u << 20, .max_entries = 50, .max_url_bytes = 200, .max_ratio = 1000};
    SitemapParser *parser = NULL;
    if (sitemap_parser_new(&parser, &options) != RESULT_OK) {
        return 0;
    }
    for (int round = 0; round < 2; round++) { /* the second time with everything in use */
        uint64_t n = 0;
        SitemapReport report;
        SitemapInput input = {.body = (const char *)data,
                              .length = round == 0 ? size : size / 2,
                              .is_truncated = round == 1,
                              .url = "http://h/d/s.xml",
                              .url_length = 16};
        Result rc = sitemap_parse(parser, &input, check_entry, &n, &report);
        assert(n == report.n_entries && n <= options.max_entries);
        assert(n == 0 || report.kind != SITEMAP_UNKNOWN);
        assert(rc == RESULT_OK || rc == RESULT_INVALID || rc == RESULT_LIMIT);
        assert(round == 0 || rc != RESULT_OK || report.is_broken);
    }
    sitemap_parser_delete(parser);
    return 0;
}
