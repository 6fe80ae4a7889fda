#include "ingest/batch/ingest_live.h"

void ingest_live_init(IngestLive *live, const IngestOptions *options)
{
    mutex_init(&live->mutex, RANK_TABLE);
    live->options = *options;
}

void ingest_live_destroy(IngestLive *live)
{
    mutex_destroy(&live->mutex);
}

void ingest_live_put(IngestLive *live, const IngestOptions *options)
{
    mutex_lock(&live->mutex);
    live->options = *options;
    mutex_unlock(&live->mutex);
}

void ingest_live_take(IngestLive *live, IngestOptions *options)
{
    mutex_lock(&live->mutex);
    const IngestOptions *now = &live->options;
    options->batch_pages = now->batch_pages;
    options->batch_links = now->batch_links;
    options->batch_time_ms = now->batch_time_ms;
    options->depth_factor = now->depth_factor;
    options->redirect_weight = now->redirect_weight;
    options->max_depth = now->max_depth;
    options->name_recheck_ms = now->name_recheck_ms;
    mutex_unlock(&live->mutex);
}
