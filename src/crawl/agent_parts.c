#include "crawl/agent_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/thread/log.h"
#include "parse/html/html.h"
#include "crawl/wires.h"

#define FILES_ELSEWHERE 256u /* descriptors for logs, database, WARC, DNS */

static int64_t site_delay(void *context, const char *hostname, int64_t standard_ms)
{
    const AgentParts *parts = context;
    int64_t delay = standard_ms;
    (void)options_site_number(&parts->config->options, offsetof(Config, politeness_host_delay),
                              hostname, &delay);
    return delay;
}

/* ---- building
 * ----------------------------------------------------------------------------------------- */

Result parts_identify(AgentParts *parts, const Config *config, Buffer *error)
{
    parts->config = config;
    shared_init(&parts->scope, scope_delete);
    shared_init(&parts->filters, filters_delete);
    shared_init(&parts->fetch_filter, filters_delete_one);
    shared_init(&parts->parked_traps, trap_set_delete);
    Result rc = ip_ranges_parse(&parts->policy.allowed, config->fetch_allow_addresses, error);
    if (rc == RESULT_OK) {
        rc = dedup_parse_steps(config->scope_dedup_key, &parts->dedup, error);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    bool named = *config->crawl_contact != '\0' || *config->crawl_user_agent != '\0';
    if (!named && parts->policy.allowed.n_ranges == 0) {
        (void)buffer_append_string(
            error, "a contact address is missing: webmasters must be able to find out who crawls "
                   "them. Give --contact URL (or crawl.contact = URL). Only crawls of loopback "
                   "(fetch.allow_addresses = 127.0.0.0/8) need none");
        return RESULT_INVALID;
    }
    parts->policy.loopback_only = !named;
    Buffer agent;
    buffer_init(&agent, 4096);
    if (*config->crawl_user_agent != '\0') {
        rc = buffer_append_string(&agent, config->crawl_user_agent);
    } else if (*config->crawl_contact != '\0') {
        rc = buffer_printf(&agent, "ragno/%s (+%s)", RAGNO_VERSION, config->crawl_contact);
    } else {
        rc = buffer_printf(&agent, "ragno/%s", RAGNO_VERSION);
    }
    parts->user_agent = buffer_detach(&agent);
    return rc;
}

/* Scores matter to the best-first order alone. */
static Result build_scoring(AgentParts *parts, Buffer *error)
{
    const Config *config = parts->config;
    bool best_first = config->schedule_order == ORDER_BEST_FIRST;
    ScoringOptions options = {.kind = best_first ? (ScoringKind)config->score_scorer : SCORING_NONE,
                              .min_pages = (uint64_t)config->score_min_pages,
                              .growth = config->score_growth,
                              .interval_ms = config->score_interval,
                              .damping = (float)config->score_damping,
                              .precision = (float)config->score_precision,
                              .threads = (unsigned)config->score_threads,
                              .content_scores = *config->score_rules != '\0',
                              .page_share = (float)config->score_page_share};
    const IngestStore *tables = &parts->store->tables;
    Result rc =
        scoring_new(&parts->scoring, &options, tables->db, tables->schedule, wires_moves, parts);
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "score.scorer: no room for the scores: %s", result_name(rc));
    }
    return rc;
}

static Result build_ingest(AgentParts *parts, const char *crawl_log)
{
    const Config *config = parts->config;
    Result rc = crawl_log_open(&parts->log, parts->store->directory, crawl_log, config->log_crawl,
                               (SkippedMode)config->log_skipped);
    if (rc != RESULT_OK) {
        return rc;
    }
    IngestOptions options = ingest_options(config);
    options.results = &parts->results;
    options.scorer = scoring_scorer(parts->scoring);
    options.dedup = parts->dedup;
    options.traps.parked = &parts->parked_traps;
    IngestSinks sinks = wires_of_ingest(parts);
    rc = ingest_new(&parts->ingest, &options, &parts->store->tables, &sinks, parts->log,
                    &parts->stats);
    IngestChore chore;
    if (rc == RESULT_OK && scoring_chore(parts->scoring, &chore)) {
        ingest_add_chore(parts->ingest, &chore);
    }
    return rc;
}

static Result build_sieve(AgentParts *parts, Buffer *error)
{
    const Config *config = parts->config;
    const IngestStore *tables = &parts->store->tables;
    Buffer path;
    MDB_txn *txn = NULL;
    buffer_init(&path, BUFFER_NO_LIMIT);
    bool bloom = config->sieve_test != 0;
    Result rc = buffer_printf(&path, "%s/" SIEVE_DIRECTORY, parts->store->directory);
    SieveOptions options = {.directory = buffer_string(&path),
                            .db = tables->db,
                            .crawl = tables->crawl,
                            .memory_bytes = (size_t)config->sieve_memory,
                            .max_age_ms = config->sieve_max_age,
                            .least_urls = bloom ? UINT64_MAX : (uint64_t)config->sieve_least_urls};
    if (rc == RESULT_OK) {
        rc = page_db_txn_begin(tables->db, true, &txn) == 0 ? RESULT_OK : RESULT_IO;
    }
    parts->sieve = (IngestSieve){.context = parts, .hungry = wires_hungry, .stats = &parts->stats};
    if (rc == RESULT_OK) {
        rc = sieve_open(&parts->sieve.sieve, &options, txn);
    }
    if (rc == RESULT_OK && bloom) {
        rc = sieve_bloom_new(&parts->sieve.bloom, tables->db, txn,
                             (uint64_t)config->sieve_bloom_urls, config->sieve_bloom_rate,
                             (size_t)config->sieve_memory);
    }
    if (txn != NULL) {
        page_db_txn_abort(tables->db, txn);
    }
    if (rc == RESULT_OK) {
        ingest_set_sieve(parts->ingest, &parts->sieve);
    } else {
        (void)buffer_printf(error,
                            rc == RESULT_LIMIT ? "sieve.bloom_urls: %s: the filter needs more than "
                                                 "sieve.memory: %s"
                                               : "%s: cannot be used: %s",
                            buffer_string(&path), result_name(rc));
    }
    buffer_destroy(&path);
    return rc;
}

/* With the rules, as they are in their file now. */
static Result read_revisit_policy(const Config *config, RevisitPolicy *policy, Buffer *error)
{
    *policy = (RevisitPolicy){.default_s = (double)config->schedule_revisit_default / 1e3,
                              .min_s = (double)config->schedule_revisit_min / 1e3,
                              .max_s = (double)config->schedule_revisit_max / 1e3,
                              .power = config->schedule_revisit_power,
                              .margin = config->schedule_margin,
                              .max_n_crawls = (uint64_t)config->schedule_max_n_crawls,
                              .tries = (unsigned)config->schedule_revisit_tries};
    return revisit_policy_load_rules(config->schedule_rules, &policy->rules, error);
}

static Result build_revisits(AgentParts *parts, Buffer *error)
{
    const Config *config = parts->config;
    if (!config_is_continuous(config)) {
        return RESULT_OK;
    }
    RevisitsOptions options = {.pause_ms = config->store_batch_time};
    Result rc = read_revisit_policy(config, &options.policy, error);
    if (rc == RESULT_OK) {
        rc = revisits_new(&parts->revisits, &options, &parts->store->tables);
    }
    if (rc == RESULT_OK) {
        ingest_set_revisits(parts->ingest, parts->revisits);
    }
    return rc;
}

Result parts_change_revisits(AgentParts *parts, Buffer *error)
{
    RevisitPolicy policy;
    if (parts->revisits == NULL) {
        return RESULT_OK;
    }
    Result rc = read_revisit_policy(parts->config, &policy, error);
    return rc == RESULT_OK ? revisits_set_policy(parts->revisits, &policy) : rc;
}

static Result build_archive(AgentParts *parts, Buffer *error)
{
    const Config *config = parts->config;
    if (!config->warc_enabled) {
        return RESULT_OK;
    }
    ArchiveOptions options = {.directory = parts->store->directory,
                              .pattern = config->warc_name,
                              .max_bytes = (uint64_t)config->warc_max_size,
                              .max_age_ms = config->warc_max_age,
                              .files = (unsigned)config->warc_files,
                              .compression = (WarcCompression)config->warc_compression,
                              .level = (int)config->warc_level,
                              .metadata = config->warc_metadata,
                              .index_memory_bytes = (size_t)config->warc_index_memory,
                              .user_agent = parts->user_agent,
                              .contact = config->crawl_contact};
    IngestStore *tables = &parts->store->tables;
    Result rc = archive_open(&parts->archive, &options, tables->db, error);
    tables->archive = parts->archive;
    return rc;
}

Result parts_share_rules(AgentParts *parts, Buffer *error)
{
    Scope *scope = NULL;
    ScopeOptions options = scope_options(parts->config);
    Result rc = scope_new(&scope, &options, error);
    if (rc == RESULT_OK) {
        rc = filters_share(&parts->filters, &parts->fetch_filter, parts->config, error);
    }
    if (rc != RESULT_OK) {
        scope_delete(scope);
        return rc;
    }
    return shared_replace(&parts->scope, scope);
}

static Result build_parsing(AgentParts *parts, Buffer *error)
{
    const Config *config = parts->config;
    Result rc = parts_share_rules(parts, error);
    if (rc == RESULT_OK && *config->score_rules != '\0') {
        rc = score_rules_read(&parts->score_rules, config->score_rules, error);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    ParsingOptions options = parsing_options(config);
    options.dedup = parts->dedup;
    options.filters = &parts->filters;
    options.score_rules = parts->score_rules;
    options.scope = &parts->scope;
    options.results = &parts->results;
    return parsing_new(&parts->parsing, &options, parts->archive, &parts->stats, wires_parsed,
                       wires_skipped, parts);
}

static Result build_frontier(AgentParts *parts, Buffer *error)
{
    const Config *config = parts->config;
    PolitenessOptions *politeness = &parts->politeness;
    *politeness = (PolitenessOptions){.host_delay_ms = config->politeness_host_delay,
                                      .ip_delay_ms = config->politeness_ip_delay,
                                      .crawl_delay_max_ms = config->politeness_crawl_delay_max,
                                      .adaptive_factor = config->politeness_adaptive_factor,
                                      .retry_after_max_ms = config->politeness_retry_after_max,
                                      .tries_max = (unsigned)config->politeness_tries};
    politeness_default_rules(politeness->rules);
    Result rc = politeness_parse_rules(politeness->rules, config->politeness_retry, error);
    if (rc != RESULT_OK) {
        return rc;
    }
    size_t connections = (size_t)config->fetch_connections;
    FrontierOptions options = {
        .distributor = {.memory_bytes = (size_t)config->limits_workbench_memory,
                        .window_max = (uint32_t)config->schedule_window,
                        .pages_per_host = (uint64_t)config->limits_pages_per_host,
                        .host_delay_ms = config->politeness_host_delay,
                        .robots_agent = config->robots_agent,
                        .bias = {.kind = (LevelBiasKind)config->schedule_bias,
                                 .lower_share = config->schedule_lower_share},
                        .host_delay = site_delay,
                        .context = parts,
                        .visits_full_hosts = config_is_continuous(config),
                        .revisits =
                            config->fetch_conditional ? parts->store->tables.revisits : NULL,
                        /* What was fetched just before a crash is not known: all are owed. */
                        .floor = parts->store->existed ? mono_now() : (MonoTime){0}},
        .politeness = *politeness,
        .connections = connections,
        .front_first = 1000,
        .front_step = 1000,
        .front_max = (size_t)config->limits_front};
    FrontierSinks sinks = wires_of_frontier(parts);
    const IngestStore *tables = &parts->store->tables;
    return frontier_new(&parts->frontier, &options, &sinks, tables->db, tables->schedule,
                        tables->hosts);
}

/* How many connections one fetcher keeps open: what the option asks for, as far as there are file
 * descriptors for it. */
static size_t kept_connections(const Config *config)
{
    struct rlimit files = {.rlim_cur = 0};
    uint64_t idle = (uint64_t)config->fetch_idle_connections;
    uint64_t busy = (uint64_t)config->fetch_connections;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY) {
        uint64_t spare = 2 * busy + FILES_ELSEWHERE;
        uint64_t room = files.rlim_cur > spare ? files.rlim_cur - spare : 0;
        if (idle > room) {
            LOG_INFO("fetch", "fewer idle connections for lack of file descriptors",
                     "wanted=%llu kept=%llu nofile=%llu", (unsigned long long)idle,
                     (unsigned long long)room, (unsigned long long)files.rlim_cur);
            idle = room;
        }
    }
    return (size_t)(busy + idle / (uint64_t)config->fetch_threads);
}

ResolverOptions parts_resolver_options(const Config *config, const IpPolicy *policy)
{
    return (ResolverOptions){.servers = config->dns_servers,
                             .timeout_ms = config->dns_timeout,
                             .tries = (unsigned)config->dns_tries,
                             .queries = (size_t)config->dns_queries,
                             .cache_entries = (size_t)config->dns_cache_entries,
                             .ttl_min_ms = config->dns_ttl_min,
                             .ttl_max_ms = config->dns_ttl_max,
                             .negative_ttl_ms = config->dns_negative_ttl,
                             .family = (ResolverFamily)config->dns_family,
                             .policy = policy};
}

static Result build_fetch(AgentParts *parts, Buffer *error)
{
    const Config *config = parts->config;
    ResolverOptions resolver = parts_resolver_options(config, &parts->policy);
    if (config->warc_enabled && config->warc_dns) {
        resolver.heard = wires_heard;
        resolver.heard_context = parts;
    }
    Result rc = resolver_new(&parts->resolver, &resolver, wires_resolved, parts);
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "dns.servers = %s: cannot be used: %s", config->dns_servers,
                            result_name(rc));
        return rc;
    }
    FetcherOptions options = {.user_agent = parts->user_agent,
                              .robots_agent = config->robots_agent,
                              .headers = config->fetch_headers,
                              .accept_language = config->fetch_accept_language,
                              .port_map = config->fetch_port_map,
                              .policy = &parts->policy,
                              .politeness = &parts->politeness,
                              .gate = &parts->answers,
                              .kept_connections = kept_connections(config),
                              .connect_timeout_ms = config->fetch_connect_timeout,
                              .first_byte_timeout_ms = config->fetch_first_byte_timeout,
                              .total_timeout_ms = config->fetch_total_timeout,
                              .slow_bytes_s = config->fetch_slow_rate,
                              .slow_time_ms = config->fetch_slow_time,
                              .max_body_bytes = config->fetch_max_body,
                              .max_sitemap_bytes = config->fetch_max_sitemap,
                              .max_header_bytes = config->fetch_max_header,
                              .http2 = config->fetch_http2,
                              .tls_verify = config->fetch_tls_verify,
                              .robots_expiry_ms = config->robots_expiry,
                              .keep_requests = config->warc_enabled,
                              .filter = &parts->fetch_filter,
                              .traps = &parts->parked_traps};
    FetcherSinks sinks = wires_of_fetcher(parts);
    while (rc == RESULT_OK && parts->n_fetchers < (unsigned)config->fetch_threads) {
        rc = fetcher_new(&parts->fetchers[parts->n_fetchers], parts->n_fetchers, &options, &sinks);
        parts->n_fetchers += rc == RESULT_OK;
    }
    return rc;
}

Result parts_new(AgentParts *parts, CrawlStore *store, const char *crawl_log, Buffer *error)
{
    parts->store = store;
    parts->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    byte_gate_init(&parts->answers, (size_t)parts->config->fetch_memory, wires_room, parts);
    byte_gate_init(&parts->results, (size_t)parts->config->store_memory, NULL, NULL);
    parts->gates = true;
    Result rc = parts->news < 0 ? result_of_errno(errno) : build_archive(parts, error);
    if (rc == RESULT_OK) {
        rc = build_scoring(parts, error);
    }
    if (rc == RESULT_OK) {
        rc = build_ingest(parts, crawl_log);
    }
    if (rc == RESULT_OK) {
        rc = build_sieve(parts, error);
    }
    if (rc == RESULT_OK) {
        rc = build_revisits(parts, error);
    }
    if (rc == RESULT_OK) {
        rc = build_parsing(parts, error);
    }
    if (rc == RESULT_OK) {
        rc = build_frontier(parts, error);
    }
    if (rc == RESULT_OK) {
        rc = build_fetch(parts, error);
    }
    if (rc == RESULT_OK) {
        atomic_store(&parts->pages_final, stats_get(&parts->stats.pages));
        parts_configure(parts);
    }
    return rc;
}

/* ---- life
 * ------------------------------------------------------------------------------------------------
 */

void parts_configure(AgentParts *parts)
{
    uint64_t most = (uint64_t)parts->config->crawl_max_pages;
    uint64_t pages = atomic_load(&parts->pages_final);
    size_t connections = (size_t)parts->config->fetch_connections;
    uint64_t left = most == 0 ? connections : pages < most ? most - pages : 0;
    atomic_store(&parts->max_pages, most);
    atomic_store(&parts->connections, connections);
    frontier_set_connections(parts->frontier, left < connections ? left : connections);
}

Result parts_start(AgentParts *parts)
{
    Result rc = frontier_start(parts->frontier);
    if (rc == RESULT_OK) {
        rc = resolver_start(parts->resolver);
    }
    if (rc == RESULT_OK) {
        rc = parsing_start(parts->parsing);
    }
    for (unsigned i = 0; i < parts->n_fetchers && rc == RESULT_OK; i++) {
        rc = fetcher_start(parts->fetchers[i]);
    }
    if (rc == RESULT_OK) {
        rc = ingest_start(parts->ingest);
    }
    return rc == RESULT_OK ? scoring_start(parts->scoring, stats_get(&parts->stats.pages)) : rc;
}

void parts_pause(AgentParts *parts, bool paused)
{
    paused |= atomic_load(&parts->stuck);
    if (paused != parts->paused && !atomic_load(&parts->draining)) {
        parts->paused = paused;
        LOG_WARN("agent", paused ? "paused" : "resumed", "reason=\"disk nearly full\"");
        frontier_pause(parts->frontier, paused);
    }
}

void parts_drain(AgentParts *parts)
{
    atomic_store(&parts->draining, true);
    frontier_pause(parts->frontier, true);
    for (unsigned i = 0; i < parts->n_fetchers; i++) {
        fetcher_drain(parts->fetchers[i]);
    }
    wires_ring(parts);
}

void parts_abort(AgentParts *parts)
{
    if (atomic_load(&parts->stuck)) {
        ingest_abandon(parts->ingest);
    }
    for (unsigned i = 0; i < parts->n_fetchers; i++) {
        fetcher_abort(parts->fetchers[i]);
    }
}

size_t parts_outstanding(AgentParts *parts)
{
    return atomic_load(&parts->outstanding);
}

void parts_reopen_logs(AgentParts *parts)
{
    crawl_log_reopen(parts->log);
}

void parts_stop(AgentParts *parts)
{
    scoring_stop(parts->scoring);
    ingest_abandon(parts->ingest); /* an end does not wait for room on the disk */
    for (unsigned i = 0; i < parts->n_fetchers; i++) {
        fetcher_stop(parts->fetchers[i]);
    }
    resolver_stop(parts->resolver);
    parsing_stop(parts->parsing);
    ingest_stop(parts->ingest);
    frontier_stop(parts->frontier);
}

void parts_delete(AgentParts *parts)
{
    for (unsigned i = 0; i < parts->n_fetchers; i++) {
        fetcher_delete(parts->fetchers[i]);
    }
    resolver_delete(parts->resolver);
    parsing_delete(parts->parsing);
    frontier_delete(parts->frontier);
    ingest_delete(parts->ingest);
    sieve_close(parts->sieve.sieve);
    sieve_bloom_delete(parts->sieve.bloom);
    scoring_delete(parts->scoring);
    revisits_delete(parts->revisits);
    if (archive_close(parts->archive) != RESULT_OK) {
        LOG_ERROR("archive", "the last WARC file stays open", "next=\"resume the crawl\"");
    }
    crawl_log_close(parts->log);
    score_rules_delete(parts->score_rules);
    shared_destroy(&parts->scope);
    shared_destroy(&parts->filters);
    shared_destroy(&parts->fetch_filter);
    shared_destroy(&parts->parked_traps);
    ip_ranges_destroy(&parts->policy.allowed);
    free(parts->user_agent);
    if (parts->gates) {
        byte_gate_destroy(&parts->answers);
        byte_gate_destroy(&parts->results);
    }
    if (parts->news >= 0) {
        (void)close(parts->news);
    }
}
