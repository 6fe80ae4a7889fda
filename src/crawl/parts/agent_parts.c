#include "crawl/parts/agent_parts.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread/log.h"
#include "crawl/parts/cluster_wires.h"
#include "crawl/parts/network_parts.h"
#include "crawl/parts/rule_parts.h"
#include "crawl/parts/site_parts.h"
#include "crawl/parts/wires.h"
#include "crawl/parts/writing_parts.h"
#include "page/tool/text_language.h"
#include "rules/scope/admission.h"
#include "rules/site/site_book.h"
#include "page/parser.h"

/* Parsing parts: the parsing threads and the rules that they go by.
 *
 * What: builds them.
 * Owns: nothing; what is built belongs to AgentParts.
 * Threads: main.
 * Errors: error gets one sentence that names the option or the file. */

/* Whether the shell finds the program that a command begins with. What is more than a word of its
 * own (a variable, a quote) only the shell can tell, when it runs. */
static bool parsing_parts_has_program(const char *command, Buffer *word)
{
    static char ask[] = "command -v -- \"$1\" >/dev/null 2>&1";
    command += strspn(command, " \t");
    size_t length = strcspn(command, " \t\n;|&<>()$`\\\"'*?[]#~={}!");
    if (length == 0 || (command[length] != '\0' && strchr(" \t\n;|&", command[length]) == NULL)) {
        return true;
    }
    static char shell_name[] = "sh";
    static char option[] = "-c";
    char *arguments[] = {shell_name, option, ask, shell_name, NULL, NULL};
    pid_t shell = 0;
    int status = 0;
    if (buffer_append(word, command, length) != RESULT_OK) {
        return true;
    }
    arguments[4] = word->data;
    return posix_spawn(&shell, "/bin/sh", NULL, NULL, arguments, environ) != 0 ||
           waitpid(shell, &status, 0) != shell || !WIFEXITED(status) || WEXITSTATUS(status) == 0;
}

static Result build_classifier(AgentParts *parts, Buffer *error)
{
    const Config *config = parts->config;
    ClassifierOptions options = {.form = page_question_wanted(config),
                                 .command = config->score_command,
                                 .model = config->score_model,
                                 .label = config->score_label,
                                 .queue = (size_t)config->score_command_queue,
                                 .batch = (size_t)config->score_command_batch,
                                 .timeout_ms = config->score_command_timeout,
                                 .default_score = (float)config->score_command_default,
                                 .sink = wires_classified,
                                 .context = parts};
    if (options.form == QUESTION_NONE) {
        return RESULT_OK;
    }
    if (options.form == QUESTION_JSON) {
        (void)text_language_load();
    }
    Buffer word = {.limit = BUFFER_NO_LIMIT};
    bool is_there = parsing_parts_has_program(config->score_command, &word);
    if (!is_there) {
        (void)buffer_printf(error, "score.command: there is no program '%s' here or in PATH",
                            buffer_string(&word));
    }
    buffer_destroy(&word);
    if (!is_there) {
        return RESULT_INVALID;
    }
    Result rc = classifier_new(&parts->classifier, &options, &parts->stats);
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "score.scorer: no classifier: %s", result_name(rc));
    }
    return rc;
}

static Result read_options(AgentParts *parts, ParsingOptions *options, Buffer *error)
{
    const Config *config = parts->config;
    *options = parsing_options(config);
    options->dedup = parts->dedup;
    options->filters = &parts->filters;
    options->scope = &parts->scope;
    options->stay = parts->stay;
    options->results = &parts->results;
    return *config->score_rules == '\0'
               ? RESULT_OK
               : score_rules_read(&options->score_rules, config->score_rules, error);
}

static Result parsing_parts_new(AgentParts *parts, Buffer *error)
{
    ParsingOptions options;
    Result rc = rule_parts_share(parts, error);
    rc = rc == RESULT_OK ? build_classifier(parts, error) : rc;
    rc = rc == RESULT_OK ? read_options(parts, &options, error) : rc;
    return rc != RESULT_OK ? rc
                           : parsing_new(&parts->parsing, &options, parts->archive, &parts->stats,
                                         wires_parsed, wires_skipped, parts);
}

/* The configuration has changed: limits of a page, parsing threads; score.rules is read again.
 * RESULT_INVALID and errors of reading: nothing has changed. */
static Result parsing_parts_change(AgentParts *parts, Buffer *error)
{
    ParsingOptions options;
    Result rc = read_options(parts, &options, error);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = parsing_change(parts->parsing, &options);
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "parse.threads = %u: they cannot be started: %s",
                            options.threads, result_name(rc));
    }
    return rc;
}

/* The threads that render pages, when the configuration wants them. */
static Result render_parts_new(AgentParts *parts, Buffer *error)
{
    RenderDeskOptions options = {.config = parts->config,
                                 .directory = parts->store->directory,
                                 .db = parts->store->tables.db,
                                 .table = parts->store->tables.renders,
                                 .parsing = parts->parsing,
                                 .quiet = wires_quiet,
                                 .context = parts};
    if (options.table == NULL) {
        return RESULT_OK;
    }
    Result rc = render_desk_new(&parts->renders, &options, error);
    if (rc == RESULT_OK) {
        IngestChore chore = render_desk_chore(parts->renders);
        ingest_add_chore(parts->ingest, &chore);
    }
    return rc;
}

/* ---- Agent parts ---- */

/* ---- building ---- */

Result parts_identify(AgentParts *parts, const Config *config, Buffer *error)
{
    parts->config = config;
    mutex_init(&parts->limit_mutex, RANK_STORE);
    parts->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (parts->news < 0) {
        return result_of_errno(errno);
    }
    shared_init(&parts->sites, site_book_delete);
    shared_init(&parts->scope, scope_delete);
    shared_init(&parts->admission, admission_delete);
    shared_init(&parts->filters, filters_delete);
    shared_init(&parts->fetch_filter, filters_delete_one);
    shared_init(&parts->body_filter, filters_delete_one);
    shared_init(&parts->parked_traps, trap_set_delete);
    Result rc = ip_ranges_parse(&parts->policy.allowed, config->fetch_allow_addresses, error);
    if (rc == RESULT_OK) {
        rc = ip_ranges_parse(&parts->policy.denied, config->fetch_deny_addresses, error);
    }
    if (rc == RESULT_OK) {
        rc = dedup_parse_steps(config->scope_dedup_key, &parts->dedup, error);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    bool named = *config->crawl_contact != '\0' || *config->crawl_user_agent != '\0';
    rc = config_check_identity(config, error);
    if (rc != RESULT_OK) {
        return rc;
    }
    parts->policy.loopback_only = !named;
    Buffer agent = {.limit = 4096};
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

Result parts_join(AgentParts *parts, CrawlStore *store, Buffer *error)
{
    if (*parts->config->cluster_url == '\0') {
        return RESULT_OK;
    }
    ClusterSinks sinks = cluster_wires_sinks(parts);
    return cluster_part_new(&parts->cluster, parts->config, store, &sinks, error);
}

static void share_connections(AgentParts *parts)
{
    uint64_t pages = atomic_load(&parts->pages_final);
    size_t wanted = (size_t)parts->config->fetch_connections;
    size_t connections = wanted < parts->most_connections ? wanted : parts->most_connections;
    if (connections < wanted) {
        LOG_WARN("fetch",
                 "fewer connections than fetch.connections for lack of file descriptors: raise "
                 "RLIMIT_NOFILE (ulimit -n, LimitNOFILE=)",
                 "wanted=%zu connections=%zu", wanted, connections);
    }
    atomic_store(&parts->connections, connections);
    atomic_store(&parts->shares.new_percent, (unsigned)parts->config->fetch_new_share);
    atomic_store(&parts->shares.slow_percent, (unsigned)parts->config->fetch_slow_share);
    atomic_store(&parts->shares.new_patience_ms, parts->config->fetch_new_patience);
    if (parts->cluster != NULL) {
        cluster_wires_allow(parts); /* crawl.max_pages is the whole crawl's */
    } else {
        rate_gate_set(&parts->rate, parts->config->fetch_rate);
        byte_quota_set(&parts->quota, (uint64_t)parts->config->crawl_max_bytes);
        uint64_t most = (uint64_t)parts->config->crawl_max_pages;
        uint64_t left = most == 0 ? connections : pages < most ? most - pages : 0;
        atomic_store(&parts->max_pages, most == 0 ? NO_PAGE_LIMIT : most);
        frontier_set_connections(parts->frontier, left < connections ? left : connections);
    }
}

Result parts_new(AgentParts *parts, CrawlStore *store, const char *crawl_log, Buffer *error)
{
    parts->store = store;
    bool shares = parts->cluster != NULL && parts->config->fetch_rate > 0;
    rate_gate_init(&parts->rate, shares ? 1 : parts->config->fetch_rate); /* none is granted yet */
    byte_quota_init(&parts->quota, 0);
    if (parts->cluster != NULL) {
        byte_quota_share(&parts->quota);
    }
    byte_gate_init(&parts->answers, (size_t)parts->config->fetch_memory, wires_room, parts);
    byte_gate_init(&parts->spools, (size_t)parts->config->fetch_spool, NULL, NULL);
    byte_gate_init(&parts->results, (size_t)parts->config->store_memory, NULL, NULL);
    parts->gates = true;
    Result rc = site_parts_share(parts, error);
    if (rc == RESULT_OK && parts->config->scope_stay != STAY_ANYWHERE) {
        rc = stay_set_new(&parts->stay, (StayKind)parts->config->scope_stay);
    }
    if (rc == RESULT_OK) {
        rc = writing_parts_new(parts, crawl_log, error);
    }
    if (rc == RESULT_OK) {
        rc = parsing_parts_new(parts, error);
    }
    if (rc == RESULT_OK) {
        rc = render_parts_new(parts, error);
    }
    if (rc == RESULT_OK) {
        rc = network_parts_new(parts, error);
    }
    if (rc == RESULT_OK) {
        atomic_store(&parts->pages_final, stats_get(&parts->stats.pages));
        if (parts->cluster != NULL) { /* nothing more is granted yet */
            atomic_store(&parts->max_pages, parts->config->crawl_max_pages == 0
                                                ? NO_PAGE_LIMIT
                                                : stats_get(&parts->stats.pages));
        }
        byte_quota_take(&parts->quota, stats_get(&parts->stats.bytes)); /* by earlier runs */
        share_connections(parts);
    }
    return rc;
}

/* ---- life ---- */

Result parts_configure(AgentParts *parts, Buffer *error)
{
    Result sites = site_parts_share(parts, error);
    Result network =
        network_parts_change(parts, error); /* hosts look their delays up in the sites */
    share_connections(parts);
    byte_gate_set(&parts->answers, (size_t)parts->config->fetch_memory);
    byte_gate_set(&parts->spools, (size_t)parts->config->fetch_spool);
    byte_gate_set(&parts->results, (size_t)parts->config->store_memory);
    Result rules = rule_parts_share(parts, error);
    Result parsing = parsing_parts_change(parts, error);
    Result writing = writing_parts_change(parts, error);
    return sites != RESULT_OK     ? sites
           : network != RESULT_OK ? network
           : rules != RESULT_OK   ? rules
           : parsing != RESULT_OK ? parsing
                                  : writing;
}

/* It begins before the frontier runs: what the frontier wants of a node that is no member is lost.
 */
static void begin_cluster(AgentParts *parts)
{
    ClusterBonds bonds = {
        .frontier = parts->frontier, .ingest = parts->ingest, .stats = &parts->stats};
    uint64_t used[LEDGER_UNITS] = {[LEDGER_PAGES] = atomic_load(&parts->pages_final),
                                   [LEDGER_BYTES] = stats_get(&parts->stats.bytes)};
    cluster_part_begin(parts->cluster, &bonds, used);
}

Result parts_start(AgentParts *parts)
{
    if (parts->cluster != NULL) {
        begin_cluster(parts);
    }
    Result rc = frontier_start(parts->frontier);
    if (rc == RESULT_OK) {
        rc = network_watch_start(parts->network);
    }
    if (rc == RESULT_OK) {
        rc = resolver_start(parts->resolver);
    }
    if (rc == RESULT_OK && parts->classifier != NULL) {
        rc = classifier_start(parts->classifier);
    }
    if (rc == RESULT_OK) {
        rc = parsing_start(parts->parsing);
    }
    for (unsigned i = 0; i < atomic_load(&parts->n_fetching) && rc == RESULT_OK; i++) {
        rc = fetcher_start(parts->fetchers[i]);
    }
    if (rc == RESULT_OK) {
        rc = ingest_start(parts->ingest);
    }
    if (rc == RESULT_OK) {
        rc = scoring_start(parts->scoring, stats_get(&parts->stats.pages));
    }
    if (rc == RESULT_OK && parts->renders != NULL) {
        rc = render_desk_start(parts->renders);
    }
    return rc;
}

void parts_pause(AgentParts *parts, unsigned reasons)
{
    if (reasons != parts->pauses && !atomic_load(&parts->draining)) {
        bool changed = (reasons != 0) != (parts->pauses != 0);
        parts->pauses = reasons;
        if (changed) {
            frontier_pause(parts->frontier, reasons != 0);
        }
    }
}

void parts_drain(AgentParts *parts)
{
    atomic_store(&parts->draining, true);
    frontier_pause(parts->frontier, true);
    for (unsigned i = 0; i < atomic_load(&parts->n_fetchers); i++) {
        fetcher_drain(parts->fetchers[i]);
    }
    wires_ring(parts);
}

void parts_abort(AgentParts *parts)
{
    if (atomic_load(&parts->stuck)) {
        ingest_abandon(parts->ingest);
    }
    for (unsigned i = 0; i < atomic_load(&parts->n_fetchers); i++) {
        fetcher_abort(parts->fetchers[i]);
    }
}

size_t parts_outstanding(AgentParts *parts)
{
    return atomic_load(&parts->outstanding);
}

Result parts_revive(AgentParts *parts, const RevivalOrder *order)
{
    Result rc = revival_order(parts->revival, order);
    if (rc == RESULT_OK) {
        ingest_wake(parts->ingest);
    }
    return rc;
}

void parts_reopen_logs(AgentParts *parts)
{
    crawl_log_reopen(parts->log);
}

void parts_stop(AgentParts *parts)
{
    scoring_stop(parts->scoring);
    ingest_abandon(parts->ingest); /* an end does not wait for room on the disk */
    for (unsigned i = 0; i < atomic_load(&parts->n_fetchers); i++) {
        fetcher_stop(parts->fetchers[i]);
    }
    network_watch_stop(parts->network);
    resolver_stop(parts->resolver);
    if (parts->renders != NULL) {
        render_desk_stop(parts->renders);
    }
    parsing_stop(parts->parsing);
    if (parts->classifier != NULL) {
        classifier_stop(parts->classifier);
    }
    ingest_stop(parts->ingest);
    frontier_stop(parts->frontier);
    if (parts->cluster != NULL) {
        cluster_part_leave(parts->cluster);
    }
}

void parts_delete(AgentParts *parts)
{
    for (unsigned i = 0; i < atomic_load(&parts->n_fetchers); i++) {
        fetcher_delete(parts->fetchers[i]);
    }
    if (parts->has_sessions) {
        tls_sessions_destroy(&parts->sessions);
    }
    tls_trust_destroy(&parts->trust);
    signing_key_delete(parts->key);
    resolver_delete(parts->resolver);
    network_watch_delete(parts->network);
    render_desk_delete(parts->renders);
    parsing_delete(parts->parsing);
    classifier_delete(parts->classifier);
    if (parts->cluster != NULL) {
        cluster_part_leave(parts->cluster); /* it speaks to the next two */
    }
    frontier_delete(parts->frontier);
    ingest_delete(parts->ingest);
    if (parts->rendering.context != NULL) {
        render_way_destroy(&parts->render_way);
    }
    cluster_part_delete(parts->cluster);
    sieve_close(parts->sieve.sieve);
    sieve_bloom_delete(parts->sieve.bloom);
    scoring_delete(parts->scoring);
    readmission_delete(parts->readmission);
    orders_delete(parts->orders);
    denial_list_destroy(&parts->denials);
    revisits_delete(parts->revisits);
    revival_delete(parts->revival);
    if (archive_close(parts->archive) != RESULT_OK) {
        LOG_ERROR("archive", "the last WARC file stays open", "next=\"resume the crawl\"");
    }
    crawl_log_close(parts->log);
    site_parts_destroy(parts);
    shared_destroy(&parts->scope);
    shared_destroy(&parts->admission);
    stay_set_delete(parts->stay);
    shared_destroy(&parts->filters);
    shared_destroy(&parts->fetch_filter);
    shared_destroy(&parts->body_filter);
    shared_destroy(&parts->parked_traps);
    ip_ranges_destroy(&parts->policy.allowed);
    ip_ranges_destroy(&parts->policy.denied);
    free(parts->user_agent);
    if (parts->gates) {
        byte_gate_destroy(&parts->answers);
        byte_gate_destroy(&parts->spools);
        byte_gate_destroy(&parts->results);
    }
    if (parts->news >= 0) {
        (void)close(parts->news);
    }
    mutex_destroy(&parts->limit_mutex);
}
