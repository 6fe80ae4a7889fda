/* Parsing sitemaps: entries of sitemaps and feeds become links of the page.
 *
 * What: a page may be a sitemap when it was found as one (hop S), or a redirect led to it. With
 * scope.sitemaps any answer may be one that is XML by its type, or is called HTML and begins as a
 * feed does (WHATWG MIME sniffing): pages link to their feeds. Sitemaps below the allowed depth are
 * refused.
 * Threads: the parser's. */
#ifndef PAGE_PARSING_SITEMAP_H
#define PAGE_PARSING_SITEMAP_H

#include "page/parser.h"

/* Adds the Sitemap lines of a robots.txt as links. */
void parsing_sitemap_robots(Parser *parser, ParsedPage *page);
/* Whether this page may be a sitemap or a feed. */
bool parsing_sitemap_expected(const Parser *parser, const ParsedPage *page,
                              const HttpContentType *type);
/* Adds the entries of a sitemap or feed as links. False when the page is neither. */
bool parsing_sitemap_read(Parser *parser, const ParsedPage *page);

#endif
