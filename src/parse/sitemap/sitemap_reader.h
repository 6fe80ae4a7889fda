/* The inside of parse/sitemap: one entry that is being collected, and the XML reader that fills it.
 *
 * sitemap.c feeds bytes to the reader (or reads lines itself) and gives complete entries to the
 * sink; sitemap_xml.c turns SAX events into entries. Not for other modules. */
#ifndef PARSE_SITEMAP_SITEMAP_READER_H
#define PARSE_SITEMAP_SITEMAP_READER_H

#include <libxml/parser.h>
#include <stdbool.h>

#include "base/memory/buffer.h"
#include "parse/http/decode.h"
#include "parse/sitemap/sitemap.h"
#include "parse/sitemap/sitemap_clean.h"
#include "parse/url/url.h"

/* What the text between two tags is collected for. */
typedef enum SitemapField {
    FIELD_NONE,
    FIELD_LOC,
    FIELD_LASTMOD,
    FIELD_FREQUENCY,
    FIELD_PRIORITY,
    FIELD_GUID /* RSS: an address when there is no link */
} SitemapField;

typedef struct SitemapXml {
    xmlParserCtxtPtr context; /* of this file */
    int depth;                /* of open elements */
    int entry_depth;          /* of the url, sitemap, item or entry element; 0: none is open */
    int field_depth;          /* of the element whose text is collected */
    SitemapField field;
    Buffer prefix;     /* of the open entry: extensions use others */
    bool has_link;     /* of this entry: the first one counts */
    bool is_finishing; /* libxml2 complains about the end of a cut file: not the text's fault */
    bool is_halted;    /* libxml2 gave up: more bytes are useless */
    unsigned n_errors;
    char tail[32]; /* the last bytes that were fed */
    size_t tail_length;
} SitemapXml;

struct SitemapParser {
    SitemapOptions options;
    Decoder *decoder;
    SitemapCleaner cleaner;
    SitemapXml xml;
    Url base;
    Url url;
    Buffer fields[FIELD_GUID +
                  1]; /* of the entry being collected; [FIELD_NONE] holds a line of text */
    bool is_overlong[FIELD_GUID + 1];
    bool is_refused;       /* the entry's address used an entity or was damaged */
    bool is_last_line_cut; /* the file was cut */
    bool has_kind;         /* text or XML */
    bool is_stopped;       /* by the sink or a limit: eat no more */
    Result result;
    SitemapSink sink;
    void *context;
    SitemapReport *report;
};

/* Forgets the entry being collected. */
void sitemap_entry_reset(SitemapParser *parser);
/* Appends to a field, noting when it gets too long. */
void sitemap_field_append(SitemapParser *parser, SitemapField field, const char *bytes,
                          size_t length);
/* Checks the entry, gives it to the sink, forgets it. */
void sitemap_entry_emit(SitemapParser *parser);

/* One XML file: begin, any number of chunks, end. RESULT_MEMORY. */
Result sitemap_xml_begin(SitemapParser *parser);
void sitemap_xml_push(SitemapParser *parser, const char *bytes, size_t length);
void sitemap_xml_end(SitemapParser *parser);

#endif
