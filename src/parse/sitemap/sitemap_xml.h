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

/* One entry of a sitemap or feed while its fields are collected, and what becomes of it.
 *
 * What: the readers (lines in sitemap.c, XML in sitemap_xml.c) append text to the fields. When the
 * entry is complete its address is checked, its hints are understood, and the sink gets it.
 * Owns: nothing; the entry is a part of the SitemapParser.
 * Threads: the one that the parser belongs to.
 * Errors: in SitemapParser.result; what is wrong with an entry is counted in the report. */

static inline bool sitemap_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Forgets the entry being collected. */
void sitemap_entry_reset(SitemapParser *parser);
/* Appends to a field, noting when it gets too long. */
void sitemap_field_append(SitemapParser *parser, SitemapField field, const char *bytes,
                          size_t length);
/* Checks the entry, gives it to the sink, forgets it. */
void sitemap_entry_emit(SitemapParser *parser);
/* The same for a line of text, which may be no address at all. */
void sitemap_entry_end_line(SitemapParser *parser);

#endif
