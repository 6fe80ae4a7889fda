/* The parsing threads: fetched pages in, parsed pages out.
 *
 *   fetching threads --parsing_push--> [queue, parse.queue] --> parsing threads --> sink (ingest)
 *
 * A parsing thread undoes the content coding, asks the filters about the answer, finds links,
 * robots instructions and digests, and keeps of the links those that are to be followed: in scope,
 * of a kind that is followed, passed by filter.schedule, each once. The entries of sitemaps are
 * links too. When the queue is full the fetching threads wait: pages are never dropped, memory is
 * bounded. What is parsed is counted at a gate of its own until it is committed; while that is
 * closed no further page is begun (ingest opens it, which waits for nobody but the disk). */
#ifndef PAGE_PARSING_H
#define PAGE_PARSING_H

#include "fetch/transfer/fetch_result.h"
#include "page/archive.h"
#include "rules/dedup.h"
#include "rules/filters.h"
#include "parse/sitemap/sitemap.h"
#include "page/parsed_page.h"
#include "rules/scope.h"
#include "rules/score_rules.h"
#include "page/stats.h"

typedef struct ParsingOptions {
    unsigned threads;
    size_t queue;          /* pages that may wait */
    size_t max_body_bytes; /* after decoding */
    size_t max_sitemap_bytes;
    unsigned max_ratio;
    size_t max_links;
    size_t max_url_length;
    size_t memory_bytes;
    const char *robots_agent; /* borrowed */
    bool forms;
    bool embeds;
    unsigned refused_flags;     /* LINK_NOFOLLOW ...: links with one of them are refused */
    unsigned path_segments;     /* more are a trap; 0 = no limit */
    unsigned repeated_segments; /* so often in a row; below 2 = off */
    unsigned query_parameters;  /* 0 = no limit */
    DedupSteps dedup;
    bool sitemaps;      /* read them, and the Sitemap lines of robots.txt */
    bool sitemap_hints; /* they change an entry's score */
    unsigned sitemap_depth;
    size_t sitemap_entries;
    SitemapLocation sitemap_location;
    const ScoreRules *score_rules; /* scores of pages and links; NULL: all links have 1; borrowed */
    Shared *filters;               /* of Filters; borrowed */
    Shared *scope;                 /* of a Scope; borrowed */
    ByteGate *results;             /* where parsed pages are counted; NULL = nowhere; borrowed */
} ParsingOptions;

/* What the configuration says; borrowed from it. Threads: config's; filters, rules, scope and gate
 * are the caller's to set. */
ParsingOptions parsing_options(const Config *config);

typedef struct Parsing Parsing;

/* What was refused, for skipped.log; may be called by several threads at once. */
typedef void (*ParsingSkipped)(void *context, const char *url, size_t length, Refusal why,
                               const char *referrer);

/* archive may be NULL: nothing is stored but what the database holds. */
Result parsing_new(Parsing **parsing, const ParsingOptions *options, Archive *archive, Stats *stats,
                   void (*sink)(void *context, ParsedPage *page), ParsingSkipped skipped,
                   void *context);
Result parsing_start(Parsing *parsing);
/* Parses a result in the calling thread, sink included: for one that has no threads of ours, with a
 * Parsing that is never started. Takes the result. */
void parsing_parse(Parsing *parsing, FetchResult *result);
/* Takes a result; waits while the queue is full. After parsing_stop it is dropped: its URL is still
 * scheduled. */
void parsing_push(Parsing *parsing, FetchResult *result);
size_t parsing_waiting(Parsing *parsing);
/* Parses what is queued, then ends the threads. */
void parsing_stop(Parsing *parsing);
void parsing_delete(Parsing *parsing);

#endif
