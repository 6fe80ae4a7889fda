/* Parser, its types: what parsing threads share.
 *
 * What: the types that its parts share; parser.h has the functions.
 * Owns: what each comment says.
 * Threads: as parser.h says. */
#pragma once

#include "frontier/visit/host_costs.h"
#include "page/archive.h"
#include "page/parsed_page.h"
#include "page/stats.h"
#include "page/tool/seen_links.h"
#include "page/tool/long_page.h"
#include "page/tool/page_question.h"
#include "parse/sitemap/sitemap.h"
#include "rules/dedup.h"
#include "rules/filters.h"
#include "rules/score_rules.h"

/* What pages are read by: copied by whoever takes it. The score rules go along with the options of
 * a Parsing (page/parsing.h); what is borrowed must outlive the parsing threads. */
typedef struct ParsingOptions {
    Config config; /* a flat copy; of its texts only those that are not live may be read */
    DedupSteps dedup;
    ScoreRules *score_rules; /* scores of pages and links; NULL: all links have 1 */
    Shared *filters;         /* of Filters; borrowed */
    Shared *scope;           /* of a Scope; borrowed */
    StaySet *stay;           /* gets what seeds redirect to; NULL = anywhere; borrowed */
    ByteGate *results;       /* where parsed pages are counted; NULL = nowhere; borrowed */
    HostCosts *costs;        /* hears what pages cost; NULL = nobody does; borrowed */
    const PageDB *pages;     /* where links will be looked up; NULL = nowhere known; borrowed */
} ParsingOptions;

/* A link that is not followed. */
typedef struct SkippedLink {
    const char *url; /* length bytes */
    size_t length;
    Refusal why;
    unsigned depth;   /* links from a seed it would have */
    const char *page; /* that has it */
} SkippedLink;

typedef void (*ParsingSkipped)(void *context, const SkippedLink *link);

/* A link that is to be followed. */
typedef struct KeptLink {
    const PageLink *link; /* in the arena */
    float score;
    uint8_t hop;
    bool in_page;      /* it is in the document, not in its header */
    int64_t lastmod_s; /* of an entry of a sitemap; 0: none */
    uint32_t every_s;  /* its changefreq; 0: none */
} KeptLink;

typedef struct Parser {
    Shared *all_options;           /* of ParsingOptions; borrowed */
    const ParsingOptions *options; /* while a page is read, and while the parser is made */
    const Config *config;          /* that of the options */
    Stats *stats;                  /* borrowed */
    bool describe;                 /* stored pages get a metadata record */
    ParsingSkipped skipped;
    void *skipped_context;
    SharedReader options_reader;
    SharedReader filters_reader;
    SharedReader scope_reader;
    const Filters *filters; /* while a page is read */
    const Scope *scope;
    HtmlParser *html;
    Decoder *decoder;
    SitemapParser *sitemap;
    ArchiveRecorder *recorder; /* NULL without an archive */
    FilterScratch *scratch;
    VisibleReader *visible; /* NULL unless somebody asks about text */
    VisiblePage text;       /* of this page */
    bool has_text;
    Buffer question;
    Arena arena;        /* of this page: links that are in no document */
    const Buffer *body; /* of the page, without its content coding: the answer's, or unpacked */
    Buffer unpacked;
    Buffer pattern; /* scratch: of the source */
    Buffer coding;  /* scratch: what several lines of Content-Encoding say */
    Page found;     /* in it; lives until the next is parsed */
    bool has_found;
    bool is_guest; /* out of scope: fetched since a page embeds it */
    bool
        takes_requisites; /* what a browser lacks for this page is followed, whatever embeds says */
    PageLink *listed;     /* links of the document, for its description */
    size_t n_listed;
    size_t listed_capacity;
    uint64_t n_told;      /* links in the document, all of them */
    DecodeStatus decoded; /* how the kept part of this page was decoded */
    LongPage *long_page;  /* NULL until there is one */
    Url source;           /* of this page; empty when it is none */
    Url target;
    DedupScratch dedup;
    SeenLinks seen; /* links of this page */
    KeptLink *kept;
    size_t kept_capacity;
    size_t n_kept;
    size_t n_dates;         /* entries that have lastmod_s */
    bool has_feed;          /* one of them is a LINK_FEED */
    ExternalLinks external; /* of this page */
    size_t n_uncounted;     /* of these: max_links does not count them */
    uint64_t n_beyond;      /* links of this page that are not followed for their number */
    uint64_t n_long;        /* and for their length */
} Parser;
