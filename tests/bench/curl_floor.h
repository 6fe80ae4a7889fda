/* What: the least that fetching a list of pages with libcurl costs: one thread, one curl multi
 * handle on epoll, connections used again, bodies looked at and forgotten. Owns: nothing after it
 * returns. Threads: the caller's. Errors: -1 after a message. */
#ifndef TESTS_BENCH_CURL_FLOOR_H
#define TESTS_BENCH_CURL_FLOOR_H

#include <stddef.h>

typedef struct FloorPage {
    const char *url;     /* "http://h00001.web.test/" */
    const char *address; /* "127.16.0.1" */
} FloorPage;

typedef struct FloorOptions {
    const FloorPage *pages;
    size_t n_pages;
    unsigned port;        /* where all are served */
    unsigned connections; /* in flight */
    /* Called with each body; NULL: it is dropped. */
    void (*take)(void *context, const char *url, const char *body, size_t length);
    void *context;
} FloorOptions;

/* CPU seconds of this process; *bytes of bodies. */
int curl_floor(const FloorOptions *options, double *cpu_s, double *bytes);

#endif
