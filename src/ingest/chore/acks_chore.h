/* Acks chore: deletes the outbox rows that receivers have committed.
 *
 * What: ranges of rows that were answered are deleted with the next batch; nobody waits for it, so
 * the chore rides with results. The crawl is not over while the outbox has rows.
 * Owns: the ranges.
 * Threads: any thread may call acks_chore_tell; the rest belongs to ingest. */
#ifndef INGEST_CHORE_ACKS_CHORE_H
#define INGEST_CHORE_ACKS_CHORE_H

#include "base/thread/mutex.h"
#include "ingest/batch/ingest_chore.h"
#include "ingest/batch/ingest_batch.h"

typedef struct AckRange {
    uint16_t to;
    uint64_t first; /* sequences */
    uint64_t last;
    uint16_t blocks;
    uint64_t heard; /* with the answer: messages that the receiver has of us (kept.h) */
} AckRange;

/* What was read of the outbox for an agent. */
static inline AckRange acks_chore_range(uint16_t to, const OutboxRange *read)
{
    return (AckRange){.to = to,
                      .first = read->first,
                      .last = read->last,
                      .blocks = read->blocks,
                      .heard = read->heard};
}

typedef struct AcksChore {
    IngestCluster *cluster;
    Mutex mutex;      /* RANK_TABLE; guards what follows */
    AckRange *ranges; /* owned */
    size_t n;
    size_t n_taken; /* the first of them, in this transaction; ingest's thread */
} AcksChore;

void acks_chore_init(AcksChore *chore, IngestCluster *cluster);
void acks_chore_destroy(AcksChore *chore);
/* Says that a range was answered. Any thread. When memory is short, the rows stay and are sent
 * again. */
void acks_chore_tell(AcksChore *chore, const AckRange *range);
IngestChore acks_chore(AcksChore *chore);

#endif
