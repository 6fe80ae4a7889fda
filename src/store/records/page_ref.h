/* What the crawler reads of a page, and what it writes.
 *
 * What: PageRef is one page as PageDB knows it. PageWrite is one crawled page on its way into
 * PageDB. PageSink is how the writer of a batch learns which pages were new and which were crawled,
 * so that it can update its own tables in the same transaction.
 * Owns: nothing. Strings are borrowed from whoever fills in the struct.
 * Threads: the one with the transaction. */
#ifndef STORE_RECORDS_PAGE_REF_H
#define STORE_RECORDS_PAGE_REF_H

#include <stdbool.h>

#include "store/records/crawled_page.h"

#define PAGE_DB_NO_INDEX UINT64_MAX
#define PAGE_DB_NO_LEVEL 255u

typedef struct PageRef {
    uint64_t index;
    uint64_t hash;
    uint32_t host;   /* id of the origin */
    const char *url; /* url_length bytes; valid during the call */
    size_t url_length;
    float score;
    uint64_t depth;
    uint64_t linked_from; /* index or PAGE_DB_NO_INDEX */
    uint64_t n_crawls;
    int32_t status;     /* last HTTP status or negative code (16 bits are kept), 0 = never tried */
    uint8_t level;      /* schedule level, PAGE_DB_NO_LEVEL = not scheduled */
    uint8_t tries;      /* failures since the last success */
    uint8_t hop;        /* how it was found: a capital letter (L R E S M P), 0 = never as a link */
    uint8_t flags;      /* the caller's own, as last written */
    double first_crawl; /* 0 when never crawled, as the rest */
    double last_crawl;
    uint64_t n_changes;
    uint64_t content_hash64; /* first 8 bytes of the content hash, in the machine's order */
} PageRef;

/* A URL as hash2idx knows it (store/page_tables/page_key.h). */
typedef struct PageKey {
    uint64_t hash;  /* domain 32, URL 32 */
    uint64_t print; /* fingerprint, PAGE_PRINT_BITS */
} PageKey;

/* The same of a link. page_key_of_link makes it, in any thread. */
typedef struct PageLinkKey {
    PageKey key;
    uint32_t length; /* of the URL */
    bool cross;      /* it leaves the domain of the page that has it */
} PageLinkKey;

typedef struct PageWrite {
    const CrawledPage *page;
    const PageLinkKey *link_keys; /* of each link, or NULL: they are made here */
    const uint8_t *link_hops;     /* one letter per link, or NULL = 'L' */
    const uint8_t *link_kinds;    /* one byte per link, the caller's own, or NULL = 0 */
    int32_t status;
    uint8_t flags;
    bool other_hash;  /* its content hash is made otherwise than the stored one: no change */
    bool links_later; /* leave its links and its list alone: a merge of the sieve writes them */
} PageWrite;

/* What is stored with a page that is seen for the first time. */
typedef struct PageState {
    uint8_t level; /* as PageRef.level */
    uint8_t flags; /* as PageRef.flags */
} PageState;

/* A URL that was found, and how. */
typedef struct PageDiscovery {
    const char *url; /* length bytes, borrowed */
    size_t length;
    float score; /* of the link */
    uint8_t hop;
    uint64_t depth;
} PageDiscovery;

/* The functions are called in order of appearance, inside the transaction, before the page's
 * records are written; `improved` after that. They may write other tables, but not PageDB's own. A
 * result other than 0 stops the batch and is returned to the caller of page_db_write, which must
 * then abort the transaction. Any function may be NULL. */
typedef struct PageSink {
    void *context;
    /* A URL was seen for the first time, as a link or by page_db_discover. *state is preset to
     * {PAGE_DB_NO_LEVEL, 0}; what the function leaves there is stored with the page. */
    int (*discovered)(void *context, const PageRef *page, PageState *state);
    /* A page was crawled; called before its links are reported. before->level says where the page
     * was scheduled; *level (preset to PAGE_DB_NO_LEVEL) is stored. A crawled page that was not
     * known at all is not reported as discovered: `before` then has hop 0, n_crawls 0 and no
     * level. */
    int (*crawled)(void *context, const PageRef *before, const PageRef *after, uint8_t *level);
    /* A page got a better path than it was known or discovered with: depth, hop and linked_from
     * are the new ones. url is NULL when a merge of the sieve has found it (page_db_get has it). */
    int (*improved)(void *context, const PageRef *page);
} PageSink;

#endif
