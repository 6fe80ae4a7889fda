/* Waiting: the hosts that have failed and wait for a retry, for what, and until when.
 *
 * What: the wait table in order of time, with the name of each host and what it has scheduled, for
 * `ragno ctl DIR waiting` and for SIGUSR1. One short read transaction.
 * Threads: any. */
#ifndef CRAWL_RUN_WAITING_H
#define CRAWL_RUN_WAITING_H

#include "ingest/batch/ingest_store.h"

#define WAITING_TOLD 256u /* hosts at most, of those that wait */

typedef struct WaitingHost {
    const char *origin; /* "http://www.example.org"; until the next one */
    const char *why;    /* class of the last failure: "refused" */
    unsigned failures;  /* in a row */
    uint64_t urls;      /* that it has scheduled */
    WallTime until;
} WaitingHost;

/* *all = how many wait. RESULT_IO, RESULT_MEMORY. */
Result waiting_walk(const IngestStore *tables, uint64_t *all,
                    void (*visit)(void *context, const WaitingHost *host), void *context);

#endif
