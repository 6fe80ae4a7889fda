/* A page as a crawler hands it in: its URL, its links, and what the crawler thinks of it.
 *
 * What: CrawledPage is the input of PageDB and of the schedulers.
 * Owns: copies of everything that it was given.
 * Threads: a page belongs to one thread.
 * Source: seeds 000 and 003, "CrawledPage". */
#ifndef STORE_RECORDS_CRAWLED_PAGE_H
#define STORE_RECORDS_CRAWLED_PAGE_H

#include <stddef.h>
#include <stdint.h>

typedef struct LinkInfo {
    char *url;   /* NUL-terminated */
    float score; /* how good the page behind it may be, until it is crawled */
} LinkInfo;

#define PAGE_LINKS_MIN_LINKS 10 /* room reserved at first; doubled when it is full */

/* Always: 0 <= n_links <= m_links. */
typedef struct PageLinks {
    LinkInfo *link_info;
    size_t n_links; /* used */
    size_t m_links; /* allocated */
} PageLinks;

typedef struct CrawledPage {
    char *url;          /* NUL-terminated */
    PageLinks *links;   /* in the order they were added; nothing is sorted out */
    double time;        /* of the crawl, seconds since 1970; default: now */
    float score;        /* value of the content; default 0 */
    char *content_hash; /* any bytes; a difference means the page has changed; default NULL */
    size_t content_hash_length; /* default 0 */
} CrawledPage;

/* A page with the defaults above; url is copied. NULL without memory. */
CrawledPage *crawled_page_new(const char *url);
/* NULL is accepted. */
void crawled_page_delete(CrawledPage *cp);

/* Appends a link; url is copied. 0, or -1 without memory: the page is as before. */
int crawled_page_add_link(CrawledPage *cp, const char *url, float score);
/* The i-th link, i < crawled_page_n_links. Borrowed until the next link is added. */
const LinkInfo *crawled_page_get_link(const CrawledPage *cp, size_t i);
size_t crawled_page_n_links(const CrawledPage *cp);

/* Sets the content hash to a copy of the bytes (length 0: no hash). 0, or -1 without memory: the
 * page is as before. The sized ones take 16 bytes, or a number in the machine's byte order. */
int crawled_page_set_hash(CrawledPage *cp, const char *hash, size_t hash_length);
int crawled_page_set_hash128(CrawledPage *cp, char *hash);
int crawled_page_set_hash64(CrawledPage *cp, uint64_t hash);
int crawled_page_set_hash32(CrawledPage *cp, uint32_t hash);

#endif
