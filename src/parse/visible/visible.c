#include "parse/visible/visible.h"

#include <stdlib.h>
#include <string.h>

#include "parse/charset/charset.h"
#include "parse/charset/charset_span.h"
#include "parse/html/html_words.h"
#include "parse/html/html_xml.h"
#include "parse/text/entities.h"
#include "parse/url/url.h"
#include "parse/visible/visible_main.h"
#include "parse/visible/visible_markdown.h"
#include "parse/visible/visible_tree.h"

/* What a page says about itself: title, description, canonical URL, base, language, encoding.
 *
 * What: the first of each that the document has outside of templates. References are as they stand
 * in the document, with character references decoded; nothing is resolved here.
 * Owns: texts in an arena that the caller resets.
 * Threads: belongs to one thread.
 * Errors: without memory a fact is missing, and failed is set.
 * Source: html.spec.whatwg.org 4.2; RFC 6596 (canonical). */

#define VISIBLE_FACT_BYTES ((size_t)4096) /* of a title or a description; what is longer is cut */

typedef struct VisibleFacts {
    Arena *arena;              /* borrowed */
    const char *title;         /* white space collapsed; NULL: none, as below */
    const char *description;   /* <meta name=description>, else the one for Open Graph */
    const char *canonical;     /* <link rel=canonical> */
    const char *base;          /* the href of the first <base> that has one */
    const char *language;      /* lang of <html> */
    const char *meta_encoding; /* what the first meta that names a known encoding says */
    bool has_title;
    bool has_description; /* the one that is no Open Graph's */
    bool failed;
} VisibleFacts;

static void visible_facts_tag(VisibleFacts *facts, const HtmlTag *tag);
static void visible_link_sheet(struct VisibleReader *r, const HtmlTag *tag);
static void visible_add_sheet(struct VisibleReader *r, const HtmlTag *tag, const char *from,
                              const char *to);
static void visible_facts_title(VisibleFacts *facts, const char *text, size_t length);

/* A page's markup, read once: tags and text go to the tree, what it says of itself to the facts.
 *
 * What: the tokenizer of HTML text (13.2.5 of the standard), with the same view of tags, comments
 * and raw text as parse/html/html_parser.h. In: UTF-8 without NUL, of any content: nothing here
 * fails.
 * Threads: belongs to one thread. Takes time linear in the length of the text. */

typedef struct Markup {
    VisibleTree *tree;
    VisibleFacts *facts;
    struct VisibleReader *reader;
    bool skips_feed; /* a line feed that comes next is none: it stands right behind <pre> */
} Markup;

static uint32_t visible_markup_wanted_attributes(void *context, HtmlTagId id)
{
    (void)context;
    return html_tag_traits[id].attributes | VISIBLE_ATTRIBUTES;
}

static HtmlTextMode visible_markup_read_start(void *context, const HtmlTag *tag)
{
    Markup *m = context;
    if ((tag->id == HTML_META || tag->id == HTML_LINK || tag->id == HTML_BASE ||
         tag->id == HTML_HTML) &&
        visible_tree_in_document(m->tree)) {
        visible_facts_tag(m->facts, tag);
        if (tag->id == HTML_LINK) {
            visible_link_sheet(m->reader, tag);
        }
    }
    m->skips_feed = tag->id == HTML_PRE || tag->id == HTML_LISTING;
    return visible_tree_start_tag(m->tree, tag);
}

static void visible_markup_read_end(void *context, HtmlTagId id, uint64_t key)
{
    Markup *m = context;
    m->skips_feed = false;
    visible_tree_end_tag(m->tree, id, key);
}

static void visible_markup_read_text(void *context, const char *from, const char *to, bool decode)
{
    Markup *m = context;
    if (m->skips_feed) {
        from += from < to && *from == '\r' ? 1 : 0;
        from += from < to && *from == '\n' ? 1 : 0;
        m->skips_feed = false;
    }
    if (from < to) {
        visible_tree_text(m->tree, from, to, decode);
        if (m->tree->stack.data != NULL) {
            visible_data_text(m->tree->stack.data, from, to, decode);
        }
    }
}

static void visible_markup_read_raw(void *context, const HtmlTag *tag, HtmlTextMode mode,
                                    const char *from, const char *to, bool ended)
{
    Markup *m = context;
    (void)ended;
    if (m->tree->stack.data != NULL && visible_tree_in_document(m->tree)) {
        visible_data_raw(m->tree->stack.data, tag, mode, from, to);
    }
    if (tag->id == HTML_TITLE) {
        if (visible_tree_in_document(m->tree)) {
            visible_facts_title(m->facts, from, (size_t)(to - from));
        }
    } else if (tag->id == HTML_STYLE) {
        visible_add_sheet(m->reader, tag, from, to);
    } else {
        visible_tree_raw(m->tree, tag, from, to);
    }
}

static bool visible_markup_has_cdata(void *context)
{
    const Markup *m = context;
    return m->tree->is_xml || visible_tree_is_foreign(m->tree);
}

/* Reads a whole text; tree and facts have been begun. */
static void visible_markup_read(const char *text, size_t length, VisibleTree *tree,
                                VisibleFacts *facts, struct VisibleReader *r)
{
    static const SkimReader reader = {.wanted = visible_markup_wanted_attributes,
                                      .start = visible_markup_read_start,
                                      .end = visible_markup_read_end,
                                      .text = visible_markup_read_text,
                                      .raw = visible_markup_read_raw,
                                      .has_cdata = visible_markup_has_cdata};
    Markup m = {.tree = tree, .facts = facts, .reader = r};
    skim_tokens(text, length, &reader, &m);
    visible_tree_end(tree);
}

/* Forgets the page before. */
static void visible_facts_begin(VisibleFacts *facts, Arena *arena)
{
    memset(facts, 0, sizeof *facts);
    facts->arena = arena;
}

/* ---- values ---- */

/* A copy with character references decoded, white space at the ends removed and runs of it one
 * space; NULL: without memory. */
static const char *visible_facts_copy_text(VisibleFacts *facts, const char *bytes, size_t length,
                                           bool attribute)
{
    char raw[ENTITY_ROOM(2 * VISIBLE_FACT_BYTES)];
    char text[VISIBLE_FACT_BYTES];
    size_t n = length < 2 * VISIBLE_FACT_BYTES ? length : 2 * VISIBLE_FACT_BYTES;
    n = entity_decode(bytes, n, attribute, raw);
    size_t used = 0;
    for (size_t i = 0; i < n && used < sizeof text; i++) {
        if (!ascii_is_space(raw[i])) {
            text[used++] = raw[i];
        } else if (used > 0 && text[used - 1] != ' ') {
            text[used++] = ' ';
        }
    }
    used = charset_utf8_span(text, used); /* a character may have been cut */
    used -= used > 0 && text[used - 1] == ' ' ? 1 : 0;
    const char *copy = arena_copy(facts->arena, text, used);
    facts->failed |= copy == NULL;
    return copy;
}

static bool has_word(const HtmlTag *tag, HtmlAttributeId id, const char *word)
{
    if (!html_tag_has(tag, id)) {
        return false;
    }
    HtmlSlice value = tag->values[id];
    html_trim(&value);
    return html_is_word(&value, word);
}

static const char *copy_value(VisibleFacts *facts, const HtmlTag *tag, HtmlAttributeId id)
{
    return visible_facts_copy_text(facts, tag->values[id].bytes, tag->values[id].length, true);
}

/* ---- elements ---- */

static void visible_facts_read_meta(VisibleFacts *facts, const HtmlTag *tag)
{
    if (facts->meta_encoding == NULL) {
        facts->meta_encoding = charset_of_meta_tag(tag);
    }
    if (!html_tag_has(tag, HTML_ATTR_CONTENT)) {
        return;
    }
    if (!facts->has_description && has_word(tag, HTML_ATTR_NAME, "description")) {
        facts->description = copy_value(facts, tag, HTML_ATTR_CONTENT);
        facts->has_description = true;
    } else if (facts->description == NULL && has_word(tag, HTML_ATTR_PROPERTY, "og:description")) {
        facts->description = copy_value(facts, tag, HTML_ATTR_CONTENT);
    }
}

static void visible_facts_read_link(VisibleFacts *facts, const HtmlTag *tag)
{
    if (facts->canonical == NULL && html_tag_has(tag, HTML_ATTR_REL) &&
        html_tag_has(tag, HTML_ATTR_HREF) &&
        (html_rel_flags(&tag->values[HTML_ATTR_REL]) & LINK_CANONICAL) != 0) {
        facts->canonical = copy_value(facts, tag, HTML_ATTR_HREF);
    }
}

/* A start tag in the document. */
static void visible_facts_tag(VisibleFacts *facts, const HtmlTag *tag)
{
    switch ((int)tag->id) {
    case HTML_META:
        visible_facts_read_meta(facts, tag);
        break;
    case HTML_LINK:
        visible_facts_read_link(facts, tag);
        break;
    case HTML_BASE:
        if (facts->base == NULL && html_tag_has(tag, HTML_ATTR_HREF)) {
            facts->base = copy_value(facts, tag, HTML_ATTR_HREF);
        }
        break;
    case HTML_HTML: {
        HtmlAttributeId id =
            html_tag_has(tag, HTML_ATTR_LANG) ? HTML_ATTR_LANG : HTML_ATTR_XML_LANG;
        if (facts->language == NULL && html_tag_has(tag, id)) {
            facts->language = copy_value(facts, tag, id);
        }
        break;
    }
    default:
        break;
    }
}

/* The content of a title element. */
static void visible_facts_title(VisibleFacts *facts, const char *text, size_t length)
{
    if (!facts->has_title) {
        facts->title = visible_facts_copy_text(facts, text, length, false);
        facts->has_title = true;
    }
}

/* ---- What a reader sees of a page ---- */

#define DEFAULT_MEMORY_BYTES ((size_t)64 << 20)
#define ARENA_BLOCK_BYTES    ((size_t)16 << 10)
#define KEEP_BYTES           ((size_t)4 << 20) /* scratch memory kept from page to page */
#define MOST_BYTES           ((size_t)1 << 30) /* marks are numbers of 32 bits */

struct VisibleReader {
    VisibleOptions options;
    Arena arena;
    Buffer decoded; /* the markup when the body is not clean UTF-8 */
    VisibleLines lines;
    VisibleMarks marks;
    VisibleTree tree;
    VisibleFacts facts;
    VisibleMain main;
    VisibleStyles styles;
    VisibleData data;
    VisibleInput input; /* of the page that was read last */
    Url document;
    Url base;
    Url link; /* scratch */
};

Result visible_reader_new(VisibleReader **reader, const VisibleOptions *options)
{
    VisibleReader *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return RESULT_MEMORY;
    }
    r->options = *options;
    size_t memory = options->memory_bytes == 0 ? DEFAULT_MEMORY_BYTES : options->memory_bytes;
    r->options.memory_bytes = memory < MOST_BYTES ? memory : MOST_BYTES;
    arena_init(&r->arena, ARENA_BLOCK_BYTES, r->options.memory_bytes);
    buffer_init(&r->decoded, r->options.memory_bytes);
    visible_lines_init(&r->lines);
    visible_marks_init(&r->marks);
    visible_main_init(&r->main);
    visible_styles_init(&r->styles);
    visible_data_init(&r->data, options->data_bytes);
    r->styles.load = options->load;
    r->styles.context = options->load_context;
    r->marks.wants_edges = options->markdown;
    r->marks.wants_blocks = options->main_text;
    url_init(&r->document);
    url_init(&r->base);
    url_init(&r->link);
    *reader = r;
    return RESULT_OK;
}

void visible_reader_delete(VisibleReader *reader)
{
    if (reader == NULL) {
        return;
    }
    visible_lines_destroy(&reader->lines);
    visible_marks_destroy(&reader->marks);
    visible_main_destroy(&reader->main);
    visible_styles_destroy(&reader->styles);
    visible_data_destroy(&reader->data);
    buffer_destroy(&reader->decoded);
    url_destroy(&reader->document);
    url_destroy(&reader->base);
    url_destroy(&reader->link);
    arena_destroy(&reader->arena);
    free(reader);
}

/* ---- one page ---- */

/* Reads the markup in this encoding. */
static Result read_as(VisibleReader *r, const VisibleInput *input, const char *encoding,
                      bool is_xml)
{
    const char *text = NULL;
    size_t length = 0;
    size_t most = r->options.memory_bytes;
    Result rc = charset_text(encoding, input->body, input->length < most ? input->length : most,
                             &r->decoded, &text, &length);
    if (rc == RESULT_OK && input->length > most) {
        rc = RESULT_LIMIT;
    }
    arena_reset(&r->arena);
    visible_facts_begin(&r->facts, &r->arena);
    visible_marks_begin(&r->marks);
    Result begun = visible_lines_begin(&r->lines, text + length, length);
    if (begun != RESULT_OK) {
        return begun;
    }
    visible_styles_begin(&r->styles, text + length, length);
    r->input = *input;
    VisibleData *data = r->options.data_bytes == 0 ? NULL : &r->data;
    visible_data_begin(&r->data, text + length);
    visible_tree_begin(&r->tree, &r->lines, &r->marks, &r->styles, data, is_xml);
    visible_markup_read(text, length, &r->tree, &r->facts, r);
    return rc;
}

/* What references of the page are relative to; NULL: it is not known. */
static const Url *visible_base(VisibleReader *r)
{
    const VisibleInput *input = &r->input;
    const Url *base = NULL;
    if (input->url != NULL &&
        url_parse(&r->document, NULL, input->url, input->url_length) == RESULT_OK) {
        base = &r->document;
    }
    if (r->facts.base != NULL &&
        url_parse(&r->base, base, r->facts.base, strlen(r->facts.base)) == RESULT_OK) {
        base = &r->base;
    }
    return base;
}

static void visible_add_sheet(VisibleReader *r, const HtmlTag *tag, const char *from,
                              const char *to)
{
    if (r->options.styles && visible_tree_in_document(&r->tree)) {
        HtmlSlice text = {.bytes = from, .length = (size_t)(to - from)};
        const Url *base = visible_base(r);
        HtmlSlice url = {.bytes = base == NULL ? "" : base->href,
                         .length = base == NULL ? 0 : base->length};
        HtmlSlice media;
        (void)skim_value(tag->attributes, r->styles.end, "media", &media);
        visible_styles_add(&r->styles, text, url, media);
    }
}

/* <link rel=stylesheet>, unless it is one of several among which a reader may choose. */
static void visible_link_sheet(VisibleReader *r, const HtmlTag *tag)
{
    if (!r->options.styles || r->styles.load == NULL || !html_tag_has(tag, HTML_ATTR_REL) ||
        !html_tag_has(tag, HTML_ATTR_HREF) ||
        !html_lists(tag->values[HTML_ATTR_REL], "stylesheet") ||
        html_lists(tag->values[HTML_ATTR_REL], "alternate")) {
        return;
    }
    const char *href = copy_value(&r->facts, tag, HTML_ATTR_HREF);
    const Url *base = visible_base(r);
    if (href != NULL && url_parse(&r->link, base, href, strlen(href)) == RESULT_OK) {
        HtmlSlice url = {.bytes = r->link.href, .length = r->link.length};
        HtmlSlice media;
        (void)skim_value(tag->attributes, r->styles.end, "media", &media);
        visible_styles_link(&r->styles, url, media);
    }
}

/* The canonical URL, against the base and the document. NULL: none, or none of http. */
static const char *resolve_canonical(VisibleReader *r, const char *encoding)
{
    const char *reference = r->facts.canonical;
    if (reference == NULL || *reference == '\0') {
        return NULL;
    }
    const Url *base = visible_base(r);
    const char *query = strcmp(encoding, "UTF-8") == 0 ? NULL : encoding;
    if (url_parse_in_document(&r->link, base, reference, strlen(reference), query) != RESULT_OK) {
        return NULL;
    }
    return arena_copy(&r->arena, r->link.href, r->link.length);
}

Result visible_read(VisibleReader *reader, const VisibleInput *input, VisiblePage *page)
{
    VisibleReader *r = reader;
    memset(page, 0, sizeof *page);
    page->encoding = "UTF-8";
    page->text = "";
    buffer_trim(&r->decoded, KEEP_BYTES);
    visible_lines_trim(&r->lines, KEEP_BYTES);
    visible_main_begin(&r->main, KEEP_BYTES);
    r->marks.n_headings = 0;
    /* As a browser: a meta behind the prescan's reach makes it begin again. */
    bool is_xml = html_xml_is_type(input->content_type);
    CharsetSource source = CHARSET_FROM_FALLBACK;
    page->encoding =
        charset_sniff_page(input->body, input->length, input->content_type, is_xml, &source);
    Result rc = read_as(r, input, page->encoding, is_xml);
    const char *late = r->facts.meta_encoding;
    if (rc == RESULT_OK && source == CHARSET_FROM_FALLBACK && late != NULL &&
        strcmp(late, page->encoding) != 0) {
        page->encoding = late;
        if (charset_ascii_span(input->body, input->length) < input->length) {
            rc = read_as(r, input, late, is_xml);
        }
    }
    if (rc == RESULT_MEMORY && r->lines.out == NULL) {
        return rc;
    }
    page->text = r->lines.out;
    page->length = r->lines.length;
    page->title = r->facts.title;
    page->description = r->facts.description;
    page->language = r->facts.language;
    page->canonical = resolve_canonical(r, page->encoding);
    page->n_headings = r->marks.n_headings;
    page->styles_cut = r->styles.is_over;
    if (r->options.data_bytes > 0) {
        visible_data_end(&r->data);
        page->data_cut = r->data.is_cut;
        for (size_t i = 0; i < VISIBLE_DATA_KINDS; i++) {
            const Buffer *list = &r->data.lists[i];
            page->data[i] = (HtmlSlice){.bytes = list->data, .length = list->length};
        }
    }
    if (r->options.main_text) {
        Result found = visible_main_find(&r->main, page->text, &r->marks);
        page->main_text = buffer_string(&r->main.text);
        page->main_length = r->main.text.length;
        rc = result_first(rc, found);
    }
    return rc == RESULT_OK &&
                   (r->facts.failed || r->marks.failed || r->styles.failed || r->data.failed)
               ? RESULT_MEMORY
               : rc;
}

VisibleHeading visible_heading(const VisibleReader *reader, size_t i)
{
    uint32_t start = reader->marks.headings[i].start;
    uint32_t end = reader->marks.headings[i].end;
    visible_marks_trim(reader->lines.out, &start, &end);
    return (VisibleHeading){.text = reader->lines.out + start,
                            .length = end - start,
                            .level = reader->marks.headings[i].value};
}

/* VisibleMarkdown.keeps: the main text is some of the blocks. */
static bool visible_keeps(const void *context, size_t at, size_t *until)
{
    const VisibleReader *r = context;
    size_t first = 0;
    size_t end = r->marks.n_blocks;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (r->marks.blocks[middle].end > at) {
            end = middle;
        } else {
            first = middle + 1;
        }
    }
    if (first == r->marks.n_blocks) {
        return false;
    }
    *until = r->marks.blocks[first].end;
    return r->main.facts[first].keep;
}

/* VisibleMarkdown.resolve. */
static bool visible_resolve(void *context, HtmlSlice reference, Buffer *out)
{
    VisibleReader *r = context;
    const char *value = visible_facts_copy_text(&r->facts, reference.bytes, reference.length, true);
    if (value == NULL || url_parse(&r->link, visible_base(r), value, strlen(value)) != RESULT_OK) {
        return false;
    }
    for (size_t i = 0; i < r->link.length; i++) {
        char c = r->link.href[i];
        if (c == '(' || c == ')') {
            (void)buffer_append_char(out, '\\');
        }
        (void)buffer_append_char(out, c);
    }
    return true;
}

Result visible_page_markdown(VisibleReader *reader, Buffer *out)
{
    VisibleMarkdown page = {.text = reader->lines.out,
                            .length = reader->lines.length,
                            .marks = &reader->marks,
                            .end = reader->styles.end,
                            .keeps = reader->options.main_text ? visible_keeps : NULL,
                            .resolve = visible_resolve,
                            .context = reader};
    return visible_markdown_write(&page, out);
}
