/* A sitemap or feed while it is read: what sitemap.c, sitemap_xml.c and sitemap_xml.c work on.
 *
 * What: sitemap.c feeds bytes to a reader (lines of text, or XML), the reader fills the fields of
 * an entry, and complete entries go to the sink.
 * Owns: everything but the sink's context and the report.
 * Threads: one at a time. */
#ifndef PARSE_SITEMAP_SITEMAP_READER_H
#define PARSE_SITEMAP_SITEMAP_READER_H

#include <libxml/parser.h>

#include "parse/charset/charset_stream.h"
#include "parse/http/decode.h"
#include "parse/sitemap/sitemap_types.h"
#include "parse/url/url.h"

/* Bytes on their way into the XML parser, mended where real sitemaps are broken.
 *
 * What: the first stage is for all sitemaps. UTF-16 (told by its byte order mark or its first '<')
 * and what the XML declaration names (by the labels of the Encoding standard; an unknown one is
 * UTF-8) become clean UTF-8 (parse/charset/charset_stream.h). The second stage is for XML only. An
 * '&' that starts no reference becomes "&#38;", and so do "&amp;" and its like outside of CDATA and
 * comments; control characters become blanks; a DOCTYPE is dropped whole, so that nothing in it is
 * ever declared, loaded or expanded. What the end of a chunk cuts in two waits for the next chunk.
 * Owns: its buffers.
 * Threads: one object for each file.
 * Errors: RESULT_MEMORY. */

typedef enum CleanMode { CLEAN_TEXT, CLEAN_CDATA, CLEAN_COMMENT, CLEAN_DOCTYPE } CleanMode;

typedef struct SitemapCleaner {
    CharsetStream characters; /* first stage */
    Buffer pending;           /* second stage: not yet looked at, a few bytes */
    Buffer clean;             /* what the second stage made of the last chunk */
    CleanMode mode;
    char last[2];     /* the bytes passed on last */
    bool in_subset;   /* DOCTYPE: between "[" and "]" */
    bool in_remark;   /* DOCTYPE: between "<!--" and "-->" */
    char quote;       /* DOCTYPE: the one that is open, or NUL */
    bool has_started; /* the encoding is known */
} SitemapCleaner;

void sitemap_cleaner_init(SitemapCleaner *cleaner);
void sitemap_cleaner_destroy(SitemapCleaner *cleaner);
/* Ready for the next file; keeps the memory. */
void sitemap_cleaner_reset(SitemapCleaner *cleaner);

/* First stage: points *bytes and *length to the chunk as UTF-8, which lives until the next call.
 * The first chunk should hold the XML declaration. is_last: nothing is held back. Errors as
 * buffer_append. */
Result sitemap_cleaner_to_utf8(SitemapCleaner *cleaner, const char **bytes, size_t *length,
                               bool is_last);

/* Second stage: cleaner->clean holds what can be passed on. is_last: nothing waits any longer. */
Result sitemap_cleaner_mend(SitemapCleaner *cleaner, const char *bytes, size_t length,
                            bool is_last);

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

/* Elements of a feed that may have an xml:base. */
enum { SITEMAP_BASE_FEED, SITEMAP_BASE_ENTRY, SITEMAP_BASE_LINK, SITEMAP_BASES };

struct SitemapParser {
    SitemapOptions options;
    Decoder *decoder;
    SitemapCleaner cleaner;
    SitemapXml xml;
    Url base;
    Url bases[SITEMAP_BASES];        /* of a feed, its entry, and the entry's link: xml:base */
    const Url *based[SITEMAP_BASES]; /* what they are in force; the last is the link's */
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
