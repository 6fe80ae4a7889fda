/* What the files of the parsing threads share: parsing.c (threads, one page), parsing_links.c
 * (which links are kept), parsing_sitemap.c (sitemaps and feeds). Everything belongs to one parsing
 * thread but for Parsing, which is read-only once the threads run. */
#ifndef PAGE_PARSING_INTERNAL_H
#define PAGE_PARSING_INTERNAL_H

#include "base/memory/arena.h"
#include "base/thread/queue.h"
#include "base/thread/thread.h"
#include "parse/http/decode.h"
#include "parse/html/html.h"
#include "parse/http/http_header.h"
#include "parse/sitemap/sitemap.h"
#include "parse/url/url.h"
#include "page/parsing.h"

#define PARSING_THREADS_MAX 64u

/* A link that is to be followed. */
typedef struct KeptLink {
    const PageLink *link; /* lives until the page is done */
    float score;
    uint8_t hop;
} KeptLink;

typedef struct Parser {
    Parsing *parsing;
    SharedReader filters_reader;
    SharedReader scope_reader;
    const Filters *filters; /* while a page is read */
    const Scope *scope;
    Thread thread;
    HtmlParser *html;
    Decoder *decoder;
    SitemapParser *sitemap;    /* NULL unless sitemaps are read */
    ArchiveRecorder *recorder; /* NULL without an archive */
    FilterScratch *scratch;
    Arena arena; /* of this page: links that are in no document */
    Buffer body; /* decoded */
    Page found;  /* in it; lives until the next is parsed */
    bool has_found;
    Url source; /* of this page; empty when it is none */
    Url target;
    DedupScratch dedup;
    uint64_t *seen; /* hashes of the links of this page: open addressing */
    size_t seen_slots;
    size_t seen_count;
    KeptLink *kept;
    size_t kept_capacity;
    size_t n_kept;
} Parser;

struct Parsing {
    ParsingOptions options;
    bool describe; /* stored pages get a metadata record */
    Stats *stats;
    void (*sink)(void *context, ParsedPage *page);
    ParsingSkipped skipped;
    void *context;
    Queue queue;
    Parser parsers[PARSING_THREADS_MAX];
    unsigned n_parsers;
};

/* ---- parsing_links.c ---- */

/* Keeps those of the links that are to be followed, each once; the others are counted and logged.
 * The links must live until parsing_links_copy. */
void parsing_links_select(Parser *parser, const ParsedPage *page, const PageLink *links, size_t n);
/* One link that is in no document: url is copied. */
void parsing_links_add(Parser *parser, const ParsedPage *page, const Url *url, LinkKind kind,
                       float score);
/* Counts and logs a refused URL. */
void parsing_links_refuse(Parser *parser, const ParsedPage *page, const char *url, size_t length,
                          Refusal why);
/* Location, Refresh and Link. */
void parsing_links_of_header(Parser *parser, const ParsedPage *page, const HttpHeader *header);
/* Moves what was kept into the page. RESULT_MEMORY: it is lost. */
Result parsing_links_copy(Parser *parser, ParsedPage *page);
/* Makes ready for the next page. */
void parsing_links_forget(Parser *parser);

/* ---- parsing_sitemap.c ---- */

/* The Sitemap lines of a robots.txt that was fetched. */
void parsing_sitemap_robots(Parser *parser, ParsedPage *page);
/* Whether this page may be a sitemap: it was found as one, or is where a redirect led. */
bool parsing_sitemap_expected(const Parser *parser, const ParsedPage *page);
/* Takes the entries of a sitemap or feed as links; false when it is none. */
bool parsing_sitemap_read(Parser *parser, const ParsedPage *page);

#endif
