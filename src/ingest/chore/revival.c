#include "ingest/chore/revival.h"

#include <stdlib.h>
#include <string.h>

#include "store/pages/page_db_read.h"
#include "base/thread/log.h"
#include "base/thread/mutex.h"
#include "ingest/page/ingest_host.h"
#include "store/schedule/schedule.h"
#include "store/tables/host_rows.h"

#define PIECE 256u /* hosts looked at between two looks at the clock */

typedef struct Waiting {
    RevivalOrder order;
    char *host; /* owned; what order.host points to, or NULL */
    struct Waiting *next;
} Waiting;

struct Revival {
    const IngestStore *store;
    Mutex mutex;
    Waiting *first; /* guarded by mutex; only the ingest thread takes it away */
    Waiting **last;
    /* the ingest thread's, about the first order */
    uint64_t next_host;
    uint64_t hosts;
    uint64_t urls;
    /* as of this piece; they count when it is committed */
    uint64_t new_next_host;
    uint64_t new_hosts;
    uint64_t new_urls;
    bool is_done;
};

Result revival_new(Revival **out, const IngestStore *store)
{
    Revival *revival = calloc(1, sizeof *revival);
    if (revival == NULL) {
        return RESULT_MEMORY;
    }
    revival->store = store;
    revival->last = &revival->first;
    mutex_init(&revival->mutex, RANK_TABLE);
    *out = revival;
    return RESULT_OK;
}

static void waiting_delete(Waiting *waiting)
{
    free(waiting->host);
    free(waiting);
}

void revival_delete(Revival *revival)
{
    if (revival == NULL) {
        return;
    }
    while (revival->first != NULL) {
        Waiting *waiting = revival->first;
        revival->first = waiting->next;
        waiting_delete(waiting);
    }
    mutex_destroy(&revival->mutex);
    free(revival);
}

Result revival_order(Revival *revival, const RevivalOrder *order)
{
    Waiting *waiting = calloc(1, sizeof *waiting);
    char *host = order->host == NULL ? NULL : strdup(order->host);
    if (waiting == NULL || (host == NULL && order->host != NULL)) {
        free(waiting);
        free(host);
        return RESULT_MEMORY;
    }
    *waiting = (Waiting){.order = *order, .host = host};
    waiting->order.host = host;
    mutex_lock(&revival->mutex);
    *revival->last = waiting;
    revival->last = &waiting->next;
    mutex_unlock(&revival->mutex);
    return RESULT_OK;
}

static Waiting *first_order(Revival *revival)
{
    mutex_lock(&revival->mutex);
    Waiting *first = revival->first;
    mutex_unlock(&revival->mutex);
    return first;
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

static Result revive(Revival *revival, Batch *batch, const RevivalOrder *order, uint32_t id)
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
    revival->new_hosts += rc == RESULT_OK && was_aside ? 1 : 0;
    revival->new_urls += urls;
    return rc;
}

/* The origins of a name, or the one that is meant. */
static Result revive_named(Revival *revival, Batch *batch, const RevivalOrder *order)
{
    static const char *const schemes[] = {"", "http://", "https://"};
    bool is_origin = strstr(order->host, "://") != NULL;
    Buffer origin = {.limit = BUFFER_NO_LIMIT};
    Result rc = RESULT_OK;
    for (size_t i = is_origin ? 0 : 1; rc == RESULT_OK && i < (is_origin ? 1u : 3u); i++) {
        uint32_t id = 0;
        buffer_reset(&origin);
        rc = buffer_printf(&origin, "%s%s", schemes[i], order->host);
        if (rc == RESULT_OK && page_db_host_find(batch->store->db, batch->txn, origin.data,
                                                 origin.length, &id) == page_db_error_ok) {
            rc = revive(revival, batch, order, id);
        }
    }
    buffer_destroy(&origin);
    revival->is_done = true;
    return rc;
}

static Result revive_all(Revival *revival, Batch *batch, const RevivalOrder *order, MonoTime until)
{
    uint32_t ids[PIECE];
    size_t n = PIECE;
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && n == PIECE && mono_before(mono_now(), until)) {
        rc = schedule_parked_hosts(batch->store->schedule, batch->txn, &revival->new_next_host, ids,
                                   PIECE, &n);
        for (size_t i = 0; rc == RESULT_OK && i < n; i++) {
            rc = revive(revival, batch, order, ids[i]);
        }
    }
    revival->is_done = rc == RESULT_OK && n < PIECE;
    return rc;
}

static MonoTime revival_chore_due(void *context)
{
    return first_order(context) == NULL ? MONO_NEVER : (MonoTime){0};
}

static Result revival_chore_run(void *context, Batch *batch, MonoTime until)
{
    Revival *revival = context;
    const Waiting *waiting = first_order(revival);
    revival->new_next_host = revival->next_host;
    revival->new_hosts = revival->hosts;
    revival->new_urls = revival->urls;
    revival->is_done = false;
    if (waiting == NULL) {
        return RESULT_OK;
    }
    return waiting->order.host != NULL ? revive_named(revival, batch, &waiting->order)
                                       : revive_all(revival, batch, &waiting->order, until);
}

static void revival_chore_ended(void *context, Result rc)
{
    Revival *revival = context;
    if (rc != RESULT_OK || first_order(revival) == NULL) {
        return; /* tried again */
    }
    revival->next_host = revival->new_next_host;
    revival->hosts = revival->new_hosts;
    revival->urls = revival->new_urls;
    if (revival->is_done) {
        mutex_lock(&revival->mutex);
        Waiting *waiting = revival->first;
        revival->first = waiting->next;
        revival->last = revival->first == NULL ? &revival->first : revival->last;
        mutex_unlock(&revival->mutex);
        if (revival->hosts > 0) {
            LOG_INFO("ingest", "hosts brought back", "hosts=%llu urls=%llu of=%s",
                     (unsigned long long)revival->hosts, (unsigned long long)revival->urls,
                     waiting->host == NULL ? "all" : waiting->host);
        }
        if (waiting->order.done != NULL) {
            waiting->order.done(waiting->order.context, revival->hosts, revival->urls);
        }
        waiting_delete(waiting);
        revival->next_host = revival->hosts = revival->urls = 0;
    }
}

static bool revival_chore_holds(void *context)
{
    return first_order(context) != NULL;
}

IngestChore revival_chore(Revival *revival)
{
    return (IngestChore){.context = revival,
                         .due = revival_chore_due,
                         .run = revival_chore_run,
                         .ended = revival_chore_ended,
                         .holds = revival_chore_holds,
                         .rides = true,
                         .at_stop = true};
}
