#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/bits.h"
#include "base/memory/file.h"
#include "crawl/crawl_store.h"
#include "frontier/sieve/sieve.h"
#include "store/check/page_links_check.h"
#include "store/tables/revisit_table.h"
#include "store/pages/page_db_read.h"
#include "command/verify/verify_run.h"
#include "command/check/check_options.h"
#include "ingest/batch/ingest_batch.h"
#include "ingest/page/page_way.h"
#include "ingest/page/seed_places.h"
#include "page/parsed_page.h"
#include "page/parsing.h"
#include "store/archive/warc_load.h"
#include "store/tables/host_table.h"
#include "page/parser.h"

/* Lists of links that are lost, made again from the stored answers, for `ragno verify --repair`.
 *
 *   captures (warc_load.h) --FetchResult--> parsing (parsing.h) --ParsedPage--> page_way_relink
 *
 * What: the answer goes the way of one that was just fetched: the same decoding, encoding, filters,
 * scope, rules and spellings, as the configuration in the crawl's directory says. Only the sieve's
 * Bloom filter is not asked, which can only leave links out. New URLs are scheduled, as by a crawl.
 * An answer counts only when its status and the digest of its decoded body are those that PageDB
 * has of the page's last crawl, so what is made is what was lost. (Settings that were changed since
 * judge anew.)
 * Owns: the parser and the transaction; the lock of the directory is the caller's.
 * Threads: one.
 * Errors: RESULT_FULL, RESULT_IO, RESULT_DAMAGED, RESULT_MEMORY; the transaction must then be
 * aborted. */

typedef struct VerifyRelink VerifyRelink;

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
    Path path;
    CheckOptions options = {
        .file = file_path(&path, "%s/config.ini", relink->verify->options->directory)};
    if (access(path.text, R_OK) != 0) {
        return RESULT_NOT_FOUND;
    }
    return check_options_load(&options, &relink->config) == 0 ? RESULT_OK : RESULT_INVALID;
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

static void verify_relink_abort(VerifyRelink *relink)
{
    if (relink->begun) {
        if (relink->batch.txn != NULL) {
            page_db_txn_abort(relink->verify->db, relink->batch.txn);
        }
        batch_destroy(&relink->batch);
        relink->begun = false;
    }
}

static void verify_relink_close(VerifyRelink *relink)
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

/* RESULT_INVALID, RESULT_NOT_FOUND: the configuration cannot be used; *why says so, and pages can
 * only be scheduled again. */
static Result verify_relink_open(VerifyRelink **out, Verify *verify, const char **why)
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

/* ---- transactions ---- */

static Result verify_relink_begin(VerifyRelink *relink)
{
    MDB_txn *txn = NULL;
    CrawlTotals totals;
    Result rc = verify_begin(relink->verify, true, &txn);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = ingest_read_totals(txn, relink->store.tables.crawl, &totals);
    if (rc == RESULT_OK) {
        rc = batch_init(&relink->batch, &relink->options, &relink->store.tables, relink->log,
                        &totals, txn, NULL, 0);
        relink->begun = true;
    }
    if (rc != RESULT_OK) {
        page_db_txn_abort(relink->verify->db, txn);
    }
    return rc;
}

static Result verify_relink_commit(VerifyRelink *relink)
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

/* RESULT_OK: the list is written when *why is NULL; else nothing is changed, and *why says for what
 * reason nothing can be: no answer is stored, it is damaged, it is another one. */
static Result verify_relink_page(VerifyRelink *relink, uint64_t index, const char **why)
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

/* Instead: the page is fetched again, when *why is NULL; else its host may not be visited. */
static Result verify_relink_schedule(VerifyRelink *relink, uint64_t index, const char **why)
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

/* ragno verify: links that wait in the bucket files of the sieve. */

Result verify_sieve(Verify *verify, MDB_txn *txn, uint8_t *waiting, uint64_t n_pages)
{
    Path path;
    SieveState state;
    DrumRecovery found = {.generations = 0};
    MDB_dbi crawl = 0;
    if (mdb_dbi_open(txn, "crawl", 0, &crawl) != MDB_SUCCESS) {
        return RESULT_OK; /* PageDB alone: never had a sieve */
    }
    Result rc = sieve_state_read(txn, crawl, &state);
    if (rc == RESULT_OK) {
        (void)file_path(&path, "%s/" SIEVE_DIRECTORY, verify->options->directory);
        rc = sieve_walk(path.text, &state, waiting, n_pages, &found);
        rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
        if (rc != RESULT_OK) {
            verify_problem(verify, SIEVE_DIRECTORY, "bucket files could not be read: %s",
                           result_name(rc));
        }
    }
    if (found.damaged_bytes > 0) {
        verify_problem(verify, SIEVE_DIRECTORY,
                       "%" PRIu64 " bytes of bucket files cannot be read, %" PRIu64
                       " links or more; %" PRIu64 " wait",
                       found.damaged_bytes, found.damaged_elements, found.elements);
    }
    return rc;
}

/* ragno verify: the lists of links. */

#define PAGES_PER_TXN 256u

/* One bit per page each. */
typedef struct Lists {
    Verify *verify;
    uint8_t *crawled; /* may have a list */
    uint8_t *needed;  /* and is not fetched again anyway */
    uint8_t *waiting; /* all its links are in the sieve */
    uint8_t *listed;  /* has one that can be read */
    uint64_t n_pages;
    uint64_t n_lost;
} Lists;

/* Crawled, with nothing to show for it. */
static bool is_without(const Lists *lists, uint64_t index)
{
    return bits_has(lists->crawled, index) && !bits_has(lists->waiting, index) &&
           !bits_has(lists->listed, index);
}

/* And no fetch is to come that brings a new one. */
static bool is_lost(const Lists *lists, uint64_t index)
{
    return is_without(lists, index) && bits_has(lists->needed, index);
}

/* Whether a page that is scheduled is asked for on the condition that it has changed: an answer
 * that it has not brings no links. revisits: NULL when there is no such table. */
static bool may_stay_as_it_is(const RevisitTable *revisits, MDB_txn *txn, uint64_t index)
{
    RevisitNote note;
    return revisits != NULL && revisit_table_note_get(revisits, txn, index, &note) == RESULT_OK &&
           (note.etag[0] != '\0' || note.last_modified[0] != '\0');
}

static Result note_crawled(Lists *lists, MDB_txn *txn)
{
    Verify *verify = lists->verify;
    RevisitTable *revisits = NULL;
    Result rc = revisit_table_open(&revisits, txn, false);
    if (rc != RESULT_OK && rc != RESULT_NOT_FOUND) {
        return rc;
    }
    for (uint64_t i = 0; i < lists->n_pages; i++) {
        PageRef page;
        if (page_db_get(verify->db, txn, i, &page, &verify->url) == page_db_error_ok &&
            page.n_crawls > 0) {
            bits_set(lists->crawled, i);
            if (page.level == PAGE_DB_NO_LEVEL || may_stay_as_it_is(revisits, txn, i)) {
                bits_set(lists->needed, i);
            }
        }
    }
    revisit_table_close(revisits);
    return RESULT_OK;
}

static void verify_links_tell_lost(Lists *lists, MDB_txn *txn)
{
    Verify *verify = lists->verify;
    for (uint64_t i = 0; i < lists->n_pages; i++) {
        PageRef page;
        if (is_lost(lists, i) &&
            page_db_get(verify->db, txn, i, &page, &verify->url) == page_db_error_ok) {
            verify_problem(verify, VERIFY_DATABASE, "crawled, but its links are lost: %s",
                           buffer_string(&verify->url));
            lists->n_lost++;
        }
    }
}

/* Reads everything, and takes out what cannot be read. Of a crawl that runs the sieve's files are
 * ahead of what can be read here: which lists are missing cannot be told. */
static Result verify_links_look(Lists *lists, MDB_txn *txn)
{
    Verify *verify = lists->verify;
    bool repair = verify->options->repair;
    PageLinksCheck check = {
        .crawled = lists->crawled, .n_pages = lists->n_pages, .listed = lists->listed};
    Result rc = note_crawled(lists, txn);
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = repair ? page_links_mend(verify->db, txn, &check)
                : page_links_check(verify->db, txn, &check);
    if (rc == RESULT_OK && check.n_broken > 0) {
        verify_problem(verify, VERIFY_DATABASE,
                       "%" PRIu64 " records of lists of links cannot be read", check.n_broken);
    }
    if (rc == RESULT_OK && check.n_broken > 0 && repair) {
        verify_repaired(verify, VERIFY_DATABASE, "the lists that cannot be read are removed");
    }
    if (rc != RESULT_OK || (!repair && crawl_store_owner(verify->options->directory) != 0)) {
        return rc;
    }
    rc = verify_sieve(verify, txn, lists->waiting, lists->n_pages);
    if (rc == RESULT_OK) {
        verify_links_tell_lost(lists, txn);
    }
    return rc;
}

/* ---- repair ---- */

typedef struct Repairs {
    uint64_t rebuilt;
    uint64_t again;
} Repairs;

/* From the archive, or else from the web. */
static Result repair_page(Lists *lists, VerifyRelink *relink, uint64_t index, Repairs *repairs)
{
    Verify *verify = lists->verify;
    const char *why = NULL;
    const char *stuck = NULL;
    Result rc = verify_relink_page(relink, index, &why);
    if (rc != RESULT_OK || why == NULL) {
        repairs->rebuilt += rc == RESULT_OK;
        return rc;
    }
    if (!is_lost(lists, index)) {
        return RESULT_OK;
    }
    rc = verify_relink_schedule(relink, index, &stuck);
    if (rc == RESULT_OK) {
        verify_problem(verify, VERIFY_DATABASE, "its links cannot be rebuilt, %s%s%s: %s", why,
                       stuck == NULL ? "" : ", ", stuck == NULL ? "" : stuck,
                       buffer_string(&verify->url));
        repairs->again += stuck == NULL;
    }
    return rc;
}

static Result repair_some(Lists *lists, VerifyRelink *relink, uint64_t *next, Repairs *repairs)
{
    Result rc = verify_relink_begin(relink);
    if (rc != RESULT_OK) {
        return rc;
    }
    for (unsigned n = 0; rc == RESULT_OK && n < PAGES_PER_TXN && *next < lists->n_pages; ++*next) {
        if (is_without(lists, *next)) {
            rc = repair_page(lists, relink, *next, repairs);
            n++;
        }
    }
    if (rc != RESULT_OK) {
        verify_relink_abort(relink);
        return rc;
    }
    return verify_relink_commit(relink);
}

static Result repair(Lists *lists)
{
    Verify *verify = lists->verify;
    VerifyRelink *relink = NULL;
    Repairs repairs = {.rebuilt = 0};
    const char *why = NULL;
    uint64_t next = 0;
    Result rc = verify_relink_open(&relink, verify, &why);
    if (why != NULL) {
        verify_problem(verify, VERIFY_DATABASE, "no list of links can be rebuilt: %s", why);
    }
    while (rc == RESULT_OK && next < lists->n_pages) {
        rc = repair_some(lists, relink, &next, &repairs);
    }
    verify_relink_close(relink);
    if (rc == RESULT_OK && repairs.rebuilt > 0) {
        verify_repaired(verify, VERIFY_DATABASE,
                        "links of %" PRIu64 " pages rebuilt from their stored answers",
                        repairs.rebuilt);
    }
    if (rc == RESULT_OK && repairs.again > 0) {
        verify_repaired(verify, VERIFY_DATABASE,
                        "%" PRIu64 " pages scheduled to be fetched again for their links",
                        repairs.again);
    }
    return rc;
}

static Result look_in_transaction(Lists *lists)
{
    Verify *verify = lists->verify;
    MDB_txn *txn = NULL;
    bool repairs = verify->options->repair;
    Result rc = verify_begin(verify, repairs, &txn);
    if (rc != RESULT_OK) {
        return rc;
    }
    lists->n_pages = page_db_n_pages(verify->db, txn);
    lists->crawled = verify_bits(lists->n_pages);
    lists->needed = verify_bits(lists->n_pages);
    lists->waiting = verify_bits(lists->n_pages);
    lists->listed = verify_bits(lists->n_pages);
    rc = lists->crawled == NULL || lists->needed == NULL || lists->waiting == NULL ||
                 lists->listed == NULL
             ? RESULT_MEMORY
             : verify_links_look(lists, txn);
    return verify_end(verify, repairs, txn, rc);
}

Result verify_links(Verify *verify)
{
    Lists lists = {.verify = verify};
    Result rc = look_in_transaction(&lists);
    if (rc == RESULT_OK && verify->options->repair && lists.n_lost > 0) {
        rc = repair(&lists);
    }
    free(lists.crawled);
    free(lists.needed);
    free(lists.waiting);
    free(lists.listed);
    return rc;
}
