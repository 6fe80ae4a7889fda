/* The database: opened, its file checked, and what it says about the archive. */
#include "store/pages/page_db_read.h"
#include "store/pages/page_db_open.h"
#include "command/verify/verify_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "crawl/crawl_store.h"
#include "store/archive/capture_index.h"
#include "store/check/lmdb_check.h"

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
