#include "parse/html/html.h"

#include <stdlib.h>
#include <string.h>

#include "parse/charset/charset_span.h"
#include "parse/html/html_tree.h"
#include "parse/html/html_parser.h"
#include "parse/html/html_xml.h"

#define DEFAULT_MAX_LINKS      10000
#define DEFAULT_MAX_LINK_BYTES 2048
#define DEFAULT_MEMORY_BYTES   ((size_t)64 << 20)
#define ARENA_BLOCK_BYTES      ((size_t)64 << 10)
#define KEEP_BYTES             ((size_t)1 << 20) /* scratch memory kept from page to page */
#define PIECE_BYTES            ((size_t)64 << 10)
/* Text that comes of one piece at most: what waited for it, and what it becomes as UTF-8. */
#define TEXT_BYTES                                                                                 \
    (SKIM_STREAM_LONGEST + SKIM_STREAM_PIECE + 3 * (PIECE_BYTES + CHARSET_STREAM_WAITS))

const char *link_kind_name(LinkKind kind)
{
#define LINK_KIND_NAME(constant, name, what) [constant] = (name),
    static const char *const names[] = {LINK_KIND_LIST(LINK_KIND_NAME)};
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
    p->skim.tree = &p->tree;
    p->skim.digest = o->no_digests ? NULL : &p->digest;
    skim_stream_init(&p->pieces, skim_reader(), &p->skim);
    charset_stream_init(&p->charset);
    buffer_init(&p->base_text, BUFFER_NO_LIMIT);
    buffer_init(&p->late_base, BUFFER_NO_LIMIT);
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
    skim_stream_destroy(&p->pieces);
    charset_stream_destroy(&p->charset);
    buffer_destroy(&p->base_text);
    buffer_destroy(&p->late_base);
    digest_destroy(&p->digest);
    buffer_destroy(&p->decoded);
    url_destroy(&p->document);
    url_destroy(&p->base_url);
    url_destroy(&p->link);
    arena_destroy(&p->arena);
    free(p);
}

void html_parser_set_link_text(HtmlParser *p, size_t link_text)
{
    if (p->options.link_text != link_text) {
        p->options.link_text = link_text;
        html_tree_set_link_text(&p->tree, link_text);
    }
}

/* ---- text ---- */

/* The body as clean UTF-8. RESULT_LIMIT, RESULT_MEMORY: text holds the beginning. */
static Result html_text_of(HtmlParser *p, const char *encoding, const char *body, size_t length,
                           HtmlSlice *text)
{
    return charset_text(encoding, body, length, &p->decoded, &text->bytes, &text->length);
}

/* The host that goes into the text digest. */
static HtmlSlice html_digest_host(const HtmlParser *p)
{
    const Url *u = &p->document;
    return (HtmlSlice){.bytes = u->href + u->host_start, .length = u->host_end - u->host_start};
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

static Result html_read_text(HtmlParser *p, const HtmlSlice *text, bool is_xml)
{
    HtmlSlice host = html_digest_host(p);
    Result rc = p->options.no_digests
                    ? RESULT_OK
                    : digest_begin(&p->digest, text->length, host.bytes, host.length);
    if (rc != RESULT_OK) {
        return rc;
    }
    html_tree_begin(&p->tree);
    html_resolve_late_base(p);
    if (is_xml) {
        rc = read_by_libxml2(p, text, true);
        if (rc != RESULT_INVALID) {
            return rc;
        }
        html_tree_begin(&p->tree);
        html_resolve_late_base(p);
    }
    if (p->libxml2 != NULL) {
        return read_by_libxml2(p, text, false);
    }
    skim(text->bytes, text->length, &p->tree, p->options.no_digests ? NULL : &p->digest);
    return RESULT_OK;
}

/* ---- one page ---- */

/* The text once more, from its beginning. */
static Result read_again(HtmlParser *p, const HtmlSlice *text, bool is_xml)
{
    html_resolve_restart(p);
    return html_read_text(p, text, is_xml);
}

static Result html_read_page(HtmlParser *p, const HtmlInput *input, Page *page)
{
    bool is_xml = html_xml_is_type(input->content_type);
    CharsetSource source = CHARSET_FROM_FALLBACK;
    page->encoding =
        charset_sniff_page(input->body, input->length, input->content_type, is_xml, &source);
    html_resolve_encoding(p, page->encoding);
    HtmlSlice text;
    Result decoded = html_text_of(p, page->encoding, input->body, input->length, &text);
    Result rc = html_read_text(p, &text, is_xml);
    const char *late = p->tree.meta_encoding;
    if (rc == RESULT_OK && source == CHARSET_FROM_FALLBACK && late != NULL &&
        strcmp(late, page->encoding) != 0) {
        /* A meta behind the prescan's reach: what a browser does is to begin again. */
        page->encoding = late;
        html_resolve_encoding(p, late);
        if (charset_ascii_span(input->body, input->length) < input->length) {
            decoded = html_text_of(p, late, input->body, input->length, &text);
            rc = read_again(p, &text, is_xml);
        } else if (p->has_taken) {
            rc = read_again(p, &text, is_xml);
        }
    }
    if (rc == RESULT_OK && html_resolve_has_late_base(p)) {
        rc = read_again(p, &text, is_xml);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    return decoded == RESULT_OK ? RESULT_OK : RESULT_MEMORY;
}

/* Forgets the page before. Errors as html_parse. */
static Result html_parser_begin(HtmlParser *p, const HtmlInput *input)
{
    if (p->decoded.capacity > KEEP_BYTES) {
        buffer_destroy(&p->decoded);
    }
    digest_trim(&p->digest, KEEP_BYTES);
    p->digest.numbers = p->options.numbers ? &p->numbers : NULL;
    p->digest.bins = p->options.sketch ? &p->bins : NULL;
    arena_reset(&p->arena);
    html_tree_begin(&p->tree);
    html_resolve_begin(p, &input->taker);
    Result rc = url_parse(&p->document, NULL, input->url, input->url_length);
    return rc == RESULT_OK || rc == RESULT_MEMORY ? rc : RESULT_INVALID;
}

/* The page was read: links that are left, digests, and the rest. */
static Result html_parser_end(HtmlParser *p, Page *page)
{
    Result resolved = html_resolve_rest(p, page);
    DigestResult digest = {.text = {0, 0}, .simhash = 0};
    if (!p->options.no_digests && p->digest.stream != NULL) {
        digest = digest_finish(&p->digest);
    }
    page->text_digest[0] = digest.text.high;
    page->text_digest[1] = digest.text.low;
    page->simhash = digest.simhash;
    page->text_bytes = digest.text_bytes;
    page->numbers = p->digest.numbers;
    if (p->options.sketch) {
        page->sketch = sketch_of_bins(&p->bins, digest.words);
    }
    page->title = p->tree.title;
    page->language = p->tree.language[0] == '\0' ? NULL : p->tree.language;
    page->robots = p->tree.robots;
    page->ends_s = p->tree.ends_s;
    return resolved == RESULT_OK && p->tree.failed ? RESULT_MEMORY : resolved;
}

Result html_parse(HtmlParser *parser, const HtmlInput *input, Page *page)
{
    memset(page, 0, sizeof *page);
    page->encoding = "UTF-8";
    Result rc = html_parser_begin(parser, input);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = html_read_page(parser, input, page);
    Result ended = html_parser_end(parser, page);
    return result_first(rc, ended);
}

/* ---- a style sheet ---- */

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
    memset(page, 0, sizeof *page);
    page->encoding = "UTF-8";
    Result rc = html_parser_begin(p, input);
    if (rc != RESULT_OK) {
        return rc;
    }
    HtmlSlice text;
    page->encoding = sheet_encoding(input);
    Result decoded = html_text_of(p, page->encoding, input->body, input->length, &text);
    html_resolve_encoding(p, "UTF-8"); /* queries of its references */
    html_css_sheet(&p->tree, text.bytes, text.length);
    rc = html_resolve_rest(p, page);
    return decoded != RESULT_OK || p->tree.failed ? RESULT_MEMORY : rc;
}

/* ---- a page in pieces ---- */

static void html_note(HtmlParser *p, Result rc)
{
    if (p->status == RESULT_OK) {
        p->status = rc;
    }
}

/* From the first byte of the page. */
static void html_begin_reading(HtmlParser *p)
{
    html_tree_begin(&p->tree);
    html_resolve_late_base(p);
    html_resolve_encoding(p, p->encoding);
    charset_stream_begin(&p->charset, p->encoding);
    skim_stream_begin(&p->pieces, p->options.longest_token, p->is_xml);
    p->again = false;
    if (!p->options.no_digests) {
        HtmlSlice host = html_digest_host(p);
        html_note(p, digest_begin(&p->digest, DIGEST_PIECES(TEXT_BYTES), host.bytes, host.length));
    }
}

Result html_pieces_begin(HtmlParser *p, const HtmlInput *input)
{
    p->status = html_parser_begin(p, input);
    p->is_xml = html_xml_is_type(input->content_type);
    p->encoding =
        charset_sniff_page(input->body, input->length, input->content_type, p->is_xml, &p->source);
    if (p->status == RESULT_OK) {
        html_begin_reading(p);
    }
    return p->status;
}

/* A meta element behind the prescan's reach may name another encoding: while all was ASCII and no
 * link was taken, nothing is lost. */
static void look_at_meta(HtmlParser *p)
{
    const char *late = p->tree.meta_encoding;
    if (p->source != CHARSET_FROM_FALLBACK || late == NULL || strcmp(late, p->encoding) == 0) {
        return;
    }
    p->encoding = late;
    p->source = CHARSET_FROM_PRESCAN;
    if (p->charset.is_ascii && !p->has_taken) {
        html_resolve_encoding(p, late);
        p->charset.encoding = late;
    } else {
        p->again = true;
    }
}

static void html_feed_piece(HtmlParser *p, const char *bytes, size_t length, bool is_last)
{
    const char *text = NULL;
    size_t text_length = 0;
    html_note(p, charset_stream_next(&p->charset, bytes, length, is_last, &text, &text_length));
    if (text_length > 0) {
        html_note(p, skim_stream_feed(&p->pieces, text, text_length));
    }
    if (is_last) {
        skim_stream_end(&p->pieces);
    }
    if (!p->options.no_digests) {
        digest_drain(&p->digest);
    }
    look_at_meta(p);
    p->again = p->again || html_resolve_has_late_base(p);
}

void html_pieces_feed(HtmlParser *p, const char *bytes, size_t length)
{
    while (length > 0 && !p->again && p->status == RESULT_OK) {
        size_t n = length < PIECE_BYTES ? length : PIECE_BYTES;
        html_feed_piece(p, bytes, n, false);
        bytes += n;
        length -= n;
    }
}

bool html_pieces_again(HtmlParser *p)
{
    if (!p->again && p->status == RESULT_OK) {
        html_feed_piece(p, NULL, 0, true);
    }
    if (!p->again || p->status != RESULT_OK) {
        return false;
    }
    html_resolve_restart(p);
    html_begin_reading(p);
    return p->status == RESULT_OK;
}

Result html_pieces_end(HtmlParser *p, Page *page)
{
    memset(page, 0, sizeof *page);
    page->encoding = p->encoding;
    Result rc = html_parser_end(p, page);
    return p->status != RESULT_OK ? p->status : rc;
}
