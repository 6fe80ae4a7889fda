/* Any bytes as base, link and document encoding: the invariants of parse/url/url.h hold, parsing
 * again changes nothing, and both ways through the parser agree.
 *
 * Input: one byte that picks an encoding, the base up to the first newline, the link. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "parse/host/domain.h"
#include "parse/trap/trap.h"
#include "parse/url/url.h"
#include "parse/url/url_key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_invariants(const Url *url)
{
    assert(url->length <= URL_MAX_BYTES && url->href[url->length] == '\0');
    assert(url->host_start >= 7 && url->host_start < url->host_end);
    assert(url->host_end <= url->path_start && url->path_start < url->query_start);
    assert(url->query_start <= url->length);
    assert(url->href[url->path_start] == '/');
    assert(url->query_start == url->length || url->href[url->query_start] == '?');
    for (uint32_t i = 0; i < url->length; i++) {
        assert(url->href[i] > ' ' && url->href[i] < 0x7F && url->href[i] != '#');
    }
}

static void check_same(const Url *a, const Url *b)
{
    assert(a->length == b->length && memcmp(a->href, b->href, a->length) == 0);
    assert(a->host_start == b->host_start && a->host_end == b->host_end);
    assert(a->path_start == b->path_start && a->query_start == b->query_start);
    assert(a->port == b->port && a->https == b->https);
}

static void check_uses(const Url *url)
{
    static const UrlKeyOptions all = {true, true, true, true};
    Buffer out;
    buffer_init(&out, BUFFER_NO_LIMIT);
    assert(url_key(url, &all, &out) == RESULT_OK);
    assert(out.length <= url->length);
    buffer_reset(&out);
    assert(trap_pattern(url, &out) == RESULT_OK);
    buffer_reset(&out);
    assert(url_origin(url, &out) == RESULT_OK);
    Domain domain = domain_of_url(url);
    assert(domain.length <= url->host_end - url->host_start);
    (void)trap_repeats(url->href + url->path_start, url->query_start - url->path_start, 3);
    buffer_destroy(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const encodings[] = {NULL,     "windows-1251", "iso-2022-jp",
                                            "big5",   "shift_jis",    "gb18030",
                                            "euc-jp", "euc-kr",       "windows-1258"};
    if (size < 1) {
        return 0;
    }
    const char *encoding = encodings[data[0] % (sizeof encodings / sizeof *encodings)];
    const char *text = (const char *)data + 1;
    size--;
    const char *newline = memchr(text, '\n', size);
    size_t n_base = newline != NULL ? (size_t)(newline - text) : 0;
    const char *link = newline != NULL ? newline + 1 : text;
    size_t n_link = size - (size_t)(link - text);
    Url base;
    Url url;
    Url again;
    url_init(&base);
    url_init(&url);
    url_init(&again);
    bool has_base = newline != NULL && url_parse(&base, NULL, text, n_base) == RESULT_OK;
    const Url *against = has_base ? &base : NULL;
    if (url_parse_in_document(&url, against, link, n_link, encoding) == RESULT_OK) {
        check_invariants(&url);
        assert(url_parse_standard(&again, against, link, n_link, encoding) == RESULT_OK);
        check_same(&url, &again);
        assert(url_parse(&again, NULL, url.href, url.length) == RESULT_OK);
        check_same(&url, &again);
        check_uses(&url);
    } else {
        assert(url.length == 0);
        assert(url_parse_standard(&again, against, link, n_link, encoding) != RESULT_OK);
    }
    url_destroy(&again);
    url_destroy(&url);
    url_destroy(&base);
    return 0;
}
