#include <inttypes.h>
#include <stdlib.h>

#include "base/memory/bits.h"
#include "command/verify/verify_run.h"
#include "fetch/transfer/fetch_result.h"
#include "store/tables/host_rows.h"
#include "store/tables/revisit_rows.h"
#include "store/schedule/schedule_read.h"
#include "store/check/page_links_check.h"

/* ragno verify: the revisit schedule (store/tables/revisit_rows.h) against itself and PageDB. */

#define TABLES "crawl.mdb"

/* Every entry is of a page and is found by it. */
static Result verify_revisits_check_entries(Verify *verify, MDB_txn *txn, const RevisitRows *table,
                                            uint64_t *problems)
{
    RevisitDue due = {.freq = 0};
    RevisitDue found;
    uint64_t n = 0;
    Result rc = revisit_rows_next(table, txn, &due);
    for (; rc == RESULT_OK; rc = revisit_rows_next(table, txn, &due)) {
        n++;
        if (due.index >= verify->n_pages ||
            revisit_rows_get(table, txn, due.index, &found) != RESULT_OK ||
            found.time_s != due.time_s) {
            verify_problem(verify, TABLES,
                           "next visit of page %" PRIu64 " belongs to no page, or is there twice",
                           due.index);
            ++*problems;
        }
    }
    uint64_t pages = 0;
    if (rc == RESULT_NOT_FOUND) {
        rc = revisit_rows_page_count(table, txn, &pages);
    }
    if (rc == RESULT_OK && pages != n) {
        verify_problem(verify, TABLES, "%" PRIu64 " pages have a next visit, %" PRIu64 " are due",
                       pages, n);
        ++*problems;
    }
    return rc;
}

/* The next visits of schedule.mode = continuous; repairs by emptying them, so that the next crawl
 * enters all pages. */
static Result verify_revisits(Verify *verify, MDB_txn *txn)
{
    RevisitRows *table = NULL;
    uint64_t problems = 0;
    Result rc = revisit_rows_open(&table, txn, false);
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    rc = verify_revisits_check_entries(verify, txn, table, &problems);
    if (rc == RESULT_DAMAGED) {
        verify_problem(verify, TABLES, "a next visit cannot be read");
        problems++;
        rc = RESULT_OK;
    }
    if (rc == RESULT_OK && problems > 0 && verify->options->repair) {
        rc = revisit_rows_clear(table, txn);
        verify_repaired(verify, TABLES,
                        "next visits emptied: a continuous crawl computes them anew");
    }
    revisit_rows_close(table);
    return rc;
}

Result verify_forget_validators(MDB_txn *txn, uint64_t index)
{
    RevisitRows *table = NULL;
    RevisitNote note;
    Result rc = revisit_rows_open(&table, txn, false);
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    rc = revisit_rows_note_get(table, txn, index, &note);
    if (rc == RESULT_OK) {
        note.etag[0] = '\0';
        note.last_modified[0] = '\0';
        rc = revisit_rows_note_put(table, txn, index, &note);
    }
    revisit_rows_close(table);
    return rc;
}

/* ---- verify_database ---- */

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
    HostRows *hosts;
    uint8_t *scheduled; /* one bit per page: it has a sound entry */
    Tally *tallies;
    uint8_t *states; /* HostState per host */
    uint32_t n_hosts;
    uint64_t schedule_problems;
    uint64_t host_problems;
} Database;

/* ---- pages ---- */

static void verify_database_check_page(Database *database, const PageRef *page)
{
    Verify *verify = database->verify;
    PageRef from;
    if (page->linked_from != PAGE_DB_NO_INDEX) {
        uint64_t depth = page->depth;
        uint64_t index = page->index;
        if (page_db_get(verify->db, database->txn, page->linked_from, &from, &verify->line) !=
                page_db_error_ok ||
            from.depth >= depth) {
            verify_problem(verify, VERIFY_DATABASE,
                           "page %" PRIu64 " is not deeper than what links to it", index);
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

static void verify_database_check_pages(Database *database, bool has_schedule)
{
    Verify *verify = database->verify;
    for (uint64_t i = 0; i < verify->n_pages; i++) {
        PageRef page;
        if (page_db_get(verify->db, database->txn, i, &page, &verify->url) != page_db_error_ok) {
            continue; /* told by the snapshot */
        }
        verify_absent(verify, VERIFY_DATABASE, "a URL", warc_bytes(page.url, page.url_length));
        if (page.host >= database->n_hosts) {
            verify_problem(verify, VERIFY_DATABASE,
                           "page %" PRIu64 " belongs to host %u, which does not exist", i,
                           page.host);
            continue;
        }
        if (has_schedule) {
            tally(database, &page);
            bool wanted =
                page.level != PAGE_DB_NO_LEVEL && database->states[page.host] == HOST_ACTIVE;
            if (wanted && !bits_has(database->scheduled, page.index)) {
                database->schedule_problems++;
                verify_problem(database->verify, VERIFY_DATABASE,
                               "not scheduled, but has level %u: %.*s", page.level,
                               (int)page.url_length, page.url);
            }
        }
        verify_database_check_page(database, &page);
    }
}

/* ---- schedule ---- */

/* Its URLs are kept, and parked. */
static bool verify_database_is_aside(uint8_t state)
{
    return state == HOST_DROPPED || state == HOST_PARKED || state == HOST_DENIED ||
           state == HOST_MOVED;
}

/* A host at its limit of pages has those it has visited again. */
static bool may_be_scheduled(const Database *database, const PageRef *page)
{
    uint8_t state = database->states[page->host];
    return state == HOST_ACTIVE || verify_database_is_aside(state) ||
           (state == HOST_FULL && page->n_crawls > 0);
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
static Result verify_database_check_entries(Database *database)
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
                bits_set(database->scheduled, entries[i].index);
            } else {
                database->schedule_problems++;
                verify_problem(database->verify, VERIFY_DATABASE,
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
        rc = schedule_hosts(database->schedule, database->txn, &cursor, &id, NULL, 1, &n);
        ScheduleItem best = {.index = 0};
        size_t found = 0;
        if (rc == RESULT_OK && n > 0) {
            rc = schedule_head(database->schedule, database->txn, id, NULL, &best, 1, &found);
        }
        if (rc == RESULT_OK && n > 0 && (found == 0 || best.level != cursor.level)) {
            database->schedule_problems++;
            verify_problem(database->verify, VERIFY_DATABASE,
                           "host %u has its best URL not at level %u", id, cursor.level);
        }
    }
    for (uint32_t host = 0; host < database->n_hosts && rc == RESULT_OK; host++) {
        ScheduleItem best;
        size_t found = 0;
        bool parked = false;
        rc = schedule_head(database->schedule, database->txn, host, NULL, &best, 1, &found);
        if (rc == RESULT_OK) {
            rc = schedule_is_parked(database->schedule, database->txn, host, &parked);
        }
        with_entries += parked ? 0 : found;
        if (rc == RESULT_OK && found > 0 &&
            parked != verify_database_is_aside(database->states[host])) {
            database->schedule_problems++;
            verify_problem(database->verify, VERIFY_DATABASE,
                           parked ? "host %u is parked, and its record does not say so"
                                  : "host %u is given up, and its URLs are not parked",
                           host);
        }
    }
    uint64_t entries = 0;
    uint64_t listed = 0;
    if (rc == RESULT_OK) {
        rc = schedule_counts(database->schedule, database->txn, &entries, &listed);
    }
    if (rc == RESULT_OK && listed != with_entries) {
        database->schedule_problems++;
        verify_problem(database->verify, VERIFY_DATABASE,
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
    for (uint32_t host = 0; host < database->n_hosts && rc == RESULT_OK; host++) {
        uint64_t urls = 0;
        if (verify_database_is_aside(database->states[host])) {
            rc = schedule_park(database->schedule, database->txn, host, &urls);
        }
    }
    if (rc == RESULT_OK) {
        verify_repaired(verify, VERIFY_DATABASE,
                        "schedule written anew from PageDB: %" PRIu64 " URLs", n);
    }
    return rc;
}

/* ---- hosts ---- */

static Result note_state(void *context, uint32_t host, const HostRecord *record)
{
    Database *database = context;
    if (host < database->n_hosts) {
        database->states[host] = record->state;
    } else {
        verify_problem(database->verify, VERIFY_DATABASE,
                       "there is a record of host %u, which does not exist", host);
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

static Result verify_database_check_hosts(Database *database, bool repair)
{
    Result rc = RESULT_OK;
    uint64_t n = 0;
    for (uint32_t host = 0; host < database->n_hosts && rc == RESULT_OK; host++) {
        HostRecord record;
        rc = host_rows_get(database->hosts, database->txn, host, &record);
        HostRecord was = record;
        if (rc != RESULT_OK || !count_anew(&database->tallies[host], &record)) {
            continue;
        }
        if (repair) {
            rc = host_rows_put(database->hosts, database->txn, host, &record);
            n++;
        } else {
            database->host_problems++;
            verify_problem(database->verify, VERIFY_DATABASE,
                           "host %u counts %u URLs, %u pages, %u duplicates, %u denied; its pages "
                           "say %u, %u, %u, %u",
                           host, was.urls, was.pages, was.duplicates, was.robots_denied,
                           record.urls, record.pages, record.duplicates, record.robots_denied);
        }
    }
    if (n > 0 && rc == RESULT_OK) {
        verify_repaired(database->verify, VERIFY_DATABASE, "counters of %" PRIu64 " hosts", n);
    }
    return rc;
}

/* ---- the whole ---- */

static bool has_table(MDB_txn *txn, const char *name)
{
    MDB_dbi dbi = 0;
    return mdb_dbi_open(txn, name, 0, &dbi) == MDB_SUCCESS;
}

/* One that was not written by a crawl has no schedule, and one that was just created. */
static Result verify_database_open_tables(Database *database, bool *has_schedule)
{
    *has_schedule = has_table(database->txn, "schedule") && has_table(database->txn, "hosts");
    if (!*has_schedule) {
        return RESULT_OK;
    }
    Result rc = schedule_open(&database->schedule, database->txn, NULL,
                              page_db_journal(database->verify->db));
    return rc == RESULT_OK ? host_rows_open(&database->hosts, database->txn,
                                            page_db_journal(database->verify->db))
                           : rc;
}

static Result verify_database_check(Database *database)
{
    Verify *verify = database->verify;
    bool has_schedule = false;
    Result rc = verify_database_open_tables(database, &has_schedule);
    if (rc == RESULT_OK && has_schedule) {
        rc = host_rows_walk(database->hosts, database->txn, note_state, database);
    }
    if (rc == RESULT_OK && has_schedule) {
        rc = verify_database_check_entries(database);
    }
    if (rc == RESULT_OK && has_schedule) {
        rc = check_fronts(database);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    verify_database_check_pages(database, has_schedule);
    rc = has_schedule ? verify_database_check_hosts(database, false) : RESULT_OK;
    if (rc == RESULT_OK) {
        rc = verify_revisits(verify, database->txn);
    }
    if (rc == RESULT_OK && verify->options->repair && database->schedule_problems > 0) {
        rc = rebuild_schedule(database);
    }
    if (rc == RESULT_OK && verify->options->repair && database->host_problems > 0) {
        rc = verify_database_check_hosts(database, true);
    }
    return rc;
}

Result verify_database(Verify *verify)
{
    Database database = {.verify = verify};
    bool repair = verify->options->repair;
    Result rc = verify_begin(verify, repair, &database.txn);
    if (rc != RESULT_OK) {
        return rc;
    }
    verify->n_pages = page_db_n_pages(verify->db, database.txn);
    database.n_hosts = page_db_n_hosts(verify->db, database.txn);
    database.scheduled = verify_bits(verify->n_pages);
    database.tallies = calloc((size_t)database.n_hosts + 1, sizeof *database.tallies);
    database.states = calloc((size_t)database.n_hosts + 1, 1);
    rc = database.scheduled == NULL || database.tallies == NULL || database.states == NULL
             ? RESULT_MEMORY
             : verify_database_check(&database);
    rc = verify_end(verify, repair, database.txn, rc);
    schedule_close(database.schedule);
    host_rows_close(database.hosts);
    free(database.scheduled);
    free(database.tallies);
    free(database.states);
    return rc;
}

/* ---- what pages and hosts are found by ---- */

Result verify_keys(Verify *verify)
{
    MDB_txn *txn = NULL;
    uint64_t n_keys = 0;
    Result rc = verify_begin(verify, false, &txn);
    if (rc != RESULT_OK) {
        return rc;
    }
    uint64_t n_pages = page_db_n_pages(verify->db, txn);
    uint32_t n_hosts = page_db_n_hosts(verify->db, txn);
    for (uint32_t host = 0; host < n_hosts; host++) {
        uint32_t found = 0;
        if (page_db_host_origin(verify->db, txn, host, &verify->line) != page_db_error_ok ||
            page_db_host_find(verify->db, txn, verify->line.data, verify->line.length, &found) !=
                page_db_error_ok ||
            found != host) {
            verify_problem(verify, VERIFY_DATABASE, "host %u is not found by its name", host);
        }
    }
    rc = page_keys_count(verify->db, txn, &n_keys);
    if (rc == RESULT_OK && n_keys != n_pages) {
        verify_problem(verify, VERIFY_DATABASE, "%" PRIu64 " URLs lead to %" PRIu64 " pages",
                       n_keys, n_pages);
    }
    return verify_end(verify, false, txn, rc);
}
