#include "crawl/parts/cluster_wires.h"

#include <unistd.h>

#define BYTES_AT_ONCE 65536u /* the most that a transfer is expected to bring */

/* Wakes the main thread: something it looks at has changed. */
static void ring(void *context)
{
    const AgentParts *parts = context;
    uint64_t one = 1;
    (void)!write(parts->news, &one, sizeof one);
}

void cluster_wires_want(void *context, const IpAddress *address, uint64_t ticket)
{
    const AgentParts *parts = context;
    cluster_part_want(parts->cluster, address, ticket);
}

void cluster_wires_release(void *context, const IpAddress *address, MonoTime rest_end)
{
    const AgentParts *parts = context;
    cluster_part_release(parts->cluster, address, rest_end);
}

void cluster_wires_left(void *context, uint32_t host)
{
    const AgentParts *parts = context;
    cluster_part_left(parts->cluster, host);
}

void cluster_wires_ask(void *context, uint32_t host, const char *url)
{
    const AgentParts *parts = context;
    cluster_part_ask(parts->cluster, host, url);
}

void cluster_wires_tell(void *context, uint64_t ticket, ErrandAnswer *answer)
{
    const AgentParts *parts = context;
    cluster_part_tell(parts->cluster, ticket, answer);
}

void cluster_wires_quiet(void *context, bool quiet)
{
    AgentParts *parts = context;
    cluster_part_set_quiet(parts->cluster, quiet);
    if (!quiet) {
        atomic_store(&parts->finished, false); /* others have sent something */
    }
}

/* Allowance, pages and connections are compared and set in one step, so that an older comparison
 * does not undo a newer one. */
void cluster_wires_allow(AgentParts *parts)
{
    mutex_lock(&parts->limit_mutex);
    uint64_t most = atomic_load(&parts->max_pages);
    uint64_t pages = atomic_load(&parts->pages_final);
    uint64_t left = pages < most ? most - pages : 0;
    size_t connections = atomic_load(&parts->connections);
    frontier_set_connections(parts->frontier, left < connections ? (size_t)left : connections);
    mutex_unlock(&parts->limit_mutex);
}

void cluster_wires_count(AgentParts *parts)
{
    atomic_fetch_add(&parts->pages_final, 1);
    cluster_wires_allow(parts);
}

static void wake_fetchers(AgentParts *parts)
{
    for (unsigned i = 0; i < atomic_load(&parts->n_fetchers); i++) {
        fetcher_wake(parts->fetchers[i]);
    }
}

/* To gates and quotas 0 would be: no limit. */
static void cluster_wires_granted(void *context, LedgerUnit unit, uint64_t amount)
{
    AgentParts *parts = context;
    if (unit == LEDGER_BYTES) {
        atomic_store(&parts->max_bytes, amount);
        if (parts->config->crawl_max_bytes > 0) {
            byte_quota_set(&parts->quota, amount > 0 ? amount : 1);
            wake_fetchers(parts);
        }
        ring(parts);
    } else if (unit == LEDGER_RATE) {
        if (amount != (uint64_t)rate_gate_limit(&parts->rate) && parts->config->fetch_rate > 0) {
            rate_gate_set(&parts->rate, amount > 0 ? (int64_t)amount : 1);
            wake_fetchers(parts);
        }
    } else if (atomic_load(&parts->max_pages) != NO_PAGE_LIMIT) {
        atomic_store(&parts->max_pages, amount);
        cluster_wires_allow(parts);
    }
}

/* What was received, also of what is in flight or was given up. */
uint64_t cluster_wires_bytes(AgentParts *parts)
{
    uint64_t ended = stats_get(&parts->stats.bytes);
    uint64_t received = byte_quota_received(&parts->quota);
    return ended > received ? ended : received;
}

static void account(void *context, LedgerUnit unit, LedgerAccount *account)
{
    AgentParts *parts = context;
    FrontierStats frontier;
    size_t connections = atomic_load(&parts->connections);
    frontier_stats(parts->frontier, &frontier);
    size_t left = connections > frontier.acquired ? connections - frontier.acquired : 1;
    if (unit == LEDGER_PAGES) {
        account->used = frontier.acquired + atomic_load(&parts->pages_final);
        account->needed = left;
        account->busy = frontier.acquired > 0;
    } else if (unit == LEDGER_RATE) {
        account->used = (uint64_t)rate_meter_read(&parts->rate_meter, &parts->rate, mono_now());
        account->needed = (uint64_t)rate_gate_limit(&parts->rate) / 8 + 1;
    } else {
        account->used = cluster_wires_bytes(parts);
        account->needed = (uint64_t)connections * BYTES_AT_ONCE;
        account->least = account->used > 0 ? byte_quota_mean(&parts->quota) : 0;
        account->busy = !byte_quota_is_idle(&parts->quota);
    }
}

ClusterSinks cluster_wires_sinks(AgentParts *parts)
{
    return (ClusterSinks){
        .context = parts, .news = ring, .granted = cluster_wires_granted, .account = account};
}
