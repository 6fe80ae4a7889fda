#include "crawl/parts/network_parts.h"

#include <string.h>
#include <sys/resource.h>

#include "crawl/parts/site_parts.h"
#include "crawl/parts/wires.h"
#include "rules/site/site_book.h"

#define LOWER_SHARE 0.2 /* of the turns, for levels that are not the best (schedule.bias) */
#define SIGNATURE_S 60  /* how long a signature of a request is valid */

/* ---- Descriptors ---- */

#define ELSEWHERE_MOST 256u /* logs, database, WARC files, sieve, DNS, operators */

static size_t descriptors_lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

DescriptorShare descriptors_share(uint64_t limit, size_t busy, size_t idle, size_t threads)
{
    size_t wanted = busy + idle / threads;
    if (limit == DESCRIPTORS_NO_LIMIT || limit > SIZE_MAX) {
        return (DescriptorShare){.most = SIZE_MAX, .busy = busy, .kept = wanted};
    }
    size_t files = (size_t)limit;
    size_t room = files - descriptors_lesser(ELSEWHERE_MOST, files / 4);
    /* A quarter is for connections between two fetches: they are opened anew without it. */
    size_t most = room - room / 4;
    DescriptorShare share = {.most = most > 0 ? most : 1};
    share.busy = descriptors_lesser(busy, share.most);
    /* The threads together keep no more than what those in use leave. */
    size_t left = room > share.busy ? (room - share.busy) / threads : 0;
    share.kept = descriptors_lesser(wanted, left > 0 ? left : 1);
    return share;
}

/* ---- Network parts ---- */

static Result read_politeness(const Config *config, PolitenessOptions *politeness, Buffer *error)
{
    site_book_politeness(config, politeness);
    politeness_default_rules(politeness->rules);
    return politeness_parse_rules(politeness->rules, config->politeness_retry, error);
}

static Result build_frontier(AgentParts *parts, Buffer *error)
{
    const Config *config = parts->config;
    Result rc = read_politeness(config, &parts->politeness, error);
    if (rc == RESULT_OK) {
        rc = port_set_parse(&parts->ports, config->scope_ports, error);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    FrontierOptions options = {
        .distributor =
            {.memory_bytes = (size_t)config->limits_workbench_memory,
             .window_max = (uint32_t)config->schedule_window,
             .pages_per_host = (uint64_t)config->limits_pages_per_host,
             .host_delay_ms = config->politeness_host_delay,
             .robots_agent = config->robots_agent,
             .licence_user = (RslUser)config->robots_licence_user,
             .ports = &parts->ports,
             .bias = {.kind = (LevelBiasKind)config->schedule_bias, .lower_share = LOWER_SHARE},
             .host_delay = site_parts_host_delay,
             .host_pages = site_parts_host_pages,
             .context = parts,
             .visits_full_hosts = config_is_continuous(config),
             .revisits = config->fetch_conditional ? parts->store->tables.revisits : NULL,
             .robots_expiry_ms = config->robots_expiry,
             /* What was fetched just before a crash is not known: all are owed. Of
              * an agent of a cluster another directory may have been lost. */
             .floor = parts->store->existed || parts->cluster != NULL ? mono_now() : (MonoTime){0}},
        .politeness = parts->politeness,
        .connections = 0, /* agent_parts.c */
        .shares = &parts->shares,
        .front_first = config->limits_front < 1000 ? (size_t)config->limits_front : 1000,
        .front_step = 1000,
        .front_max = (size_t)config->limits_front};
    FrontierSinks sinks = wires_of_frontier(parts);
    const IngestStore *tables = &parts->store->tables;
    return frontier_new(&parts->frontier, &options, &sinks, tables->db, tables->schedule,
                        tables->hosts);
}

/* Connections in flight and idle ones, as far as there are file descriptors for them. */
static void share_descriptors(AgentParts *parts)
{
    const Config *config = parts->config;
    struct rlimit files = {.rlim_cur = 0};
    bool is_limited = getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY;
    uint64_t limit = is_limited ? (uint64_t)files.rlim_cur : DESCRIPTORS_NO_LIMIT;
    size_t busy = (size_t)config->fetch_connections;
    size_t idle = (size_t)config->fetch_idle_connections;
    size_t threads = config_threads(config->fetch_threads);
    DescriptorShare share = descriptors_share(limit, busy, idle, threads);
    DescriptorShare wanted = descriptors_share(DESCRIPTORS_NO_LIMIT, busy, idle, threads);
    if (share.kept < wanted.kept) {
        LOG_INFO("fetch", "fewer idle connections for lack of file descriptors",
                 "wanted=%zu kept=%zu nofile=%llu", wanted.kept, share.kept,
                 (unsigned long long)limit);
    }
    parts->most_connections = share.most;
    parts->kept_connections = share.kept;
}

ResolverOptions network_parts_resolver_options(const Config *config, const IpPolicy *policy)
{
    return (ResolverOptions){.servers = config->dns_servers,
                             .timeout_ms = config->dns_timeout,
                             .tries = (unsigned)config->dns_tries,
                             .queries = (size_t)config->dns_queries,
                             .cache_entries = (size_t)config->dns_cache_entries,
                             .ttl_min_ms = config->dns_ttl_min,
                             .ttl_max_ms = DNS_TTL_MOST_MS,
                             .negative_ttl_ms = config->dns_negative_ttl,
                             .family = (ResolverFamily)config->dns_family,
                             .policy = policy};
}

/* FetchJudge: asks the Admission. */
static FetchWord network_parts_judge(const void *admission, const FetchQuestion *question)
{
    AdmissionQuestion q = {.url = question->url,
                           .length = question->length,
                           .host = question->hostname,
                           .host_length = strlen(question->hostname),
                           .address = question->address,
                           .hop = question->hop};
    AdmissionAnswer answer = admission_judge(admission, &q);
    if (answer.refusal == REFUSALS) {
        return (FetchWord){.status = 0};
    }
    return (FetchWord){.status = refusal_status(answer.refusal),
                       .rule = answer.rule,
                       .whole_host = answer.whole_host};
}

/* Certificates that are not there matter only where servers are verified. */
static Result open_trust(AgentParts *parts, Buffer *error)
{
    const Config *config = parts->config;
    Buffer why = {.limit = 4096};
    Result rc = tls_trust_init(&parts->trust, config->fetch_ca_file, &why);
    if (rc == RESULT_INVALID && !config->fetch_tls_verify) {
        LOG_INFO("fetch", "no server can be verified", "reason=\"%s\"", buffer_string(&why));
        rc = RESULT_OK;
    } else if (rc != RESULT_OK) {
        (void)buffer_append(error, buffer_string(&why), why.length);
    }
    buffer_destroy(&why);
    return rc;
}

/* The key that requests are signed with. */
static Result build_signer(AgentParts *parts, Buffer *error)
{
    const Config *config = parts->config;
    if (*config->crawl_signature_key == '\0') {
        return RESULT_OK;
    }
    Result rc = signing_key_read(&parts->key, config->crawl_signature_key, error);
    parts->signer =
        (Signer){.key = parts->key, .agent = config->crawl_signature_agent, .valid_s = SIGNATURE_S};
    return rc;
}

static ResolverOptions resolver_options(AgentParts *parts)
{
    const Config *config = parts->config;
    ResolverOptions options = network_parts_resolver_options(config, &parts->policy);
    if (config->warc_enabled && config->warc_dns) {
        options.heard = wires_heard;
        options.heard_context = parts;
    }
    options.changed = wires_ring;
    options.changed_context = parts;
    return options;
}

static Result change_names(AgentParts *parts, Buffer *error)
{
    ResolverOptions options = resolver_options(parts);
    Result rc = resolver_change(parts->resolver, &options);
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "dns.servers = %s: cannot be used: %s",
                            parts->config->dns_servers, result_name(rc));
    }
    return rc;
}

/* Who finds addresses, and who finds out whether our own network is out. */
static Result build_names(AgentParts *parts, Buffer *error)
{
    const Config *config = parts->config;
    ResolverOptions resolver = resolver_options(parts);
    Result rc = network_watch_new(&parts->network, wires_ring, parts);
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "the network watch cannot start: %s", result_name(rc));
        return rc;
    }
    rc = resolver_new(&parts->resolver, &resolver, wires_resolved, parts);
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "dns.servers = %s: cannot be used: %s", config->dns_servers,
                            result_name(rc));
        return rc;
    }
    tls_sessions_init(&parts->sessions, (size_t)config->fetch_tls_sessions);
    parts->has_sessions = true;
    rc = open_trust(parts, error);
    return rc == RESULT_OK ? build_signer(parts, error) : rc;
}

static FetcherOptions fetcher_options(AgentParts *parts)
{
    const Config *config = parts->config;
    return (FetcherOptions){.user_agent = parts->user_agent,
                            .robots_agent = config->robots_agent,
                            .headers = config->fetch_headers,
                            .accept_language = config->fetch_accept_language,
                            .port_map = config->fetch_port_map,
                            .policy = &parts->policy,
                            .ports = &parts->ports,
                            .sites = &parts->sites,
                            .site_of = site_book_fetch_site,
                            .gate = &parts->answers,
                            .most_transfers =
                                parts->most_connections / config_threads(config->fetch_threads),
                            .kept_connections = parts->kept_connections,
                            .shares = &parts->shares,
                            .costs = &parts->costs,
                            .threads = config_threads(config->fetch_threads),
                            .spool = {.directory = parts->store->directory,
                                      .gate = &parts->spools,
                                      .n_endless = &parts->n_endless},
                            .max_ratio = (unsigned)config->fetch_max_ratio,
                            .trust = parts->trust.store != NULL ? &parts->trust : NULL,
                            .sessions = &parts->sessions,
                            .keep_requests = config->warc_enabled,
                            .mask_secrets = config->warc_mask_secrets,
                            .admission = &parts->admission,
                            .judge = network_parts_judge,
                            .filter = &parts->fetch_filter,
                            .body_filter = &parts->body_filter,
                            .quota = &parts->quota,
                            .rate = &parts->rate,
                            .signer = parts->key == NULL ? NULL : &parts->signer,
                            .traps = &parts->parked_traps,
                            .network = parts->network};
}

/* Fetchers are made up to the configured number; those beyond it rest. */
static Result make_fetchers(AgentParts *parts)
{
    FetcherOptions options = fetcher_options(parts);
    FetcherSinks sinks = wires_of_fetcher(parts);
    unsigned wanted = config_threads(parts->config->fetch_threads);
    Result rc = RESULT_OK;
    for (unsigned n = atomic_load(&parts->n_fetchers); rc == RESULT_OK && n < wanted; n++) {
        rc = fetcher_new(&parts->fetchers[n], n, &options, &sinks);
        atomic_fetch_add(&parts->n_fetchers, rc == RESULT_OK);
    }
    return rc;
}

static Result change_fetchers(AgentParts *parts)
{
    unsigned before = atomic_load(&parts->n_fetching);
    unsigned wanted = config_threads(parts->config->fetch_threads);
    share_descriptors(parts);
    Result rc = make_fetchers(parts);
    for (unsigned i = 0; i < atomic_load(&parts->n_fetchers); i++) {
        fetcher_keep(parts->fetchers[i], parts->kept_connections);
    }
    for (unsigned i = before; i < wanted && rc == RESULT_OK; i++) {
        rc = fetcher_start(parts->fetchers[i]);
        atomic_store(&parts->n_fetching, rc == RESULT_OK ? i + 1 : i);
    }
    if (wanted < before) {
        atomic_store(&parts->n_fetching, wanted); /* from here on the others get no work */
    }
    for (unsigned i = wanted; i < before; i++) {
        fetcher_rest(parts->fetchers[i]);
    }
    return rc;
}

Result network_parts_change(AgentParts *parts, Buffer *error)
{
    const Config *config = parts->config;
    DistributorChange change = {.memory_bytes = (size_t)config->limits_workbench_memory,
                                .robots_expiry_ms = config->robots_expiry};
    Result rc = read_politeness(config, &change.politeness, error);
    if (rc == RESULT_OK) {
        parts->politeness = change.politeness;
        rc = frontier_change(parts->frontier, &change);
    }
    if (rc == RESULT_OK) {
        rc = change_fetchers(parts);
    }
    if (rc == RESULT_OK) {
        return change_names(parts, error);
    }
    if (rc != RESULT_INVALID) {
        (void)buffer_printf(error, "fetch.threads = %lld: they cannot be started: %s",
                            (long long)config->fetch_threads, result_name(rc));
    }
    return rc;
}

Result network_parts_new(AgentParts *parts, Buffer *error)
{
    share_descriptors(parts);
    Result rc = build_frontier(parts, error);
    if (rc == RESULT_OK) {
        rc = build_names(parts, error);
    }
    if (rc == RESULT_OK) {
        rc = make_fetchers(parts);
    }
    atomic_store(&parts->n_fetching, atomic_load(&parts->n_fetchers));
    return rc;
}
