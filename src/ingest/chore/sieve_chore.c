#include "ingest/chore/sieve_chore.h"

#include "ingest/page/page_way.h"

static MonoTime sieve_chore_due(void *context)
{
    IngestSieve *sieve = context;
    if (!sieve_holds(sieve->sieve)) {
        atomic_store(&sieve->flush, false);
    }
    /* With nothing scheduled nobody else would wake the thread. */
    bool at_once = stats_get(&sieve->stats->urls_queued) == 0 || sieve->hungry(sieve->context) ||
                   atomic_load(&sieve->flush);
    return sieve_due(sieve->sieve, at_once);
}

static Result sieve_chore_run(void *context, Batch *batch, MonoTime until)
{
    const IngestSieve *sieve = context;
    PageSink sink = ingest_sink(batch);
    batch->merges = true;
    /* The commit takes as long again for the pages that were changed. */
    MonoTime now = mono_now();
    MonoTime half = {now.ns + (until.ns - now.ns) / 2};
    Result rc = sieve_merge(sieve->sieve, batch->txn, &sink, half);
    return batch->result != RESULT_OK ? batch->result : rc;
}

static void sieve_chore_ended(void *context, Result rc)
{
    (void)context; /* ingest settles the sieve behind every transaction */
    (void)rc;
}

static bool sieve_chore_holds(void *context)
{
    const IngestSieve *sieve = context;
    return sieve_holds(sieve->sieve);
}

IngestChore sieve_chore(IngestSieve *sieve)
{
    return (IngestChore){.context = sieve,
                         .due = sieve_chore_due,
                         .run = sieve_chore_run,
                         .ended = sieve_chore_ended,
                         .holds = sieve_chore_holds,
                         .at_stop = true};
}
