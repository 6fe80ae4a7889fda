#include "ingest/move/host_move.h"

#include "store/pages/page_db_read.h"
#include "base/core/clock.h"
#include "ingest/batch/ingest_cluster.h"
#include "store/schedule/schedule.h"
#include "store/tables/host_parking.h"

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
    Result rc = host_table_get(batch->store->hosts, batch->txn, id, &record);
    *known = rc == RESULT_OK && !was_never_used(&record);
    if (!*known) {
        return rc;
    }
    BatchHost *host = batch_host(batch, id);
    if (host == NULL) {
        return batch->result;
    }
    host->cleared = true;
    host->revived = false;
    host->got_urls = 0;
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
    Buffer block;
    buffer_init(&block, BUFFER_NO_LIMIT);
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
    Buffer origin;
    buffer_init(&origin, BUFFER_NO_LIMIT);
    Result rc = host_table_get(batch->store->hosts, batch->txn, id, &record);
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
    Result rc = host_table_get(batch->store->hosts, batch->txn, id, &record);
    BatchHost *host = rc == RESULT_OK && record.state == HOST_MOVED ? batch_host(batch, id) : NULL;
    if (host == NULL) {
        return rc == RESULT_OK ? batch->result : rc;
    }
    host->record.state = HOST_ACTIVE;
    rc = schedule_unpark(batch->store->schedule, batch->txn, id, &urls, &level);
    host->cleared = false;
    host->revived = true; /* its visit state, if there is one, begins anew */
    host->best_level = (uint8_t)level;
    host->got_urls += (uint32_t)(urls < UINT32_MAX ? urls : UINT32_MAX);
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
    record->last_fetch_ms = now_ms;
    record->failures = move->failures;
    record->last_failure = move->last_failure;
    record->extra_ms = move->extra_ms;
    record->rested_ms = move->rested_ms;
    record->not_before_ms = now_ms + move->wait_ms;
    record->noted_ms = now_ms;
    return RESULT_OK;
}
