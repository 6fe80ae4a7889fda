/* Sitemap, its types: entries, kinds and limits.
 *
 * What: the types that its parts share; sitemap.h has the functions.
 * Owns: what each comment says.
 * Threads: as sitemap.h says. */
#pragma once

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

typedef struct SitemapOptions {
    size_t max_bytes;     /* decoded; sitemaps.org allows 50 MiB */
    size_t max_entries;   /* sitemaps.org allows 50 000 */
    size_t max_url_bytes; /* longer addresses are rejected; sitemaps.org allows 2 048 */
    unsigned max_ratio;   /* decoded to compressed, see parse/http/decode.h; 0: no bound */
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

/* Seconds between two changes, as changefreq has it; 0 for none. */
uint32_t sitemap_frequency_s(SitemapFrequency frequency);
/* "daily"; "" for none. Static. */
const char *sitemap_frequency_name(SitemapFrequency frequency);
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
