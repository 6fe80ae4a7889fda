/* Revival: brings hosts back that were dropped or parked, with all their URLs, while the crawl
 * runs.
 *
 * What: an order comes from the operator (`ragno ctl`) or from the end of an outage. The ingest
 * thread carries orders out as a chore, some hundred hosts in each transaction, in the order in
 * which they came. The distributor gets the hosts with the commit notice and loads them.
 *
 *   revival_order --> [orders] --> chore --> ingest_host_revive --> commit notice --> distributor
 *
 * Owns: the orders that wait.
 * Threads: any thread may order; the chore and the call of `done` are the ingest thread's.
 * Errors: an order is refused when memory is short. */
#ifndef INGEST_CHORE_REVIVAL_H
#define INGEST_CHORE_REVIVAL_H

#include "ingest/batch/ingest_chore.h"
#include "ingest/batch/ingest_batch.h"

typedef struct RevivalOrder {
    /* "www.example.org" (its origins with the default ports) or an origin ("https://h:81"); NULL =
     * all hosts that are set aside. Copied. */
    const char *host;
    int64_t since_ms;      /* only hosts set aside at this wall time or later; 0 = all */
    uint32_t classes;      /* only for these reasons: bits 1 << FetchClass; 0 = all */
    int64_t recheck_by_ms; /* only hosts whose HostRecord.recheck_ms has come by then; 0 = all */
    /* Told when the order is done: how many hosts came back, with how many URLs. May be NULL. */
    void (*done)(void *context, uint64_t hosts, uint64_t urls);
    void *context;
} RevivalOrder;

typedef struct Revival Revival;

/* RESULT_MEMORY. store is borrowed. */
Result revival_new(Revival **revival, const IngestStore *store);
/* Drops the orders that are not done, without calling `done`. */
void revival_delete(Revival *revival);
/* Adds an order. Call ingest_wake afterwards. RESULT_MEMORY. */
Result revival_order(Revival *revival, const RevivalOrder *order);
IngestChore revival_chore(Revival *revival);

#endif
