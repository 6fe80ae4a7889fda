/* Revival: brings hosts back that were dropped or parked, with all their URLs, while the crawl
 * runs.
 *
 * What: an order comes from the end of an outage, or from the time at which names that do not exist
 * are asked for again (one host alone is orders.h's). The ingest thread carries orders out as a
 * chore, some hundred hosts in each transaction, in the order in which they came. The distributor
 * gets the hosts with the commit notice and loads them.
 *
 *   revival_order --> [orders] --> chore --> ingest_host_revive --> commit notice --> distributor
 *
 * Owns: the orders that wait.
 * Threads: any thread may order; the chore is the ingest thread's.
 * Errors: an order is refused when memory is short. */
#pragma once

#include "ingest/batch/ingest_chore.h"
#include "ingest/batch/ingest_batch.h"

/* Which of the hosts that are set aside come back. */
typedef struct RevivalOrder {
    int64_t since_ms;      /* only hosts set aside at this wall time or later; 0 = all */
    uint32_t classes;      /* only for these reasons: bits 1 << FetchClass; 0 = all */
    int64_t recheck_by_ms; /* only hosts whose HostRecord.recheck_ms has come by then; 0 = all */
} RevivalOrder;

typedef struct Revival Revival;

/* RESULT_MEMORY. */
Result revival_new(Revival **revival);
/* Drops the orders that are not done. */
void revival_delete(Revival *revival);
/* Adds an order. Call ingest_wake afterwards. RESULT_MEMORY. */
Result revival_order(Revival *revival, const RevivalOrder *order);
IngestChore revival_chore(Revival *revival);
