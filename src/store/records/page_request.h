/* Page request: the URLs that a scheduler hands out.
 *
 * What: an array of strings, in the order in which the pages are to be crawled.
 * Owns: its strings.
 * Threads: a request belongs to one thread.
 * Source: seeds 000 and 003, "PageRequest". */
#ifndef STORE_RECORDS_PAGE_REQUEST_H
#define STORE_RECORDS_PAGE_REQUEST_H

#include <stddef.h>

typedef struct PageRequest {
    char **urls;   /* n_urls strings, owned */
    size_t n_urls; /* used */
    size_t m_urls; /* allocated */
} PageRequest;

/* Room for n_urls URLs; more may be added. NULL without memory. */
PageRequest *page_request_new(size_t n_urls);
/* NULL is allowed. */
void page_request_delete(PageRequest *request);
/* Adds a copy of url. 0, or -1 without memory: the request is as before. */
int page_request_add_url(PageRequest *request, const char *url);
/* The same with a malloc'd string, which is the request's from then on. */
int page_request_take_url(PageRequest *request, char *url);

#endif
