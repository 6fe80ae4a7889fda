#include "ingest/move/page_move.h"

#include "ingest/page/host_groups.h"
#include "ingest/page/ingest_new_url.h"

/* ---- Host move ---- */

static bool was_never_used(const HostRecord *record)
{
    return record->urls == 0 && record->fetches == 0 && record->elsewhere == 0 &&
           record->last_fetch_ms == 0 && record->state == HOST_ACTIVE;
}

Result host_move_close(Batch *batch, uint32_t id, bool *known)
{
    HostRecord record;
    uint64_t urls = 0;
    page_db_looked_up(batch->store->db, 1);
    Result rc = host_rows_get(batch->store->hosts, batch->txn, id, &record);
    *known = rc == RESULT_OK && !was_never_used(&record);
    if (!*known) {
        return rc;
    }
    BatchHost *host = batch_host(batch, id);
    if (host == NULL) {
        return batch->result;
    }
    batch_host_clear(host);
    if (host->record.state == HOST_MOVED) {
        return RESULT_OK;
    }
    if (host->record.state == HOST_DROPPED && batch->totals.hosts_dropped > 0) {
        batch->totals.hosts_dropped--;
    }
    bool is_parked = host_is_closed(&host->record);
    host->record.state = HOST_MOVED;
    host->record.recheck_ms = 0;
    return is_parked ? RESULT_OK : schedule_park(batch->store->schedule, batch->txn, id, &urls);
}

Result host_move_put(OutboxDraft *draft, const HostMove *move, uint16_t to)
{
    Buffer block = {.limit = BUFFER_NO_LIMIT};
    Result rc = host_block_write(move, draft->epoch, &block);
    if (rc == RESULT_OK) {
        rc = outbox_draft_put(draft, to, block.data, block.length);
    }
    buffer_destroy(&block);
    return rc;
}

Result host_move_send(Batch *batch, uint32_t id, uint16_t to)
{
    int64_t now_ms = wall_now().us / 1000;
    HostRecord record;
    Buffer origin = {.limit = BUFFER_NO_LIMIT};
    Result rc = host_rows_get(batch->store->hosts, batch->txn, id, &record);
    if (rc == RESULT_OK) {
        rc = batch_result_of(batch, page_db_host_origin(batch->store->db, batch->txn, id, &origin));
    }
    if (rc == RESULT_OK) {
        uint64_t pages = host_pages(&record);
        HostMove move = {.origin = origin.data,
                         .length = origin.length,
                         .pages = pages < UINT32_MAX ? (uint32_t)pages : UINT32_MAX,
                         .crawl_delay_ms = record.crawl_delay_ms,
                         .wait_ms = host_not_before_ms(&record, now_ms, now_ms) - now_ms,
                         .extra_ms = record.extra_ms,
                         .rested_ms = record.rested_ms,
                         .failures = record.failures,
                         .last_failure = record.last_failure};
        rc = host_move_put(&batch->cluster->draft, &move, to);
    }
    buffer_destroy(&origin);
    return rc == RESULT_INVALID ? RESULT_OK : rc; /* a name that no DNS has: it is never fetched */
}

Result host_move_open(Batch *batch, uint32_t id)
{
    HostRecord record;
    uint64_t urls = 0;
    unsigned level = SCHEDULE_NO_LEVEL;
    page_db_looked_up(batch->store->db, 1);
    Result rc = host_rows_get(batch->store->hosts, batch->txn, id, &record);
    BatchHost *host = rc == RESULT_OK && record.state == HOST_MOVED ? batch_host(batch, id) : NULL;
    if (host == NULL) {
        return rc == RESULT_OK ? batch->result : rc;
    }
    host->record.state = HOST_ACTIVE;
    rc = schedule_unpark(batch->store->schedule, batch->txn, id, &urls, &level);
    batch_host_returns(host, urls, level);
    return rc;
}

static uint32_t at_least(uint32_t number, uint32_t least)
{
    return number > least ? number : least;
}

Result host_move_take(Batch *batch, const HostMove *move)
{
    uint32_t id = 0;
    int64_t now_ms = wall_now().us / 1000;
    int code = page_db_host_add(batch->store->db, batch->txn, move->origin, move->length, &id);
    BatchHost *host = code == 0 ? batch_host(batch, id) : NULL;
    if (host == NULL) {
        return batch_result_of(batch, code == 0 ? page_db_error_memory : code);
    }
    HostRecord *record = &host->record;
    uint32_t others = move->pages > record->pages ? move->pages - record->pages : 0;
    record->elsewhere = at_least(record->elsewhere, others);
    record->crawl_delay_ms = at_least(record->crawl_delay_ms, move->crawl_delay_ms);
    /* It may come when the host has been asked here already: what is owed since then holds, too. */
    int64_t wait_ms = host_not_before_ms(record, now_ms, now_ms) - now_ms;
    record->not_before_ms = now_ms + (wait_ms > move->wait_ms ? wait_ms : move->wait_ms);
    record->noted_ms = now_ms;
    record->last_fetch_ms = now_ms;
    if (move->extra_ms >= record->extra_ms) {
        record->failures = move->failures;
        record->last_failure = move->last_failure;
        record->extra_ms = move->extra_ms;
        record->rested_ms = move->rested_ms;
    }
    return RESULT_OK;
}

/* ---- Page move ---- */

/* ---- sending ---- */

/* As ingest_new_url.h has it; of a page that another agent found, what that one said. */
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
    if (batch->store->held == 0 || page->status == 0) {
        return RESULT_OK;
    }
    Result rc = held_rows_get(batch->store->held, batch->txn, page->index, &held);
    *was_held = rc == RESULT_OK;
    if (*was_held) {
        return held_rows_remove(batch->store->held, batch->txn, page->index);
    }
    return rc == RESULT_NOT_FOUND ? RESULT_OK : rc;
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
    if (page->n_crawls == 0) { /* it counts where it is scheduled */
        host_groups_left(batch, host, 1);
        host->record.urls -= host->record.urls > 0;
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
    if (!batch_note(batch, release_held(batch, page, &was_held))) {
        return batch->result;
    }
    bool over = page_move_is_over(batch, page, was_held);
    bool counts = page->n_crawls > 0 || (page->level == PAGE_DB_NO_LEVEL && !was_held);
    BatchHost *host = was_held ? batch_host(batch, page->host) : NULL;
    if (host != NULL) {
        host->record.urls -= host->record.urls > 0;
    }
    if (batch_note(batch, page_move_unschedule(batch, page)) &&
        batch_note(batch, set_state(batch, page, counts ? page->status : 0, PAGE_DB_NO_LEVEL,
                                    (uint8_t)(page->flags | STUB_FLAG)))) {
        (void)batch_note(batch, send_record(batch, page, to, over));
    }
    return batch->result;
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
    Buffer url = {.limit = BUFFER_NO_LIMIT};
    uint64_t index = 0;
    PageDB *db = batch->store->db;
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
