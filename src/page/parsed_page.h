/* Parsed page: a fetched page on its way from a parsing thread to ingest.
 *
 * What: the fetch result and what was found in its body.
 * Owns: everything that it points to, the fetch result included.
 * Threads: the one that holds it. It is handed over, never shared. */
#pragma once

#include "base/core/hash.h"
#include "fetch/transfer/fetch_result.h"
#include "frontier/sieve/sieve.h"
#include "parse/text/language_tag.h"
#include "render/page_verdict.h"
#include "rules/config.h"
#include "store/archive/warc_record.h"

/* What of a page counts as its content: page/parsed_page.h. */
typedef enum ContentKind {
    CONTENT_BODY,
    CONTENT_TEXT,
    CONTENT_LINKS,
    CONTENT_DOCUMENT /* any of these, of what a browser makes of the page */
} ContentKind;

/* What a sitemap or a feed says of a page that it lists. */
typedef struct LinkDate {
    const char *url;   /* as in the links */
    int64_t lastmod_s; /* unix time; 0: it is not said */
    uint32_t every_s;  /* seconds between its changes (changefreq); 0: it is not said */
} LinkDate;

/* What of a page is to be followed, and what only is noted. The arrays down to bytes are one
 * allocation. */
typedef struct ParsedLinks {
    LinkInfo *list;         /* what is to be followed */
    PageLinkKey *page_keys; /* of each; NULL: the writer makes them */
    uint8_t *hops;          /* one letter per link */
    uint8_t *kinds;         /* link_kind_byte (parse/html/html.h) of each */
    char *bytes;
    Hash128 *keys; /* what scope.dedup_key makes of the links, or NULL */
    size_t n;
    size_t size;     /* of the allocation, in bytes */
    LinkDate *dates; /* of the entries of a sitemap that have one, whatever becomes of the link */
    size_t n_dates;
    char *external; /* links out of scope, as page_rows.h has them; NULL: none */
    size_t external_length;
    uint64_t n_beyond;  /* URLs beyond parse.max_links, or for lack of memory */
    uint64_t n_long;    /* longer than scope.max_url_length */
    SieveTicket ticket; /* what of the links the sieve has */
} ParsedLinks;

/* By what a page is known again. */
typedef struct ParsedHashes {
    uint64_t body[2]; /* of the decoded body as far as it was read; 0,0 when empty */
    uint64_t links;   /* of the links that are to be followed, in order */
    uint64_t text[2];
    TextSketch sketch;   /* when near duplicates are looked for */
    NumberList numbers;  /* of the text, when pages are visited again */
    ContentKind kind;    /* what the crawl takes for the content */
    uint64_t content[2]; /* of that; filled in by ingest */
    uint64_t simhash;
    uint64_t trap;   /* trap_content_hash, when trap_content_is_due; else 0 */
    Hash128 pattern; /* of the URL: trap_pattern_key; 0,0: what it yields is not counted */
} ParsedHashes;

/* What the answer says of itself. */
typedef struct ParsedAbout {
    char mime[64];                     /* "text/html" or "" */
    char language[LANGUAGE_TAG_BYTES]; /* of an HTML page, as it says, or "" */
    char *etag;                        /* validators that may be sent back, or NULL */
    char *last_modified;
    HttpFreshness freshness; /* what the answer, or the page, says of its time */
    uint64_t bytes_read; /* of a page longer than what is kept: links were taken from these many */
    bool unread;         /* and there was more */
} ParsedAbout;

/* What the crawl thinks of it. */
typedef struct ParsedVerdict {
    unsigned robots;        /* PAGE_NOINDEX ... */
    unsigned refused_hooks; /* 1 << FilterHook: filters that refused the answer */
    HttpWall wall;          /* of an answer that keeps crawlers out; HTTP_WALLS: it does not */
    float score;            /* of its content: score.rules, or what a classifier answered */
    char *question; /* to the classifier, length bytes; NULL: none (page/tool/page_question.h) */
    size_t question_length;
    PageNeed need;       /* of a browser; PAGE_NEEDS_NOTHING where nobody judges */
    uint8_t need_weight; /* with PAGE_NEEDS_BROWSER: how much */
    uint32_t need_signs; /* and why: page_verdict_tell */
    bool is_rendered;    /* set by ingest: what it brings is judged by its document */
} ParsedVerdict;

/* What the archive has of it. */
typedef struct ParsedArchive {
    WarcGroup *group;   /* its records, or NULL */
    WarcGroup *picture; /* beside those of a document: what a browser shows of it, or NULL */
    char sha1[40];      /* "sha1:BASE32" of the payload, or "" */
} ParsedArchive;

typedef struct ParsedPage {
    FetchResult *fetch;
    bool parsed; /* the fields below are filled in */
    ParsedLinks links;
    ParsedHashes hashes;
    ParsedAbout about;
    ParsedVerdict verdict;
    ParsedArchive archive;
} ParsedPage;

ParsedPage *parsed_page_new(FetchResult *fetch);
/* Moves a link, with all that is known of it, to an earlier place: for those who leave some out. */
void parsed_page_move_link(ParsedPage *page, size_t to, size_t from);
/* Takes ETag and Last-Modified out of a header: printable, and not too long (revisit_rows.h). */
void parsed_page_take_validators(ParsedPage *page, const HttpHeader *header);
void parsed_page_delete(ParsedPage *page);
/* Ends the parsing of a page: frees what only parsing needed of the answer, and counts the rest at
 * gate until the page is deleted. gate may be NULL: nothing is counted. */
void parsed_page_settle(ParsedPage *page, ByteGate *gate);

/* What of a page counts as its content: a difference means that the page has changed.
 *
 * What: `body` is every byte of the decoded body. `text` is BUbiNG's simplified page
 * (parse/text/digest.h): tags and text without attributes, digits and white space, so that a
 * counter, a date or a token in a form makes no page look changed; of a page that is visited again
 * the numbers that seldom change count, too (parse/text/numbers.h). `links` is what the page links
 * to, as far as the crawl follows it. What has no text or no links (a picture, a text that is not
 * HTML) counts by its body. `document` is the same of what a browser makes of a page that is
 * rendered (render/desk/render_way.h): 0 until there is one. Change rates, and with them revisits,
 * follow from it; with parse.duplicates = content duplicates do, too, but always by the answer. The
 * digests of the archive are always those of the payload.
 *
 * The kind stands in the flags of the page's record (PageRef.flags): a page that was hashed
 * otherwise at its visit before is not taken for changed. Pure. */

/* parse.content_hash: `text` in a crawl that visits pages again, else `body`, unless it says. */
ContentKind content_hash_wanted(const Config *config);

/* The content of a page by any kind, whatever the crawl's is; 0,0 when it has none. */
void content_hash_of(const ParsedPage *page, ContentKind kind, uint64_t hash[2]);

/* The kind as bits of PageRef.flags, which may hold others. */
#define CONTENT_HASH_FLAGS 0x06u
static inline uint8_t content_hash_flags(ContentKind kind)
{
    return (uint8_t)((unsigned)kind << 1 & CONTENT_HASH_FLAGS);
}
static inline ContentKind content_hash_kind(uint8_t flags)
{
    return (ContentKind)((flags & CONTENT_HASH_FLAGS) >> 1);
}

/* The usages that the site denies (USAGE_..., parse/usage/usage.h), beside them. */
#define USAGE_FLAGS_SHIFT 3u
static inline uint8_t usage_flags(unsigned denied)
{
    return (uint8_t)(denied << USAGE_FLAGS_SHIFT);
}
static inline unsigned usage_of_flags(uint8_t flags)
{
    return (unsigned)flags >> USAGE_FLAGS_SHIFT;
}
