/* Sitemaps and feeds: the addresses that a site itself offers, with its hints about them.
 *
 * What: understood are urlset and sitemapindex in any namespace and with any prefix, RSS 0.9 to
 * 2.0, Atom, and plain lists of URLs. Each may be gzipped, in UTF-8, in UTF-16, or in an encoding
 * that the XML declaration names. The parsing thread calls sitemap_parse for a response that
 * robots.txt or an index announced. The sink gets each entry while the file is read, so memory does
 * not grow with the file: 64 KiB of decoded bytes and one entry at a time.
 *
 * Files may be hostile or careless. Entities other than XML's five are refused: an address that
 * uses one is rejected, and nothing is ever expanded or loaded. A bare '&' and bytes that are
 * illegal are mended. A file that breaks off or is not well-formed keeps the entries before the
 * break, and an address that was cut in two is never reported.
 *
 * Owns: a SitemapParser owns its decoder and fields, and is reused.
 * Threads: a SitemapParser belongs to one thread.
 * Errors: RESULT_MEMORY, RESULT_LIMIT; what is wrong with entries is counted in the report.
 * Source: sitemaps.org, RSS 2.0, RFC 4287; libxml2's push parser. */
#ifndef PARSE_SITEMAP_SITEMAP_H
#define PARSE_SITEMAP_SITEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"
#include "parse/url/url.h"

typedef enum SitemapKind {
    SITEMAP_UNKNOWN, /* neither of these: no entries */
    SITEMAP_URLSET,
    SITEMAP_INDEX, /* its entries are sitemaps */
    SITEMAP_TEXT,
    SITEMAP_RSS,
    SITEMAP_ATOM
} SitemapKind;

typedef enum SitemapFrequency {
    SITEMAP_FREQUENCY_NONE,
    SITEMAP_ALWAYS,
    SITEMAP_HOURLY,
    SITEMAP_DAILY,
    SITEMAP_WEEKLY,
    SITEMAP_MONTHLY,
    SITEMAP_YEARLY,
    SITEMAP_NEVER
} SitemapFrequency;

/* "daily"; "" for none. Static. */
const char *sitemap_frequency_name(SitemapFrequency frequency);

/* Which entries count, compared with the sitemap's own address. */
typedef enum SitemapLocation {
    SITEMAP_ANYWHERE,
    SITEMAP_SAME_HOST,  /* scheme, host and port are the sitemap's */
    SITEMAP_SAME_FOLDER /* and the path is in or below its folder: the rule of sitemaps.org */
} SitemapLocation;

typedef struct SitemapOptions {
    size_t max_bytes;     /* decoded; sitemaps.org allows 50 MiB */
    size_t max_entries;   /* sitemaps.org allows 50 000 */
    size_t max_url_bytes; /* longer addresses are rejected; sitemaps.org allows 2 048 */
    unsigned max_ratio;   /* decoded to compressed, see parse/http/decode.h; 0: no bound */
    SitemapLocation location;
} SitemapOptions;

#define SITEMAP_OPTIONS_DEFAULT                                                                    \
    ((SitemapOptions){.max_bytes = (size_t)50 << 20,                                               \
                      .max_entries = 50000,                                                        \
                      .max_url_bytes = 2048,                                                       \
                      .max_ratio = 1000})

#define SITEMAP_NO_DATE INT64_MIN

typedef struct SitemapEntry {
    const Url *url;  /* resolved; all pointers are borrowed until the sink returns */
    const char *loc; /* as written: trimmed, references decoded, its fragment still there */
    size_t loc_length;
    bool is_sitemap;     /* from an index */
    int64_t lastmod_s;   /* seconds since 1970 UTC, or SITEMAP_NO_DATE */
    const char *lastmod; /* as written, "" when there is none */
    SitemapFrequency changefreq;
    double priority; /* 0 to 1, or -1 when there is none */
} SitemapEntry;

/* Takes one entry; false stops the parse (with RESULT_OK). */
typedef bool (*SitemapSink)(void *context, const SitemapEntry *entry);

typedef struct SitemapInput {
    const char *body; /* after content decoding; may be a gzip file */
    size_t length;
    bool is_truncated; /* the body was cut by the fetcher: its last line is half a line */
    const char *url;   /* of the sitemap */
    size_t url_length;
} SitemapInput;

typedef struct SitemapReport {
    SitemapKind kind;
    uint64_t n_entries;  /* given to the sink */
    uint64_t n_rejected; /* no http(s) URL, too long, foreign, with refused entities */
    bool is_broken;      /* not well-formed, damaged or cut: there may have been more */
} SitemapReport;

typedef struct SitemapParser SitemapParser;

/* A parser belongs to one thread and is used for one sitemap after another. RESULT_MEMORY. */
Result sitemap_parser_new(SitemapParser **parser, const SitemapOptions *options);
void sitemap_parser_delete(SitemapParser *parser);

/* Reads one sitemap. RESULT_INVALID: the file is not a sitemap (report->kind is SITEMAP_UNKNOWN),
 * or its URL cannot be parsed. RESULT_LIMIT: max_bytes, max_entries or max_ratio was reached, or
 * the file wastes time with thousands of different names or errors; the sink got what came before.
 * RESULT_MEMORY. */
Result sitemap_parse(SitemapParser *parser, const SitemapInput *input, SitemapSink sink,
                     void *context, SitemapReport *report);

/* What the hints of an entry make of its score: a factor of 2^h, where h is the sum of
 *   priority:   2 * (priority - 0.5), so -1 to 1; the standard one of 0.5, or none, is 0
 *   lastmod:    +0.25 within the week before now_s, -0.25 when older than a year; none, or a day
 *               that is to come, is 0
 *   changefreq: +0.25 always and hourly, +0.125 daily, -0.125 yearly, -0.25 never
 * but at least -1 and at most 1: the level above or below (schedule.h; levels are powers of two).
 */
double sitemap_hint_factor(const SitemapEntry *entry, int64_t now_s);

/* W3C dates ("2005", "2005-01", "2005-01-01", "2005-01-01T10:00:00.5+01:00") and those of RSS. */
bool sitemap_date(const char *text, size_t length, int64_t *unix_s);

#endif
