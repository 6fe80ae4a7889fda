/* Revival: brings hosts back that were dropped or parked, with all their URLs, while the crawl
 * runs.
 *
 * What: somebody orders (the operator by `ragno ctl`, the outage's end); the ingest thread does it
 * as a chore, some hundred hosts in each transaction; the distributor hears of them with the commit
 * and loads them. Orders are done in the order in which they came.
 *
 *   revival_order --> [orders] --> chore --> ingest_host_revive --> commit notice --> distributor
 *
 * Owns: the orders that wait.
 * Threads: any thread orders; the chore is the ingest thread's, and so is the call of `done`.
 * Errors: without memory for an order it is refused. */
#ifndef INGEST_CHORE_REVIVAL_H
#define INGEST_CHORE_REVIVAL_H

#include "ingest/batch/ingest_chore.h"
#include "ingest/batch/ingest_store.h"

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
/* Orders that are not done are forgotten, and not told. */
void revival_delete(Revival *revival);
/* RESULT_MEMORY. The ingest thread must be woken behind it (ingest_wake). */
Result revival_order(Revival *revival, const RevivalOrder *order);
IngestChore revival_chore(Revival *revival);

#endif
