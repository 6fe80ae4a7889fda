/* Pages whose answers the database says are stored, and which are in no file. */
#include "store/pages/page_db_read.h"
#include "command/verify/verify_parts.h"

#include <inttypes.h>

#include "store/archive/capture_index.h"
#include "store/archive/payload_index.h"
#include "store/schedule/schedule.h"
#include "store/archive/warc_end.h"

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
