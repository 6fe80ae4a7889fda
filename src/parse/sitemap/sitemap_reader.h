/* A sitemap or feed while it is read: what sitemap.c, sitemap_entry.c and sitemap_xml.c work on.
 *
 * What: sitemap.c feeds bytes to a reader (lines of text, or XML), the reader fills the fields of
 * an entry, and complete entries go to the sink.
 * Owns: everything but the sink's context and the report.
 * Threads: one at a time. */
#ifndef PARSE_SITEMAP_SITEMAP_READER_H
#define PARSE_SITEMAP_SITEMAP_READER_H

#include <libxml/parser.h>
#include <stdbool.h>

#include "base/memory/buffer.h"
#include "parse/http/decode.h"
#include "parse/sitemap/sitemap_types.h"
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

#endif
