/* What a browser's tree builder would keep of a page: which tags are elements of the document,
 * which of them link, what the base is, the title, the language and the robots instructions.
 *
 * What: there is no tree. There is the little that decides whether a tag is dropped or means
 * something else: framesets, templates, forms within forms, and a stack of open elements while SVG
 * or MathML is open. Nothing here runs scripts: noscript is markup.
 *
 * A front end (skim.h, html_libxml2.c) calls html_tree_start_tag, html_tree_end_tag and, while
 * wants_text, html_tree_text in document order. html.c resolves refs[] afterwards against the base,
 * because a <base> counts for the links before it as well; of a page with very many it takes them
 * away in batches, and reads the page again should a <base> come late (html_tree_tell).
 *
 * Owns: its stacks; the bytes of references are borrowed.
 * Threads: one.
 * Invariants:
 * 1. refs[] is in document order; their bytes live in the page's text or in the arena.
 * 2. depth > 0 if and only if a template or foreign content is open; the stack then begins with a
 *    template or a foreign element.
 * Source: html.spec.whatwg.org 13.2.6. */
#ifndef PARSE_HTML_HTML_TREE_H
#define PARSE_HTML_HTML_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"
#include "base/memory/arena.h"
#include "parse/css/css.h"
#include "parse/html/html.h"
#include "parse/text/html_tags.h"
#include "parse/text/language_tag.h"
#include "parse/text/link_text.h"

#define HTML_TREE_DEPTH  512 /* deeper foreign content is counted, not remembered */
#define HTML_TITLE_BYTES ((size_t)512)

typedef struct HtmlSlice {
    const char *bytes;
    size_t length;
} HtmlSlice;

typedef struct HtmlTag {
    uint64_t key; /* html_name_key */
    HtmlTagId id;
    uint32_t present; /* bit set of HtmlAttributeId: which values hold something */
    bool self_closing;
    bool transient; /* the values die with the call: what is kept must be copied */
    HtmlSlice values[HTML_ATTRS];
} HtmlTag;

/* How a tokenizer reads on after a start tag. */
typedef enum HtmlTextMode {
    HTML_TEXT_DATA,
    HTML_TEXT_RCDATA,
    HTML_TEXT_RAWTEXT,
    HTML_TEXT_SCRIPT,
    HTML_TEXT_PLAINTEXT
} HtmlTextMode;

typedef struct HtmlRef {
    const char *bytes;
    uint32_t length;
    uint8_t kind;  /* LinkKind */
    uint8_t flags; /* LINK_NOFOLLOW ... */
} HtmlRef;

/* Where a reference stands in the words of the page. */
typedef struct HtmlSpan {
    uint32_t from;
    uint32_t to;
} HtmlSpan;

typedef enum HtmlSpace { HTML_SPACE_HTML, HTML_SPACE_SVG, HTML_SPACE_MATH } HtmlSpace;

typedef struct HtmlNode {
    uint64_t key;
    HtmlTagId id;
    uint8_t space;    /* HtmlSpace */
    bool html_within; /* an HTML integration point */
    bool text_within; /* a MathML text integration point */
} HtmlNode;

typedef enum HtmlMode {
    HTML_MODE_HEAD, /* no body yet */
    HTML_MODE_BODY,
    HTML_MODE_FRAMESET,
    HTML_MODE_AFTER_FRAMESET
} HtmlMode;

typedef struct HtmlTree {
    const HtmlOptions *options;
    Arena *arena;
    HtmlRef *refs;      /* owned, kept from page to page */
    HtmlSpan *spans;    /* of each; NULL without words */
    LinkText words;     /* options->link_text */
    size_t open_anchor; /* the reference whose text is being read; SIZE_MAX: none */
    size_t n_refs;
    size_t refs_capacity;
    size_t refs_limit;
    uint64_t n_dropped; /* references beyond refs_limit */
    /* References are taken away while the page is read, once there are refs_batch of them or the
     * arena holds arena_batch bytes. SIZE_MAX: all are left to the end. */
    void (*take)(void *context);
    void *take_context;
    size_t refs_batch;
    size_t arena_batch;
    size_t words_batch; /* bytes of words, the same */
    HtmlSlice base;     /* href of the first base element */
    bool has_base;
    bool base_in_body; /* it goes with the body when a frameset takes its place */
    const char *title;
    char language[LANGUAGE_TAG_BYTES]; /* of the first html element that says one, or "" */
    unsigned robots;
    const char *meta_encoding; /* what the first meta that names a known encoding says, or NULL */
    HtmlMode mode;
    bool wants_text; /* whether a frameset may still come: tell about text */
    bool form_open;
    bool failed; /* memory ran out: something is missing */
    unsigned framesets;
    size_t body_first_ref;
    size_t depth; /* of stack; see invariant 2 */
    size_t n_templates;
    size_t n_too_deep;          /* elements above HTML_TREE_DEPTH */
    uint32_t n_open[HTML_TAGS]; /* HTML elements that were begun and not ended, about */
    CssReader css;
    HtmlNode stack[HTML_TREE_DEPTH];
} HtmlTree;

void html_tree_init(HtmlTree *tree, const HtmlOptions *options, Arena *arena);
void html_tree_destroy(HtmlTree *tree);
/* After a change of options->link_text. */
void html_tree_set_link_text(HtmlTree *tree, size_t link_text);
/* Forgets the page before. */
void html_tree_begin(HtmlTree *tree);

/* tag is the caller's; its slices must live as long as the page unless tag->transient. */
HtmlTextMode html_tree_start_tag(HtmlTree *tree, const HtmlTag *tag);
void html_tree_end_tag(HtmlTree *tree, HtmlTagId id, uint64_t key);
/* Text outside of elements that hold raw text; only while wants_text. */
void html_tree_text(HtmlTree *tree, const char *text, size_t length);
/* Whether <![CDATA[ begins a CDATA section here. */
bool html_tree_is_foreign(const HtmlTree *tree);

/* For front ends, after each start tag: hands references on when there are many. */
static inline void html_tree_tell(HtmlTree *tree)
{
    bool is_many = tree->n_refs >= tree->refs_batch &&
                   (tree->open_anchor == SIZE_MAX || tree->n_refs >= 2 * tree->refs_batch);
    if (is_many || tree->arena->used_bytes >= tree->arena_batch ||
        tree->words.text.length >= tree->words_batch) {
        tree->take(tree->take_context);
    }
}

/* ---- what an element says (html_links.c) ---- */

/* The words of links, for front ends that call html_links_of_element themselves: before and after
 * a start tag (n_refs: as it was before), at an end tag, and text. Nothing happens without
 * options->link_text. */
void html_links_begin_tag(HtmlTree *tree, const HtmlTag *tag);
void html_links_begun_tag(HtmlTree *tree, const HtmlTag *tag, size_t n_refs);
void html_links_end_tag(HtmlTree *tree, HtmlTagId id);
void html_links_text(HtmlTree *tree, const char *text, size_t length, bool decode);

/* Links, base and robots of an HTML element that is in the document. */
void html_links_of_element(HtmlTree *tree, const HtmlTag *tag);
void html_links_of_svg(HtmlTree *tree, const HtmlTag *tag);
/* One reference more; its bytes live as long as the page. */
void html_links_add(HtmlTree *tree, HtmlSlice url, LinkKind kind, unsigned flags);
/* An attribute's value with its references decoded. False: it has none, or memory ran out. */
bool html_links_value(HtmlTree *tree, const HtmlTag *tag, HtmlAttributeId id, HtmlSlice *value);
/* The title's text, raw; the first one counts. */
void html_links_set_title(HtmlTree *tree, const char *text, size_t length);

static inline bool html_tag_has(const HtmlTag *tag, HtmlAttributeId id)
{
    return (tag->present >> id & 1) != 0;
}

/* Style in a page: what style elements and style attributes refer to, as links of the page.
 *
 * What: nothing unless HtmlOptions.styles is set. A style element within SVG is text to the
 * tokenizers, and is left out.
 * Threads: one. */

/* A style sheet, whose bytes live as long as the page. References are handed on when there are
 * many (html_tree_tell). */
void html_css_sheet(HtmlTree *tree, const char *text, size_t length);
/* The text of a style element of the page; is_transient: its bytes die with the call. */
void html_css_element(HtmlTree *tree, const char *text, size_t length, bool is_transient);
/* The style attribute of an element, if it has one. */
void html_css_attribute(HtmlTree *tree, const HtmlTag *tag);

#endif
