#include "ingest/batch/ingest_options.h"

/* ---- Ingest live ---- */

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

/* ---- Ingest options ---- */

#define QUEUE_CAPACITY 2048u

HostLimits ingest_host_limits(const Config *config)
{
    return (HostLimits){.hosts_per_domain = (uint64_t)config->limits_hosts_per_domain,
                        .pages_per_domain = (uint64_t)config->limits_pages_per_domain,
                        .urls_per_domain = (uint64_t)config->limits_urls_per_domain,
                        .hosts_per_address = (uint64_t)config->limits_hosts_per_address,
                        .pages_per_address = (uint64_t)config->limits_pages_per_address,
                        .urls_per_address = (uint64_t)config->limits_urls_per_address,
                        .feeds_per_host = (uint64_t)config->limits_feeds_per_host};
}

IngestOptions ingest_options(const Config *config)
{
    return (IngestOptions){.batch_pages = (size_t)config->store_batch_pages,
                           .batch_links = (size_t)config->store_batch_links,
                           .queue = QUEUE_CAPACITY,
                           .batch_time_ms = config->store_batch_time,
                           .stop_ms = config->crawl_grace,
                           .order = (ScheduleOrder)config->schedule_order,
                           .levels = (unsigned)config->schedule_levels,
                           .depth_factor = config->score_depth_factor,
                           .redirect_weight = config->score_redirect,
                           .max_depth = (uint64_t)config->scope_depth,
                           .max_embeds = (unsigned)config->scope_embed_hops,
                           .max_redirects = (unsigned)config->fetch_max_redirects,
                           .name_recheck_ms = config->politeness_name_recheck,
                           .pages_per_host = (uint64_t)config->limits_pages_per_host,
                           .limits = ingest_host_limits(config),
                           .follow_duplicates = config->parse_follow_duplicates,
                           .same_content = config->parse_duplicates == DUPLICATES_CONTENT,
                           .near_duplicates = config->parse_near_duplicates == NEAR_DUPLICATES_FLAG,
                           .traps = {.fetches = (uint32_t)config->limits_trap_fetches,
                                     .yield = config->limits_trap_yield,
                                     .patterns = (size_t)config->limits_trap_patterns}};
}
