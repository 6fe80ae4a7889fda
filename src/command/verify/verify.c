#include "command/verify/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/verify/verify_missing.h"
#include "command/verify/verify_parts.h"
#include "crawl/crawl_store.h"
#include "crawl/exit_status.h"
#include "frontier/sieve/sieve.h"
#include "rules/config.h"
#include "store/archive/capture_index.h"
#include "store/archive/payload_index.h"
#include "store/archive/warc_end.h"
#include "store/archive/warc_load.h"
#include "store/check/lmdb_check.h"
#include "store/pages/page_db_open.h"
#include "store/pages/page_db_read.h"
#include "store/schedule/schedule.h"
#include "store/tables/revisit_table.h"

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

/* The database: opened, its file checked, and what it says about the archive. */

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
            verify_problem(verify, VERIFY_DATABASE, "page %" PRIu64 " cannot be read", i);
            continue;
        }
        verify->counts->pages += page.n_crawls > 0;
        rc = must_be_stored(captures, txn, &page, &must);
        if (must) {
            verify_set_bit(verify->stored, i);
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
    verify->told = calloc(verify->n_pages / 8 + 1, 1);
    bool has_bits = verify->captured != NULL && verify->stored != NULL && verify->told != NULL;
    Result rc = has_bits ? note_stored(verify) : RESULT_MEMORY;
    if (rc == RESULT_OK && page_db_txn_begin(verify->db, true, &txn) != page_db_error_ok) {
        rc = RESULT_IO;
    }
    if (rc == RESULT_OK) {
        rc = warc_end_get(txn, &verify->committed);
        page_db_txn_abort(verify->db, txn);
    }
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

static void verify_open_tell_broken(void *context, const char *table, uint64_t page,
                                    const char *what)
{
    verify_problem(context, VERIFY_DATABASE, "%s%s: page %" PRIu64 " of data.mdb %s",
                   *table == '\0' ? "" : "table ", *table == '\0' ? "table of tables" : table, page,
                   what);
}

/* LMDB is not let near a file that it would stumble over. */
static Result verify_open_check_file(Verify *verify, const char *path)
{
    uint64_t n_broken = 0;
    Result rc = lmdb_check(path, verify_open_tell_broken, verify, &n_broken);
    if (rc == RESULT_OK && n_broken > 0) {
        verify_problem(verify, VERIFY_DATABASE,
                       "%" PRIu64 " pages of data.mdb are broken: the file cannot be repaired, "
                       "only restored from a backup; the WARC files are not affected",
                       n_broken);
        rc = RESULT_DAMAGED;
    }
    return rc;
}

static Result open_database(Verify *verify, const char *path)
{
    PageDBOptions options = {
        .read_only = !verify->options->repair, .no_create = true, .damaged_keys = true};
    int code = page_db_open(&verify->db, path, &options);
    if (code != page_db_error_ok) {
        const char *why = verify->db == NULL ? NULL : error_message(verify->db->error);
        verify_problem(verify, VERIFY_DATABASE, "cannot be opened: %s", why == NULL ? "?" : why);
        return code == page_db_error_version ? RESULT_VERSION : RESULT_DAMAGED;
    }
    Result rc = verify_keys(verify);
    return rc == RESULT_OK ? snapshot(verify) : rc;
}

Result verify_open_database(Verify *verify)
{
    const char *directory = verify->options->directory;
    Buffer path;
    buffer_init(&path, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&path, "%s/crawl.mdb", directory);
    bool exists = crawl_store_exists(directory);
    if (!exists && crawl_store_has_run(directory)) {
        verify_problem(verify, VERIFY_DATABASE,
                       "data.mdb is missing or empty; it can only be restored from a backup; the "
                       "WARC files are not affected");
    } else if (rc == RESULT_OK && exists) {
        verify->beside = !verify->options->repair && crawl_store_owner(directory) != 0;
        rc = verify_open_check_file(verify, path.data);
        rc = rc == RESULT_OK ? open_database(verify, path.data) : rc;
    }
    buffer_destroy(&path);
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

/* ragno verify: the settings that a crawl is resumed with. */

#define VERIFY_CONFIG "config.ini"

/* One problem per line that the file's reader complains about. */
static Result check_settings(Verify *verify, const char *path)
{
    Config config;
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    Result rc = config_init(&config);
    Result read = rc == RESULT_OK ? options_load(&config.options, path, &error) : rc;
    char *save = NULL;
    for (char *line = error.length == 0 ? NULL : strtok_r(error.data, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        verify_problem(verify, VERIFY_CONFIG, "%s", line);
    }
    if (rc == RESULT_OK && read != RESULT_OK && error.length == 0) {
        verify_problem(verify, VERIFY_CONFIG, "cannot be read: %s", result_name(read));
    }
    config_destroy(&config);
    buffer_destroy(&error);
    return rc;
}

Result verify_config(Verify *verify)
{
    Buffer path;
    if (!crawl_store_has_run(verify->options->directory)) {
        return RESULT_OK;
    }
    buffer_init(&path, BUFFER_NO_LIMIT);
    Result rc = buffer_printf(&path, "%s/" VERIFY_CONFIG, verify->options->directory);
    ConfigFile found = rc == RESULT_OK ? config_file_look(path.data) : CONFIG_FILE_WHOLE;
    if (found == CONFIG_FILE_NONE) {
        verify_problem(verify, VERIFY_CONFIG,
                       "is missing or empty; give its settings to the next start with -c FILE");
    } else if (rc == RESULT_OK) {
        rc = check_settings(verify, path.data);
    }
    if (found == CONFIG_FILE_CUT) {
        verify_problem(verify, VERIFY_CONFIG,
                       "does not end as ragno wrote it: it was cut or edited; settings that are "
                       "missing have their defaults");
    }
    buffer_destroy(&path);
    return rc;
}

/* ragno verify: links that wait in the bucket files of the sieve. */

Result verify_sieve(Verify *verify, MDB_txn *txn, uint8_t *waiting, uint64_t n_pages)
{
    Buffer path;
    SieveState state;
    DrumRecovery found = {.generations = 0};
    MDB_dbi crawl = 0;
    if (mdb_dbi_open(txn, "crawl", 0, &crawl) != MDB_SUCCESS) {
        return RESULT_OK; /* PageDB alone: never had a sieve */
    }
    Result rc = sieve_state_read(txn, crawl, &state);
    buffer_init(&path, BUFFER_NO_LIMIT);
    if (rc == RESULT_OK) {
        rc = buffer_printf(&path, "%s/" SIEVE_DIRECTORY, verify->options->directory);
    }
    if (rc == RESULT_OK) {
        rc = sieve_walk(buffer_string(&path), &state, waiting, n_pages, &found);
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
    buffer_destroy(&path);
    return rc;
}

/* ragno verify: the revisit schedule (store/tables/revisit_table.h) against itself and PageDB. */

#define TABLES "crawl.mdb"

/* Every entry is of a page and is found by it. */
static Result verify_revisits_check_entries(Verify *verify, MDB_txn *txn, const RevisitTable *table,
                                            uint64_t *problems)
{
    RevisitDue due = {.freq = 0};
    RevisitDue found;
    uint64_t n = 0;
    Result rc = revisit_table_next(table, txn, &due);
    for (; rc == RESULT_OK; rc = revisit_table_next(table, txn, &due)) {
        n++;
        if (due.index >= verify->n_pages ||
            revisit_table_get(table, txn, due.index, &found) != RESULT_OK ||
            found.time_s != due.time_s) {
            verify_problem(verify, TABLES,
                           "next visit of page %" PRIu64 " belongs to no page, or is there twice",
                           due.index);
            ++*problems;
        }
    }
    uint64_t pages = 0;
    if (rc == RESULT_NOT_FOUND) {
        rc = revisit_table_page_count(table, txn, &pages);
    }
    if (rc == RESULT_OK && pages != n) {
        verify_problem(verify, TABLES, "%" PRIu64 " pages have a next visit, %" PRIu64 " are due",
                       pages, n);
        ++*problems;
    }
    return rc;
}

Result verify_revisits(Verify *verify, MDB_txn *txn)
{
    RevisitTable *table = NULL;
    uint64_t problems = 0;
    Result rc = revisit_table_open(&table, txn, false);
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
        rc = revisit_table_clear(table, txn);
        verify_repaired(verify, TABLES,
                        "next visits emptied: a continuous crawl computes them anew");
    }
    revisit_table_close(table);
    return rc;
}

Result verify_forget_validators(MDB_txn *txn, uint64_t index)
{
    RevisitTable *table = NULL;
    RevisitNote note;
    Result rc = revisit_table_open(&table, txn, false);
    if (rc != RESULT_OK) {
        return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    }
    rc = revisit_table_note_get(table, txn, index, &note);
    if (rc == RESULT_OK) {
        note.etag[0] = '\0';
        note.last_modified[0] = '\0';
        rc = revisit_table_note_put(table, txn, index, &note);
    }
    revisit_table_close(table);
    return rc;
}

/* ragno verify: pages whose answers are in the files, but not in the index of captures. Of these
 * nobody would miss the answer, and a 304 could not say what it confirms. */

/* What the files say: the date of the newest capture, and the payload of the newest whole 200. */
static Result verify_unlisted_read_capture(const Verify *verify, const PageRef *page,
                                           WarcHasher *hasher, WarcAnswer *answer, Capture *capture)
{
    *capture = (Capture){.has_payload = false};
    Result rc = warc_load(verify->warc_directory, page->url, page->url_length, answer);
    if (rc != RESULT_OK) {
        return rc;
    }
    capture->newest = answer->date;
    rc = warc_load_status(verify->warc_directory, page->url, page->url_length, 200, answer);
    if (rc != RESULT_OK || answer->truncated) {
        return rc == RESULT_NOT_FOUND || rc == RESULT_DAMAGED ? RESULT_OK : rc;
    }
    capture->has_payload = true;
    return warc_hasher_digest(hasher, warc_bytes(buffer_string(&answer->body), 0),
                              warc_bytes(buffer_string(&answer->body), answer->body.length),
                              &capture->payload);
}

static Result list_page(const Verify *verify, MDB_txn *txn, CaptureIndex *captures,
                        const PageRef *page, uint64_t *n)
{
    WarcAnswer answer;
    Capture capture;
    WarcHasher *hasher = NULL;
    warc_answer_init(&answer);
    Result rc = warc_hasher_new(&hasher);
    rc = rc == RESULT_OK ? verify_unlisted_read_capture(verify, page, hasher, &answer, &capture)
                         : rc;
    if (rc == RESULT_OK) {
        rc = capture_index_put(captures, txn, page->index, &capture);
        *n += rc == RESULT_OK;
    }
    warc_hasher_delete(hasher);
    warc_answer_destroy(&answer);
    return rc == RESULT_NOT_FOUND || rc == RESULT_DAMAGED ? RESULT_OK : rc;
}

static bool is_unlisted(Verify *verify, MDB_txn *txn, uint64_t index, PageRef *page)
{
    return verify_bit(verify->captured, index) && !verify_bit(verify->stored, index) &&
           page_db_get(verify->db, txn, index, page, &verify->url) == page_db_error_ok &&
           page->n_crawls > 0 && !verify_is_errand(verify, warc_bytes(page->url, page->url_length));
}

Result verify_unlisted(Verify *verify, MDB_txn *txn)
{
    CaptureIndex *captures = NULL;
    bool repair = verify->options->repair;
    uint64_t n = 0;
    if (verify->beside) {
        return RESULT_OK; /* the crawl has stored more since the pages were looked at */
    }
    Result rc = capture_index_open(&captures, txn, false);
    for (uint64_t i = 0; rc == RESULT_OK && i < verify->n_pages; i++) {
        PageRef page;
        if (is_unlisted(verify, txn, i, &page)) {
            verify_problem(verify, VERIFY_DATABASE,
                           "stored, but the index of captures does not know: %s",
                           buffer_string(&verify->url));
            rc = repair ? list_page(verify, txn, captures, &page, &n) : rc;
        }
    }
    if (rc == RESULT_OK && n > 0) {
        verify_repaired(verify, VERIFY_DATABASE,
                        "captures of %" PRIu64 " pages entered from their files", n);
    }
    capture_index_close(captures);
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
}

/* Pages whose answers the database says are stored, and which are in no file. */

static Result forget_payloads(Verify *verify, MDB_txn *txn)
{
    PayloadIndex *payloads = NULL;
    Result rc = payload_index_open(&payloads, txn, false);
    if (rc == RESULT_OK) {
        rc = payload_index_clear(payloads, txn);
        payload_index_close(payloads);
    }
    if (rc == RESULT_OK) {
        verify_repaired(verify, VERIFY_DATABASE,
                        "index of payloads emptied: no revisits of lost records");
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

static bool is_gone(const Verify *verify, uint64_t page)
{
    return verify_bit(verify->stored, page) && !verify_bit(verify->captured, page);
}

/* The page of verify->url: named with its file already, part of what tell_missing told, or a
 * problem of its own. */
static void verify_captures_tell_lost(Verify *verify, uint64_t page)
{
    if (verify_bit(verify->told, page)) {
        return;
    }
    if (verify->n_missing > 0) {
        verify_lost(verify, VERIFY_DATABASE, "crawled, but in no WARC file: %s",
                    buffer_string(&verify->url));
    } else {
        verify_problem(verify, VERIFY_DATABASE, "crawled, but in no WARC file: %s",
                       buffer_string(&verify->url));
    }
}

/* Files that are missing with their indices explain pages that are in no file. */
static void tell_missing(Verify *verify)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < verify->n_pages; i++) {
        n += is_gone(verify, i) && !verify_bit(verify->told, i);
    }
    if (n == 0 || verify->n_missing == 0 || verify->is_folder_missing) {
        return;
    }
    verify_problem(verify, "warc",
                   "of files 1 to %u, number %s %s missing, and no index was left; the answers of "
                   "%" PRIu64
                   " pages are in no other file. If it was moved away: ragno verify DIR --moved "
                   "FILE",
                   (unsigned)warc_end_last(&verify->committed), buffer_string(&verify->missing),
                   verify->n_missing == 1 ? "is" : "are", n);
}

/* Lists what is lost; *lost counts. */
static Result find_lost(Verify *verify, MDB_txn *txn, Schedule *schedule, uint64_t *lost)
{
    CaptureIndex *captures = NULL;
    Result rc = capture_index_open(&captures, txn, false);
    rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
    tell_missing(verify);
    for (uint64_t i = 0; i < verify->n_pages && rc == RESULT_OK; i++) {
        PageRef page;
        if (!is_gone(verify, i) ||
            page_db_get(verify->db, txn, i, &page, &verify->url) != page_db_error_ok) {
            continue;
        }
        verify_captures_tell_lost(verify, i);
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
    rc = rc == RESULT_OK ? verify_unlisted(verify, txn) : rc;
    if (rc == RESULT_OK && options->refetch && lost > 0) {
        verify_repaired(verify, VERIFY_DATABASE, "%" PRIu64 " pages scheduled to be fetched again",
                        lost);
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

/* ---- `ragno verify DIR` ---- */

static Result verify_all(Verify *verify)
{
    Result rc = verify_moved(verify);
    rc = rc == RESULT_OK ? verify_config(verify) : rc;
    rc = rc == RESULT_OK ? verify_open_database(verify) : rc;
    if (rc != RESULT_OK) {
        return rc;
    }
    rc = verify_files(verify);
    if (verify->db == NULL) {
        return rc;
    }
    /* A crawl without WARC has no folder, and then nothing to compare pages with. */
    if (rc == RESULT_OK) {
        rc = verify_captures(verify);
    }
    if (rc == RESULT_OK || rc == RESULT_NOT_FOUND) {
        rc = verify_links(verify);
    }
    return rc == RESULT_OK || rc == RESULT_NOT_FOUND ? verify_database(verify) : rc;
}

/* Opens the lock of the directory for a repair. */
static Result verify_lock(const VerifyOptions *options, CrawlStore *store)
{
    Buffer error;
    *store = (CrawlStore){.lock = -1};
    if (!options->repair || access(options->directory, F_OK) != 0) {
        return RESULT_OK;
    }
    buffer_init(&error, BUFFER_NO_LIMIT);
    Result rc = crawl_store_lock(store, options->directory, false, &error);
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno verify: %s\n", buffer_string(&error));
    }
    buffer_destroy(&error);
    return rc;
}

Result verify_directory(const VerifyOptions *given, VerifyCounts *counts)
{
    VerifyOptions options = *given;
    options.repair = options.repair || options.refetch;
    Verify verify = {.options = &options, .counts = counts};
    *counts = (VerifyCounts){.files = 0};
    Buffer directory;
    CrawlStore store;
    buffer_init(&directory, BUFFER_NO_LIMIT);
    buffer_init(&verify.line, BUFFER_NO_LIMIT);
    buffer_init(&verify.url, BUFFER_NO_LIMIT);
    map_init(&verify.originals);
    map_init(&verify.errands);
    map_init(&verify.declared);
    buffer_init(&verify.untried, BUFFER_NO_LIMIT);
    buffer_init(&verify.moved, BUFFER_NO_LIMIT);
    buffer_init(&verify.missing, BUFFER_NO_LIMIT);
    Result rc = verify_lock(&options, &store);
    if (rc == RESULT_OK) {
        rc = buffer_printf(&directory, "%s/warc", options.directory);
        verify.warc_directory = directory.data;
    }
    if (rc == RESULT_OK) {
        rc = verify_all(&verify);
    }
    (void)fprintf(options.out,
                  "sum\t%" PRIu64 " files\t%" PRIu64 " records\t%" PRIu64 " captures\t%" PRIu64
                  " revisits\t%" PRIu64 " pages\t%" PRIu64 " captures of no page\t%" PRIu64
                  " problems\t%" PRIu64 " repaired\n",
                  counts->files, counts->records, counts->captures, counts->revisits, counts->pages,
                  counts->strangers, counts->problems, counts->repaired);
    (void)page_db_delete(verify.db);
    crawl_store_close(&store);
    free(verify.captured);
    free(verify.stored);
    map_destroy(&verify.originals);
    map_destroy(&verify.errands);
    map_destroy(&verify.declared);
    free(verify.told);
    buffer_destroy(&verify.untried);
    buffer_destroy(&verify.moved);
    buffer_destroy(&verify.missing);
    buffer_destroy(&directory);
    buffer_destroy(&verify.line);
    buffer_destroy(&verify.url);
    return rc;
}

static int verify_usage(FILE *out)
{
    (void)fprintf(
        out,
        "usage: ragno verify DIR [--repair] [--refetch] [--moved FILE]...\n"
        "Checks that WARC files, their indices, PageDB, the schedule and the host records agree.\n"
        "  --repair   writes schedule, host counters and indices anew, makes lost lists of links\n"
        "             from stored answers, moves broken ends of WARC files aside\n"
        "  --refetch  the same, and schedules pages again that are in no WARC file\n"
        "  --moved FILE  the WARC file FILE was moved away: nothing in it is missed, now or "
        "later.\n"
        "             Its index stays in DIR/warc, or lies beside FILE and is copied there\n"
        "Exit status: 0 no problem, 1 problems (repaired or not), 3 cannot be read,\n"
        "17 in use (--repair).\n");
    return out == stdout ? 0 : 2;
}

#define MOVED_OPTION "--moved="

static bool is_moved_option(const char *word)
{
    return strncmp(word, MOVED_OPTION, strlen(MOVED_OPTION)) == 0;
}

/* -1: go on; else the exit status. */
static int verify_parse(VerifyOptions *options, int argc, char **argv, const char **moved)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return verify_usage(stdout);
        }
        if (strcmp(argv[i], "--repair") == 0) {
            options->repair = true;
        } else if (strcmp(argv[i], "--refetch") == 0) {
            options->refetch = true;
        } else if (is_moved_option(argv[i])) {
            moved[options->n_moved++] = argv[i] + strlen(MOVED_OPTION);
        } else if (strcmp(argv[i], "--moved") == 0 && i + 1 < argc) {
            moved[options->n_moved++] = argv[++i];
        } else if (argv[i][0] != '-' && options->directory == NULL) {
            options->directory = argv[i];
        } else {
            (void)fprintf(stderr, "ragno verify: unexpected '%s'\n", argv[i]);
            return verify_usage(stderr);
        }
    }
    return options->directory == NULL ? verify_usage(stderr) : -1;
}

static int verify_run_one(const VerifyOptions *options)
{
    VerifyCounts counts;
    if (access(options->directory, F_OK) != 0) {
        (void)fprintf(stderr, "ragno verify: %s: %s\n", options->directory, strerror(errno));
        return 3;
    }
    Result rc = verify_directory(options, &counts);
    if (rc == RESULT_LOCKED) {
        return EXIT_DIRECTORY; /* who has it was told */
    }
    if (rc == RESULT_INVALID && options->n_moved > 0) {
        return EXIT_USAGE; /* why was told */
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno verify: %s: %s\n", options->directory, result_name(rc));
        return EXIT_IO;
    }
    return counts.problems == 0 ? 0 : 1;
}

int verify_main(int argc, char **argv)
{
    const char **moved = calloc((size_t)argc + 1, sizeof *moved);
    if (moved == NULL) {
        (void)fprintf(stderr, "ragno verify: out of memory\n");
        return EXIT_IO;
    }
    VerifyOptions options = {.out = stdout, .moved = moved};
    int status = verify_parse(&options, argc, argv, moved);
    status = status < 0 ? verify_run_one(&options) : status;
    free(moved);
    return status;
}
