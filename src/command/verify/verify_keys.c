/* ragno verify: pages are found by their URLs, hosts by their names. First of all, since the rest
 * looks pages up by URL. */
#include <inttypes.h>
#include <stdlib.h>

#include "store/check/page_keys_check.h"
#include "command/verify/verify_parts.h"
#include "store/pages/page_db_read.h"

#define PAGES_PER_TXN 4096u

typedef struct Keys {
    Verify *verify;
    PageKeysCheck check;
    uint8_t *vouched;  /* one bit per host: a page of it is found by its URL, or it has none */
    uint8_t *nameless; /* one bit per host: it is not found by its name */
    uint32_t n_hosts;
    uint64_t n_unfound;
    uint64_t n_nameless;
} Keys;

/* ---- looking ---- */

static void verify_keys_check_pages(Keys *keys, MDB_txn *txn, uint64_t first, uint64_t end)
{
    Verify *verify = keys->verify;
    for (uint64_t i = first; i < end; i++) {
        PageRef page;
        bool readable = false;
        if (page_keys_has(verify->db, txn, i, &page, &verify->url, &readable)) {
            verify_set_bit(keys->check.found, i);
            if (page.host < keys->n_hosts) {
                verify_set_bit(keys->vouched, page.host);
            }
        } else if (readable) { /* else the snapshot tells */
            verify_problem(verify, VERIFY_DATABASE,
                           "page %" PRIu64 " is not found by its URL: %.*s", i,
                           (int)page.url_length, page.url);
            keys->n_unfound++;
        }
    }
}

static void verify_keys_check_hosts(Keys *keys, MDB_txn *txn)
{
    Verify *verify = keys->verify;
    for (uint32_t host = 0; host < keys->n_hosts; host++) {
        uint32_t found = 0;
        if (page_db_host_origin(verify->db, txn, host, &verify->line) != page_db_error_ok ||
            page_db_host_find(verify->db, txn, verify->line.data, verify->line.length, &found) !=
                page_db_error_ok ||
            found != host) {
            verify_problem(verify, VERIFY_DATABASE, "host %u is not found by its name", host);
            verify_set_bit(keys->nameless, host);
            keys->n_nameless++;
        }
    }
}

/* What else is of that moment. */
static Result verify_keys_begin(Keys *keys, MDB_txn *txn)
{
    Verify *verify = keys->verify;
    PageKeysCheck *check = &keys->check;
    check->n_pages = page_db_n_pages(verify->db, txn);
    keys->n_hosts = page_db_n_hosts(verify->db, txn);
    check->found = calloc(check->n_pages / 8 + 1, 1);
    keys->vouched = calloc(keys->n_hosts / 8 + 1, 1);
    keys->nameless = calloc(keys->n_hosts / 8 + 1, 1);
    if (check->found == NULL || keys->vouched == NULL || keys->nameless == NULL) {
        return RESULT_MEMORY;
    }
    verify_keys_check_hosts(keys, txn);
    Result rc = page_keys_count(verify->db, txn, check);
    if (rc == RESULT_OK && check->n_keys != check->n_pages) {
        verify_problem(verify, VERIFY_DATABASE, "%" PRIu64 " URLs lead to %" PRIu64 " pages",
                       check->n_keys, check->n_pages);
    }
    return rc;
}

/* In short transactions, since it may run beside a crawl. */
static Result verify_keys_look(Keys *keys)
{
    MDB_txn *txn = NULL;
    PageDB *db = keys->verify->db;
    Result rc = RESULT_OK;
    uint64_t next = 0;
    do {
        if (page_db_txn_begin(db, true, &txn) != page_db_error_ok) {
            return RESULT_IO;
        }
        rc = next == 0 ? verify_keys_begin(keys, txn) : RESULT_OK;
        if (rc == RESULT_OK) {
            uint64_t n_pages = keys->check.n_pages;
            uint64_t end = next + PAGES_PER_TXN < n_pages ? next + PAGES_PER_TXN : n_pages;
            verify_keys_check_pages(keys, txn, next, end);
            next = end;
        }
        page_db_txn_abort(db, txn);
    } while (rc == RESULT_OK && next < keys->check.n_pages);
    return rc;
}

/* ---- repair ---- */

static Result mend_pages(Keys *keys, MDB_txn *txn)
{
    Verify *verify = keys->verify;
    PageKeysCheck *check = &keys->check;
    if (keys->n_unfound == 0 && check->n_keys == check->n_pages) {
        return RESULT_OK;
    }
    check->named = calloc(check->n_pages / 8 + 1, 1);
    Result rc = check->named == NULL ? RESULT_MEMORY : page_keys_mend(verify->db, txn, check);
    if (rc == RESULT_OK && check->n_added + check->n_removed > 0) {
        verify_repaired(verify, VERIFY_DATABASE,
                        "%" PRIu64 " pages are found by their URLs again, %" PRIu64
                        " keys without a page removed",
                        check->n_added, check->n_removed);
    }
    if (rc == RESULT_OK && check->n_added < keys->n_unfound) {
        verify_problem(verify, VERIFY_DATABASE,
                       "%" PRIu64 " pages are found by URLs other than their own; nothing is "
                       "changed, because either may be right",
                       keys->n_unfound - check->n_added);
    }
    return rc;
}

static Result mend_hosts(Keys *keys, MDB_txn *txn)
{
    Verify *verify = keys->verify;
    uint32_t n_mended = 0;
    Result rc = RESULT_OK;
    for (uint32_t host = 0; rc == RESULT_OK && host < keys->n_hosts; host++) {
        if (verify_bit(keys->nameless, host) && verify_bit(keys->vouched, host)) {
            rc = page_keys_mend_host(verify->db, txn, host);
            n_mended++;
        }
    }
    if (rc == RESULT_OK && n_mended > 0) {
        verify_repaired(verify, VERIFY_DATABASE, "%" PRIu32 " hosts are found by their names again",
                        n_mended);
    }
    if (rc == RESULT_OK && n_mended < keys->n_nameless) {
        verify_problem(verify, VERIFY_DATABASE,
                       "%" PRIu64
                       " hosts have a name that none of their pages confirms; nothing is changed",
                       keys->n_nameless - n_mended);
    }
    return rc;
}

static Result verify_keys_mend(Keys *keys)
{
    MDB_txn *txn = NULL;
    PageDB *db = keys->verify->db;
    if (page_db_txn_begin(db, false, &txn) != page_db_error_ok) {
        return RESULT_IO;
    }
    Result rc = mend_pages(keys, txn);
    rc = rc == RESULT_OK ? mend_hosts(keys, txn) : rc;
    if (rc == RESULT_OK) {
        return page_db_txn_commit(db, txn) == page_db_error_ok ? RESULT_OK : RESULT_FULL;
    }
    page_db_txn_abort(db, txn);
    return rc;
}

Result verify_keys(Verify *verify)
{
    Keys keys = {.verify = verify};
    Result rc = verify_keys_look(&keys);
    if (rc == RESULT_OK && verify->options->repair) {
        rc = verify_keys_mend(&keys);
    }
    free(keys.check.found);
    free(keys.check.named);
    free(keys.vouched);
    free(keys.nameless);
    return rc;
}
