#include "ingest/page/ingest_sink.h"

#include "ingest/batch/ingest_sieve.h"
#include "ingest/page/hand_over.h"
#include "ingest/page/ingest_new_url.h"

static int ingest_sink_on_crawled(void *context, const PageRef *before, const PageRef *after,
                                  uint8_t *level)
{
    Batch *batch = context;
    batch->n_begun++;
    batch->begun = before->index;
    batch->visits.changed += after->n_changes > before->n_changes;
    *level = SCHEDULE_NO_LEVEL;
    if (before->level != SCHEDULE_NO_LEVEL) {
        batch->result = schedule_remove(batch->store->schedule, batch->txn, before->host,
                                        before->level, before->index);
    }
    if (batch->result == RESULT_OK && batch->writes[batch->n_begun - 1].links_later) {
        batch->result = ingest_sieve_add(batch, batch->n_begun - 1, after);
    }
    return batch->result == RESULT_OK ? 0 : -1;
}

static int on_improved(void *context, const PageRef *page)
{
    return hand_over_improved(context, page);
}

PageSink ingest_sink(Batch *batch)
{
    return (PageSink){.context = batch,
                      .discovered = ingest_new_url,
                      .crawled = ingest_sink_on_crawled,
                      .improved = batch->cluster == NULL ? NULL : on_improved};
}
