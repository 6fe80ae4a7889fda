#include "ingest/batch/batch_waits.h"
#include "store/schedule/schedule_read.h"

Result batch_waits_note(Batch *batch, BatchHost *host)
{
    HostRecord *record = &host->record;
    uint64_t entries = 0;
    if (record->state != HOST_ACTIVE || record->failures == 0) {
        record->idle = 0;
        return RESULT_OK;
    }
    page_db_looked_up(batch->store->db, 1);
    Result rc = schedule_host_count(batch->store->schedule, batch->txn, host->host, &entries);
    record->idle = rc == RESULT_OK && entries == 0;
    return rc;
}
