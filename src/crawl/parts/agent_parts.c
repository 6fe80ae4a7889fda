#include "crawl/parts/agent_parts.h"

#include <errno.h>
#include <spawn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crawl/parts/network_parts.h"
#include "crawl/parts/rule_parts.h"
#include "crawl/parts/site_parts.h"
#include "crawl/parts/wires.h"
#include "page/parser.h"
#include "page/tool/text_language.h"
#include "rules/site/site_book.h"

/* Writing parts: archive, scoring, ingest, sieve and revisits, as the configuration wants them.
 *
 * What: builds the parts that work in the ingest thread, and the scoring thread.
 * Owns: nothing; what is built belongs to AgentParts.
 * Threads: main.
 * Errors: error gets one sentence that names the option or the file. */
/* The largest relative change of a score at the end of a computation; a level is a factor of 2. */
#define SCORING_PRECISION 1e-2f

static Result build_stay(AgentParts *parts, Buffer *error)
{
    (void)error;
    StayKind stay = (StayKind)parts->config->scope_stay;
    return stay == STAY_ANYWHERE ? RESULT_OK : stay_set_new(&parts->stay, stay);
}

static Result build_archive(AgentParts *parts, Buffer *error)
{
    const Config *config = parts->config;
    if (!config->warc_enabled) {
        return RESULT_OK;
    }
    IngestStore *tables = &parts->store->tables;
    Result rc = archive_open(&parts->archive, parts->store->directory, config, parts->user_agent,
                             tables->db, error);
    tables->archive = parts->archive;
    return rc;
}

/* Scores matter to the best-first order alone; with another order nothing computes them. A
 * classifier without rules says all that is known of a page, so its share is the whole. */
static ScoringOptions scoring_options(const Config *config)
{
    bool best_first = config->schedule_order == ORDER_BEST_FIRST;
    bool has_classifier = page_question_wanted(config) != QUESTION_NONE;
    bool has_rules = *config->score_rules != '\0';
    ScoringKind kind = scoring_kind_of((ScorerWord)config->score_scorer);
    return (ScoringOptions){
        .kind = best_first ? kind : SCORING_NONE,
        .min_pages = (uint64_t)config->score_min_pages,
        .growth = config->score_growth,
        .share = config->score_share,
        .damping = PAGE_RANK_DEFAULT_DAMPING,
        .precision = SCORING_PRECISION,
        .content_scores = has_rules,
        .page_share = has_classifier && !has_rules ? 1.0f : (float)config->score_page_share};
}

/* Lines that an earlier run had no time to write. Before the log is opened for this run, whose
 * lines must come behind them; and a crawl does not begin while they have no room, since the next
 * commit would overwrite what they are made of (crawl.pending). */
static Result repair_log(const AgentParts *parts, Buffer *error)
{
    const IngestStore *tables = &parts->store->tables;
    MDB_txn *txn = NULL;
    uint64_t serial = 0;
    if (page_db_txn_begin(tables->db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    Result rc = ingest_kept_read(txn, tables->crawl, KEPT_LOG_SERIAL, &serial);
    page_db_txn_abort(tables->db, txn);
    if (rc == RESULT_OK) {
        rc = crawl_log_repair(parts->store->directory, parts->crawl_log, serial);
    }
    if (rc == RESULT_FULL) {
        (void)buffer_append_string(error, "there is no room for lines that crawl.log lacks since "
                                          "a crash: make some on its disk, and start again");
    }
    return rc;
}

static Result build_ingest(AgentParts *parts, Buffer *error)
{
    const Config *config = parts->config;
    Result rc = config->log_crawl ? repair_log(parts, error) : RESULT_OK;
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = crawl_log_open(&parts->log, parts->store->directory, parts->crawl_log, config->log_crawl,
                        (SkippedMode)config->log_skipped);
    if (rc != RESULT_OK) {
        return rc;
    }
    IngestOptions options = ingest_options(config);
    options.results = &parts->results;
    options.host_context = parts;
    options.host_config = site_parts_host_config;
    options.scorer = scoring_scorer(parts->scoring);
    options.admission = &parts->admission;
    options.stay = parts->stay;
    options.dedup = parts->dedup;
    options.traps.parked = &parts->parked_traps;
    if (parts->store->tables.renders != NULL) {
        render_way_init(&parts->render_way, parts->store->tables.renders, site_parts_host_config,
                        parts);
        parts->rendering = render_way_hooks(&parts->render_way);
        options.rendering = &parts->rendering;
    }
    /* What the options point to are parts of AgentParts, which outlive the ingest thread; some are
     * not built yet (sieve, revisits, rules), and are only looked at when it runs. */
    IngestSinks sinks = wires_of_ingest(parts);
    rc = ingest_new(&parts->ingest, &options, &parts->store->tables, &sinks, parts->log,
                    &parts->stats);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = revival_new(&parts->revival);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = readmission_new(&parts->readmission, &parts->store->tables, &parts->fetch_filter);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = orders_new(&parts->orders, wires_ring, parts);
    if (rc != RESULT_OK) {
        return rc;
    }
    IngestChore chores[] = {revival_chore(parts->revival), readmission_chore(parts->readmission),
                            orders_chore(parts->orders)};
    for (size_t i = 0; i < sizeof chores / sizeof *chores; i++) {
        ingest_add_chore(parts->ingest, &chores[i]);
    }
    if (rc == RESULT_OK && parts->cluster != NULL) {
        rc = cluster_part_open(parts->cluster, parts->ingest, &parts->results, error);
        if (rc == RESULT_OK) {
            rc = cluster_part_score(parts->cluster, parts->scoring);
        }
    }
    if (rc == RESULT_OK && scoring_chore(parts->scoring, &chores[0])) {
        ingest_add_chore(parts->ingest, &chores[0]);
    }
    return rc;
}

static Result build_sieve(AgentParts *parts, Buffer *error)
{
    const Config *config = parts->config;
    const IngestStore *tables = &parts->store->tables;
    Buffer path = {.limit = BUFFER_NO_LIMIT};
    MDB_txn *txn = NULL;
    Result rc = buffer_printf(&path, "%s/" SIEVE_DIRECTORY, parts->store->directory);
    SieveOptions options = {.directory = buffer_string(&path),
                            .db = tables->db,
                            .crawl = tables->crawl,
                            .memory_bytes = (size_t)config->sieve_memory,
                            .max_age_ms = config->sieve_max_age,
                            .least_urls = (uint64_t)config->sieve_least_urls};
    if (rc == RESULT_OK) {
        rc = page_db_txn_begin(tables->db, true, &txn) == 0 ? RESULT_OK : RESULT_IO;
    }
    parts->sieve = (IngestSieve){.context = parts, .hungry = wires_hungry, .stats = &parts->stats};
    if (rc == RESULT_OK) {
        rc = sieve_open(&parts->sieve.sieve, &options, txn);
    }
    page_db_txn_abort(tables->db, txn);
    if (rc == RESULT_OK) {
        ingest_set_sieve(parts->ingest, &parts->sieve);
    } else {
        (void)buffer_printf(error, "%s: cannot be used: %s", buffer_string(&path), result_name(rc));
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
                              .tries = (unsigned)config->schedule_revisit_tries,
                              .optimal = config->schedule_revisit == REVISIT_OPTIMAL,
                              .signal_trust = config->schedule_signal_trust,
                              .visits_per_s = config->schedule_revisit_rate};
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

static Result build_scoring(AgentParts *parts, Buffer *error)
{
    ScoringOptions options = scoring_options(parts->config);
    const IngestStore *tables = &parts->store->tables;
    Result rc =
        scoring_new(&parts->scoring, &options, tables->db, tables->schedule, wires_moves, parts);
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "score.scorer: no room for the scores: %s", result_name(rc));
    }
    return rc;
}

/* What is built once stays what it is: a crawl that began without revisits has none until it is
 * started again. */
static Result writing_parts_change(AgentParts *parts, Buffer *error)
{
    RevisitPolicy policy;
    ScoringOptions scores = scoring_options(parts->config);
    scoring_change(parts->scoring, &scores);
    ingest_change(parts->ingest, parts->config);
    if (parts->revisits == NULL) {
        return RESULT_OK;
    }
    Result rc = read_revisit_policy(parts->config, &policy, error);
    return rc == RESULT_OK ? revisits_set_policy(parts->revisits, &policy) : rc;
}

/* Parsing parts: the parsing threads and the rules that they go by.
 *
 * What: builds them.
 * Owns: nothing; what is built belongs to AgentParts.
 * Threads: main.
 * Errors: error gets one sentence that names the option or the file. */

/* Whether the shell finds the program that a command begins with. What is more than a word of its
 * own (a variable, a quote) only the shell can tell, when it runs. In doubt true: a command that
 * works must not be refused, and one that does not is told by the classifier. */
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
    /* Only questions as JSON name the language of a text; its library is loaded before threads
     * begin. */
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

/* Reading score.rules is the one step that may fail, so it is done before anything is changed. */
static Result read_options(AgentParts *parts, ParsingOptions *options, Buffer *error)
{
    const Config *config = parts->config;
    *options = (ParsingOptions){.config = *config,
                                .dedup = parts->dedup,
                                .filters = &parts->filters,
                                .scope = &parts->scope,
                                .stay = parts->stay,
                                .results = &parts->results,
                                .costs = &parts->costs,
                                .pages = parts->store->tables.db};
    return *config->score_rules == '\0'
               ? RESULT_OK
               : score_rules_read(&options->score_rules, config->score_rules, error);
}

static Result build_parsing(AgentParts *parts, Buffer *error)
{
    ParsingOptions options;
    Result rc = read_options(parts, &options, error);
    if (rc != RESULT_OK) {
        return rc;
    }
    return parsing_new(&parts->parsing, &options, parts->archive, &parts->stats, wires_parsed,
                       wires_skipped, parts);
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
                            config_threads(parts->config->parse_threads), result_name(rc));
    }
    return rc;
}

/* The threads that render pages, when the configuration wants them. */
static Result build_renders(AgentParts *parts, Buffer *error)
{
    RenderDeskOptions options = {.config = parts->config,
                                 .directory = parts->store->directory,
                                 .db = parts->store->tables.db,
                                 .table = parts->store->tables.renders,
                                 .parsing = parts->parsing,
                                 .quiet = wires_quiet,
                                 .context = parts};
    /* render.mode = off: there is no table of jobs. */
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
    /* Made empty here, so that parts_delete may be called whatever fails from now on. */
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
    /* Who does not say who he is may crawl his own machine, and nothing else. */
    parts->policy.loopback_only = !named;
    Buffer agent = {.limit = 4096};
    rc = config_user_agent(config, &agent);
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

/* Called at the start and whenever the configuration changes. In a cluster what is left of the
 * limits is what the other agents let this one have; alone it is all. */
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
    atomic_store(&parts->costs.patience_ms, parts->config->parse_patience);
    if (parts->cluster != NULL) {
        cluster_wires_allow(parts); /* crawl.max_pages is the whole crawl's */
    } else {
        rate_gate_set(&parts->rate, parts->config->fetch_rate);
        byte_quota_set(&parts->quota, (uint64_t)parts->config->crawl_max_bytes);
        uint64_t most = (uint64_t)parts->config->crawl_max_pages;
        uint64_t left = pages < most ? most - pages : 0;
        /* Towards the end of crawl.max_pages there are no more connections than pages that are
         * left, or each of them would fetch one too many. */
        left = most == 0 ? connections : left;
        atomic_store(&parts->max_pages, most == 0 ? NO_PAGE_LIMIT : most);
        frontier_set_connections(parts->frontier, left < connections ? left : connections);
    }
}

Result parts_new(AgentParts *parts, CrawlStore *store, const char *crawl_log, Buffer *error)
{
    /* Ingest needs the archive and the scorer, the parsing threads hand over to ingest, and the
     * network to these. */
    static Result (*const steps[])(AgentParts *, Buffer *) = {
        site_parts_share, build_stay,    build_archive,  build_scoring,
        build_ingest,     build_sieve,   build_revisits, rule_parts_share,
        build_classifier, build_parsing, build_renders,  network_parts_new};
    parts->store = store;
    parts->crawl_log = crawl_log;
    bool shares = parts->cluster != NULL && parts->config->fetch_rate > 0;
    rate_gate_init(&parts->rate, shares ? 1 : parts->config->fetch_rate); /* none is granted yet */
    byte_quota_init(&parts->quota, 0);
    if (parts->cluster != NULL) {
        byte_quota_share(&parts->quota);
    }
    /* Three gates bound what is in memory on the way of a page; each opens when the next part has
     * taken over, and only the last depends on the disk:
     *
     *   answers   fetching -> parsed        full: transfers pause
     *   spools    files of long pages       full: further pages are cut off
     *   results   parsed -> committed       full: parsing waits */
    byte_gate_init(&parts->answers, (size_t)parts->config->fetch_memory, wires_room, parts);
    byte_gate_init(&parts->spools, (size_t)parts->config->fetch_spool, NULL, NULL);
    byte_gate_init(&parts->results, (size_t)parts->config->store_memory, NULL, NULL);
    parts->gates = true;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        Result rc = steps[i](parts, error);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    atomic_store(&parts->pages_final, stats_get(&parts->stats.pages));
    if (parts->cluster != NULL) { /* nothing more is granted yet */
        atomic_store(&parts->max_pages, parts->config->crawl_max_pages == 0
                                            ? NO_PAGE_LIMIT
                                            : stats_get(&parts->stats.pages));
    }
    byte_quota_take(&parts->quota, stats_get(&parts->stats.bytes)); /* by earlier runs */
    share_connections(parts);
    return RESULT_OK;
}

/* ---- life ---- */

Result parts_configure(AgentParts *parts, Buffer *error)
{
    /* All parts are told, whatever one of them says: they go by one configuration. The first
     * complaint is the answer. */
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
    Result last = result_first(rules, result_first(parsing, writing));
    return result_first(sites, result_first(network, last));
}

Result parts_start(AgentParts *parts)
{
    if (parts->cluster != NULL) {
        /* It begins before the frontier runs: what the frontier wants of a node that is no member
         * is lost. */
        ClusterBonds bonds = {
            .frontier = parts->frontier, .ingest = parts->ingest, .stats = &parts->stats};
        uint64_t used[LEDGER_UNITS] = {[LEDGER_PAGES] = atomic_load(&parts->pages_final),
                                       [LEDGER_BYTES] = stats_get(&parts->stats.bytes)};
        cluster_part_begin(parts->cluster, &bonds, used);
    }
    /* Queues take what comes before their thread runs. Scoring and renderers look at what is
     * committed, so they are last. */
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

/* Only the change between none and some is told to the frontier; which reasons there are is for the
 * status line. Behind parts_drain the frontier is paused for good. */
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
    /* First the frontier, which gives no further visit state; then the fetchers, which give back
     * what is in their inboxes. */
    frontier_pause(parts->frontier, true);
    for (unsigned i = 0; i < atomic_load(&parts->n_fetchers); i++) {
        fetcher_drain(parts->fetchers[i]);
    }
    wires_ring(parts);
}

void parts_abort(AgentParts *parts)
{
    /* The writer waits for room on the disk; what is in flight could wait for it for ever. */
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

/* A part is stopped when all that hand it work have stopped, so nothing is handed to a part that is
 * gone, and what has been fetched is committed:
 *
 *   fetchers, resolver, renderers --> parsers --> classifier --> ingest
 *        '-------- visit states, answers, notices of commits ------'----> frontier
 *
 * The frontier is last, although fetchers get their work from it: since parts_drain it gives none,
 * but takes back visit states, and hears of the last commits. */
void parts_stop(AgentParts *parts)
{
    /* A computation over millions of links is not waited for; it begins anew with the next
     * start. */
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

/* Each part before what it borrows. Every one accepts not being there: a failure in parts_new ends
 * here, too. */
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
    scoring_delete(parts->scoring);
    readmission_delete(parts->readmission);
    orders_delete(parts->orders);
    denial_list_destroy(&parts->denials);
    revisits_delete(parts->revisits);
    revival_delete(parts->revival);
    (void)malloc_trim(0); /* what all these had: an index is sorted within it */
    /* Behind all writers. The end of the file is committed; what is behind it is cut off at the
     * next start. */
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
    file_close_fd(parts->news);
    mutex_destroy(&parts->limit_mutex);
}
