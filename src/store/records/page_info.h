/* All that PageDB knows about a page.
 *
 * What: PageInfo objects come out of PageDB (page_db_get_info, page_db_add, streams); there is no
 * public constructor.
 * Owns: its strings; whoever receives a PageInfo deletes it.
 * Threads: a PageInfo belongs to one thread.
 * Source: seeds 000 and 003, "PageInfo". */
#ifndef STORE_RECORDS_PAGE_INFO_H
#define STORE_RECORDS_PAGE_INFO_H

#include <stddef.h>
#include <stdint.h>

typedef struct PageInfo {
    char *url;            /* NUL-terminated */
    uint64_t linked_from; /* hash of the page on the best known path to this one (the first of the
                             least depth); 0 when it was never seen as a link */
    uint64_t depth;       /* links from a page that was never seen as a link, on that path */
    double first_crawl;   /* seconds since 1970; 0 when never crawled */
    double last_crawl;
    uint64_t n_changes; /* content changes seen between first and last crawl */
    uint64_t n_crawls;  /* 0: seen only as a link */
    float score;        /* of the last crawl; until then of the link that was seen first */
    size_t content_hash_length;
    char *content_hash; /* of the last crawl; NULL when there was none */
} PageInfo;

/* For PageDB: a zeroed PageInfo with room for a URL (and its NUL) and a content hash, in one piece
 * of memory; content_hash is NULL when hash_length is 0. NULL without memory. */
PageInfo *page_info_allocate(size_t url_length, size_t hash_length);
/* NULL is accepted. */
void page_info_delete(PageInfo *pi);

#define PAGE_INFO_PRINT_BYTES 580 /* least size of page_info_print's buffer */

/* Writes "FIRST LAST N_CRAWLS N_CHANGES URL" to out (at least PAGE_INFO_PRINT_BYTES),
 * NUL-terminated: times as ctime's 24 characters in local time, counts as 1.21e+01, the URL cut to
 * 511 bytes. Returns the length, or -1. */
int page_info_print(const PageInfo *pi, char *out);

/* Changes per second: (n_changes + 1) / (last_crawl - first_crawl), the one for a change that may
 * be about to be seen; -1 when the page was not crawled at two different times. */
float page_info_rate(const PageInfo *pi);
/* Whether the URL is an artificial start page: begins with "_seed_". */
int page_info_is_seed(const PageInfo *pi);

/* Page info list: a linked list of PageInfo with their hashes.
 *
 * What: page_db_add returns one, so that schedulers learn which pages are new.
 * Owns: the list owns its infos.
 * Threads: a list belongs to one thread.
 * Source: seeds 000 and 003, "PageInfoList". */

typedef struct PageInfoList {
    uint64_t hash;             /* page hash */
    PageInfo *page_info;       /* owned */
    struct PageInfoList *next; /* or NULL */
} PageInfoList;

/* A list of one; it owns pi from then on. NULL without memory: pi stays the caller's. */
PageInfoList *page_info_list_new(PageInfo *pi, uint64_t hash);
/* A new head in front of pil (which may be NULL). NULL without memory: nothing changed hands. */
PageInfoList *page_info_list_cons(PageInfoList *pil, PageInfo *pi, uint64_t hash);
/* The list and everything in it; NULL is accepted. */
void page_info_list_delete(PageInfoList *pil);

#endif
