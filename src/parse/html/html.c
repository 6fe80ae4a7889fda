#include "parse/html/html.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory/arena.h"
#include "base/memory/buffer.h"
#include "parse/charset/charset.h"
#include "parse/charset/charset_span.h"
#include "parse/text/digest.h"
#include "parse/css/css.h"
#include "parse/html/html_css.h"
#include "parse/html/html_libxml2.h"
#include "parse/html/html_tree.h"
#include "parse/html/html_xml.h"
#include "parse/html/skim.h"
#include "parse/url/url.h"

#define DEFAULT_MAX_LINKS      10000
#define DEFAULT_MAX_LINK_BYTES 2048
#define DEFAULT_MEMORY_BYTES   ((size_t)64 << 20)
#define ARENA_BLOCK_BYTES      ((size_t)64 << 10)
#define KEEP_BYTES             ((size_t)1 << 20) /* scratch memory kept from page to page */

struct HtmlParser {
    HtmlOptions options;
    Arena arena;
    HtmlTree tree;
    Digest digest;
    HtmlLibxml2 *libxml2; /* NULL unless use_libxml2 */
    HtmlTree
        *digest_tree; /* of the skimmer's run for the digest, once another one reads the links */
    Buffer decoded;   /* the text when the body is not clean UTF-8 */
    Url document;     /* its own URL */
    Url base_url;     /* what <base> says */
    Url link;         /* scratch */
    const Url *base;  /* one of the two, or NULL: nothing relative resolves */
    const char *query_encoding; /* NULL: UTF-8 */
};

const char *link_kind_name(LinkKind kind)
{
    static const char *const names[LINK_KINDS] = {[LINK_A] = "a",
                                                  [LINK_AREA] = "area",
                                                  [LINK_FRAME] = "frame",
                                                  [LINK_IFRAME] = "iframe",
                                                  [LINK_META] = "meta",
                                                  [LINK_LINK] = "link",
                                                  [LINK_IMG] = "img",
                                                  [LINK_SCRIPT] = "script",
                                                  [LINK_FORM] = "form",
                                                  [LINK_MEDIA] = "media",
                                                  [LINK_EMBED] = "embed",
                                                  [LINK_OBJECT] = "object",
                                                  [LINK_INPUT] = "input",
                                                  [LINK_BODY] = "body",
                                                  [LINK_HEADER] = "header",
                                                  [LINK_REDIRECT] = "redirect",
                                                  [LINK_SITEMAP] = "sitemap",
                                                  [LINK_STYLE] = "style"};
    return kind < LINK_KINDS ? names[kind] : "unknown";
}

static Result need_digest_tree(HtmlParser *p)
{
    if (p->digest_tree == NULL) {
        p->digest_tree = calloc(1, sizeof *p->digest_tree);
        if (p->digest_tree == NULL) {
            return RESULT_MEMORY;
        }
        html_tree_init(p->digest_tree, &p->options, &p->arena);
    }
    return RESULT_OK;
}

Result html_parser_new(HtmlParser **parser, const HtmlOptions *options)
{
    HtmlParser *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return RESULT_MEMORY;
    }
    p->options = *options;
    HtmlOptions *o = &p->options;
    o->max_links = o->max_links == 0 ? DEFAULT_MAX_LINKS : o->max_links;
    o->max_link_bytes = o->max_link_bytes == 0 ? DEFAULT_MAX_LINK_BYTES : o->max_link_bytes;
    o->memory_bytes = o->memory_bytes == 0 ? DEFAULT_MEMORY_BYTES : o->memory_bytes;
    arena_init(&p->arena, ARENA_BLOCK_BYTES, o->memory_bytes);
    buffer_init(&p->decoded, o->memory_bytes);
    digest_init(&p->digest);
    url_init(&p->document);
    url_init(&p->base_url);
    url_init(&p->link);
    html_tree_init(&p->tree, o, &p->arena);
    Result rc = o->use_libxml2 ? html_libxml2_new(&p->libxml2) : RESULT_OK;
    if (rc != RESULT_OK) {
        html_parser_delete(p);
        return rc;
    }
    *parser = p;
    return RESULT_OK;
}

void html_parser_delete(HtmlParser *p)
{
    if (p == NULL) {
        return;
    }
    html_libxml2_delete(p->libxml2);
    if (p->digest_tree != NULL) {
        html_tree_destroy(p->digest_tree);
        free(p->digest_tree);
    }
    html_tree_destroy(&p->tree);
    digest_destroy(&p->digest);
    buffer_destroy(&p->decoded);
    url_destroy(&p->document);
    url_destroy(&p->base_url);
    url_destroy(&p->link);
    arena_destroy(&p->arena);
    free(p);
}

/* ---- text ---- */

/* The body as clean UTF-8. RESULT_LIMIT, RESULT_MEMORY: text holds the beginning. */
static Result text_of(HtmlParser *p, const char *encoding, const char *body, size_t length,
                      HtmlSlice *text)
{
    return charset_text(encoding, body, length, &p->decoded, &text->bytes, &text->length);
}

/* The links by libxml2, the digest by the skimmer, whose links are dropped. RESULT_INVALID: is_xml,
 * and the text is no XHTML. */
static Result read_by_libxml2(HtmlParser *p, const HtmlSlice *text, bool is_xml)
{
    bool digests = !p->options.no_digests;
    Result rc = digests ? need_digest_tree(p) : RESULT_OK;
    if (rc == RESULT_OK) {
        rc = is_xml ? html_xml_read(text->bytes, text->length, &p->tree)
                    : html_libxml2_read(p->libxml2, text->bytes, text->length, &p->tree);
    }
    if (rc == RESULT_OK && digests) {
        html_tree_begin(p->digest_tree);
        skim(text->bytes, text->length, p->digest_tree, &p->digest);
    }
    return rc;
}

static Result begin_digest(HtmlParser *p, size_t text_bytes)
{
    const Url *u = &p->document;
    size_t host = p->options.digest_any_host ? 0 : u->host_end - u->host_start;
    return p->options.no_digests
               ? RESULT_OK
               : digest_begin(&p->digest, text_bytes, u->href + u->host_start, host);
}

static Result read_text(HtmlParser *p, const HtmlSlice *text, bool is_xml)
{
    Result rc = begin_digest(p, text->length);
    if (rc != RESULT_OK) {
        return rc;
    }
    html_tree_begin(&p->tree);
    if (is_xml) {
        rc = read_by_libxml2(p, text, true);
        if (rc != RESULT_INVALID) {
            return rc;
        }
        html_tree_begin(&p->tree);
    }
    if (p->libxml2 != NULL) {
        return read_by_libxml2(p, text, false);
    }
    skim(text->bytes, text->length, &p->tree, p->options.no_digests ? NULL : &p->digest);
    return RESULT_OK;
}

/* ---- resolution ---- */

/* Whether a base of another scheme takes the document's place: then nothing relative is http. */
static bool is_foreign_base(const char *href, size_t length)
{
    size_t i = 0;
    while (i < length &&
           ((href[i] >= 'a' && href[i] <= 'z') || (href[i] >= 'A' && href[i] <= 'Z') ||
            (i > 0 && ((href[i] >= '0' && href[i] <= '9') || href[i] == '+' || href[i] == '-' ||
                       href[i] == '.')))) {
        i++;
    }
    if (i == 0 || i == length || href[i] != ':') {
        return false;
    }
    static const char *const ignored[] = {"http", "https", "data", "javascript"};
    for (size_t k = 0; k < sizeof ignored / sizeof *ignored; k++) {
        if (strlen(ignored[k]) == i && strncasecmp(href, ignored[k], i) == 0) {
            return false; /* broken, or not allowed as a base: as if it were not there */
        }
    }
    return true;
}

static Result set_base(HtmlParser *p)
{
    p->base = &p->document;
    if (!p->tree.has_base) {
        return RESULT_OK;
    }
    HtmlSlice href = p->tree.base;
    while (href.length > 0 && (unsigned char)href.bytes[0] <= ' ') {
        href.bytes++;
        href.length--;
    }
    Result rc = url_parse_in_document(&p->base_url, &p->document, href.bytes, href.length,
                                      p->query_encoding);
    if (rc == RESULT_OK) {
        p->base = &p->base_url;
    } else if (rc == RESULT_INVALID && is_foreign_base(href.bytes, href.length)) {
        p->base = NULL;
    }
    return rc == RESULT_MEMORY ? rc : RESULT_OK;
}

/* A reference that differs from the base by its fragment only is the base: such are the tables of
 * contents, and they need no parsing. */
static bool is_fragment(const HtmlParser *p, const char *bytes, size_t length)
{
    return p->base != NULL && length > 0 && bytes[0] == '#' && p->base->length > 0;
}

static Result resolve(HtmlParser *p, const char *bytes, size_t length, PageLink *link)
{
    const Url *url = &p->link;
    if (is_fragment(p, bytes, length)) {
        url = p->base;
    } else {
        Result rc = url_parse_in_document(&p->link, p->base, bytes, length, p->query_encoding);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    if (url->length > p->options.max_link_bytes) {
        return RESULT_LIMIT;
    }
    link->url = arena_copy(&p->arena, url->href, url->length);
    link->length = url->length;
    return link->url == NULL ? RESULT_MEMORY : RESULT_OK;
}

static Result resolve_all(HtmlParser *p, Page *page)
{
    Result rc = set_base(p);
    HtmlTree *tree = &p->tree;
    size_t room = tree->n_refs < p->options.max_links ? tree->n_refs : p->options.max_links;
    PageLink *links = NULL;
    if (rc == RESULT_OK && room > 0) {
        links = arena_alloc(&p->arena, room * sizeof *links);
        rc = links == NULL ? RESULT_MEMORY : RESULT_OK;
    }
    page->n_links_dropped = tree->n_dropped;
    size_t n = 0;
    for (size_t i = 0; i < tree->n_refs && rc == RESULT_OK; i++) {
        const HtmlRef *ref = &tree->refs[i];
        if (n == room) {
            page->n_links_dropped += tree->n_refs - i;
            break;
        }
        Result one = resolve(p, ref->bytes, ref->length, &links[n]);
        if (one == RESULT_OK) {
            links[n].kind = ref->kind;
            links[n].flags = ref->flags;
            n++;
        } else if (one == RESULT_LIMIT) {
            page->n_links_dropped++;
        } else if (one == RESULT_MEMORY) {
            rc = one;
        }
    }
    page->links = links;
    page->n_links = n;
    return rc;
}

/* ---- one page ---- */

static void trim_scratch(HtmlParser *p)
{
    if (p->decoded.capacity > KEEP_BYTES) {
        buffer_destroy(&p->decoded);
    }
    digest_trim(&p->digest, KEEP_BYTES);
}

static Result read_page(HtmlParser *p, const HtmlInput *input, Page *page)
{
    bool is_xml = html_xml_is_type(input->content_type);
    CharsetSource source = CHARSET_FROM_FALLBACK;
    page->encoding = charset_sniff_source(input->body, input->length, input->content_type, &source);
    if (is_xml && source == CHARSET_FROM_FALLBACK) {
        page->encoding = "UTF-8";
    }
    HtmlSlice text;
    Result decoded = text_of(p, page->encoding, input->body, input->length, &text);
    Result rc = read_text(p, &text, is_xml);
    const char *late = p->tree.meta_encoding;
    if (rc == RESULT_OK && source == CHARSET_FROM_FALLBACK && !is_xml && late != NULL &&
        strcmp(late, page->encoding) != 0) {
        /* A meta behind the prescan's reach: what a browser does is to begin again. */
        page->encoding = late;
        if (charset_ascii_span(input->body, input->length) < input->length) {
            decoded = text_of(p, late, input->body, input->length, &text);
            rc = read_text(p, &text, is_xml);
        }
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    return decoded == RESULT_OK ? RESULT_OK : RESULT_MEMORY;
}

/* The memory of the page before is free again; page is empty. RESULT_INVALID: its URL is none. */
static Result begin_page(HtmlParser *p, const HtmlInput *input, Page *page)
{
    memset(page, 0, sizeof *page);
    page->encoding = "UTF-8";
    trim_scratch(p);
    arena_reset(&p->arena);
    html_tree_begin(&p->tree);
    p->base = NULL;
    Result rc = url_parse(&p->document, NULL, input->url, input->url_length);
    return rc == RESULT_OK || rc == RESULT_MEMORY ? rc : RESULT_INVALID;
}

static const char *sheet_encoding(const HtmlInput *input)
{
    CharsetSource source = CHARSET_FROM_FALLBACK;
    const char *encoding =
        charset_sniff_source(input->body, input->length, input->content_type, &source);
    if (source == CHARSET_FROM_BOM || source == CHARSET_FROM_HEADER) {
        return encoding;
    }
    size_t length = 0;
    const char *label = css_charset_label(input->body, input->length, &length);
    /* As in a <meta>: whoever could read it as ASCII did not write UTF-16. */
    encoding = label == NULL ? NULL : charset_of_meta_label(label, length);
    return encoding == NULL ? "UTF-8" : encoding;
}

Result html_parse_sheet(HtmlParser *parser, const HtmlInput *input, Page *page)
{
    HtmlParser *p = parser;
    Result rc = begin_page(p, input, page);
    if (rc != RESULT_OK) {
        return rc;
    }
    HtmlSlice text;
    page->encoding = sheet_encoding(input);
    Result decoded = text_of(p, page->encoding, input->body, input->length, &text);
    html_css_sheet(&p->tree, text.bytes, text.length, false);
    p->query_encoding = NULL;
    rc = resolve_all(p, page);
    return decoded != RESULT_OK || p->tree.failed ? RESULT_MEMORY : rc;
}

Result html_parse(HtmlParser *parser, const HtmlInput *input, Page *page)
{
    HtmlParser *p = parser;
    Result rc = begin_page(p, input, page);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = read_page(p, input, page);
    p->query_encoding = strcmp(page->encoding, "UTF-8") == 0 ? NULL : page->encoding;
    Result resolved = resolve_all(p, page);
    DigestResult digest = {.text = {0, 0}, .simhash = 0, .text_bytes = 0};
    if (!p->options.no_digests && p->digest.stream != NULL) {
        digest = digest_finish(&p->digest);
    }
    page->text_digest[0] = digest.text.high;
    page->text_digest[1] = digest.text.low;
    page->simhash = digest.simhash;
    page->text_bytes = digest.text_bytes;
    page->title = p->tree.title;
    page->robots = p->tree.robots;
    if (rc == RESULT_OK && p->tree.failed) {
        rc = RESULT_MEMORY;
    }
    return rc != RESULT_OK ? rc : resolved;
}
