/* ragno verify: pages whose answers are in the files, but not in the index of captures. Of these
 * nobody would miss the answer, and a 304 could not say what it confirms. */
#include <inttypes.h>

#include "store/pages/page_db_read.h"
#include "store/archive/capture_index.h"
#include "store/archive/warc_load.h"
#include "command/verify/verify_parts.h"

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
