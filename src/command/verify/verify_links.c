#include <inttypes.h>
#include <stdlib.h>

#include "command/verify/verify_parts.h"
#include "command/verify/verify_relink.h"
#include "crawl/crawl_store.h"
#include "frontier/sieve/sieve.h"
#include "store/check/page_links_check.h"
#include "store/tables/revisit_table.h"
#include "store/pages/page_db_read.h"

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
    return verify_bit(lists->crawled, index) && !verify_bit(lists->waiting, index) &&
           !verify_bit(lists->listed, index);
}

/* And no fetch is to come that brings a new one. */
static bool is_lost(const Lists *lists, uint64_t index)
{
    return is_without(lists, index) && verify_bit(lists->needed, index);
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
            verify_set_bit(lists->crawled, i);
            if (page.level == PAGE_DB_NO_LEVEL || may_stay_as_it_is(revisits, txn, i)) {
                verify_set_bit(lists->needed, i);
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
    if (page_db_txn_begin(verify->db, !repairs, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    size_t bytes = 0;
    lists->n_pages = page_db_n_pages(verify->db, txn);
    bytes = lists->n_pages / 8 + 1;
    lists->crawled = calloc(bytes, 1);
    lists->needed = calloc(bytes, 1);
    lists->waiting = calloc(bytes, 1);
    lists->listed = calloc(bytes, 1);
    Result rc = lists->crawled == NULL || lists->needed == NULL || lists->waiting == NULL ||
                        lists->listed == NULL
                    ? RESULT_MEMORY
                    : verify_links_look(lists, txn);
    if (rc == RESULT_OK && repairs) {
        return page_db_txn_commit(verify->db, txn) == page_db_error_ok ? RESULT_OK : RESULT_FULL;
    }
    page_db_txn_abort(verify->db, txn);
    return rc;
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
