/* Parsing options: what the configuration says about reading pages.
 *
 * What: plain values, copied by whoever takes them.
 * Owns: nothing, but for the score rules, which go along with the options of a Parsing
 * (page/parsing.h). What is said to be borrowed must outlive the parsing threads. */
#ifndef PAGE_PARSING_OPTIONS_H
#define PAGE_PARSING_OPTIONS_H

#include "base/thread/byte_gate.h"
#include "base/thread/shared.h"
#include "page/content_hash.h"
#include "page/tool/page_question.h"
#include "parse/sitemap/sitemap.h"
#include "rules/config.h"
#include "rules/dedup.h"
#include "rules/score_rules.h"
#include "rules/scope/stay_set.h"

typedef struct ParsingOptions {
    unsigned threads;
    size_t queue;          /* pages that may wait */
    size_t max_body_bytes; /* after decoding */
    size_t max_sitemap_bytes;
    unsigned max_ratio;
    size_t max_page_bytes; /* of HTML, decoded: links are taken from so much of it */
    size_t max_links;      /* followed; 0 = no limit */
    size_t max_external;   /* links out of scope that are kept for the graph */
    bool use_libxml2;
    size_t max_url_length;
    size_t memory_bytes;
    const char *robots_agent; /* borrowed */
    bool forms;
    bool embeds;
    unsigned refused_flags;     /* LINK_NOFOLLOW ...: links with one of them are refused */
    unsigned path_segments;     /* more are a trap; 0 = no limit */
    unsigned repeated_segments; /* so often in a row; below 2 = off */
    unsigned query_parameters;  /* 0 = no limit */
    ContentKind content;        /* what a change of a page is */
    bool digests;               /* somebody reads text digests and simhashes */
    bool traps;                 /* patterns of URLs are judged by what their pages bring */
    DedupSteps dedup;
    bool sitemaps;      /* read those that robots.txt names; seeds may be some in any case */
    bool sitemap_only;  /* links of pages are not followed */
    bool sitemap_hints; /* they change an entry's score */
    unsigned sitemap_depth;
    size_t sitemap_entries;
    SitemapLocation sitemap_location;
    ScoreRules *score_rules; /* scores of pages and links; NULL: all links have 1 */
    size_t link_text;        /* bytes of text on and around links, for score_rules */
    QuestionForm question;   /* pages get one for a classifier */
    size_t question_bytes;   /* of text in it */
    Shared *filters;         /* of Filters; borrowed */
    Shared *scope;           /* of a Scope; borrowed */
    StaySet *stay;           /* gets what seeds redirect to; NULL = anywhere; borrowed */
    ByteGate *results;       /* where parsed pages are counted; NULL = nowhere; borrowed */
} ParsingOptions;

/* The options that the configuration says; texts are borrowed from it. The caller sets filters,
 * rules, scope and gate. */
ParsingOptions parsing_options(const Config *config);

#endif
