/* Any bytes as a page, by both front ends. The first byte chooses the Content-Type. Beyond not
 * crashing: every link is a URL that parses to itself, the digests of both agree, and
 * without digests there are the same links. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "parse/html/html.h"
#include "parse/url/url.h"

#define PAGE_URL "http://h.test/d/p.html"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_links(const Page *page)
{
    Url url;
    url_init(&url);
    for (size_t i = 0; i < page->n_links; i++) {
        const PageLink *link = &page->links[i];
        if (strlen(link->url) != link->length || link->kind >= LINK_KINDS ||
            url_parse(&url, NULL, link->url, link->length) != RESULT_OK) {
            abort();
        }
    }
    url_destroy(&url);
}

static void check_same_links(const Page *a, const Page *b)
{
    if (a->n_links != b->n_links) {
        abort();
    }
    for (size_t i = 0; i < a->n_links; i++) {
        if (strcmp(a->links[i].url, b->links[i].url) != 0) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const types[] = {NULL, "text/html; charset=utf-8", "text/html; charset=gbk",
                                        "text/html; charset=shift_jis", "application/xhtml+xml"};
    if (size == 0) {
        return 0;
    }
    HtmlInput input = {.body = (const char *)data + 1,
                       .length = size - 1,
                       .content_type = types[data[0] % 5],
                       .url = PAGE_URL,
                       .url_length = sizeof PAGE_URL - 1};
    HtmlOptions options = {
        .max_links = 200, .forms = true, .styles = true, .memory_bytes = 1u << 20};
    Page pages[3];
    HtmlParser *parsers[3] = {NULL, NULL, NULL};
    for (int i = 0; i < 3; i++) {
        options.use_libxml2 = i == 1;
        options.no_digests = i == 2;
        if (html_parser_new(&parsers[i], &options) != RESULT_OK) {
            abort();
        }
        (void)html_parse(parsers[i], &input, &pages[i]);
        check_links(&pages[i]);
    }
    if (memcmp(pages[0].text_digest, pages[1].text_digest, sizeof pages[0].text_digest) != 0 &&
        strcmp(pages[0].encoding, pages[1].encoding) == 0) {
        abort();
    }
    check_same_links(&pages[0], &pages[2]);
    for (int i = 0; i < 3; i++) {
        html_parser_delete(parsers[i]);
    }
    return 0;
}
