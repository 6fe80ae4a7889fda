/* Style in a page: what style elements and style attributes refer to, as links of the page.
 *
 * What: nothing unless HtmlOptions.styles is set. A style element within SVG is text to the
 * tokenizers, and is left out.
 * Threads: one. */
#ifndef PARSE_HTML_HTML_CSS_H
#define PARSE_HTML_HTML_CSS_H

#include "parse/html/html_tree.h"

/* A style sheet, whose bytes live as long as the page. References are handed on when there are
 * many (html_tree_tell). */
void html_css_sheet(HtmlTree *tree, const char *text, size_t length);
/* The text of a style element of the page; is_transient: its bytes die with the call. */
void html_css_element(HtmlTree *tree, const char *text, size_t length, bool is_transient);
/* The style attribute of an element, if it has one. */
void html_css_attribute(HtmlTree *tree, const HtmlTag *tag);

#endif
