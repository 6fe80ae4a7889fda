#include <inttypes.h>
#include <stdlib.h>

#include "base/memory/bits.h"
#include "command/verify/verify_run.h"
#include "crawl/crawl_store.h"
#include "store/check/page_links_check.h"

/* ---- pages that are fetched again ---- */

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

/* ragno verify: links that wait in the bucket files of the sieve. */

/* The sieve's bucket files can be read; sets the bits of the pages whose links are all in them. */
static Result verify_sieve(Verify *verify, MDB_txn *txn, uint8_t *waiting, uint64_t n_pages)
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

/* Crawled, with nothing to show for it, and no fetch is to come that brings a new list. */
static bool is_lost(const Lists *lists, uint64_t index)
{
    return bits_has(lists->crawled, index) && !bits_has(lists->waiting, index) &&
           !bits_has(lists->listed, index) && bits_has(lists->needed, index);
}

/* Whether a page that is scheduled is asked for on the condition that it has changed: an answer
 * that it has not brings no links. revisits: NULL when there is no such table. */
static bool may_stay_as_it_is(const RevisitRows *revisits, MDB_txn *txn, uint64_t index)
{
    RevisitNote note;
    return revisits != NULL && revisit_rows_note_get(revisits, txn, index, &note) == RESULT_OK &&
           (note.etag[0] != '\0' || note.last_modified[0] != '\0');
}

static Result note_crawled(Lists *lists, MDB_txn *txn)
{
    Verify *verify = lists->verify;
    RevisitRows *revisits = NULL;
    Result rc = revisit_rows_open(&revisits, txn, false);
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
    revisit_rows_close(revisits);
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
    rc = page_links_check(verify->db, txn, &check, repair);
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

/* Whether pages of the host are asked for: it is neither full nor denied for good. */
static Result verify_links_may_visit(HostRows *hosts, MDB_txn *txn, uint32_t host, bool *may)
{
    HostRecord record;
    Result rc = host_rows_get(hosts, txn, host, &record);
    *may = rc == RESULT_OK && (record.state == HOST_ACTIVE || host_is_aside(&record));
    return rc;
}

/* Pages whose links are lost are fetched again for them. */
static Result verify_links_refetch(Lists *lists, MDB_txn *txn, Schedule *schedule, HostRows *hosts)
{
    Verify *verify = lists->verify;
    Result rc = RESULT_OK;
    uint64_t n = 0;
    for (uint64_t i = 0; rc == RESULT_OK && i < lists->n_pages; i++) {
        PageRef page;
        bool may = false;
        if (!is_lost(lists, i) ||
            page_db_get(verify->db, txn, i, &page, &verify->url) != page_db_error_ok) {
            continue;
        }
        rc = verify_links_may_visit(hosts, txn, page.host, &may);
        if (rc == RESULT_OK && may) {
            rc = verify_schedule_again(verify, txn, schedule, i);
            n++;
        } else if (rc == RESULT_OK) {
            verify_problem(verify, VERIFY_DATABASE,
                           "its links stay lost, since its host is full or denied: %s",
                           buffer_string(&verify->url));
        }
    }
    if (rc == RESULT_OK && n > 0) {
        verify_repaired(verify, VERIFY_DATABASE,
                        "%" PRIu64 " pages scheduled to be fetched again for their links", n);
    }
    return rc;
}

static Result verify_links_repair(Lists *lists, MDB_txn *txn)
{
    Journal *journal = page_db_journal(lists->verify->db);
    Schedule *schedule = NULL;
    HostRows *hosts = NULL;
    Result rc = schedule_open(&schedule, txn, NULL, journal);
    if (rc == RESULT_OK) {
        rc = host_rows_open(&hosts, txn, journal);
    }
    if (rc == RESULT_OK) {
        rc = verify_links_refetch(lists, txn, schedule, hosts);
    }
    host_rows_close(hosts);
    schedule_close(schedule);
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
    if (rc == RESULT_OK && repairs && lists->n_lost > 0) {
        rc = verify_links_repair(lists, txn);
    }
    return verify_end(verify, repairs, txn, rc);
}

Result verify_links(Verify *verify)
{
    Lists lists = {.verify = verify};
    Result rc = look_in_transaction(&lists);
    free(lists.crawled);
    free(lists.needed);
    free(lists.waiting);
    free(lists.listed);
    return rc;
}
