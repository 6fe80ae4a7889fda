/* The XML reader of sitemaps and feeds: tags and text become entries.
 *
 * What: urlset, sitemapindex, RSS and Atom, told by the root element. The tokens are those of the
 * skimmer (skim_stream.h), which no damage stops; an end tag ends the innermost element, whatever
 * its name, and what follows the end of the root is nothing. Of references the five of XML and
 * numbers are known; others are neither declared nor loaded nor expanded, and the address that one
 * stands in is refused. A lone "&" is one.
 *
 * sitemap.c feeds bytes to this reader, or to that of lines; both append text to the fields of an
 * entry. When the entry is complete its address is checked, its hints are understood, and the sink
 * gets it.
 * Owns: a SitemapParser owns everything but the sink's context and the report.
 * Threads: the one that the parser belongs to.
 * Errors: in SitemapParser.result; what is wrong with an entry is counted in the report. */
#pragma once

#include "parse/charset/charset_stream.h"
#include "parse/html/skim_stream.h"
#include "parse/http/decode.h"
#include "parse/sitemap/sitemap_types.h"

/* What the text between two tags is collected for. */
typedef enum SitemapField {
    FIELD_NONE,
    FIELD_LOC,
    FIELD_LASTMOD,
    FIELD_FREQUENCY,
    FIELD_PRIORITY,
    FIELD_GUID /* RSS: an address when there is no link */
} SitemapField;

/* Elements of a feed that may have an xml:base. */
enum { SITEMAP_BASE_FEED, SITEMAP_BASE_ENTRY, SITEMAP_BASE_LINK, SITEMAP_BASES };

#define SITEMAP_OPEN_NAMES                                                                         \
    16u /* of elements within each other, which the end tags should repeat                         \
         */

struct SitemapParser {
    SitemapOptions options;
    Decoder *decoder;
    CharsetStream characters;
    SkimStream markup;
    Url base;
    Url bases[SITEMAP_BASES];        /* of a feed, its entry, and the entry's link: xml:base */
    const Url *based[SITEMAP_BASES]; /* what they are in force; the last is the link's */
    Url url;

    /* Where the reader of XML is. */
    uint64_t open[SITEMAP_OPEN_NAMES]; /* keys of the outermost open elements */
    unsigned depth;                    /* of open elements */
    unsigned entry_depth; /* of the url, sitemap, item or entry element; 0: none is open */
    unsigned field_depth; /* of the element whose text is collected */
    SitemapField field;   /* the open one */
    Buffer prefix;        /* of the open entry: extensions use others */
    bool has_link;        /* of this entry: the first one counts */
    bool is_finishing;    /* the file is over */
    bool is_half_tag;     /* and ended with "<" or "</" */

    Buffer fields[FIELD_GUID + 1]; /* of the entry being collected; [FIELD_NONE] is scratch */
    bool is_overlong[FIELD_GUID + 1];
    bool is_refused;       /* the entry's address used an entity or was damaged */
    bool is_last_line_cut; /* the file was cut */
    bool has_encoding;     /* characters has begun */
    bool has_kind;         /* text or XML */
    bool is_xml;
    bool is_stopped; /* by the sink, a limit, or the end of the root: eat no more */
    Result result;
    SitemapSink sink;
    void *context;
    SitemapReport *report;
};

/* Whether a file that begins with these bytes ('<' first) may be one of those: false when its root
 * element is another, as that of a page of HTML is. True when they do not tell. */
bool sitemap_xml_may_be(const char *bytes, size_t length);
/* What parser->markup tells its tokens to: the parser is the context. */
const SkimReader *sitemap_xml_reader(void);
/* One XML file: begin, text for parser->markup, end. */
void sitemap_xml_begin(SitemapParser *parser);
void sitemap_xml_end(SitemapParser *parser);

/* Forgets the entry being collected. */
void sitemap_entry_reset(SitemapParser *parser);
/* Appends to a field, noting when it gets too long. */
void sitemap_field_append(SitemapParser *parser, SitemapField field, const char *bytes,
                          size_t length);
/* The entry, a line of text, which may be no address at all, is complete. */
void sitemap_entry_end_line(SitemapParser *parser);
