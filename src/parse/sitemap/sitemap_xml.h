/* The XML reader of sitemaps and feeds: SAX events become entries.
 *
 * What: urlset, sitemapindex, RSS and Atom, told by the root element. Entities are not resolved; an
 * address that uses one is refused. What libxml2 complains about is counted, and reading goes on
 * while it can.
 * Threads: the one that the parser belongs to.
 * Errors: RESULT_MEMORY from begin; later ones in SitemapParser.result. */
#ifndef PARSE_SITEMAP_SITEMAP_XML_H
#define PARSE_SITEMAP_SITEMAP_XML_H

#include "parse/sitemap/sitemap_reader.h"

/* Whether a file that begins with these bytes ('<' first) may be one of those: false when its root
 * element is another, as that of a page of HTML is. True when they do not tell. */
bool sitemap_xml_may_be(const char *bytes, size_t length);
/* One XML file: begin, any number of chunks, end. RESULT_MEMORY. */
Result sitemap_xml_begin(SitemapParser *parser);
void sitemap_xml_push(SitemapParser *parser, const char *bytes, size_t length);
void sitemap_xml_end(SitemapParser *parser);

#endif
