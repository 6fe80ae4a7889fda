/* Inbox chore: the URLs of other agents' blocks become pages of this agent.
 *
 *   inbox --> records, checked --> spelled as the pages they are --> page_db_discover_each
 *               --> commit --> answered
 *
 * What: URLs of hosts that this agent owns are scheduled. Other URLs were sent here by an older or
 * newer table; they become stubs and are sent on, like any new URL of a foreign host
 * (ingest/page/ingest_new_url.h). A block is refused as a whole when one of its records cannot be
 * read, or when its sender has the same table and yet disagrees about the slot of a host, or when
 * all slots of this agent are being drained. A record that is done becomes a page that is never
 * fetched; a host that moves here gets its record (ingest/move). The chore rides with results.
 * Owns: the records of the transaction. The inbox and the cluster are borrowed.
 * Threads: ingest. */
#pragma once

#include "cluster/link/inbox.h"
#include "ingest/batch/ingest_chore.h"
#include "ingest/batch/ingest_batch.h"
#include "base/thread/tray.h"

typedef struct InboxChore InboxChore;

/* NULL without memory. */
InboxChore *inbox_chore_new(Inbox *inbox, IngestCluster *cluster);
void inbox_chore_delete(InboxChore *chore); /* NULL is allowed */
IngestChore inbox_chore(InboxChore *chore);

/* Table chore: a newer cluster table is committed, and from then on decides whose a new URL is.
 *
 * What: the table goes into the database with the next transaction. URLs of that transaction are
 * still divided by the table before it, so a transaction has one table.
 * Owns: the table that waits. The cluster is borrowed.
 * NODE_TABLE follows the commit.
 * Threads: any thread may call table_chore_tell; the rest belongs to ingest. */

typedef struct TableChore {
    IngestCluster *cluster;
    Mutex mutex;        /* RANK_TABLE; guards next */
    ClusterTable next;  /* epoch 0: none waits */
    ClusterTable taken; /* in this transaction; ingest's thread */
} TableChore;

void table_chore_init(TableChore *chore, IngestCluster *cluster);
void table_chore_destroy(TableChore *chore);
/* A newer table; copied. RESULT_MEMORY: tell it again. */
Result table_chore_tell(TableChore *chore, const ClusterTable *table);
IngestChore table_chore(TableChore *chore);

/* Acks chore: deletes the outbox rows that receivers have committed.
 *
 * What: ranges of rows that were answered are deleted together, with a batch; nobody waits for it,
 * so the chore rides with results, and is due a while after the first. The crawl is not over while
 * the outbox has rows.
 * Owns: the ranges.
 * Threads: any thread may call acks_chore_tell; the rest belongs to ingest. */

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
    Tray ranges;    /* of AckRange */
    MonoTime due;   /* MONO_NEVER: there are none; ingest's thread, as what follows */
    size_t n_taken; /* the first of them, in this transaction */
} AcksChore;

void acks_chore_init(AcksChore *chore, IngestCluster *cluster);
/* Says that a range was answered; true: ingest is to be woken, to see when it is due. Any thread.
 * When memory is short, the rows stay and are sent again. */
bool acks_chore_tell(AcksChore *chore, const AckRange *range);
IngestChore acks_chore(AcksChore *chore);
