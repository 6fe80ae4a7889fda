/* What: the least that fetching a list of pages with libcurl costs: one thread, one epoll,
 * connections used again, answers looked at and forgotten. libcurl walks over all idle connections
 * of a multi handle with each transfer that ends: each handle has a share of the hosts, and all
 * together keep as many connections as a crawl (fetch/connect/lanes.h does the same). A request has
 * the lines that a crawler's has. Owns: nothing after it returns. Threads: the
 * caller's, and with has_releaser one more. Errors: -1 after a message. */
#ifndef TESTS_BENCH_CURL_FLOOR_H
#define TESTS_BENCH_CURL_FLOOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/memory/buffer.h"

typedef struct FloorPage {
    const char *url;     /* "http://h00001.web.test/" */
    const char *address; /* "127.16.0.1" */
} FloorPage;

/* A page as it came. Its taker may put other buffers in the place of these. */
typedef struct FloorAnswer {
    const FloorPage *page;
    Buffer *header;
    Buffer *body;
} FloorAnswer;

typedef struct FloorOptions {
    const FloorPage *pages;
    size_t n_pages;
    unsigned n_hosts;     /* about: how many there are in them */
    unsigned port;        /* where all are served */
    unsigned connections; /* in flight */
    unsigned rate;        /* pages begun a second; 0 = as fast as they come */
    /* A file of them, for pages over TLS: sessions are resumed and chains verified as a crawl does,
     * and answers may be compressed. NULL: plain. */
    const char *authorities;
    bool has_releaser; /* another thread says what is begun next; without a rate */
    /* Called with each answer; NULL: it is dropped. */
    void (*take)(void *context, const FloorAnswer *answer);
    void *context;
} FloorOptions;

/* CPU seconds of this process; *bytes of bodies. */
int curl_floor(const FloorOptions *options, double *cpu_s, double *bytes);

#endif
