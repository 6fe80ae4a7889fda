/* Which elements are open: the tree construction of HTML, as far as it decides where blocks begin
 * and end and whether text is seen.
 *
 * What: a tokenizer tells start tags, end tags and text in document order; elements go to the stack
 * (parse/visible/visible_stack.h), text to the lines. There is no tree of what has been closed.
 *
 * As in a browser that runs scripts, noscript is not seen; as in one whose scripts have not begun,
 * nothing has been added. <html> and <body> are always seen: pages hide them only until a script
 * has run.
 *
 * Owns: nothing.
 * Threads: belongs to one thread. Departures from the tree construction, all in markup that is no
 * valid HTML: text and elements that stand in a table but in none of its cells stay where they are
 * (browsers put them before the table); a formatting element that a block closes is not opened
 * again behind the block; there is no quirks mode, so a table ends a paragraph.
 * Source: html.spec.whatwg.org 13.2.6. */
#pragma once

#include "parse/visible/visible_stack.h"

/* The attributes that matter on every element, for the tokenizer. */
#define VISIBLE_ATTRIBUTES                                                                         \
    (1u << HTML_ATTR_HIDDEN | 1u << HTML_ATTR_STYLE | 1u << HTML_ATTR_OPEN |                       \
     1u << HTML_ATTR_ROLE | 1u << HTML_ATTR_POPOVER | 1u << HTML_ATTR_LANG |                       \
     1u << HTML_ATTR_XML_LANG | 1u << HTML_ATTR_PROPERTY | 1u << HTML_ATTR_CLASS |                 \
     1u << HTML_ATTR_ID)

typedef struct VisibleTree {
    bool is_xml;      /* "/>" ends an element */
    bool body_begun;  /* a frameset comes too late */
    bool is_frameset; /* the page has no body: nothing is seen */
    VisibleStack stack;
} VisibleTree;

/* Begins a page; lines, marks, styles and data have been begun. data may be NULL. */
void visible_tree_begin(VisibleTree *tree, VisibleLines *lines, VisibleMarks *marks,
                        VisibleStyles *styles, VisibleData *data, bool is_xml);

/* Returns how the tokenizer reads on. */
HtmlTextMode visible_tree_start_tag(VisibleTree *tree, const HtmlTag *tag);
void visible_tree_end_tag(VisibleTree *tree, HtmlTagId id, uint64_t key);
/* Text of the document between p and end; decode: with its character references. */
void visible_tree_text(VisibleTree *tree, const char *p, const char *end, bool decode);
/* The content of an element that holds no markup, after its start tag: it is seen of <xmp> and
 * <plaintext>. */
void visible_tree_raw(VisibleTree *tree, const HtmlTag *tag, const char *p, const char *end);
/* The page ends: what is open is closed. */
void visible_tree_end(VisibleTree *tree);

/* Whether <![CDATA[ begins a CDATA section here. */
bool visible_tree_is_foreign(const VisibleTree *tree);
/* Whether the elements here belong to the document and not to a template. */
bool visible_tree_in_document(const VisibleTree *tree);
