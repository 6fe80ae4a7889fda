#include "crawl/run/parts_sample.h"

/* What fetch.rate does. */
static void sample_rate(const AgentParts *parts, StatusSample *s)
{
    s->rate = atomic_load(&parts->rate.bytes_s);
    s->held_back = false;
    for (unsigned i = 0; i < atomic_load(&parts->n_fetchers); i++) {
        FetcherStats f;
        fetcher_stats(parts->fetchers[i], &f);
        s->held_back |= f.held_back;
    }
}

/* Of all fetching threads together. */
static FetcherStats fetch_stats(const AgentParts *parts)
{
    FetcherStats all = {.active = 0};
    for (unsigned i = 0; i < atomic_load(&parts->n_fetchers); i++) {
        FetcherStats f;
        fetcher_stats(parts->fetchers[i], &f);
        all.active += f.active;
        all.paused += f.paused;
        all.requests += f.requests;
        all.connections += f.connections;
        all.cut_new += f.cut_new;
        all.cut_slow += f.cut_slow;
        all.tls.handshakes += f.tls.handshakes;
        all.tls.resumed += f.tls.resumed;
    }
    return all;
}

static void sample_scoring(const AgentParts *parts, StatusSample *s)
{
    ScoringStats scores;
    scoring_stats(parts->scoring, &scores);
    s->computations = scores.computations;
    s->score_ms = scores.last_ms;
    s->score_cpu_us = scores.cpu_us;
    s->moves = scores.moves;
    s->revisit_signals = stats_get(&parts->stats.revisit_signals);
    s->classified = stats_get(&parts->stats.classified);
    s->classify_default = stats_get(&parts->stats.classify_default);
    s->classify_bad = stats_get(&parts->stats.classify_bad);
    s->classify_starts = stats_get(&parts->stats.classify_starts);
    s->classify_us = stats_get(&parts->stats.classify_us);
}

/* Hosts that are not fetched from, and their URLs. */
static void sample_hosts(const Stats *stats, StatusSample *s)
{
    s->urls_parked = stats_get(&stats->urls_parked);
    s->hosts_parked = stats_get(&stats->hosts_parked);
    s->hosts_with_work = stats_get(&stats->hosts_with_work);
    s->hosts_waiting = stats_get(&stats->hosts_waiting);
    int64_t left_ms = (int64_t)stats_get(&stats->next_retry_ms) - s->wall.us / 1000;
    s->next_retry_ms = s->hosts_waiting > 0 && left_ms > 0 ? (uint64_t)left_ms : 0;
}

static void sample_network(const AgentParts *parts, StatusSample *s)
{
    frontier_stats(parts->frontier, &s->frontier);
    resolver_stats(parts->resolver, &s->resolver);
    s->network = network_watch_report(parts->network);
}

void parts_sample(AgentParts *parts, StatusSample *s)
{
    sample_hosts(&parts->stats, s);
    sample_scoring(parts, s);
    sample_network(parts, s);
    sample_rate(parts, s);
    s->fetch = fetch_stats(parts);
    tls_sessions_stats(&parts->sessions, &s->tls_sessions);
    if (s->state == STATE_RUNNING && parts->pauses != 0) {
        s->state = STATE_PAUSED;
    }
    s->clustered = parts->cluster != NULL;
    if (s->clustered) {
        cluster_part_figures(parts->cluster, &s->cluster);
        s->cluster_full = (parts->pauses & PAUSE_CLUSTER) != 0;
    }
    s->held = (parts->pauses & PAUSE_OPERATOR) != 0;
}
