/* Reloading: the schedule made to agree with the pages. */
#include "store/pages/page_db_read.h"
#include "store/best_first/bf_scheduler.h"

#include "store/best_first/bf_turn.h"

#define RELOAD_AT_ONCE 4096u

Result bf_reload_pages(BFScheduler *sch, MDB_txn *txn, uint64_t first, uint64_t end, Buffer *url)
{
    BFSchedulerState *state = sch->state;
    for (uint64_t index = first; index < end; index++) {
        PageRef page;
        int rc = page_db_get(sch->page_db, txn, index, &page, url);
        if (rc != page_db_error_ok) {
            return RESULT_INTERNAL;
        }
        bool is_wanted =
            page.n_crawls == 0 && (sch->max_crawl_depth == 0 || page.depth <= sch->max_crawl_depth);
        uint8_t level = page.level;
        if (!is_wanted) {
            level = PAGE_DB_NO_LEVEL;
        } else if (level == PAGE_DB_NO_LEVEL) {
            float old = 0.0f;
            float score = 0.0f;
            bool is_scored = sch->scorer->get != NULL &&
                             sch->scorer->get(sch->scorer->state, index, &old, &score) == 0 &&
                             score > 0.0f;
            level = is_scored ? bf_scored_level(sch, score) : bf_link_level(state, page.score);
        }
        Result result = RESULT_OK;
        if (page.level != PAGE_DB_NO_LEVEL && level != page.level) {
            BFOrder old = bf_entry(state, page.level, page.score, index);
            result = schedule_remove(state->schedule, txn, page.host, bf_order_level(old),
                                     bf_order_value(old));
        }
        if (result == RESULT_OK && level != PAGE_DB_NO_LEVEL) {
            BFOrder order = bf_entry(state, level, page.score, index);
            result = schedule_put(state->schedule, txn, page.host, bf_order_level(order),
                                  bf_order_value(order));
        }
        if (result == RESULT_OK && level != page.level &&
            page_db_set_state(sch->page_db, txn, index, page.status, level, page.tries) !=
                page_db_error_ok) {
            result = RESULT_INTERNAL;
        }
        if (result != RESULT_OK) {
            return result;
        }
    }
    return RESULT_OK;
}

BFSchedulerError bf_scheduler_reload(BFScheduler *sch)
{
    Buffer url;
    if (sch == NULL) {
        return bf_scheduler_error_invalid;
    }
    buffer_init(&url, BUFFER_NO_LIMIT);
    BFSchedulerError code = bf_scheduler_error_ok;
    bool is_done = false;
    for (uint64_t first = 0; code == bf_scheduler_error_ok && !is_done;) {
        MDB_txn *txn = NULL;
        code = bf_begin(sch, BF_WRITER, &txn);
        if (code != bf_scheduler_error_ok) {
            break;
        }
        uint64_t n_pages = page_db_n_pages(sch->page_db, txn);
        uint64_t end = n_pages - first < RELOAD_AT_ONCE ? n_pages : first + RELOAD_AT_ONCE;
        Result rc = bf_reload_pages(sch, txn, first, end, &url);
        if (rc != RESULT_OK) {
            bf_abort(sch, BF_WRITER, txn);
            if (rc == RESULT_FULL && page_db_grow(sch->page_db) == page_db_error_ok) {
                continue;
            }
            code = bf_fail_result(sch, rc, "bf_scheduler_reload: the schedule cannot be written");
            break;
        }
        uint64_t turn = 0;
        code = bf_commit(sch, BF_WRITER, txn, &turn);
        bf_turn_begin(sch->state, turn);
        is_done = end == n_pages;
        if (is_done) {
            bf_front_clear(sch->state->front);
        }
        bf_turn_end(sch->state);
        first = end;
    }
    buffer_destroy(&url);
    return code;
}
