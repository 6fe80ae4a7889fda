/* What a browser's tree builder would keep of a page: which tags are elements of the document,
 * which of them link, what the base is, the title, the language and the robots instructions.
 *
 * What: there is no tree. There is the little that decides whether a tag is dropped or means
 * something else: framesets, templates, forms within forms, and a stack of open elements while SVG
 * or MathML is open. Nothing here runs scripts: noscript is markup.
 *
 * A front end (html_parser.h, html_parser.c) calls html_tree_start_tag, html_tree_end_tag and,
 * while wants_text, html_tree_text in document order. html.c resolves refs[] afterwards against the
 * base, because a <base> counts for the links before it as well; of a page with very many it takes
 * them away in batches, and reads the page again should a <base> come late (html_tree_tell).
 *
 * Owns: its stacks; the bytes of references are borrowed.
 * Threads: one.
 * Invariants:
 * 1. refs[] is in document order; their bytes live in the page's text or in the arena.
 * 2. depth > 0 if and only if a template or foreign content is open; the stack then begins with a
 *    template or a foreign element.
 * Source: html.spec.whatwg.org 13.2.6. */
#pragma once

#include "parse/html/html_tree_types.h"

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

/* Whether a start tag ends the foreign elements around it. */
bool html_tag_breaks_out(const HtmlTag *tag);
/* Whether HTML is HTML in this <annotation-xml>, by its encoding. */
bool html_tag_encodes_html(const HtmlTag *tag);

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
