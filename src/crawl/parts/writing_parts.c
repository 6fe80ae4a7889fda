#include "crawl/parts/writing_parts.h"

#include "crawl/parts/site_parts.h"
#include "crawl/parts/wires.h"
#include "ingest/batch/ingest_batch.h"
#include "store/rank/page_rank.h"

/* The largest relative change of a score at the end of a computation; a level is a factor of 2. */
#define SCORING_PRECISION 1e-2f

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
                              .compression = (WarcCompression)config->warc_compression,
                              .level = config->warc_level,
                              .metadata = config->warc_metadata,
                              .index_memory_bytes = (size_t)config->warc_index_memory,
                              .user_agent = parts->user_agent,
                              .contact = config->crawl_contact};
    IngestStore *tables = &parts->store->tables;
    Result rc = archive_open(&parts->archive, &options, tables->db, error);
    tables->archive = parts->archive;
    return rc;
}

/* Scores matter to the best-first order alone. */
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

/* Lines that an earlier run had no time to write. */
static Result repair_log(const AgentParts *parts, const char *crawl_log)
{
    const IngestStore *tables = &parts->store->tables;
    MDB_txn *txn = NULL;
    uint64_t serial = 0;
    if (page_db_txn_begin(tables->db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    Result rc = ingest_read_log_serial(txn, tables->crawl, &serial);
    page_db_txn_abort(tables->db, txn);
    return rc == RESULT_OK ? crawl_log_repair(parts->store->directory, crawl_log, serial) : rc;
}

static Result build_ingest(AgentParts *parts, const char *crawl_log, Buffer *error)
{
    const Config *config = parts->config;
    Result rc = config->log_crawl ? repair_log(parts, crawl_log) : RESULT_OK;
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = crawl_log_open(&parts->log, parts->store->directory, crawl_log, config->log_crawl,
                        (SkippedMode)config->log_skipped);
    if (rc != RESULT_OK) {
        return rc;
    }
    IngestOptions options = ingest_options(config);
    options.results = &parts->results;
    options.host_pages = site_parts_ingest_pages;
    options.host_pages_context = parts;
    options.host_limits = site_parts_host_limits;
    options.host_delays = site_parts_host_delays;
    options.scorer = scoring_scorer(parts->scoring);
    options.admission = &parts->admission;
    options.stay = parts->stay;
    options.dedup = parts->dedup;
    options.traps.parked = &parts->parked_traps;
    if (parts->store->tables.renders != NULL) {
        render_way_init(&parts->render_way, parts->store->tables.renders, site_parts_render_mode,
                        parts);
        parts->rendering = render_way_hooks(&parts->render_way);
        options.rendering = &parts->rendering;
    }
    IngestSinks sinks = wires_of_ingest(parts);
    rc = ingest_new(&parts->ingest, &options, &parts->store->tables, &sinks, parts->log,
                    &parts->stats);
    IngestChore chore;
    if (rc == RESULT_OK) {
        rc = revival_new(&parts->revival, &parts->store->tables);
    }
    if (rc == RESULT_OK) {
        chore = revival_chore(parts->revival);
        ingest_add_chore(parts->ingest, &chore);
    }
    if (rc == RESULT_OK) {
        rc = readmission_new(&parts->readmission, &parts->store->tables, &parts->fetch_filter);
    }
    if (rc == RESULT_OK) {
        chore = readmission_chore(parts->readmission);
        ingest_add_chore(parts->ingest, &chore);
    }
    if (rc == RESULT_OK) {
        rc = orders_new(&parts->orders, &parts->store->tables, wires_done, parts);
    }
    if (rc == RESULT_OK) {
        chore = orders_chore(parts->orders);
        ingest_add_chore(parts->ingest, &chore);
    }
    if (rc == RESULT_OK && parts->cluster != NULL) {
        rc = cluster_part_open(parts->cluster, parts->ingest, &parts->results, error);
        rc = rc == RESULT_OK ? cluster_part_score(parts->cluster, parts->scoring) : rc;
    }
    if (rc == RESULT_OK && scoring_chore(parts->scoring, &chore)) {
        ingest_add_chore(parts->ingest, &chore);
    }
    return rc;
}

static Result build_sieve(AgentParts *parts, Buffer *error)
{
    const Config *config = parts->config;
    const IngestStore *tables = &parts->store->tables;
    Buffer path = {.limit = BUFFER_NO_LIMIT};
    MDB_txn *txn = NULL;
    bool bloom = config->sieve_test == SIEVE_TEST_BLOOM;
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

Result writing_parts_new(AgentParts *parts, const char *crawl_log, Buffer *error)
{
    Result rc = build_archive(parts, error);
    if (rc == RESULT_OK) {
        rc = build_scoring(parts, error);
    }
    if (rc == RESULT_OK) {
        rc = build_ingest(parts, crawl_log, error);
    }
    if (rc == RESULT_OK) {
        rc = build_sieve(parts, error);
    }
    return rc == RESULT_OK ? build_revisits(parts, error) : rc;
}

Result writing_parts_change(AgentParts *parts, Buffer *error)
{
    RevisitPolicy policy;
    IngestOptions options = ingest_options(parts->config);
    ScoringOptions scores = scoring_options(parts->config);
    scoring_change(parts->scoring, &scores);
    ingest_change(parts->ingest, &options);
    if (parts->revisits == NULL) {
        return RESULT_OK;
    }
    Result rc = read_revisit_policy(parts->config, &policy, error);
    return rc == RESULT_OK ? revisits_set_policy(parts->revisits, &policy) : rc;
}
