#include "parse/visible/visible.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/buffer.h"
#include "parse/charset/charset.h"
#include "parse/charset/charset_span.h"
#include "parse/html/html_words.h"
#include "parse/html/html_xml.h"
#include "parse/text/skim_token.h"
#include "parse/text/entities.h"
#include "parse/url/url.h"
#include "parse/visible/visible_lines.h"
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

/* The main text of a page: without navigation, header, footer and sidebars.
 *
 * What: the method is Kohlschuetter's, "Boilerplate Detection using Shallow Text Features"
 * (Kohlschuetter, Fankhauser, Nejdl, WSDM 2010): the rules over word counts and link densities of a
 * block and its two neighbours (figure 4 there, the NumWords/LinkDensity classifier) say which
 * blocks are surely content. Documents have short blocks that are content as well: headings, cells,
 * lines of code. So, as in the methods that look for the densest part of the tree (Sun, Song, Liao,
 * "DOM Based Content Extraction via Text Density", SIGIR 2011), the innermost element that holds
 * nearly all of the sure content is the main part; what is in it is main text, but for its own
 * elements of navigation: those that say so (<nav>, <aside>, role), and those that are links for
 * the most part and hold no sure content.
 *
 * A page that says what its main part is (<main>, role="main") is believed when that part has text.
 * A page without sure content (a list of links) has as main text all that is in no element of
 * navigation.
 *
 * How well it does: tests/interop/main_text.py, on ten kinds of Debian documentation.
 * Owns: nothing; scratch memory is the caller's.
 * Threads: pure. */

typedef struct VisibleMain {
    struct VisibleBlockFacts *facts; /* owned scratch, one for each block */
    size_t capacity;
    char *text; /* owned: the main text */
    size_t text_capacity;
    size_t length;
} VisibleMain;

static void visible_facts_tag(VisibleFacts *facts, const HtmlTag *tag);
static void visible_link_sheet(struct VisibleReader *r, const HtmlTag *tag);
static void visible_add_sheet(struct VisibleReader *r, const HtmlTag *tag, const char *from,
                              const char *to);
static void visible_facts_title(VisibleFacts *facts, const char *text, size_t length);

/* A page's markup, read once: tags and text go to the tree, what it says of itself to the facts.
 *
 * What: the tokenizer of HTML text (13.2.5 of the standard), with the same view of tags, comments
 * and raw text as parse/html/html_parser.h. In: UTF-8 without NUL, of any content: nothing here
 * fails. Threads: belongs to one thread. Takes time linear in the length of the text. */

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
    }
}

static void visible_markup_read_raw(void *context, const HtmlTag *tag, HtmlTextMode mode,
                                    const char *from, const char *to, bool ended)
{
    Markup *m = context;
    (void)mode;
    (void)ended;
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

#define SHARE_PERCENT  80u  /* of the sure content: what the main part holds at least */
#define LINKS_PERCENT  75u  /* of its text: more in links, and an element is navigation */
#define LEAST_WORDS    20u  /* of sure content; a page with less has none */
#define HEADLINE_LEVEL 2u   /* h1 and h2 may be one */
#define HEADLINE_WORDS 200u /* between the headline and the main part at most */
#define TRUSTED_WORDS  10u  /* of an element that says it is the main part */

/* What is counted of a block; the sums are over all blocks before it. */
typedef struct VisibleBlockFacts {
    uint32_t words;
    uint32_t bytes; /* without white space at its ends */
    uint32_t link_bytes;
    bool sure;  /* content by its features */
    bool aside; /* in an element of navigation */
    bool keep;
    uint64_t sure_before;
    uint64_t bytes_before;
    uint64_t links_before;
} Facts;

static void visible_main_init(VisibleMain *main)
{
    memset(main, 0, sizeof *main);
}

static void visible_main_destroy(VisibleMain *main)
{
    free(main->facts);
    free(main->text);
    visible_main_init(main);
}

/* Gives memory back beyond keep_bytes. */
static void visible_main_trim(VisibleMain *main, size_t keep_bytes)
{
    if (main->text_capacity > keep_bytes || main->capacity * sizeof(Facts) > keep_bytes) {
        visible_main_destroy(main);
    }
}

/* ---- words ---- */

static void visible_main_measure(Facts *facts, const char *text, const VisibleBlock *block)
{
    uint32_t start = block->start;
    uint32_t end = block->end;
    visible_marks_trim(text, &start, &end);
    facts->bytes = end - start;
    facts->link_bytes = block->link_bytes < facts->bytes ? block->link_bytes : facts->bytes;
    /* Words between blanks; where a script has none between words, two characters are one. */
    uint32_t words = 0;
    uint32_t halves = 0;
    bool inside = false;
    for (uint32_t i = start; i < end; i++) {
        unsigned char c = (unsigned char)text[i];
        bool blank = c <= ' ';
        words += !blank && !inside ? 1u : 0u;
        inside = !blank;
        halves += c >= 0xE3 && c <= 0xE9 ? 1u : 0u; /* Han, Kana */
    }
    facts->words = words + halves / 2;
}

/* ---- sure content ---- */

static double link_density(const Facts *facts)
{
    return facts->bytes == 0 ? 0 : (double)facts->link_bytes / (double)facts->bytes;
}

/* The rules of Kohlschuetter et al. over a block and its neighbours (NULL: none). */
static bool is_content(const Facts *before, const Facts *block, const Facts *after)
{
    uint32_t words_before = before == NULL ? 0 : before->words;
    uint32_t words_after = after == NULL ? 0 : after->words;
    if (link_density(block) > 0.333333) {
        return false;
    }
    if (before == NULL || link_density(before) <= 0.555556) {
        return block->words > 16 || words_after > 15 || words_before > 4;
    }
    return block->words > 40 || words_after > 17;
}

/* ---- areas ---- */

static bool visible_main_is_aside(const VisibleMarks *marks, uint32_t area)
{
    /* A header or footer of an article, or of the main part, is a part of it. */
    const VisibleArea *a = &marks->areas[area];
    if (a->role != VISIBLE_ROLE_ASIDE) {
        return false;
    }
    for (uint32_t up = a->parent; a->is_header && up != VISIBLE_NO_MARK;
         up = marks->areas[up].parent) {
        if (marks->areas[up].role == VISIBLE_ROLE_MAIN ||
            marks->areas[up].role == VISIBLE_ROLE_ARTICLE) {
            return false;
        }
    }
    return true;
}

static void mark_asides(VisibleMain *main, const VisibleMarks *marks)
{
    for (uint32_t i = 0; i < marks->n_areas; i++) {
        const VisibleArea *area = &marks->areas[i];
        if (area->role == VISIBLE_ROLE_ASIDE && visible_main_is_aside(marks, i)) {
            for (uint32_t b = area->first_block; b < area->end_block; b++) {
                main->facts[b].aside = true;
            }
        }
    }
}

/* Sums over the blocks from first up to end; facts has one more at its end. */
static uint64_t sure_words(const Facts *facts, uint32_t first, uint32_t end)
{
    return facts[end].sure_before - facts[first].sure_before;
}

static void add_up(VisibleMain *main, size_t n)
{
    uint64_t sure = 0;
    uint64_t bytes = 0;
    uint64_t links = 0;
    for (size_t i = 0; i <= n; i++) {
        Facts *facts = &main->facts[i];
        facts->sure_before = sure;
        facts->bytes_before = bytes;
        facts->links_before = links;
        if (i < n) {
            sure += facts->sure && !facts->aside ? facts->words : 0;
            bytes += facts->bytes;
            links += facts->link_bytes;
        }
    }
}

/* The main part as the page itself names it, if there is text in it. */
static bool visible_main_find_named(const VisibleMain *main, const VisibleMarks *marks,
                                    uint32_t *first, uint32_t *end)
{
    bool found = false;
    for (size_t i = 0; i < marks->n_areas && !found; i++) {
        const VisibleArea *area = &marks->areas[i];
        uint32_t words = 0;
        for (uint32_t b = area->first_block; area->role == VISIBLE_ROLE_MAIN && b < area->end_block;
             b++) {
            words += main->facts[b].words;
        }
        if (words >= TRUSTED_WORDS) {
            *first = area->first_block;
            *end = area->end_block;
            found = true;
        }
    }
    return found;
}

/* Whether an element may be the main part: one that holds others, not a paragraph or a list. */
static bool holds_others(unsigned id)
{
    switch ((int)id) {
    case HTML_DIV:
    case HTML_SECTION:
    case HTML_ARTICLE:
    case HTML_TD:
    case HTML_FORM:
    case HTML_CENTER:
    case HTML_FIELDSET:
        return true;
    default:
        return false;
    }
}

/* The innermost area with nearly all of the sure content. False: there is none, and all blocks are
 * taken. */
static bool find_densest(const VisibleMain *main, const VisibleMarks *marks, uint32_t *first,
                         uint32_t *end)
{
    uint32_t n = (uint32_t)marks->n_blocks;
    uint64_t all = sure_words(main->facts, 0, n);
    *first = 0;
    *end = n;
    /* Areas are in the order in which they begin: of those that hold enough, the last is innermost.
     */
    for (size_t i = 0; i < marks->n_areas && all >= LEAST_WORDS; i++) {
        const VisibleArea *area = &marks->areas[i];
        if (holds_others(area->id) &&
            sure_words(main->facts, area->first_block, area->end_block) * 100 >=
                all * SHARE_PERCENT) {
            *first = area->first_block;
            *end = area->end_block;
        }
    }
    return all >= LEAST_WORDS;
}

/* The headline often stands before the element of the text: the main part begins at the last
 * heading of the highest level that is there, if that is not far. */
static void add_headline(const VisibleMain *main, const VisibleMarks *marks, uint32_t *first)
{
    uint32_t best = VISIBLE_NO_MARK;
    unsigned level = HEADLINE_LEVEL + 1;
    uint32_t block = 0;
    for (size_t i = 0; i < marks->n_headings; i++) {
        while (block < *first && marks->blocks[block].end <= marks->headings[i].start) {
            block++;
        }
        if (block >= *first) {
            break;
        }
        if (marks->headings[i].value <= level && !main->facts[block].aside) {
            best = block;
            level = marks->headings[i].value;
        }
    }
    uint32_t words = 0;
    for (uint32_t b = best; b != VISIBLE_NO_MARK && b < *first; b++) {
        words += main->facts[b].words;
    }
    if (best != VISIBLE_NO_MARK && level <= HEADLINE_LEVEL && words <= HEADLINE_WORDS) {
        *first = best;
    }
}

/* Drops what is navigation within the main part: elements of links without sure content. */
static void drop_links(VisibleMain *main, const VisibleMarks *marks, uint32_t first, uint32_t end)
{
    const Facts *facts = main->facts;
    for (size_t i = 0; i < marks->n_areas; i++) {
        const VisibleArea *area = &marks->areas[i];
        uint32_t a = area->first_block;
        uint32_t b = area->end_block;
        if (a < first || b > end || (a == first && b == end) || a == b) {
            continue;
        }
        uint64_t bytes = facts[b].bytes_before - facts[a].bytes_before;
        uint64_t links = facts[b].links_before - facts[a].links_before;
        if (links * 100 > bytes * LINKS_PERCENT && sure_words(facts, a, b) == 0) {
            for (uint32_t k = a; k < b; k++) {
                main->facts[k].keep = false;
            }
        }
    }
}

/* ---- text ---- */

static void copy_kept(VisibleMain *main, const char *text, const VisibleMarks *marks)
{
    char *out = main->text;
    bool after_kept = false;
    for (size_t i = 0; i < marks->n_blocks; i++) {
        uint32_t start = marks->blocks[i].start;
        uint32_t end = marks->blocks[i].end;
        if (!main->facts[i].keep) {
            after_kept = false;
            continue;
        }
        if (!after_kept) {
            visible_marks_trim(text, &start, &end);
            end = marks->blocks[i].end;
            if (out > main->text && start < end) {
                *out++ = '\n';
            }
        }
        memcpy(out, text + start, end - start);
        out += end - start;
        after_kept = true;
    }
    main->length = (size_t)(out - main->text);
}

static Result visible_main_make_room(VisibleMain *main, size_t n_blocks, size_t text_bytes)
{
    if (n_blocks + 1 > main->capacity) {
        Facts *facts = reallocarray(main->facts, n_blocks + 1, sizeof *facts);
        if (facts == NULL) {
            return RESULT_MEMORY;
        }
        main->facts = facts;
        main->capacity = n_blocks + 1;
    }
    if (text_bytes > main->text_capacity) {
        free(main->text);
        main->text = malloc(text_bytes);
        main->text_capacity = main->text == NULL ? 0 : text_bytes;
        return main->text == NULL ? RESULT_MEMORY : RESULT_OK;
    }
    return RESULT_OK;
}

/* Finds the main text in a text whose blocks and areas are in marks. RESULT_MEMORY. */
static Result visible_main_find(VisibleMain *main, const char *text, const VisibleMarks *marks)
{
    size_t n = marks->n_blocks;
    main->length = 0;
    Result rc = visible_main_make_room(main, n, n == 0 ? 1 : (size_t)marks->blocks[n - 1].end + n);
    if (rc != RESULT_OK) {
        return rc;
    }
    memset(main->facts, 0, (n + 1) * sizeof *main->facts);
    for (size_t i = 0; i < n; i++) {
        visible_main_measure(&main->facts[i], text, &marks->blocks[i]);
    }
    for (size_t i = 0; i < n; i++) {
        main->facts[i].sure = is_content(i == 0 ? NULL : &main->facts[i - 1], &main->facts[i],
                                         i + 1 == n ? NULL : &main->facts[i + 1]);
    }
    mark_asides(main, marks);
    add_up(main, n);
    uint32_t first = 0;
    uint32_t end = 0;
    bool named = visible_main_find_named(main, marks, &first, &end);
    bool dense = !named && find_densest(main, marks, &first, &end);
    if (dense) {
        add_headline(main, marks, &first);
    }
    for (uint32_t i = first; i < end; i++) {
        main->facts[i].keep = !main->facts[i].aside;
    }
    if (dense) {
        drop_links(main, marks, first, end);
    }
    copy_kept(main, text, marks);
    return RESULT_OK;
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
    const VisibleInput *input; /* the page that is being read */
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
    r->styles.load = options->load;
    r->styles.context = options->load_context;
    r->marks.wants_links = options->links;
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
    visible_marks_begin(&r->marks, text);
    Result begun = visible_lines_begin(&r->lines, text + length, length);
    if (begun != RESULT_OK) {
        return begun;
    }
    visible_styles_begin(&r->styles, text + length, length);
    r->input = input;
    visible_tree_begin(&r->tree, &r->lines, &r->marks, &r->styles, is_xml);
    visible_markup_read(text, length, &r->tree, &r->facts, r);
    return rc;
}

/* What references of the page are relative to; NULL: it is not known. */
static const Url *visible_base(VisibleReader *r)
{
    const VisibleInput *input = r->input;
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

/* The value of an attribute that only few elements have; empty: it is not there. */
static HtmlSlice visible_value(const VisibleReader *r, const HtmlTag *tag, const char *name)
{
    HtmlSlice value = {.bytes = "", .length = 0};
    HtmlSlice wanted = {.bytes = name, .length = strlen(name)};
    if (tag->attributes != NULL &&
        !skim_find_attribute(tag->attributes, r->styles.end, wanted, &value)) {
        value = (HtmlSlice){.bytes = "", .length = 0};
    }
    return value;
}

/* Whether one of the words of a list is this one. */
static bool visible_lists(HtmlSlice list, const char *word)
{
    const char *end = list.bytes + list.length;
    for (const char *p = list.bytes; p < end;) {
        p = skip_class(p, end, SCAN_SPACE);
        const char *stop = find_class(p, end, SCAN_SPACE);
        if (ascii_is(p, (size_t)(stop - p), word)) {
            return true;
        }
        p = stop;
    }
    return false;
}

static void visible_add_sheet(VisibleReader *r, const HtmlTag *tag, const char *from,
                              const char *to)
{
    if (r->options.styles && visible_tree_in_document(&r->tree)) {
        HtmlSlice text = {.bytes = from, .length = (size_t)(to - from)};
        const Url *base = visible_base(r);
        HtmlSlice url = {.bytes = base == NULL ? "" : base->href,
                         .length = base == NULL ? 0 : base->length};
        visible_styles_add(&r->styles, text, url, visible_value(r, tag, "media"));
    }
}

/* <link rel=stylesheet>, unless it is one of several among which a reader may choose. */
static void visible_link_sheet(VisibleReader *r, const HtmlTag *tag)
{
    if (!r->options.styles || r->styles.load == NULL || !html_tag_has(tag, HTML_ATTR_REL) ||
        !html_tag_has(tag, HTML_ATTR_HREF) ||
        !visible_lists(tag->values[HTML_ATTR_REL], "stylesheet") ||
        visible_lists(tag->values[HTML_ATTR_REL], "alternate")) {
        return;
    }
    const char *href = copy_value(&r->facts, tag, HTML_ATTR_HREF);
    const Url *base = visible_base(r);
    if (href != NULL && url_parse(&r->link, base, href, strlen(href)) == RESULT_OK) {
        HtmlSlice url = {.bytes = r->link.href, .length = r->link.length};
        visible_styles_link(&r->styles, url, visible_value(r, tag, "media"));
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
    visible_main_trim(&r->main, KEEP_BYTES);
    r->marks.n_headings = 0;
    /* As a browser: a meta behind the prescan's reach makes it begin again. */
    bool is_xml = html_xml_is_type(input->content_type);
    CharsetSource source = CHARSET_FROM_FALLBACK;
    page->encoding = charset_sniff_source(input->body, input->length, input->content_type, &source);
    bool guessed = source == CHARSET_FROM_FALLBACK;
    if (is_xml && guessed) {
        page->encoding = "UTF-8";
    }
    Result rc = read_as(r, input, page->encoding, is_xml);
    const char *late = r->facts.meta_encoding;
    if (rc == RESULT_OK && guessed && !is_xml && late != NULL &&
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
    if (r->options.main_text) {
        Result found = visible_main_find(&r->main, page->text, &r->marks);
        page->main_text = found == RESULT_OK && r->main.text != NULL ? r->main.text : "";
        page->main_length = r->main.length;
        rc = rc == RESULT_OK ? found : rc;
    }
    return rc == RESULT_OK && (r->facts.failed || r->marks.failed || r->styles.failed)
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
