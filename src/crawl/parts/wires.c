#include "crawl/parts/wires.h"

#include <stdlib.h>
#include <unistd.h>

#include "crawl/fault.h"

#define BYTES_AT_ONCE 65536u /* the most that a transfer is expected to bring */

void wires_ring(void *context)
{
    const AgentParts *parts = context;
    uint64_t one = 1;
    (void)!write(parts->news, &one, sizeof one);
}

void wires_room(void *context)
{
    AgentParts *parts = context;
    for (unsigned i = 0; i < atomic_load(&parts->n_fetchers); i++) {
        fetcher_wake(parts->fetchers[i]);
    }
}

/* ---- cluster wires ---- */

static void cluster_wires_quiet(void *context, bool quiet)
{
    AgentParts *parts = context;
    atomic_store(&parts->cluster->quiet, quiet);
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

/* To gates and quotas 0 would be: no limit. */
static void cluster_wires_granted(void *context, LedgerUnit unit, uint64_t amount)
{
    AgentParts *parts = context;
    if (unit == LEDGER_BYTES) {
        atomic_store(&parts->max_bytes, amount);
        if (parts->config->crawl_max_bytes > 0) {
            byte_quota_set(&parts->quota, amount > 0 ? amount : 1);
            wires_room(parts);
        }
        wires_ring(parts);
    } else if (unit == LEDGER_RATE) {
        if (amount != (uint64_t)rate_gate_limit(&parts->rate) && parts->config->fetch_rate > 0) {
            rate_gate_set(&parts->rate, amount > 0 ? (int64_t)amount : 1);
            wires_room(parts);
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
    /* An address has one request in flight. */
    size_t front = frontier.front > 0 ? frontier.front : 1;
    size_t left = connections > frontier.acquired ? connections - frontier.acquired : 1;
    size_t begins = left < front ? left : front;
    if (unit == LEDGER_PAGES) {
        account->used = frontier.acquired + atomic_load(&parts->pages_final);
        account->needed = begins;
        account->busy = frontier.acquired > 0;
    } else if (unit == LEDGER_RATE) {
        account->used = (uint64_t)rate_meter_read(&parts->rate_meter, &parts->rate, mono_now());
        account->needed = (uint64_t)rate_gate_limit(&parts->rate) / 8 + 1;
    } else {
        account->used = cluster_wires_bytes(parts);
        account->needed = (uint64_t)(frontier.acquired + begins) * BYTES_AT_ONCE;
        account->least = account->used > 0 ? byte_quota_mean(&parts->quota) : 0;
        account->busy = !byte_quota_is_idle(&parts->quota);
    }
}

ClusterSinks cluster_wires_sinks(AgentParts *parts)
{
    return (ClusterSinks){
        .context = parts, .news = wires_ring, .granted = cluster_wires_granted, .account = account};
}

/* ---- wires ---- */

static void wire_resolve(void *context, VisitState *visit_state)
{
    AgentParts *parts = context;
    resolver_resolve(parts->resolver, visit_state);
}

/* A DNS answer goes the way of an answer of HTTP, to the archive. */
void wires_heard(void *context, const char *hostname, WallTime asked, const Buffer *records)
{
    AgentParts *parts = context;
    FetchResult *result = fetch_result_new(FETCHED_DNS);
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    if (result == NULL || buffer_printf(&url, "dns:%s", hostname) != RESULT_OK ||
        buffer_append(&result->answer.body, records->data, records->length) != RESULT_OK) {
        LOG_WARN("dns", "no memory to archive an answer", "host=%s", hostname);
        buffer_destroy(&url);
        fetch_result_delete(result);
        return;
    }
    result->request.url = buffer_detach(&url);
    result->cost.wall_start = asked;
    parsing_push(parts->parsing, result);
}

void wires_resolved(void *context, VisitState *visit_state)
{
    AgentParts *parts = context;
    frontier_resolved(parts->frontier, visit_state);
}

/* An address always goes to the same fetcher, so that connections to it are found again. */
static void wire_fetch(void *context, VisitState *visit_state)
{
    AgentParts *parts = context;
    MapKey key = ip_address_key(&visit_state->address.ip);
    uint64_t mixed = (key.low ^ (key.low >> 32)) * UINT64_C(0x9E3779B97F4A7C15);
    atomic_fetch_add(&parts->outstanding, 1);
    fetcher_fetch(parts->fetchers[(mixed >> 32) % atomic_load(&parts->n_fetching)], visit_state);
}

static void wire_done(void *context, VisitState *visit_state)
{
    AgentParts *parts = context;
    frontier_fetched(parts->frontier, visit_state);
    if (atomic_fetch_sub(&parts->outstanding, 1) == 1 && atomic_load(&parts->draining)) {
        wires_ring(parts);
    }
}

static void wire_answered(void *context, VisitState *asker)
{
    AgentParts *parts = context;
    frontier_answered(parts->frontier, asker);
}

/* Keeps crawl.max_pages exact: never more in flight than may still be fetched. */
static void count_page(AgentParts *parts, const FetchResult *result)
{
    uint64_t most = atomic_load(&parts->max_pages);
    if (most == NO_PAGE_LIMIT || !fetch_result_settles(result) || result->answer.status < 100) {
        return;
    }
    if (parts->cluster != NULL) {
        atomic_fetch_add(&parts->pages_final, 1);
        cluster_wires_allow(parts);
        return;
    }
    uint64_t pages = atomic_fetch_add(&parts->pages_final, 1) + 1;
    uint64_t left = pages < most ? most - pages : 0;
    if (left < atomic_load(&parts->connections)) {
        frontier_set_connections(parts->frontier, left);
    }
}

static void wire_result(void *context, FetchResult *result)
{
    AgentParts *parts = context;
    count_page(parts, result);
    if (byte_quota_is_used_up(&parts->quota)) {
        wires_ring(parts);
    }
    parsing_add(parts->parsing, result);
}

static void wire_round(void *context)
{
    AgentParts *parts = context;
    parsing_call(parts->parsing);
    frontier_call(parts->frontier);
}

void wires_parsed(void *context, ParsedPage *page)
{
    AgentParts *parts = context;
    if (parts->classifier != NULL) {
        classifier_push(parts->classifier, page);
    } else {
        ingest_push(parts->ingest, page);
    }
}

void wires_classified(void *context, ParsedPage *page)
{
    AgentParts *parts = context;
    ingest_push(parts->ingest, page);
}

void wires_skipped(void *context, const SkippedLink *link)
{
    AgentParts *parts = context;
    crawl_log_skipped(parts->log, link->url, link->length, refusal_status(link->why),
                      refusal_name(link->why), (long)link->depth, link->page);
}

static void wire_committed(void *context, CommitNotice *notice)
{
    AgentParts *parts = context;
    frontier_committed(parts->frontier, notice);
    scoring_committed(parts->scoring, stats_get(&parts->stats.pages));
    wires_ring(parts);
}

static void wire_finished(void *context)
{
    AgentParts *parts = context;
    atomic_store(&parts->finished, true);
    wires_ring(parts);
}

bool wires_hungry(void *context)
{
    AgentParts *parts = context;
    FrontierStats stats;
    frontier_stats(parts->frontier, &stats);
    return stats.front + stats.acquired < atomic_load(&parts->connections);
}

static size_t wire_enough(void *context)
{
    AgentParts *parts = context;
    return scoring_enough_pages(parts->scoring);
}

bool wires_quiet(void *context)
{
    AgentParts *parts = context;
    return stats_get(&parts->stats.urls_queued) == 0 && parsing_waiting(parts->parsing) == 0 &&
           ingest_waiting(parts->ingest) == 0;
}

static void wire_crowded(void *context, FetchCrowd *crowd)
{
    AgentParts *parts = context;
    FrontierStats stats;
    StandingShares shares = standing_shares(&parts->shares);
    size_t connections = atomic_load(&parts->connections);
    frontier_stats(parts->frontier, &stats);
    *crowd = (FetchCrowd){.n_new = stats.crowd.waiting[STANDING_NEW],
                          .most_new = standing_most(&shares, STANDING_NEW, connections),
                          .n_proven = stats.crowd.waiting[STANDING_PROVEN],
                          .n_ill = stats.crowd.ill,
                          .most_ill = standing_most(&shares, STANDING_ILL, connections)};
}

static void wire_slowed(void *context)
{
    AgentParts *parts = context;
    frontier_look(parts->frontier);
}

static void wire_stuck(void *context, bool stuck)
{
    AgentParts *parts = context;
    atomic_store(&parts->stuck, stuck);
    wires_ring(parts);
}

static void wire_failed(void *context, Result why)
{
    AgentParts *parts = context;
    if (why == RESULT_DAMAGED) {
        fault_note();
    }
    atomic_store(&parts->failed, true);
    wires_ring(parts);
}

/* News of a host from the distributor, as a result without a page. */
static void push_host_news(AgentParts *parts, uint32_t host, const char *hostname, FetchClass why,
                           int64_t wait_ms, const HostHealth *health, bool drop)
{
    FetchResult *result = fetch_result_new(FETCHED_NOTHING);
    ParsedPage *page = result == NULL ? NULL : parsed_page_new(result);
    if (page == NULL) {
        fetch_result_delete(result);
        return; /* the host stays as it is and is resolved again later */
    }
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    (void)buffer_printf(&url, "dns:%s", hostname == NULL ? "" : hostname);
    result->host.id = host;
    result->request.url = buffer_detach(&url);
    result->answer.class = why;
    result->answer.status = fetch_status_of_class(why);
    result->cost.wall_start = wall_now();
    result->cost.start = mono_now();
    result->cost.end = result->cost.start;
    result->host.drop = drop;
    result->host.wait_ms = wait_ms;
    if (health != NULL) {
        result->host.health = *health;
    }
    ingest_push(parts->ingest, page);
    wires_ring(parts);
}

static void wire_placed(void *context, const VisitState *visit_state)
{
    AgentParts *parts = context;
    ingest_place(parts->ingest, visit_state->identity.host, &visit_state->address.ip);
}

static void wire_drop(void *context, const VisitState *visit_state, FetchClass why)
{
    AgentParts *parts = context;
    push_host_news(parts, visit_state->identity.host, visit_state->identity.hostname, why, 0,
                   &visit_state->politeness.health, true);
}

static void wire_unresolved(void *context, const VisitState *visit_state, FetchClass why,
                            int64_t wait_ms)
{
    AgentParts *parts = context;
    push_host_news(parts, visit_state->identity.host, visit_state->identity.hostname, why, wait_ms,
                   &visit_state->politeness.health, false);
}

void wires_moves(void *context)
{
    AgentParts *parts = context;
    ingest_wake(parts->ingest);
}

FrontierSinks wires_of_frontier(AgentParts *parts)
{
    FrontierSinks sinks = {.hosts = {.context = parts,
                                     .resolve = wire_resolve,
                                     .drop = wire_drop,
                                     .unresolved = wire_unresolved,
                                     .placed = wire_placed,
                                     .failed = wire_failed},
                           .fetch = wire_fetch};
    if (parts->cluster != NULL) {
        cluster_part_wire(parts->cluster, &sinks);
    }
    return sinks;
}

FetcherSinks wires_of_fetcher(AgentParts *parts)
{
    return (FetcherSinks){.context = parts,
                          .result = wire_result,
                          .done = wire_done,
                          .answered = wire_answered,
                          .crowded = wire_crowded,
                          .slowed = wire_slowed,
                          .round = wire_round};
}

IngestSinks wires_of_ingest(AgentParts *parts)
{
    return (IngestSinks){.context = parts,
                         .committed = wire_committed,
                         .finished = wire_finished,
                         .quiet = parts->cluster == NULL ? NULL : cluster_wires_quiet,
                         .hungry = wires_hungry,
                         .enough = wire_enough,
                         .stuck = wire_stuck,
                         .failed = wire_failed};
}
