/* Orders: what an operator asks of the tables while the crawl runs.
 *
 *   main --orders_give--> [waiting] --ingest thread, one transaction--> [done] --orders_take-->
 * main
 *
 * What: a chore of the ingest thread. An order is a list of seeds, or something that is to happen
 * to a host. It is done in one transaction and then waits, with what came of it, until the main
 * thread takes it back.
 *
 *   seed     the URLs are known, and scheduled unless they were before
 *   revive   a host that was dropped or parked gets its URLs back
 *   drop     a host is set aside, with its URLs kept
 *   visit    a host is as well as if it had never failed: it is visited when its delay has passed
 *
 * Owns: the orders it was given.
 * Threads: main gives and takes; the rest is the ingest thread's.
 * Errors: an order whose transaction was not committed is done again. */
#pragma once

#include "ingest/batch/ingest_chore.h"
#include "ingest/batch/ingest_batch.h"

typedef enum OrderKind { ORDER_SEED, ORDER_REVIVE, ORDER_DROP, ORDER_VISIT } OrderKind;

typedef struct Order {
    OrderKind kind;
    char **texts;  /* URLs, or one host: "www.example.org" or an origin, "http://h:81" */
    size_t n;      /* of them */
    uint64_t sign; /* the giver's own */
    /* What came of it. */
    uint64_t hosts; /* that are known under the name; of seeds: that are new */
    uint64_t urls;  /* of theirs that came back or were set aside */
    struct Order *next;
} Order;

typedef struct Orders Orders;

/* ring tells the main thread that orders_take has something. RESULT_MEMORY. */
Result orders_new(Orders **orders, void (*ring)(void *context), void *context);
void orders_delete(Orders *orders); /* NULL is allowed */
IngestChore orders_chore(Orders *orders);

/* Copies the texts; call ingest_wake afterwards. RESULT_MEMORY. */
Result orders_give(Orders *orders, OrderKind kind, const char *const *texts, size_t n,
                   uint64_t sign);
/* The next order that is done, or NULL. To be freed by order_delete. */
Order *orders_take(Orders *orders);
void order_delete(Order *order);
