#include "verify_inside.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fetch/fetch_result.h"
#include "store/capture_index.h"
#include "store/host_table.h"
#include "store/payload_index.h"
#include "store/schedule.h"
#include "store/warc_end.h"

#define DATABASE "crawl.mdb"

/* Of one host, counted from its pages. */
typedef struct Tally {
    uint32_t urls;   /* that were ever scheduled */
    uint32_t denied; /* by robots.txt */
    uint32_t good;   /* whose last answer was 2xx */
    bool again;      /* some were crawled more than once: their earlier answers are not known */
} Tally;

typedef struct Database {
    Verify *verify;
    MDB_txn *txn;
    Schedule *schedule;
    HostTable *hosts;
    uint8_t *scheduled; /* one bit per page: it has a sound entry */
    Tally *tallies;
    uint8_t *states; /* HostState per host */
    uint32_t n_hosts;
    uint64_t schedule_problems;
    uint64_t host_problems;
} Database;

static bool bit(const uint8_t *bits, uint64_t index)
{
    return (bits[index / 8] >> index % 8 & 1) != 0;
}

static void set_bit(uint8_t *bits, uint64_t index)
{
    bits[index / 8] |= (uint8_t)(1u << index % 8);
}

/* ---- pages ------------------------------------------------------------------------------------
 */

static void check_links(Database *database, const PageRef *page)
{
    Verify *verify = database->verify;
    uint64_t *to = NULL;
    size_t n = 0;
    size_t n_diff = 0;
    if (page_db_get_links(verify->db, database->txn, page->index, &to, &n, &n_diff) !=
        page_db_error_ok) {
        verify_problem(verify, DATABASE, "links of page %" PRIu64 " cannot be read", page->index);
        n = 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (to[i] >= verify->n_pages) {
            verify_problem(verify, DATABASE,
                           "page %" PRIu64 " links to page %" PRIu64 " of %" PRIu64, page->index,
                           to[i], verify->n_pages);
        }
    }
    free(to);
    uint8_t *kinds = NULL;
    if (n > 0 && page_db_get_link_kinds(verify->db, database->txn, page->index, n, &kinds) !=
                     page_db_error_ok) {
        verify_problem(verify, DATABASE, "kinds of the links of page %" PRIu64 " cannot be read",
                       page->index);
    }
    free(kinds);
}

/* idx2info to hash2idx; the other direction follows, since page_db_open has found that both have as
 * many pages. */
static void check_page(Database *database, const PageRef *page)
{
    Verify *verify = database->verify;
    uint64_t found = PAGE_DB_NO_INDEX;
    PageRef from;
    if (page_db_find(verify->db, database->txn, page->url, page->url_length, &found) !=
            page_db_error_ok ||
        found != page->index) {
        verify_problem(verify, DATABASE, "page %" PRIu64 " is not found by its URL: %.*s",
                       page->index, (int)page->url_length, page->url);
    }
    if (page->n_crawls > 0) {
        check_links(database, page);
    }
    if (page->linked_from != PAGE_DB_NO_INDEX) {
        uint64_t depth = page->depth;
        uint64_t index = page->index;
        if (page_db_get(verify->db, database->txn, page->linked_from, &from, &verify->line) !=
                page_db_error_ok ||
            from.depth >= depth) {
            verify_problem(verify, DATABASE, "page %" PRIu64 " is not deeper than what links to it",
                           index);
        }
    }
}

static void tally(Database *database, const PageRef *page)
{
    Tally *t = &database->tallies[page->host];
    t->urls += page->level != PAGE_DB_NO_LEVEL || page->status != 0 || page->n_crawls > 0;
    t->denied += page->status == STATUS_ROBOTS;
    t->good += page->n_crawls > 0 && page->status >= 200 && page->status < 300;
    t->again |= page->n_crawls > 1;
}

static void check_scheduled(Database *database, const PageRef *page)
{
    bool wanted = page->level != PAGE_DB_NO_LEVEL && database->states[page->host] == HOST_ACTIVE;
    if (wanted && !bit(database->scheduled, page->index)) {
        database->schedule_problems++;
        verify_problem(database->verify, DATABASE, "not scheduled, but has level %u: %.*s",
                       page->level, (int)page->url_length, page->url);
    }
}

static void check_pages(Database *database, bool has_schedule)
{
    Verify *verify = database->verify;
    for (uint64_t i = 0; i < verify->n_pages; i++) {
        PageRef page;
        if (page_db_get(verify->db, database->txn, i, &page, &verify->url) != page_db_error_ok) {
            continue; /* told by the snapshot */
        }
        if (page.host >= database->n_hosts) {
            verify_problem(verify, DATABASE, "page %" PRIu64 " is of host %u, which is none", i,
                           page.host);
            continue;
        }
        if (has_schedule) {
            tally(database, &page);
            check_scheduled(database, &page);
        }
        check_page(database, &page);
    }
}

static void check_origins(Database *database)
{
    Verify *verify = database->verify;
    for (uint32_t host = 0; host < database->n_hosts; host++) {
        uint32_t found = 0;
        if (page_db_host_origin(verify->db, database->txn, host, &verify->line) !=
                page_db_error_ok ||
            page_db_host_find(verify->db, database->txn, verify->line.data, verify->line.length,
                              &found) != page_db_error_ok ||
            found != host) {
            verify_problem(verify, DATABASE, "host %u is not found by its name", host);
        }
    }
}

/* ---- schedule ---------------------------------------------------------------------------------
 */

/* A host at its limit of pages has those it has visited again. */
static bool may_be_scheduled(const Database *database, const PageRef *page)
{
    uint8_t state = database->states[page->host];
    return state == HOST_ACTIVE || (state == HOST_FULL && page->n_crawls > 0);
}

static const char *wrong_entry(Database *database, const ScheduleEntry *entry)
{
    PageRef page;
    Verify *verify = database->verify;
    if (entry->index >= verify->n_pages || page_db_get(verify->db, database->txn, entry->index,
                                                       &page, &verify->url) != page_db_error_ok) {
        return "of no page";
    }
    if (page.host != entry->host) {
        return "under another host";
    }
    if (page.level != entry->level) {
        return "at another level than its page says";
    }
    if (page.host < database->n_hosts && !may_be_scheduled(database, &page)) {
        return "of a host that is given up";
    }
    return NULL;
}

/* Sets the bits of what is soundly scheduled. */
static Result check_entries(Database *database)
{
    enum { ENTRIES = 1024 };
    ScheduleEntry *entries = calloc(ENTRIES, sizeof *entries);
    ScheduleScan scan = {.started = false};
    size_t n = ENTRIES;
    Result rc = entries == NULL ? RESULT_MEMORY : RESULT_OK;
    while (rc == RESULT_OK && n == ENTRIES) {
        rc = schedule_scan(database->schedule, database->txn, &scan, entries, ENTRIES, &n);
        for (size_t i = 0; rc == RESULT_OK && i < n; i++) {
            const char *wrong = wrong_entry(database, &entries[i]);
            if (wrong == NULL) {
                set_bit(database->scheduled, entries[i].index);
            } else {
                database->schedule_problems++;
                verify_problem(database->verify, DATABASE,
                               "scheduled %s: page %" PRIu64 ", host %u, level %u", wrong,
                               entries[i].index, entries[i].host, entries[i].level);
            }
        }
    }
    free(entries);
    return rc;
}

/* The table of hosts with work names each once, at its best level. */
static Result check_fronts(Database *database)
{
    ScheduleHostCursor cursor = {.started = false};
    uint32_t id = 0;
    size_t n = 1;
    uint64_t with_entries = 0;
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && n > 0) {
        /* One by one, since the level that a host stands under is the cursor's. */
        rc = schedule_hosts(database->schedule, database->txn, &cursor, &id, 1, &n);
        ScheduleItem best = {.index = 0};
        size_t found = 0;
        if (rc == RESULT_OK && n > 0) {
            rc = schedule_head(database->schedule, database->txn, id, NULL, &best, 1, &found);
        }
        if (rc == RESULT_OK && n > 0 && (found == 0 || best.level != cursor.level)) {
            database->schedule_problems++;
            verify_problem(database->verify, DATABASE, "host %u has its best URL not at level %u",
                           id, cursor.level);
        }
    }
    for (uint32_t host = 0; host < database->n_hosts && rc == RESULT_OK; host++) {
        ScheduleItem best;
        size_t found = 0;
        rc = schedule_head(database->schedule, database->txn, host, NULL, &best, 1, &found);
        with_entries += found;
    }
    uint64_t entries = 0;
    uint64_t listed = 0;
    if (rc == RESULT_OK) {
        rc = schedule_counts(database->schedule, database->txn, &entries, &listed);
    }
    if (rc == RESULT_OK && listed != with_entries) {
        database->schedule_problems++;
        verify_problem(database->verify, DATABASE,
                       "%" PRIu64 " hosts have work, %" PRIu64 " are listed", with_entries, listed);
    }
    return rc;
}

/* Everything anew from the levels of the pages. */
static Result rebuild_schedule(Database *database)
{
    Verify *verify = database->verify;
    uint64_t n = 0;
    Result rc = schedule_clear(database->schedule, database->txn);
    for (uint64_t i = 0; i < verify->n_pages && rc == RESULT_OK; i++) {
        PageRef page;
        if (page_db_get(verify->db, database->txn, i, &page, &verify->url) == page_db_error_ok &&
            page.host < database->n_hosts && page.level < SCHEDULE_MAX_LEVELS &&
            may_be_scheduled(database, &page)) {
            rc = schedule_put(database->schedule, database->txn, page.host, page.level, i);
            n++;
        }
    }
    if (rc == RESULT_OK) {
        verify_repaired(verify, DATABASE, "schedule written anew from PageDB: %" PRIu64 " URLs", n);
    }
    return rc;
}

/* ---- hosts ------------------------------------------------------------------------------------
 */

static Result note_state(void *context, uint32_t host, const HostRecord *record)
{
    Database *database = context;
    if (host < database->n_hosts) {
        database->states[host] = record->state;
    } else {
        verify_problem(database->verify, DATABASE, "record of host %u, which is none", host);
    }
    return RESULT_OK;
}

/* The counters that the pages of a host tell; false when the record is already so. */
static bool count_anew(const Tally *tally, HostRecord *record)
{
    HostRecord before = *record;
    uint32_t stored = record->pages + record->duplicates;
    record->urls = tally->urls;
    record->robots_denied = tally->denied;
    if (tally->again ? stored < tally->good : stored != tally->good) {
        record->duplicates = record->duplicates < tally->good ? record->duplicates : 0;
        record->pages = tally->good - record->duplicates;
    }
    return before.urls != record->urls || before.robots_denied != record->robots_denied ||
           before.pages != record->pages || before.duplicates != record->duplicates;
}

static Result check_hosts(Database *database, bool repair)
{
    Result rc = RESULT_OK;
    uint64_t n = 0;
    for (uint32_t host = 0; host < database->n_hosts && rc == RESULT_OK; host++) {
        HostRecord record;
        rc = host_table_get(database->hosts, database->txn, host, &record);
        HostRecord was = record;
        if (rc != RESULT_OK || !count_anew(&database->tallies[host], &record)) {
            continue;
        }
        if (repair) {
            rc = host_table_put(database->hosts, database->txn, host, &record);
            n++;
        } else {
            database->host_problems++;
            verify_problem(database->verify, DATABASE,
                           "host %u counts %u URLs, %u pages, %u duplicates, %u denied; its pages "
                           "say %u, %u, %u, %u",
                           host, was.urls, was.pages, was.duplicates, was.robots_denied,
                           record.urls, record.pages, record.duplicates, record.robots_denied);
        }
    }
    if (n > 0 && rc == RESULT_OK) {
        verify_repaired(database->verify, DATABASE, "counters of %" PRIu64 " hosts", n);
    }
    return rc;
}

/* ---- the whole --------------------------------------------------------------------------------
 */

static bool has_table(MDB_txn *txn, const char *name)
{
    MDB_dbi dbi = 0;
    return mdb_dbi_open(txn, name, 0, &dbi) == MDB_SUCCESS;
}

/* One that was not written by a crawl has no schedule, and one that was just created. */
static Result open_tables(Database *database, bool *has_schedule)
{
    *has_schedule = has_table(database->txn, "schedule") && has_table(database->txn, "hosts");
    if (!*has_schedule) {
        return RESULT_OK;
    }
    Result rc = schedule_open(&database->schedule, database->txn, NULL);
    return rc == RESULT_OK ? host_table_open(&database->hosts, database->txn) : rc;
}

static Result check(Database *database)
{
    Verify *verify = database->verify;
    bool has_schedule = false;
    Result rc = open_tables(database, &has_schedule);
    if (rc == RESULT_OK && has_schedule) {
        rc = host_table_walk(database->hosts, database->txn, note_state, database);
    }
    if (rc == RESULT_OK && has_schedule) {
        rc = check_entries(database);
    }
    if (rc == RESULT_OK && has_schedule) {
        rc = check_fronts(database);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    check_pages(database, has_schedule);
    check_origins(database);
    rc = has_schedule ? check_hosts(database, false) : RESULT_OK;
    if (rc == RESULT_OK) {
        rc = verify_revisits(verify, database->txn);
    }
    if (rc == RESULT_OK && verify->options->repair && database->schedule_problems > 0) {
        rc = rebuild_schedule(database);
    }
    if (rc == RESULT_OK && verify->options->repair && database->host_problems > 0) {
        rc = check_hosts(database, true);
    }
    return rc;
}

Result verify_database(Verify *verify)
{
    Database database = {.verify = verify};
    bool repair = verify->options->repair;
    if (page_db_txn_begin(verify->db, !repair, &database.txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    verify->n_pages = page_db_n_pages(verify->db, database.txn);
    database.n_hosts = page_db_n_hosts(verify->db, database.txn);
    database.scheduled = calloc(verify->n_pages / 8 + 1, 1);
    database.tallies = calloc((size_t)database.n_hosts + 1, sizeof *database.tallies);
    database.states = calloc((size_t)database.n_hosts + 1, 1);
    Result rc = database.scheduled == NULL || database.tallies == NULL || database.states == NULL
                    ? RESULT_MEMORY
                    : check(&database);
    if (rc == RESULT_OK && repair) {
        rc = page_db_txn_commit(verify->db, database.txn) == page_db_error_ok ? RESULT_OK
                                                                              : RESULT_FULL;
    } else {
        page_db_txn_abort(verify->db, database.txn);
    }
    schedule_close(database.schedule);
    host_table_close(database.hosts);
    free(database.scheduled);
    free(database.tallies);
    free(database.states);
    return rc;
}

/* ---- pages and captures -------------------------------------------------------------------------
 */

/* Whether an answer of this page was stored. Without the index of captures (no archive was kept by
 * this version) it is taken for granted of every page that was crawled. */
static Result must_be_stored(CaptureIndex *captures, MDB_txn *txn, const PageRef *page, bool *must)
{
    Capture capture;
    *must = page->n_crawls > 0;
    if (captures == NULL) {
        return RESULT_OK;
    }
    Result rc = capture_index_get(captures, txn, page->index, &capture);
    *must = rc == RESULT_OK;
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

/* Notes of pages first to end - 1 which are in the files. */
static Result note_stored_in(Verify *verify, MDB_txn *txn, uint64_t first, uint64_t end)
{
    CaptureIndex *captures = NULL;
    Result rc = capture_index_open(&captures, txn, false);
    rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    for (uint64_t i = first; i < end && rc == RESULT_OK; i++) {
        PageRef page;
        bool must = false;
        if (page_db_get(verify->db, txn, i, &page, &verify->url) != page_db_error_ok) {
            verify_problem(verify, DATABASE, "page %" PRIu64 " cannot be read", i);
            continue;
        }
        verify->counts->pages += page.n_crawls > 0;
        rc = must_be_stored(captures, txn, &page, &must);
        if (must) {
            set_bit(verify->stored, i);
        }
    }
    capture_index_close(captures);
    return rc;
}

/* In short transactions, since it may run beside a crawl. */
static Result note_stored(Verify *verify)
{
    enum { PAGES_PER_TXN = 4096 };
    Result rc = RESULT_OK;
    for (uint64_t i = 0; i < verify->n_pages && rc == RESULT_OK; i += PAGES_PER_TXN) {
        MDB_txn *txn = NULL;
        uint64_t rest = verify->n_pages - i;
        if (page_db_txn_begin(verify->db, true, &txn) != page_db_error_ok) {
            return RESULT_IO;
        }
        rc = note_stored_in(verify, txn, i, i + (rest < PAGES_PER_TXN ? rest : PAGES_PER_TXN));
        page_db_txn_abort(verify->db, txn);
    }
    return rc;
}

static Result snapshot(Verify *verify)
{
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(verify->db, true, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    verify->n_pages = page_db_n_pages(verify->db, txn);
    page_db_txn_abort(verify->db, txn);
    verify->captured = calloc(verify->n_pages / 8 + 1, 1);
    verify->stored = calloc(verify->n_pages / 8 + 1, 1);
    Result rc =
        verify->captured == NULL || verify->stored == NULL ? RESULT_MEMORY : note_stored(verify);
    if (rc == RESULT_OK && page_db_txn_begin(verify->db, true, &txn) != page_db_error_ok) {
        rc = RESULT_IO;
    }
    if (rc == RESULT_OK) {
        rc = warc_end_get(txn, &verify->committed);
        page_db_txn_abort(verify->db, txn);
    }
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

Result verify_open_database(Verify *verify)
{
    Buffer path;
    buffer_init(&path, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&path, "%s/crawl.mdb/data.mdb", verify->options->directory);
    if (rc == RESULT_OK && access(path.data, F_OK) == 0) {
        *strrchr(path.data, '/') = '\0';
        PageDBOptions options = {.read_only = !verify->options->repair, .no_create = true};
        int code = page_db_open(&verify->db, path.data, &options);
        if (code != page_db_error_ok) {
            const char *why = verify->db == NULL ? NULL : error_message(verify->db->error);
            verify_problem(verify, DATABASE, "cannot be opened: %s", why == NULL ? "?" : why);
            rc = code == page_db_error_version ? RESULT_VERSION : RESULT_DAMAGED;
        } else {
            rc = snapshot(verify);
        }
    }
    buffer_destroy(&path);
    return rc;
}

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

static Result forget_payloads(Verify *verify, MDB_txn *txn)
{
    PayloadIndex *payloads = NULL;
    Result rc = payload_index_open(&payloads, txn, false);
    if (rc == RESULT_OK) {
        rc = payload_index_clear(payloads, txn);
        payload_index_close(payloads);
    }
    if (rc == RESULT_OK) {
        verify_repaired(verify, DATABASE, "index of payloads emptied: no revisits of lost records");
    }
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

/* What is lost confirms nothing; what is fetched again is not missed any more. */
static Result forget_capture(const Verify *verify, MDB_txn *txn, CaptureIndex *captures,
                             uint64_t page)
{
    if (captures == NULL || !verify->options->repair) {
        return RESULT_OK;
    }
    return verify->options->refetch ? capture_index_remove(captures, txn, page)
                                    : capture_index_lost(captures, txn, page);
}

/* Lists what is lost; *lost counts. */
static Result find_lost(Verify *verify, MDB_txn *txn, Schedule *schedule, uint64_t *lost)
{
    CaptureIndex *captures = NULL;
    Result rc = capture_index_open(&captures, txn, false);
    rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    for (uint64_t i = 0; i < verify->n_pages && rc == RESULT_OK; i++) {
        PageRef page;
        if (!bit(verify->stored, i) || bit(verify->captured, i) ||
            page_db_get(verify->db, txn, i, &page, &verify->url) != page_db_error_ok) {
            continue;
        }
        verify_problem(verify, DATABASE, "crawled, but in no WARC file: %s",
                       buffer_string(&verify->url));
        rc = schedule == NULL ? RESULT_OK : verify_schedule_again(verify, txn, schedule, i);
        rc = rc == RESULT_OK ? forget_capture(verify, txn, captures, i) : rc;
        ++*lost;
    }
    capture_index_close(captures);
    return rc;
}

Result verify_captures(Verify *verify)
{
    MDB_txn *txn = NULL;
    Schedule *schedule = NULL;
    uint64_t lost = 0;
    const VerifyOptions *options = verify->options;
    if (page_db_txn_begin(verify->db, !options->repair, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    Result rc = options->refetch ? schedule_open(&schedule, txn, NULL) : RESULT_OK;
    if (rc == RESULT_OK) {
        rc = find_lost(verify, txn, schedule, &lost);
    }
    if (rc == RESULT_OK && options->refetch && lost > 0) {
        verify_repaired(verify, DATABASE, "%" PRIu64 " pages scheduled to be fetched again", lost);
    }
    if (rc == RESULT_OK && options->repair && (verify->lost_records || lost > 0)) {
        rc = forget_payloads(verify, txn);
    }
    if (rc == RESULT_OK && options->repair) {
        rc = page_db_txn_commit(verify->db, txn) == page_db_error_ok ? RESULT_OK : RESULT_FULL;
    } else {
        page_db_txn_abort(verify->db, txn);
    }
    schedule_close(schedule);
    return rc;
}

Result verify_set_end(Verify *verify)
{
    MDB_txn *txn = NULL;
    if (page_db_txn_begin(verify->db, false, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    Result rc = warc_end_put(txn, &verify->committed);
    if (rc != RESULT_OK) {
        page_db_txn_abort(verify->db, txn);
        return rc;
    }
    return page_db_txn_commit(verify->db, txn) == page_db_error_ok ? RESULT_OK : RESULT_FULL;
}
