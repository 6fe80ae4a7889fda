/* HTML, the document as a tree: its types.
 *
 * What: the types that its parts share; html_tree.h has the functions.
 * Owns: what each comment says.
 * Threads: as html_tree.h says. */
#pragma once

#include "base/memory/arena.h"
#include "parse/css/css.h"
#include "parse/html/html_types.h"
#include "parse/text/language_tag.h"
#include "parse/text/link_text.h"
#include "parse/text/skim_token.h"

#define HTML_TREE_DEPTH  512 /* deeper foreign content is counted, not remembered */
#define HTML_TITLE_BYTES ((size_t)512)

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
    size_t spans_capacity;
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
    int64_t ends_s;            /* Page.ends_s */
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

/* How a tokenizer reads on behind the start tag of an HTML element, where scripts are not run. */
static inline HtmlTextMode html_text_mode_of(HtmlTagId id)
{
    switch ((int)id) {
    case HTML_TITLE:
    case HTML_TEXTAREA:
        return HTML_TEXT_RCDATA;
    case HTML_STYLE:
    case HTML_XMP:
    case HTML_IFRAME:
    case HTML_NOEMBED:
    case HTML_NOFRAMES:
        return HTML_TEXT_RAWTEXT;
    case HTML_SCRIPT:
        return HTML_TEXT_SCRIPT;
    case HTML_PLAINTEXT:
        return HTML_TEXT_PLAINTEXT;
    default:
        return HTML_TEXT_DATA;
    }
}

/* Whether <![CDATA[ begins a CDATA section here. */
static inline bool html_tree_is_foreign(const HtmlTree *tree)
{
    return tree->depth > 0 && tree->stack[tree->depth - 1].space != HTML_SPACE_HTML;
}

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
