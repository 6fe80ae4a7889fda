#include "parse/html/html_parser.h"

#include <libxml/HTMLparser.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "parse/html/html_tree.h"

/* ---- The reference front end ---- */

#define TEXT_LIMIT ((size_t)INT_MAX - 1)

struct HtmlLibxml2 {
    htmlParserCtxtPtr parser;
    HtmlTree *tree;
    Buffer text;  /* the page with its "&" escaped */
    Buffer title; /* of the title or the style that is open */
    Buffer words; /* text with its references, which libxml2 may tell in parts */
    uint64_t raw; /* key of the raw text element that is open, or 0 */
    bool is_title;
    bool is_style;
    HtmlTag tag;
};

static HtmlTextMode html_libxml2_start(HtmlLibxml2 *front, const char *name,
                                       const xmlChar **attributes)
{
    HtmlTag *tag = &front->tag;
    size_t length = strlen(name);
    tag->key = html_name_key(name, length, length);
    tag->id = html_tag_of_key(tag->key);
    tag->present = 0;
    tag->self_closing = false; /* libxml2 reports its end at once */
    tag->transient = true;
    for (size_t i = 0; attributes != NULL && attributes[i] != NULL; i += 2) {
        const char *key = (const char *)attributes[i];
        const char *value = (const char *)attributes[i + 1];
        size_t n = strlen(key);
        HtmlAttributeId id = html_attribute_of_key(html_name_key(key, n, n));
        if (id != HTML_ATTRS && !html_tag_has(tag, id)) {
            tag->present |= UINT32_C(1) << id;
            tag->values[id].bytes = value == NULL ? "" : value;
            tag->values[id].length = value == NULL ? 0 : strlen(value);
        }
    }
    return html_tree_start_tag(front->tree, tag);
}

/* What was told since the last tag. */
static void tell_words(HtmlLibxml2 *front)
{
    if (front->words.length > 0) {
        html_links_text(front->tree, front->words.data, front->words.length, true);
        buffer_reset(&front->words);
    }
}

static void html_libxml2_start_element(void *context, const xmlChar *name,
                                       const xmlChar **attributes)
{
    HtmlLibxml2 *front = context;
    if (front->raw != 0) {
        return;
    }
    tell_words(front);
    HtmlTextMode mode = html_libxml2_start(front, (const char *)name, attributes);
    html_tree_tell(front->tree);
    if (mode != HTML_TEXT_DATA) {
        front->raw = front->tag.key;
        front->is_title = front->tag.id == HTML_TITLE && front->tree->title == NULL &&
                          front->tree->n_templates == 0;
        front->is_style = front->tag.id == HTML_STYLE && front->tree->options->styles;
        buffer_reset(&front->title);
    }
}

static void html_libxml2_end_element(void *context, const xmlChar *name)
{
    HtmlLibxml2 *front = context;
    size_t length = strlen((const char *)name);
    uint64_t key = html_name_key((const char *)name, length, length);
    tell_words(front);
    if (front->raw != 0) {
        if (key != front->raw) {
            return;
        }
        front->raw = 0;
        if (front->is_title) {
            html_links_set_title(front->tree, buffer_string(&front->title), front->title.length);
        }
        if (front->is_style) {
            html_css_element(front->tree, buffer_string(&front->title), front->title.length, true);
        }
    }
    html_tree_end_tag(front->tree, html_tag_of_key(key), key);
}

static void html_libxml2_characters(void *context, const xmlChar *text, int length)
{
    HtmlLibxml2 *front = context;
    if (front->raw != 0) {
        if (front->is_style || (front->is_title && front->title.length < 4 * HTML_TITLE_BYTES)) {
            (void)buffer_append(&front->title, text, (size_t)length);
        }
        return;
    }
    if (front->tree->wants_text) {
        html_tree_text(front->tree, (const char *)text, (size_t)length);
    }
    if (front->tree->options->link_text > 0) {
        (void)buffer_append(&front->words, text, (size_t)length);
    }
}

Result html_libxml2_new(HtmlLibxml2 **front)
{
    HtmlLibxml2 *f = calloc(1, sizeof *f);
    htmlParserCtxtPtr parser = htmlNewParserCtxt();
    if (f == NULL || parser == NULL) {
        free(f);
        htmlFreeParserCtxt(parser);
        return RESULT_MEMORY;
    }
    buffer_init(&f->text, TEXT_LIMIT);
    buffer_init(&f->title, TEXT_LIMIT);
    buffer_init(&f->words, TEXT_LIMIT);
    memset(parser->sax, 0, sizeof *parser->sax);
    parser->sax->startElement = html_libxml2_start_element;
    parser->sax->endElement = html_libxml2_end_element;
    parser->sax->characters = html_libxml2_characters;
    parser->sax->cdataBlock = html_libxml2_characters;
    parser->sax->ignorableWhitespace = html_libxml2_characters;
    parser->userData = f;
    f->parser = parser;
    *front = f;
    return RESULT_OK;
}

void html_libxml2_delete(HtmlLibxml2 *front)
{
    if (front == NULL) {
        return;
    }
    htmlFreeParserCtxt(front->parser);
    buffer_destroy(&front->text);
    buffer_destroy(&front->title);
    buffer_destroy(&front->words);
    free(front);
}

Result html_libxml2_read(HtmlLibxml2 *front, const char *text, size_t length, HtmlTree *tree)
{
    front->tree = tree;
    front->raw = 0;
    front->is_title = false;
    front->is_style = false;
    buffer_reset(&front->text);
    const char *p = text;
    const char *end = text + length;
    while (p < end) {
        const char *amp = memchr(p, '&', (size_t)(end - p));
        (void)buffer_append(&front->text, p, (size_t)((amp == NULL ? end : amp) - p));
        (void)buffer_append_string(&front->text, amp == NULL ? "" : "&amp;");
        p = amp == NULL ? end : amp + 1;
    }
    if (front->text.failed != RESULT_OK || front->text.length == 0) {
        return front->text.failed;
    }
    htmlDocPtr none =
        htmlCtxtReadMemory(front->parser, front->text.data, (int)front->text.length, NULL, "UTF-8",
                           HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING |
                               HTML_PARSE_NONET | HTML_PARSE_IGNORE_ENC | (int)XML_PARSE_HUGE);
    xmlFreeDoc(none);
    tell_words(front);
    buffer_trim(&front->text, 1u << 20);
    return front->parser->errNo == XML_ERR_NO_MEMORY ? RESULT_MEMORY : RESULT_OK;
}

/* ---- The front end that crawls use ---- */

static void skim_read_text(void *context, const char *from, const char *to, bool decode)
{
    const Skim *s = context;
    size_t n = (size_t)(to - from);
    if (n == 0) {
        return;
    }
    if (s->tree->wants_text) {
        html_tree_text(s->tree, from, n);
    }
    if (s->tree->options->link_text > 0) {
        html_links_text(s->tree, from, n, decode);
    }
    if (s->digest != NULL) {
        digest_text(s->digest, from, n, decode);
    }
}

static void skim_read_raw(void *context, const HtmlTag *tag, HtmlTextMode mode, const char *from,
                          const char *to, bool ended)
{
    const Skim *s = context;
    if (tag->id == HTML_TITLE && s->tree->title == NULL && s->tree->n_templates == 0) {
        html_links_set_title(s->tree, from, (size_t)(to - from));
    }
    if (tag->id == HTML_STYLE) {
        html_css_element(s->tree, from, (size_t)(to - from), tag->transient);
    }
    /* A script that never ends is a page cut short: its text tells such pages apart. */
    bool is_text = (tag->id != HTML_SCRIPT && tag->id != HTML_STYLE) || !ended;
    if (is_text && s->digest != NULL && to > from) {
        digest_text(s->digest, from, (size_t)(to - from), mode == HTML_TEXT_RCDATA);
    }
}

/* The attributes to be kept; all of them while foreign content is open. */
static uint32_t skim_wanted_attributes(void *context, HtmlTagId id)
{
    const Skim *s = context;
    uint32_t more = s->tree->options->styles ? UINT32_C(1) << HTML_ATTR_STYLE : 0;
    more |= s->tree->options->link_text > 0 ? UINT32_C(1) << HTML_ATTR_ALT : 0;
    return s->tree->depth > 0 ? ~UINT32_C(0) : html_tag_traits[id].attributes | more;
}

static HtmlTextMode skim_read_start(void *context, const HtmlTag *tag)
{
    const Skim *s = context;
    if (s->digest != NULL) {
        digest_tag(s->digest, tag->id, false);
        if ((tag->id == HTML_FRAME || tag->id == HTML_IFRAME) && html_tag_has(tag, HTML_ATTR_SRC)) {
            digest_frame(s->digest, tag->values[HTML_ATTR_SRC].bytes,
                         tag->values[HTML_ATTR_SRC].length);
        }
    }
    HtmlTextMode mode = html_tree_start_tag(s->tree, tag);
    html_tree_tell(s->tree);
    return mode;
}

static void skim_read_end(void *context, HtmlTagId id, uint64_t key)
{
    const Skim *s = context;
    if (s->digest != NULL) {
        digest_tag(s->digest, id, true);
    }
    html_tree_end_tag(s->tree, id, key);
}

static bool skim_has_cdata(void *context)
{
    const Skim *s = context;
    return html_tree_is_foreign(s->tree);
}

static const SkimReader reader = {.wanted = skim_wanted_attributes,
                                  .start = skim_read_start,
                                  .end = skim_read_end,
                                  .text = skim_read_text,
                                  .raw = skim_read_raw,
                                  .has_cdata = skim_has_cdata};

const SkimReader *skim_reader(void)
{
    return &reader;
}

void skim(const char *text, size_t length, HtmlTree *tree, Digest *digest)
{
    Skim s = {.tree = tree, .digest = digest};
    skim_tokens(text, length, &reader, &s);
}

/* ---- The inside of an HtmlParser ---- */

#define BATCH       ((size_t)8192)    /* references that are handed on together */
#define WORDS_BATCH ((size_t)4 << 20) /* bytes of the page's words, with HtmlOptions.link_text */
/* While a frameset may still take the place of the body, its references wait for this number of
 * batches.
 */
#define PATIENCE ((size_t)8)
/* References of one element beyond a batch: a srcset. */
#define ELEMENT ((size_t)1 << 16)

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

static Result resolve_url(HtmlParser *p, const HtmlRef *ref, const Url **url)
{
    if (is_fragment(p, ref->bytes, ref->length)) {
        *url = p->base;
        return RESULT_OK;
    }
    *url = &p->link;
    return url_parse_in_document(&p->link, p->base, ref->bytes, ref->length, p->query_encoding);
}

static Result html_resolve_resolve(HtmlParser *p, const HtmlRef *ref, PageLink *link)
{
    const Url *url = NULL;
    Result rc = resolve_url(p, ref, &url);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (url->length > p->options.max_link_bytes) {
        return RESULT_LIMIT;
    }
    link->url = arena_copy(&p->arena, url->href, url->length);
    link->length = url->length;
    return link->url == NULL ? RESULT_MEMORY : RESULT_OK;
}

/* What is written on a reference and around it. */
static PageLinkText html_resolve_text_of(const HtmlParser *p, size_t i)
{
    const HtmlTree *tree = &p->tree;
    const HtmlSpan *span = &tree->spans[i];
    bool is_open = i == tree->open_anchor;
    uint32_t to = is_open ? link_text_position(&tree->words) : span->to;
    LinkTextSlice anchor = link_text_anchor(&tree->words, span->from, to);
    LinkTextSlice around = link_text_around(&tree->words, span->from, to);
    return (PageLinkText){.anchor = anchor.bytes,
                          .around = around.bytes,
                          .anchor_length = (uint32_t)anchor.length,
                          .around_length = (uint32_t)around.length,
                          .title = tree->title};
}

/* The same in the arena; NULL without words, or memory. */
static const PageLinkText *keep_text_of(HtmlParser *p, size_t i)
{
    PageLinkText *text = p->tree.spans == NULL ? NULL : arena_alloc(&p->arena, sizeof *text);
    if (text != NULL) {
        *text = html_resolve_text_of(p, i);
    }
    return text;
}

static Result html_resolve_collect(HtmlParser *p, Page *page)
{
    Result rc = set_base(p);
    HtmlTree *tree = &p->tree;
    size_t room = tree->n_refs < p->options.max_links ? tree->n_refs : p->options.max_links;
    page->n_links_dropped = tree->n_dropped;
    if (rc != RESULT_OK || room == 0) {
        return rc;
    }
    PageLink *links = arena_alloc(&p->arena, room * sizeof *links);
    if (links == NULL) {
        return RESULT_MEMORY;
    }
    page->links = links;
    for (size_t i = 0; i < tree->n_refs; i++) {
        const HtmlRef *ref = &tree->refs[i];
        PageLink *link = &links[page->n_links];
        if (page->n_links == room) {
            page->n_links_dropped += tree->n_refs - i;
            break;
        }
        rc = html_resolve_resolve(p, ref, link);
        if (rc == RESULT_MEMORY) {
            return rc;
        }
        page->n_links_dropped += rc == RESULT_LIMIT ? 1 : 0;
        if (rc == RESULT_OK) {
            link->kind = ref->kind;
            link->flags = ref->flags;
            link->text = keep_text_of(p, i);
            page->n_links++;
        }
    }
    return RESULT_OK;
}

/* ---- links that are taken while the page is read ---- */

/* What the tree knows and the arena holds moves elsewhere, so that the arena can be emptied. */
static Result empty_arena(HtmlParser *p)
{
    HtmlTree *tree = &p->tree;
    if (tree->title != NULL && tree->title != p->title) {
        size_t n = strlen(tree->title);
        memcpy(p->title, tree->title, n + 1);
        tree->title = p->title;
    }
    if (tree->has_base && tree->base.bytes != p->base_text.data) {
        buffer_reset(&p->base_text);
        Result rc = buffer_append(&p->base_text, tree->base.bytes, tree->base.length);
        if (rc != RESULT_OK) {
            return rc;
        }
        tree->base.bytes = buffer_string(&p->base_text);
    }
    arena_reset(&p->arena);
    return RESULT_OK;
}

static Result html_resolve_hand_on(HtmlParser *p)
{
    HtmlTree *tree = &p->tree;
    Result rc = set_base(p);
    for (size_t i = 0; i < tree->n_refs && rc != RESULT_MEMORY; i++) {
        const HtmlRef *ref = &tree->refs[i];
        const Url *url = NULL;
        rc = resolve_url(p, ref, &url);
        if (rc != RESULT_OK) {
            continue; /* it leads nowhere */
        }
        PageLinkText text;
        PageLink link = {
            .url = url->href, .length = url->length, .kind = ref->kind, .flags = ref->flags};
        if (tree->spans != NULL) {
            text = html_resolve_text_of(p, i);
            link.text = &text;
        }
        p->taker.take(p->taker.context, &link, tree->robots);
    }
    p->has_taken = p->has_taken || tree->n_refs > 0;
    p->without_base = p->without_base || (tree->n_refs > 0 && !tree->has_base);
    tree->n_refs = 0;
    tree->open_anchor = SIZE_MAX;
    tree->body_first_ref = 0;
    link_text_forget(&tree->words);
    return rc == RESULT_MEMORY ? rc : RESULT_OK;
}

static void take_batch(void *context)
{
    HtmlParser *p = context;
    HtmlTree *tree = &p->tree;
    bool may_vanish = tree->wants_text && tree->mode == HTML_MODE_BODY;
    if (may_vanish && tree->n_refs < PATIENCE * BATCH &&
        p->arena.used_bytes < p->arena.limit_bytes / 2) {
        return;
    }
    if (may_vanish) {
        tree->wants_text = false; /* no frameset takes the place of links that were taken */
    }
    if (html_resolve_has_late_base(p)) {
        tree->n_refs = 0; /* this reading is of no use */
    }
    if (html_resolve_hand_on(p) != RESULT_OK || empty_arena(p) != RESULT_OK) {
        tree->failed = true;
    }
}

void html_resolve_begin(HtmlParser *p, const HtmlLinkTaker *taker)
{
    HtmlTree *tree = &p->tree;
    p->taker = *taker;
    p->base = NULL;
    p->has_taken = false;
    p->without_base = false;
    p->has_late_base = false;
    bool takes = taker->take != NULL;
    tree->take = take_batch;
    tree->take_context = p;
    tree->refs_batch = takes ? BATCH : SIZE_MAX;
    tree->arena_batch = takes ? p->arena.limit_bytes / 4 : SIZE_MAX;
    tree->words_batch = takes ? WORDS_BATCH : SIZE_MAX;
    if (takes) {
        tree->refs_limit = PATIENCE * BATCH + ELEMENT;
    }
}

void html_resolve_encoding(HtmlParser *p, const char *encoding)
{
    p->query_encoding = strcmp(encoding, "UTF-8") == 0 ? NULL : encoding;
}

bool html_resolve_has_late_base(HtmlParser *p)
{
    return p->without_base && p->tree.has_base && !p->has_late_base;
}

void html_resolve_late_base(HtmlParser *p)
{
    if (p->has_late_base) {
        p->tree.has_base = true;
        p->tree.base_in_body = false;
        p->tree.base =
            (HtmlSlice){.bytes = buffer_string(&p->late_base), .length = p->late_base.length};
    }
}

void html_resolve_restart(HtmlParser *p)
{
    if (html_resolve_has_late_base(p)) {
        buffer_reset(&p->late_base);
        p->has_late_base =
            buffer_append(&p->late_base, p->tree.base.bytes, p->tree.base.length) == RESULT_OK;
    }
    if (p->has_taken) {
        p->taker.restart(p->taker.context);
    }
    p->has_taken = false;
    p->without_base = false;
    arena_reset(&p->arena);
}

Result html_resolve_rest(HtmlParser *p, Page *page)
{
    if (p->taker.take == NULL) {
        return html_resolve_collect(p, page);
    }
    page->n_links_dropped = p->tree.n_dropped;
    return html_resolve_hand_on(p);
}
