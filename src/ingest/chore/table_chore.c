#include "ingest/chore/table_chore.h"

void table_chore_init(TableChore *chore, IngestCluster *cluster)
{
    *chore = (TableChore){.cluster = cluster};
    mutex_init(&chore->mutex, RANK_TABLE);
    cluster_table_init(&chore->next);
    cluster_table_init(&chore->taken);
}

void table_chore_destroy(TableChore *chore)
{
    cluster_table_destroy(&chore->next);
    cluster_table_destroy(&chore->taken);
    mutex_destroy(&chore->mutex);
}

Result table_chore_tell(TableChore *chore, const ClusterTable *table)
{
    mutex_lock(&chore->mutex);
    Result rc =
        table->epoch > chore->next.epoch ? cluster_table_copy(&chore->next, table) : RESULT_OK;
    mutex_unlock(&chore->mutex);
    return rc;
}

static bool waits(TableChore *chore)
{
    mutex_lock(&chore->mutex);
    bool newer = chore->next.epoch > chore->cluster->table.epoch;
    mutex_unlock(&chore->mutex);
    return newer;
}

static MonoTime table_chore_due(void *context)
{
    return !waits(context) ? MONO_NEVER : (MonoTime){0};
}

static Result table_chore_run(void *context, Batch *batch, MonoTime until)
{
    TableChore *chore = context;
    (void)until;
    mutex_lock(&chore->mutex);
    Result rc = cluster_table_copy(&chore->taken, &chore->next);
    mutex_unlock(&chore->mutex);
    return rc == RESULT_OK ? ingest_cluster_write_table(chore->cluster, batch->txn,
                                                        batch->store->crawl, &chore->taken)
                           : rc;
}

/* Without memory the older table decides until the next commit. */
static void table_chore_ended(void *context, Result rc)
{
    TableChore *chore = context;
    if (rc == RESULT_OK && cluster_table_copy(&chore->cluster->table, &chore->taken) == RESULT_OK) {
        chore->committed(chore->context, &chore->cluster->table);
    }
}

static bool table_chore_holds(void *context)
{
    (void)context;
    return false;
}

IngestChore table_chore(TableChore *chore)
{
    return (IngestChore){.context = chore,
                         .due = table_chore_due,
                         .run = table_chore_run,
                         .ended = table_chore_ended,
                         .holds = table_chore_holds,
                         .rides = true};
}
