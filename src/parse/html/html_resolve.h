/* From references to links: resolved against the base, and collected or handed on.
 *
 * What: without a taker all references of a page are resolved at its end, and links are collected
 * up to the limits of HtmlOptions. With a taker (HtmlLinkTaker) they are resolved in batches while
 * the page is read. A base element counts for the links before it as well: when it comes behind the
 * first batch, the page is read again with that base. Owns: nothing; its state is in HtmlParser.
 * Threads: the parser's. */
#ifndef PARSE_HTML_HTML_RESOLVE_H
#define PARSE_HTML_HTML_RESOLVE_H

#include "parse/html/html.h"

/* Before a page. */
void html_resolve_begin(HtmlParser *parser, const HtmlLinkTaker *taker);
/* The encoding of the page, in which queries are written. */
void html_resolve_encoding(HtmlParser *parser, const char *encoding);
/* Whether links were taken before the base was met. */
bool html_resolve_has_late_base(HtmlParser *parser);
/* After html_tree_begin: the base of the reading before, if it came late. */
void html_resolve_late_base(HtmlParser *parser);
/* Another reading of the same page begins: what was taken is void. */
void html_resolve_restart(HtmlParser *parser);
/* The page was read: the links that are left. RESULT_MEMORY. */
Result html_resolve_rest(HtmlParser *parser, Page *page);

#endif
