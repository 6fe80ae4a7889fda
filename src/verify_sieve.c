#include <inttypes.h>
#include <stdlib.h>

#include "crawl_store.h"
#include "frontier/sieve.h"
#include "store/page_merge.h"
#include "store/schedule.h"
#include "verify_inside.h"

#define DATABASE "crawl.mdb"

/* What the check reads, all of one moment. */
typedef struct Links {
    Verify *verify;
    MDB_txn *txn;
    Schedule *schedule; /* NULL: nothing is repaired */
    SieveState state;
    uint8_t *waiting; /* one bit per page: all its links are in the sieve */
    uint64_t n_pages;
    uint64_t lost;
} Links;

static Result read_sieve(Links *links)
{
    Verify *verify = links->verify;
    Buffer path;
    DrumRecovery found = {.generations = 0};
    MDB_dbi crawl = 0;
    if (mdb_dbi_open(links->txn, "crawl", 0, &crawl) != MDB_SUCCESS) {
        return RESULT_OK; /* PageDB alone: never had a sieve */
    }
    Result rc = sieve_read_state(links->txn, crawl, &links->state);
    buffer_init(&path, BUFFER_NO_LIMIT);
    if (rc == RESULT_OK) {
        rc = buffer_printf(&path, "%s/" SIEVE_DIRECTORY, verify->options->directory);
    }
    if (rc == RESULT_OK) {
        rc =
            sieve_walk(buffer_string(&path), &links->state, links->waiting, links->n_pages, &found);
        rc = rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
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

/* A page that was crawled has a list, or its links are all in the sieve, or it is fetched again. */
static Result check_page(Links *links, uint64_t index)
{
    Verify *verify = links->verify;
    PageRef page;
    bool has = false;
    if ((links->waiting[index / 8] >> index % 8 & 1) != 0) {
        return RESULT_OK;
    }
    Result rc = page_has_links(verify->db, links->txn, index, &has);
    if (rc != RESULT_OK || has) {
        return rc;
    }
    if (page_db_get(verify->db, links->txn, index, &page, &verify->url) != page_db_error_ok) {
        return RESULT_OK; /* verify_database says so */
    }
    if (page.n_crawls == 0 || page.level != PAGE_DB_NO_LEVEL) {
        return RESULT_OK;
    }
    verify_problem(verify, DATABASE, "crawled, but its links are lost: %s",
                   buffer_string(&verify->url));
    links->lost++;
    return links->schedule == NULL
               ? RESULT_OK
               : verify_schedule_again(verify, links->txn, links->schedule, index);
}

static Result check(Links *links)
{
    Result rc = read_sieve(links);
    if (rc == RESULT_OK && links->verify->options->repair) {
        rc = schedule_open(&links->schedule, links->txn, NULL);
    }
    for (uint64_t i = 0; rc == RESULT_OK && i < links->n_pages; i++) {
        rc = check_page(links, i);
    }
    if (rc == RESULT_OK && links->schedule != NULL && links->lost > 0) {
        verify_repaired(links->verify, DATABASE,
                        "%" PRIu64 " pages scheduled to be fetched again for their links",
                        links->lost);
    }
    return rc;
}

Result verify_sieve(Verify *verify)
{
    Links links = {.verify = verify};
    bool repair = verify->options->repair;
    if (crawl_store_owner(verify->options->directory) != 0 && !repair) {
        return RESULT_OK; /* of a crawl that runs the files are ahead of what can be read here */
    }
    if (page_db_txn_begin(verify->db, !repair, &links.txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    links.n_pages = page_db_n_pages(verify->db, links.txn);
    links.waiting = calloc(links.n_pages / 8 + 1, 1);
    Result rc = links.waiting == NULL ? RESULT_MEMORY : check(&links);
    if (rc == RESULT_OK && repair) {
        rc =
            page_db_txn_commit(verify->db, links.txn) == page_db_error_ok ? RESULT_OK : RESULT_FULL;
    } else {
        page_db_txn_abort(verify->db, links.txn);
    }
    schedule_close(links.schedule);
    free(links.waiting);
    return rc;
}
