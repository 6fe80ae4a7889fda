/* Ingest patience: how long a batch is collected while the fetchers have nothing to do.
 *
 * What: idle fetchers may be waiting for a commit, because it brings a new host, or more URLs of a
 * host that has run out of them. So the first batch is collected for INGEST_HUNGRY_MS only. When
 * its commit gave the fetchers nothing to do, they are waiting for the delays of hosts and not for
 * ingest, and the next batch is collected twice as long, and so on up to store.batch_time. The
 * reason for patience is that the database copies pages for each commit, however few results it
 * holds: the slow end of a crawl, where few hosts have work left, would pay for a commit with
 * nearly every page.
 * Threads: ingest. */
#ifndef INGEST_INGEST_PATIENCE_H
#define INGEST_INGEST_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

#define INGEST_HUNGRY_MS 20

typedef struct IngestPatience {
    int64_t hungry_ms; /* 0: INGEST_HUNGRY_MS */
} IngestPatience;

/* How long the next batch is collected, at most batch_time_ms. */
int64_t ingest_patience_ms(const IngestPatience *patience, int64_t batch_time_ms, bool hungry);
/* Notes a commit of results. woke: it gave work to a host that had nothing to fetch, nor had others
 * on its address. For a piece of a merge, call this only when woke is true, because a piece that
 * wakes nobody says nothing about results. */
void ingest_patience_note(IngestPatience *patience, int64_t batch_time_ms, bool woke);

#endif
