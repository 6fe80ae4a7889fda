#include "ingest/chore/acks_chore.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/array.h"

#define AT_ONCE 4096u

void acks_chore_init(AcksChore *chore, IngestCluster *cluster)
{
    *chore = (AcksChore){.cluster = cluster};
    mutex_init(&chore->mutex, RANK_TABLE);
}

void acks_chore_destroy(AcksChore *chore)
{
    free(chore->ranges);
    mutex_destroy(&chore->mutex);
}

void acks_chore_tell(AcksChore *chore, const AckRange *range)
{
    mutex_lock(&chore->mutex);
    (void)array_add(&chore->ranges, &chore->n, sizeof *range, range);
    mutex_unlock(&chore->mutex);
}

static size_t acks_chore_count(AcksChore *chore)
{
    mutex_lock(&chore->mutex);
    size_t n = chore->n;
    mutex_unlock(&chore->mutex);
    return n;
}

static MonoTime acks_chore_due(void *context)
{
    MonoTime at_once = {0};
    return acks_chore_count(context) > 0 ? at_once : MONO_NEVER;
}

static Result acks_chore_run(void *context, Batch *batch, MonoTime until)
{
    AcksChore *chore = context;
    Result rc = RESULT_OK;
    chore->n_taken = 0;
    size_t n = acks_chore_count(chore);
    for (size_t i = 0; rc == RESULT_OK && i < n && i < AT_ONCE && mono_before(mono_now(), until);
         i++) {
        mutex_lock(&chore->mutex);
        AckRange range = chore->ranges[i];
        mutex_unlock(&chore->mutex);
        rc = outbox_draft_delete(&chore->cluster->draft, range.to, range.first, range.last, NULL);
        if (rc == RESULT_OK) {
            rc = peer_mark_hear(batch->txn, batch->store->crawl, range.to, range.heard);
        }
        batch->shared.blocks_answered += range.blocks;
        chore->n_taken++;
    }
    return rc;
}

static void acks_chore_ended(void *context, Result rc)
{
    AcksChore *chore = context;
    mutex_lock(&chore->mutex);
    if (rc == RESULT_OK && chore->n_taken > 0) {
        chore->n -= chore->n_taken;
        memmove(chore->ranges, chore->ranges + chore->n_taken, chore->n * sizeof *chore->ranges);
    }
    chore->n_taken = 0;
    mutex_unlock(&chore->mutex);
}

static bool acks_chore_holds(void *context)
{
    AcksChore *chore = context;
    return acks_chore_count(chore) > 0 || ingest_cluster_outbox_blocks(chore->cluster) > 0;
}

IngestChore acks_chore(AcksChore *chore)
{
    return (IngestChore){.context = chore,
                         .due = acks_chore_due,
                         .run = acks_chore_run,
                         .ended = acks_chore_ended,
                         .holds = acks_chore_holds,
                         .rides = true,
                         .at_stop = false};
}
