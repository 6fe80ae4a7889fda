/* Ingest patience: how long a batch is collected while the fetchers have nothing to do.
 *
 * What: then a commit may be what the fetchers wait for: a new host, or more URLs of a host that
 * has run dry. So the first batch is collected for INGEST_HUNGRY_MS only. When its commit gave
 * nobody anything to do, the fetchers wait for the delays of hosts and not for ingest: the next
 * batch is collected twice as long, and so on up to store.batch_time. For each commit the database
 * copies pages, however few results there are; the slow end of a crawl, where few hosts have work
 * left, would otherwise pay for a commit with nearly every page.
 * Threads: ingest. */
#ifndef INGEST_INGEST_PATIENCE_H
#define INGEST_INGEST_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

#define INGEST_HUNGRY_MS 20

typedef struct IngestPatience {
    int64_t hungry_ms; /* 0: INGEST_HUNGRY_MS */
} IngestPatience;

/* How long from now on, at most batch_time_ms. */
int64_t ingest_patience_ms(const IngestPatience *patience, int64_t batch_time_ms, bool hungry);
/* Results were committed: they woke a host that had nothing to fetch, or none. So may a piece of a
 * merge; one that does not says nothing about results. */
void ingest_patience_note(IngestPatience *patience, int64_t batch_time_ms, bool woke);

#endif
