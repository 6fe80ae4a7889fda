#include "ingest/batch/ingest_cluster.h"

#include <stdlib.h>

#include "base/core/hash.h"
#include "cluster/message/node_place.h"
#include "ingest/batch/ingest_totals.h"

static void ingest_cluster_publish(IngestCluster *cluster, const OutboxState *state)
{
    atomic_store(&cluster->outbox_blocks, state->blocks);
    atomic_store(&cluster->outbox_bytes, state->bytes);
}

/* A directory that has none has all of its slots adopted: it is new. */
static Result read_duty(IngestCluster *cluster, MDB_txn *txn, MDB_dbi crawl)
{
    Result rc = slot_duty_read(&cluster->duty, txn, crawl);
    return rc == RESULT_NOT_FOUND ? slot_duty_begin(&cluster->duty, &cluster->table, cluster->self)
                                  : rc;
}

/* The duties may be ahead of a table that is not committed after all: it comes again. */
Result ingest_cluster_write_table(IngestCluster *cluster, MDB_txn *txn, MDB_dbi crawl,
                                  const ClusterTable *table)
{
    ClusterTable before;
    NodeIdentity identity;
    cluster_table_init(&before);
    Result rc = node_place_read(txn, crawl, &identity, &before);
    if (rc == RESULT_OK) {
        slot_duty_take_back(&cluster->duty, &before, table, cluster->self);
        rc = slot_duty_follow(&cluster->duty, table, cluster->self);
    }
    cluster_table_destroy(&before);
    if (rc == RESULT_OK) {
        rc = slot_duty_write(&cluster->duty, txn, crawl);
    }
    return rc == RESULT_OK ? node_place_write_table(txn, crawl, table) : rc;
}

Result ingest_cluster_init(IngestCluster *cluster, uint16_t self, const ClusterTable *table,
                           MDB_txn *txn, MDB_dbi crawl)
{
    cluster->self = self;
    cluster_table_init(&cluster->table);
    slot_duty_init(&cluster->duty);
    slot_cache_init(&cluster->slots, hash_mix((uint64_t)mono_now().ns));
    Result rc = cluster_table_copy(&cluster->table, table);
    if (rc == RESULT_OK) {
        rc = outbox_open(&cluster->outbox, txn, crawl);
    }
    outbox_draft_init(&cluster->draft, &cluster->outbox);
    if (rc == RESULT_OK) {
        rc = via_table_open(&cluster->vias, txn);
    }
    OutboxState state = {.blocks = 0};
    if (rc == RESULT_OK) {
        rc = read_duty(cluster, txn, crawl);
    }
    if (rc == RESULT_OK) {
        rc = ingest_cluster_write_table(cluster, txn, crawl, table);
    }
    if (rc == RESULT_OK) {
        rc = outbox_read_state(&cluster->outbox, txn, &state);
    }
    ingest_cluster_publish(cluster, &state);
    return rc == RESULT_OK ? ingest_read_cluster_totals(txn, crawl, &cluster->totals) : rc;
}

void ingest_cluster_destroy(IngestCluster *cluster)
{
    ingest_cluster_arrive(cluster, NULL, 0);
    outbox_draft_destroy(&cluster->draft);
    cluster_table_destroy(&cluster->table);
    slot_duty_destroy(&cluster->duty);
}

Result ingest_cluster_read_outbox(const IngestCluster *cluster, PageDB *db, uint16_t to,
                                  uint64_t from, size_t most, Buffer *blocks, OutboxRange *range)
{
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(db, true, &txn) != 0) {
        return RESULT_IO;
    }
    Result rc = outbox_read(&cluster->outbox, txn, to, from, most, blocks, range);
    page_db_txn_abort(db, txn);
    return rc;
}

/* ---- what arrives ---------------------------------------------------------------------------- */

void ingest_cluster_arrive(IngestCluster *cluster, const LinkRecord *records, size_t n)
{
    if (cluster->arrivals.best != NULL) {
        map_destroy(cluster->arrivals.best);
        free(cluster->arrivals.best);
    }
    cluster->arrivals = (Arrivals){.records = records, .n = n};
}

/* PageDB tells of new pages in the order of the records, each by the bytes of its first one. */
const LinkRecord *ingest_cluster_arrival(IngestCluster *cluster, const PageRef *page)
{
    Arrivals *arrivals = &cluster->arrivals;
    while (arrivals->next < arrivals->n && arrivals->records[arrivals->next].url != page->url) {
        arrivals->next++;
    }
    return arrivals->next < arrivals->n ? &arrivals->records[arrivals->next] : NULL;
}

static MapKey ingest_cluster_key_of(const char *url, size_t length)
{
    Hash128 hash = hash_128(url, length);
    return (MapKey){.high = hash.high, .low = hash.low};
}

/* Without memory some are missing, and their paths end here. */
static void index_arrivals(Arrivals *arrivals)
{
    arrivals->best = malloc(sizeof *arrivals->best);
    if (arrivals->best == NULL) {
        return;
    }
    map_init(arrivals->best);
    for (size_t i = 0; i < arrivals->n; i++) {
        const LinkRecord *record = &arrivals->records[i];
        MapKey key = ingest_cluster_key_of(record->url, record->length);
        const LinkRecord *best = map_get(arrivals->best, key);
        if (best == NULL || record->depth < best->depth) {
            (void)map_put(arrivals->best, key, (void *)(uintptr_t)record);
        }
    }
}

const LinkRecord *ingest_cluster_best(IngestCluster *cluster, const char *url, size_t length)
{
    Arrivals *arrivals = &cluster->arrivals;
    if (arrivals->n == 0 || url == NULL) {
        return NULL;
    }
    if (arrivals->best == NULL) {
        index_arrivals(arrivals);
    }
    return arrivals->best == NULL ? NULL
                                  : map_get(arrivals->best, ingest_cluster_key_of(url, length));
}

/* ---- the batch ------------------------------------------------------------------------------- */

Result ingest_cluster_begin(IngestCluster *cluster, Batch *batch)
{
    batch->cluster = cluster;
    batch->shared = cluster->totals;
    return outbox_draft_begin(&cluster->draft, batch->txn, (uint32_t)cluster->table.epoch);
}

Result ingest_cluster_finish(IngestCluster *cluster, Batch *batch)
{
    Result rc = outbox_draft_finish(&cluster->draft);
    return rc == RESULT_OK
               ? ingest_write_cluster_totals(batch->txn, batch->store->crawl, &batch->shared)
               : rc;
}

void ingest_cluster_end(IngestCluster *cluster, const Batch *batch, bool committed)
{
    size_t place = 0;
    uint16_t to = 0;
    size_t bytes = 0;
    ingest_cluster_arrive(cluster, NULL, 0);
    if (committed) {
        cluster->totals = batch->shared;
        ingest_cluster_publish(cluster, &cluster->draft.state);
        while (cluster->grown != NULL && outbox_draft_grown(&cluster->draft, &place, &to, &bytes)) {
            cluster->grown(cluster->context, to, bytes);
        }
    }
    outbox_draft_end(&cluster->draft);
}
