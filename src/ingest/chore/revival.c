#include "ingest/chore/revival.h"

#include <stdlib.h>

#include "base/thread/tray.h"
#include "ingest/page/ingest_host.h"

#define PIECE 256u /* hosts looked at between two looks at the clock */

/* How far the first order is. */
typedef struct RevivalPlace {
    uint64_t next_host;
    uint64_t hosts;
    uint64_t urls;
    bool is_done;
} RevivalPlace;

struct Revival {
    Tray orders; /* of RevivalOrder */
    /* the ingest thread's */
    RevivalPlace place;
    RevivalPlace next; /* as of this piece; counts when it is committed */
};

Result revival_new(Revival **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL) {
        return RESULT_MEMORY;
    }
    tray_init(&(*out)->orders, sizeof(RevivalOrder));
    return RESULT_OK;
}

void revival_delete(Revival *revival)
{
    if (revival != NULL) {
        tray_destroy(&revival->orders);
        free(revival);
    }
}

Result revival_order(Revival *revival, const RevivalOrder *order)
{
    return tray_put(&revival->orders, order, NULL);
}

/* ---- the chore ---- */

static bool is_meant(const RevivalOrder *order, const HostRecord *record)
{
    bool is_recheck = order->recheck_by_ms == 0 ||
                      (record->recheck_ms != 0 && record->recheck_ms <= order->recheck_by_ms);
    return record->parked_ms >= order->since_ms && is_recheck &&
           (order->classes == 0 ||
            (record->drop_class < 32 && (order->classes >> record->drop_class & 1) != 0));
}

static Result revive(RevivalPlace *place, Batch *batch, const RevivalOrder *order, uint32_t id)
{
    uint64_t urls = 0;
    BatchHost *host = batch_host(batch, id);
    if (host == NULL) {
        return batch->result;
    }
    if (!is_meant(order, &host->record)) {
        return RESULT_OK;
    }
    bool was_aside = host_is_aside(&host->record);
    Result rc = ingest_host_revive(batch, host, &urls);
    place->hosts += rc == RESULT_OK && was_aside ? 1 : 0;
    place->urls += urls;
    return rc;
}

static MonoTime revival_chore_due(void *context)
{
    Revival *revival = context;
    if (tray_count(&revival->orders) > 0) {
        return (MonoTime){0};
    }
    return MONO_NEVER;
}

static Result revival_chore_run(void *context, Batch *batch, MonoTime until)
{
    Revival *revival = context;
    RevivalPlace *place = &revival->next;
    RevivalOrder order;
    uint32_t ids[PIECE];
    Result rc = RESULT_OK;
    *place = revival->place;
    size_t n = tray_get(&revival->orders, 0, &order) ? PIECE : 0;
    while (rc == RESULT_OK && n == PIECE && mono_before(mono_now(), until)) {
        rc = schedule_parked_hosts(batch->store->schedule, batch->txn, &place->next_host, ids,
                                   PIECE, &n);
        for (size_t i = 0; rc == RESULT_OK && i < n; i++) {
            rc = revive(place, batch, &order, ids[i]);
        }
    }
    place->is_done = rc == RESULT_OK && n < PIECE;
    return rc;
}

static void revival_chore_ended(void *context, Result rc)
{
    Revival *revival = context;
    if (rc != RESULT_OK) {
        return; /* tried again */
    }
    revival->place = revival->next;
    if (!revival->place.is_done) {
        return;
    }
    if (revival->place.hosts > 0) {
        LOG_INFO("ingest", "hosts brought back", "hosts=%llu urls=%llu",
                 (unsigned long long)revival->place.hosts, (unsigned long long)revival->place.urls);
    }
    revival->place = (RevivalPlace){.hosts = 0};
    tray_drop(&revival->orders, 1);
}

IngestChore revival_chore(Revival *revival)
{
    return (IngestChore){.context = revival,
                         .due = revival_chore_due,
                         .run = revival_chore_run,
                         .ended = revival_chore_ended,
                         .rides = true,
                         .at_stop = true};
}
