/* Ingest's cluster: which URLs belong to other agents, and what this batch has for them.
 *
 *   a new URL of a foreign host --> stub --> outbox (cluster/link/outbox.h) ingest/page/hand_over.h
 *   a block of another agent    --> page_db_discover_each ingest/chore/inbox_chore.h
 *
 * What: the cluster table as it is committed here, the outbox, and the records of the blocks that
 * are being taken in. Without a `[cluster]` section there is none (Batch.cluster is NULL), and that
 * is all that is left of it.
 * Owns: the table, the draft of the outbox, the cache of slots.
 * Threads: ingest. */
#ifndef INGEST_BATCH_INGEST_CLUSTER_H
#define INGEST_BATCH_INGEST_CLUSTER_H

#include "base/memory/map.h"
#include "cluster/link/outbox.h"
#include "cluster/link/slot_duty.h"
#include "cluster/link/stub.h"
#include "cluster/link/via_table.h"
#include "cluster/table/cluster_table.h"
#include "cluster/table/slots.h"
#include "ingest/batch/ingest_batch.h"

/* Records that are being taken in, in order. Their URLs must not move in memory during that time.
 */
typedef struct Arrivals {
    const LinkRecord *records;
    size_t n;
    size_t next; /* those before it have been told of */
    Map *best;   /* by URL: the record with the least depth; NULL until it is asked for */
} Arrivals;

struct IngestCluster {
    uint16_t self;
    ClusterTable table; /* as of the last commit */
    SlotDuty duty;      /* likewise */
    SlotCache slots;
    Outbox outbox;
    OutboxDraft draft;
    MDB_dbi vias;
    ClusterTotals totals; /* as of the last commit */
    Arrivals arrivals;
    _Atomic uint64_t outbox_blocks; /* as of the last commit; any thread may read them */
    _Atomic uint64_t outbox_bytes;
    void *context;
    void (*grown)(void *context, uint16_t to, size_t bytes); /* after a commit: rows for an agent */
};

/* Opens the tables in a write transaction, and reads the totals. On failure it is to be destroyed
 * all the same. RESULT_MEMORY, RESULT_IO. */
Result ingest_cluster_init(IngestCluster *cluster, uint16_t self, const ClusterTable *table,
                           MDB_txn *txn, MDB_dbi crawl);
void ingest_cluster_destroy(IngestCluster *cluster);

/* As of the last commit; any thread. */
static inline uint64_t ingest_cluster_outbox_blocks(const IngestCluster *cluster)
{
    return atomic_load(&cluster->outbox_blocks);
}

/* outbox_read in a transaction of its own. Any thread. RESULT_IO besides. */
Result ingest_cluster_read_outbox(const IngestCluster *cluster, PageDB *db, uint16_t to,
                                  uint64_t from, size_t most, Buffer *blocks, OutboxRange *range);

/* The slot of a URL, as the table has it. */
static inline ClusterSlot ingest_cluster_slot(IngestCluster *cluster, const char *url,
                                              size_t length)
{
    return cluster->table.slots[slot_cache_of_url(&cluster->slots, url, length)];
}
/* The agent that a URL belongs to. */
static inline uint16_t ingest_cluster_owner(IngestCluster *cluster, const char *url, size_t length)
{
    return ingest_cluster_slot(cluster, url, length).to;
}
/* Writes a table in a write transaction, with what follows from it for the duties. It decides from
 * the commit on. RESULT_MEMORY, RESULT_FULL, RESULT_IO. */
Result ingest_cluster_write_table(IngestCluster *cluster, MDB_txn *txn, MDB_dbi crawl,
                                  const ClusterTable *table);
/* The record that led to a new page; NULL when no records are being taken in. */
const LinkRecord *ingest_cluster_arrival(IngestCluster *cluster, const PageRef *page);
/* The best record of a page that was known; NULL. */
const LinkRecord *ingest_cluster_best(IngestCluster *cluster, const char *url, size_t length);
/* Begins to take records in. NULL and 0 end it. */
void ingest_cluster_arrive(IngestCluster *cluster, const LinkRecord *records, size_t n);

/* Called when the batch's transaction begins, before its commit, and after its commit or abort. */
Result ingest_cluster_begin(IngestCluster *cluster, Batch *batch);
Result ingest_cluster_finish(IngestCluster *cluster, Batch *batch);
void ingest_cluster_end(IngestCluster *cluster, const Batch *batch, bool committed);

#endif
