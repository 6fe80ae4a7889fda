#include "ingest/move/page_move.h"

#include "store/pages/page_db_read.h"
#include "ingest/batch/ingest_cluster.h"
#include "ingest/page/hand_over.h"
#include "ingest/page/host_groups.h"
#include "ingest/page/ingest_new_url.h"

/* ---- sending ---- */

/* As hand_over.h has it; of a page that another agent found, what that one said. */
static Result send_record(Batch *batch, const PageRef *page, uint16_t to, bool done)
{
    Via via;
    LinkRecord record = hand_over_record(batch, page);
    record.done = done;
    record.hop = record.hop == 0 ? 'M' : record.hop;
    if (page->linked_from == PAGE_DB_NO_INDEX &&
        via_table_get(batch->cluster->vias, batch->txn, page->index, &via) == RESULT_OK) {
        record.agent = via.agent;
        record.parent = via.parent;
    }
    batch->shared.urls_sent++;
    return outbox_draft_add(&batch->cluster->draft, to, &record);
}

Result page_move_tell(Batch *batch, const PageRef *page, uint16_t to)
{
    return send_record(batch, page, to, page_is_done(page));
}

/* A rule of the operator holds it back: the new owner asks its own. */
static Result release_held(Batch *batch, const PageRef *page, bool *was_held)
{
    HeldUrl held;
    *was_held = false;
    if (batch->store->held == NULL || page->status == 0) {
        return RESULT_OK;
    }
    Result rc = held_table_get(batch->store->held, batch->txn, page->index, &held);
    *was_held = rc == RESULT_OK;
    return *was_held                ? held_table_remove(batch->store->held, batch->txn, page->index)
           : rc == RESULT_NOT_FOUND ? RESULT_OK
                                    : rc;
}

static Result set_state(Batch *batch, const PageRef *page, int32_t status, uint8_t level,
                        uint8_t flags)
{
    PageDB *db = batch->store->db;
    int code = page_db_set_flags(db, batch->txn, page->index, flags);
    if (code == 0 && (level != page->level || status != page->status)) {
        code = page_db_set_state(db, batch->txn, page->index, status, level, page->tries);
    }
    return batch_result_of(batch, code);
}

/* It is not to be fetched here any more. */
static Result page_move_unschedule(Batch *batch, const PageRef *page)
{
    if (page->level == PAGE_DB_NO_LEVEL) {
        return RESULT_OK;
    }
    BatchHost *host = batch_host(batch, page->host);
    if (host == NULL) {
        return batch->result;
    }
    host_groups_left(batch, host, 1);
    if (page->n_crawls == 0) {
        host->record.urls -= host->record.urls > 0; /* it counts where it is scheduled */
    }
    return schedule_remove(batch->store->schedule, batch->txn, page->host, page->level,
                           page->index);
}

/* What nobody has scheduled, and no rule holds back, was fetched, given up, or refused. When pages
 * are visited again, the new owner begins with those that were fetched. */
static bool page_move_is_over(const Batch *batch, const PageRef *page, bool was_held)
{
    if (page->n_crawls > 0) {
        return batch->revisits == NULL;
    }
    return page_is_done(page) ||
           (page->level == PAGE_DB_NO_LEVEL && !page_is_stub(page) && !was_held);
}

Result page_move_leave(Batch *batch, const PageRef *page, uint16_t to)
{
    bool was_held = false;
    Result rc = release_held(batch, page, &was_held);
    bool over = page_move_is_over(batch, page, was_held);
    bool counts = page->n_crawls > 0 || (page->level == PAGE_DB_NO_LEVEL && !was_held);
    if (rc == RESULT_OK && was_held) {
        BatchHost *host = batch_host(batch, page->host);
        if (host == NULL) {
            return batch->result;
        }
        host->record.urls -= host->record.urls > 0;
    }
    if (rc == RESULT_OK) {
        rc = page_move_unschedule(batch, page);
    }
    if (rc == RESULT_OK) {
        rc = set_state(batch, page, counts ? page->status : 0, PAGE_DB_NO_LEVEL,
                       (uint8_t)(page->flags | STUB_FLAG));
    }
    return rc == RESULT_OK ? send_record(batch, page, to, over) : rc;
}

/* ---- taking ---- */

Result page_move_adopt(Batch *batch, const PageRef *page)
{
    uint8_t flags = (uint8_t)(page->flags & ~STUB_FLAG);
    PageState state = {.level = page->level, .flags = flags};
    if (!page_is_done(page) && page->status == 0 && ingest_new_url(batch, page, &state) != 0) {
        return batch->result;
    }
    return set_state(batch, page, page->status, state.level, flags);
}

Result page_move_finish(Batch *batch, const LinkRecord *record)
{
    PageRef page = {.status = 0};
    Buffer url;
    uint64_t index = 0;
    PageDB *db = batch->store->db;
    buffer_init(&url, BUFFER_NO_LIMIT);
    int code = page_db_find(db, batch->txn, record->url, record->length, &index);
    if (code == 0) {
        code = page_db_get(db, batch->txn, index, &page, &url);
    }
    Result rc = batch_result_of(batch, code);
    if (rc == RESULT_OK && !page_is_done(&page)) {
        uint16_t owner = ingest_cluster_owner(batch->cluster, page.url, page.url_length);
        rc = page_move_unschedule(batch, &page);
        if (rc == RESULT_OK) {
            rc = set_state(batch, &page, page.level == PAGE_DB_NO_LEVEL ? page.status : 0,
                           PAGE_DB_NO_LEVEL, (uint8_t)(page.flags | DONE_FLAG));
        }
        if (rc == RESULT_OK && owner != batch->cluster->self) {
            rc = send_record(batch, &page, owner, true);
        }
    }
    buffer_destroy(&url);
    return rc;
}
