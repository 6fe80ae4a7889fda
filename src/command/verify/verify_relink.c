#include "command/verify/verify_relink.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/check/check_options.h"
#include "command/verify/verify_parts.h"
#include "crawl/crawl_store.h"
#include "ingest/batch/ingest_batch.h"
#include "ingest/page/page_way.h"
#include "ingest/page/seed_places.h"
#include "page/parsed_page.h"
#include "page/parsing.h"
#include "store/archive/warc_load.h"
#include "store/tables/host_table.h"
#include "store/pages/page_db_read.h"
#include "page/parser.h"

/* Pages that are fetched again. */

/* Puts a page back on the schedule. It is asked for without a condition: what it would confirm is
 * lost. */
Result verify_schedule_again(Verify *verify, MDB_txn *txn, Schedule *schedule, uint64_t index)
{
    PageRef page;
    Result rc = verify_forget_validators(txn, index);
    if (rc != RESULT_OK) {
        return rc;
    }
    if (page_db_get(verify->db, txn, index, &page, &verify->url) != page_db_error_ok) {
        return RESULT_DAMAGED;
    }
    unsigned level = schedule_level(schedule, page.score);
    if (page_db_set_state(verify->db, txn, index, page.status, (uint8_t)level, 0) !=
        page_db_error_ok) {
        return RESULT_FULL;
    }
    return schedule_put(schedule, txn, page.host, level, index);
}

/* ---- Lists of links that are lost, made again from the stored answers, for `ragno verify
 * --repair` */

struct VerifyRelink {
    Verify *verify;
    Config config;
    Stats stats;   /* what parsing counts there is of no interest */
    StaySet *stay; /* scope.stay; NULL = anywhere */
    Shared scope;
    Shared filters;
    Shared fetch_filter;
    Shared body_filter;
    ScoreRules *score_rules;
    DedupSteps dedup;
    CrawlStore store; /* the tables alone; the database is verify's */
    CrawlLog *log;
    IngestOptions options;
    Parsing *parsing; /* NULL: answers cannot be judged */
    ParsedPage *parsed;
    WarcAnswer answer;
    Batch batch;
    bool begun;
};

/* ---- opening ---- */

static void verify_relink_take_parsed(void *context, ParsedPage *page)
{
    VerifyRelink *relink = context;
    relink->parsed = page;
}

/* What is refused was refused before, and written to the log then. */
static void verify_relink_ignore_skipped(void *context, const SkippedLink *link)
{
    (void)context;
    (void)link;
}

static Result verify_relink_load_config(VerifyRelink *relink)
{
    Buffer path;
    buffer_init(&path, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&path, "%s/config.ini", relink->verify->options->directory);
    if (rc == RESULT_OK && access(path.data, R_OK) != 0) {
        rc = RESULT_NOT_FOUND;
    }
    if (rc == RESULT_OK) {
        CheckOptions options = {.file = path.data};
        rc = check_options_load(&options, &relink->config) == 0 ? RESULT_OK : RESULT_INVALID;
    }
    buffer_destroy(&path);
    return rc;
}

/* Scope, filters and score rules. */
static Result verify_relink_make_rules(VerifyRelink *relink, Buffer *error)
{
    const Config *config = &relink->config;
    ScopeOptions options = config_scope(config);
    Scope *scope = NULL;
    Result rc = dedup_parse_steps(config->scope_dedup_key, &relink->dedup, error);
    if (rc == RESULT_OK && config->scope_stay != STAY_ANYWHERE) {
        rc = stay_set_new(&relink->stay, (StayKind)config->scope_stay);
    }
    options.stay = relink->stay;
    if (rc == RESULT_OK) {
        rc = scope_new(&scope, &options, error);
    }
    if (rc == RESULT_OK) {
        rc = shared_replace(&relink->scope, scope);
    }
    if (rc == RESULT_OK) {
        rc = filters_share(&relink->filters, &relink->fetch_filter, &relink->body_filter, config,
                           error);
    }
    if (rc == RESULT_OK && *config->score_rules != '\0') {
        rc = score_rules_read(&relink->score_rules, config->score_rules, error);
    }
    return rc;
}

static Result make_parsing(VerifyRelink *relink)
{
    ParsingOptions options = parsing_options(&relink->config);
    options.digests = true; /* pages may have been hashed by their text */
    options.threads = 1;
    options.dedup = relink->dedup;
    options.filters = &relink->filters;
    options.scope = &relink->scope;
    options.score_rules = relink->score_rules;
    relink->score_rules = NULL;
    return parsing_new(&relink->parsing, &options, NULL, &relink->stats, verify_relink_take_parsed,
                       verify_relink_ignore_skipped, relink);
}

static Result verify_relink_open_tables(VerifyRelink *relink, Buffer *error)
{
    CrawlStoreOptions options = crawl_store_options(&relink->config, &relink->dedup);
    relink->store.tables.db = relink->verify->db;
    Result rc = crawl_store_open_tables(&relink->store, &options, error);
    return rc == RESULT_OK ? crawl_log_open(&relink->log, relink->verify->options->directory, NULL,
                                            false, SKIPPED_OFF)
                           : rc;
}

/* With the configuration that there is, be it the standard one: to schedule needs no more. */
static Result verify_relink_prepare(VerifyRelink *relink, bool judges, Buffer *error)
{
    Result rc = judges ? verify_relink_make_rules(relink, error) : RESULT_OK;
    if (rc == RESULT_OK) {
        rc = verify_relink_open_tables(relink, error);
    }
    if (rc == RESULT_OK && relink->stay != NULL) {
        rc = seed_places_load(&relink->store.tables, relink->stay,
                              (unsigned)relink->config.fetch_max_redirects);
    }
    if (rc == RESULT_OK && judges) {
        rc = make_parsing(relink);
    }
    if (rc == RESULT_OK) {
        relink->options = ingest_options(&relink->config);
        relink->options.dedup = relink->dedup;
    }
    return rc;
}

Result verify_relink_open(VerifyRelink **out, Verify *verify, const char **why)
{
    VerifyRelink *relink = calloc(1, sizeof *relink);
    Buffer error;
    *why = NULL;
    if (relink == NULL) {
        return RESULT_MEMORY;
    }
    relink->verify = verify;
    relink->store.lock = -1;
    buffer_init(&error, BUFFER_NO_LIMIT);
    shared_init(&relink->scope, scope_delete);
    shared_init(&relink->filters, filters_delete);
    shared_init(&relink->fetch_filter, filters_delete_one);
    shared_init(&relink->body_filter, filters_delete_one);
    warc_answer_init(&relink->answer);
    Result rc = config_init(&relink->config);
    Result loaded = rc == RESULT_OK ? verify_relink_load_config(relink) : rc;
    if (loaded != RESULT_OK) {
        *why = loaded == RESULT_NOT_FOUND ? "the crawl has no config.ini" : "config.ini is wrong";
    }
    if (rc == RESULT_OK) {
        rc = verify_relink_prepare(relink, loaded == RESULT_OK, &error);
    }
    if (rc != RESULT_OK && error.length > 0) {
        verify_problem(verify, "config.ini", "%s", buffer_string(&error));
    }
    buffer_destroy(&error);
    if (rc != RESULT_OK) {
        verify_relink_close(relink);
        return rc;
    }
    *out = relink;
    return RESULT_OK;
}

void verify_relink_close(VerifyRelink *relink)
{
    if (relink == NULL) {
        return;
    }
    verify_relink_abort(relink);
    parsing_delete(relink->parsing);
    crawl_log_close(relink->log);
    crawl_store_close_tables(&relink->store);
    score_rules_delete(relink->score_rules);
    shared_destroy(&relink->scope);
    stay_set_delete(relink->stay);
    shared_destroy(&relink->filters);
    shared_destroy(&relink->fetch_filter);
    shared_destroy(&relink->body_filter);
    warc_answer_destroy(&relink->answer);
    config_destroy(&relink->config);
    free(relink);
}

/* ---- transactions ---- */

Result verify_relink_begin(VerifyRelink *relink)
{
    MDB_txn *txn = NULL;
    CrawlTotals totals;
    PageDB *db = relink->verify->db;
    if (page_db_txn_begin(db, false, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    Result rc = ingest_read_totals(txn, relink->store.tables.crawl, &totals);
    if (rc == RESULT_OK) {
        rc = batch_init(&relink->batch, &relink->options, &relink->store.tables, relink->log,
                        &totals, txn, NULL, 0);
        relink->begun = true;
    }
    if (rc != RESULT_OK) {
        page_db_txn_abort(db, txn);
    }
    return rc;
}

void verify_relink_abort(VerifyRelink *relink)
{
    if (relink->begun) {
        if (relink->batch.txn != NULL) {
            page_db_txn_abort(relink->verify->db, relink->batch.txn);
        }
        batch_destroy(&relink->batch);
        relink->begun = false;
    }
}

Result verify_relink_commit(VerifyRelink *relink)
{
    Result rc = batch_finish(&relink->batch);
    if (rc == RESULT_OK) {
        int code = page_db_txn_commit(relink->verify->db, relink->batch.txn);
        relink->batch.txn = NULL;
        rc = code == page_db_error_ok ? RESULT_OK : RESULT_FULL;
    }
    verify_relink_abort(relink);
    return rc;
}

/* ---- one page ---- */

/* The stored answer as the fetch that it was. It takes header and body. */
static FetchResult *fetch_of(WarcAnswer *answer, const PageRef *page)
{
    FetchResult *fetch = fetch_result_new(FETCHED_PAGE);
    if (fetch == NULL) {
        return NULL;
    }
    fetch->request.url = strndup(page->url, page->url_length);
    if (fetch->request.url == NULL) {
        fetch_result_delete(fetch);
        return NULL;
    }
    fetch->host.id = page->host;
    fetch->request.index = page->index;
    fetch->request.hop = page->hop;
    fetch->request.depth = (uint8_t)(page->depth > UINT8_MAX ? UINT8_MAX : page->depth);
    fetch->request.has_page = true;
    fetch->final = true;
    fetch->answer.status = (int)answer->status;
    fetch->answer.truncated = answer->truncated ? TRUNCATED_LENGTH : TRUNCATED_NOT;
    fetch->cost.wall_start = answer->date;
    fetch->answer.header = answer->header;
    fetch->answer.body = answer->body;
    warc_answer_init(answer);
    return fetch;
}

static const char *why_not_loaded(Result rc)
{
    return rc == RESULT_NOT_FOUND ? "no answer of it is stored" : "its stored answer is damaged";
}

/* Into relink->parsed. */
static Result parse_again(VerifyRelink *relink, const PageRef *page, const char **why)
{
    WarcAnswer *answer = &relink->answer;
    Result rc = warc_load_status(relink->verify->warc_directory, page->url, page->url_length,
                                 (unsigned)page->status, answer);
    if (rc == RESULT_NOT_FOUND || rc == RESULT_DAMAGED || rc == RESULT_IO) {
        *why = why_not_loaded(rc);
        return RESULT_OK;
    }
    FetchResult *fetch = rc == RESULT_OK ? fetch_of(answer, page) : NULL;
    if (fetch == NULL) {
        return rc == RESULT_OK ? RESULT_MEMORY : rc;
    }
    parsing_parse(relink->parsing, fetch);
    if (relink->parsed == NULL) {
        return RESULT_MEMORY;
    }
    uint64_t content[2];
    content_hash_of(relink->parsed, content_hash_kind(page->flags), content);
    if (!relink->parsed->parsed || content[0] != page->content_hash64) {
        *why = "its stored answer is not the one that was crawled last";
    }
    return RESULT_OK;
}

Result verify_relink_page(VerifyRelink *relink, uint64_t index, const char **why)
{
    Verify *verify = relink->verify;
    PageRef page;
    *why = NULL;
    if (page_db_get(verify->db, relink->batch.txn, index, &page, &verify->url) !=
        page_db_error_ok) {
        *why = "it cannot be read";
        return RESULT_OK;
    }
    if (relink->parsing == NULL || page.status < 100) {
        *why = relink->parsing == NULL ? "the crawl's settings are not known"
                                       : "it was never answered";
        return RESULT_OK;
    }
    Result rc = parse_again(relink, &page, why);
    if (rc == RESULT_OK && *why == NULL) {
        rc = page_way_relink(&relink->batch, relink->parsed);
    }
    parsed_page_delete(relink->parsed);
    relink->parsed = NULL;
    return rc;
}

Result verify_relink_schedule(VerifyRelink *relink, uint64_t index, const char **why)
{
    Verify *verify = relink->verify;
    PageRef page;
    *why = NULL;
    if (page_db_get(verify->db, relink->batch.txn, index, &page, &verify->url) !=
        page_db_error_ok) {
        return RESULT_DAMAGED;
    }
    const BatchHost *host = batch_host(&relink->batch, page.host);
    if (host == NULL) {
        return relink->batch.result;
    }
    if (host->record.state != HOST_ACTIVE && !host_is_aside(&host->record)) {
        *why = "and its host is full or denied";
        return RESULT_OK;
    }
    return verify_schedule_again(verify, relink->batch.txn, relink->store.tables.schedule, index);
}
