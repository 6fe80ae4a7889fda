#include "frontier/distributor/distributor.h"

#include <assert.h>
#include <stdlib.h>

#include "frontier/distributor/notice_reader.h"
#include "frontier/distributor/purge.h"
#include "frontier/distributor/steering.h"
#include "frontier/host/disk_read.h"
#include "frontier/host/visit_dispatch.h"
#include "frontier/host/visit_errand.h"
#include "frontier/host/visit_home.h"
#include "frontier/host/visit_window.h"

#define LOCAL_PAUSES 5    /* of the waits for FETCH_LOCAL, until a name is asked for again */
#define PAUSE_MS     1000 /* until it is looked again at what could not be done */
#define TEXT_LIMIT   ((size_t)2 << 20)

Result distributor_init(Distributor *distributor, const DistributorOptions *options,
                        const PolitenessOptions *politeness, const DistributorSinks *sinks,
                        PageDB *db, Schedule *schedule, HostTable *host_table)
{
    *distributor = (Distributor){.options = *options,
                                 .politeness = *politeness,
                                 .sinks = *sinks,
                                 .db = db,
                                 .schedule = schedule,
                                 .host_table = host_table,
                                 .walk.waiting_level = SCHEDULE_NO_LEVEL};
    map_init(&distributor->visit_states);
    map_init(&distributor->guests);
    map_init(&distributor->questions);
    map_init(&distributor->in_flight);
    heap_init(&distributor->purge);
    buffer_init(&distributor->text, TEXT_LIMIT);
    distributor->steering.dues = calloc(STEERING_DUES, sizeof *distributor->steering.dues);
    return distributor->steering.dues == NULL ? RESULT_MEMORY : RESULT_OK;
}

void distributor_destroy(Distributor *distributor)
{
    size_t place = 0;
    VisitState *visit_state = NULL;
    while ((visit_state = map_next(&distributor->visit_states, &place)) != NULL) {
        visit_state_delete(visit_state);
    }
    place = 0;
    while ((visit_state = map_next(&distributor->guests, &place)) != NULL) {
        visit_state_delete(visit_state);
    }
    place = 0;
    while ((visit_state = map_next(&distributor->questions, &place)) != NULL) {
        visit_state_delete(visit_state);
    }
    map_destroy(&distributor->questions);
    map_destroy(&distributor->visit_states);
    map_destroy(&distributor->guests);
    map_destroy(&distributor->in_flight);
    heap_destroy(&distributor->purge);
    buffer_destroy(&distributor->text);
    free(distributor->steering.dues);
}

/* It has no address, and rests until it is to be asked for again. */
static void wait_for_names(Distributor *distributor, VisitState *visit_state, int64_t wait_ms,
                           MonoTime now)
{
    visit_state->politeness.next_fetch =
        mono_later(visit_state->politeness.next_fetch, mono_add_ms(now, wait_ms));
    visit_window_release(distributor, visit_state);
    visit_home_account(distributor, visit_state);
    visit_state->distributor.more = true;
    visit_home_rest(distributor, visit_state, now);
}

static void resolved(Distributor *distributor, MDB_txn *txn, VisitState *visit_state, MonoTime now)
{
    assert(distributor->n_resolving > 0);
    distributor->n_resolving--;
    if (visit_state->address.class == FETCH_OK) {
        visit_state->address.tries = 0;
        if (!visit_state->distributor.placed && !visit_state->identity.guest &&
            distributor->sinks.placed != NULL) {
            visit_state->distributor.placed = true;
            distributor->sinks.placed(distributor->sinks.context, visit_state);
        }
        visit_dispatch(distributor, txn, visit_state, now);
        return;
    }
    VisitState *asker = NULL;
    visit_errand_take_waiting(visit_state);
    while ((asker = visit_errand_fail_next(distributor, visit_state, now)) != NULL) {
        visit_dispatch(distributor, txn, asker, now);
    }
    if (visit_state->distributor.retired ||
        visit_state->politeness.dropped) { /* it went for its askers only */
        visit_state->politeness.next_fetch = mono_later(visit_state->politeness.next_fetch, now);
        visit_window_release(distributor, visit_state);
        visit_home_rest(distributor, visit_state, now);
        return;
    }
    if (visit_state->address.class == FETCH_LOCAL) { /* nothing is charged, nothing noted */
        wait_for_names(distributor, visit_state,
                       LOCAL_PAUSES * distributor->politeness.rules[FETCH_LOCAL].wait_ms, now);
        return;
    }
    FetchEnd end = {.class = visit_state->address.class,
                    .duration_ms = visit_state->address.resolve_ms,
                    .retry_after_ms = -1,
                    .crawl_delay_ms = -1,
                    .host_delay_ms = visit_state->politeness.delay_ms};
    PolitenessVerdict verdict =
        politeness_judge(&distributor->politeness, &end, &visit_state->politeness.health,
                         &visit_state->address.tries);
    if (verdict.drop_host || verdict.drop_url) {
        visit_state->politeness.dropped = true;
        distributor->sinks.drop(distributor->sinks.context, visit_state,
                                visit_state->address.class);
        visit_window_release(distributor, visit_state);
        visit_home_rest(distributor, visit_state, now);
        return;
    }
    distributor->sinks.unresolved(distributor->sinks.context, visit_state,
                                  visit_state->address.class, verdict.host_wait_ms);
    wait_for_names(distributor, visit_state, verdict.host_wait_ms, now);
}

void distributor_receive(Distributor *distributor, VisitState *visit_state, MonoTime now,
                         WallTime wall)
{
    distributor_take_wall(distributor, wall);
    MDB_txn *txn = disk_read_begin(distributor);
    if (txn == NULL) {
        visit_state->distributor.retired =
            true; /* its URLs stay scheduled: found again by the next walk */
    }
    if (visit_state->news == NEWS_RESOLVED) {
        resolved(distributor, txn, visit_state, now);
    } else if (visit_state->news == NEWS_ANSWERED) {
        assert(distributor->n_asking > 0);
        distributor->n_asking--;
        if (visit_state->errands.ticket != 0) {
            visit_errand_tell(distributor, visit_state);
        } else {
            visit_dispatch(distributor, txn, visit_state, now);
        }
    } else {
        assert(visit_state->news == NEWS_EMPTY && distributor->n_away > 0);
        distributor->n_away--;
        visit_dispatch(distributor, txn, visit_state, now);
    }
    if (txn != NULL) {
        page_db_txn_abort(distributor->db, txn);
    }
}

void distributor_told(Distributor *distributor, uint32_t host, ErrandOutcome outcome,
                      ErrandAnswer *answer, MonoTime now, WallTime wall)
{
    distributor_take_wall(distributor, wall);
    VisitState *asker = visit_errand_told(distributor, host, outcome, answer, now);
    MDB_txn *txn = asker == NULL ? NULL : disk_read_begin(distributor);
    if (asker != NULL) {
        asker->distributor.retired |= txn == NULL;
        visit_dispatch(distributor, txn, asker, now);
    }
    if (txn != NULL) {
        page_db_txn_abort(distributor->db, txn);
    }
}

void distributor_asked(Distributor *distributor, VisitState *asker, MonoTime now, WallTime wall)
{
    VisitState *wakes = NULL;
    distributor_take_wall(distributor, wall);
    MDB_txn *txn = disk_read_begin(distributor);
    visit_errand_asked(distributor, txn, asker, now, &wakes);
    if (wakes != NULL) {
        visit_dispatch(distributor, txn, wakes, now);
    }
    if (txn != NULL) {
        page_db_txn_abort(distributor->db, txn);
    }
}

void distributor_committed(Distributor *distributor, const CommitNotice *notice, MonoTime now,
                           WallTime wall)
{
    notice_reader_take(distributor, notice, now, wall);
}

void distributor_recalled(Distributor *distributor, VisitState *visit_state)
{
    (void)distributor;
    visit_state->distributor.recalled = false;
}

MonoTime distributor_work(Distributor *distributor, size_t front, size_t required, MonoTime now,
                          WallTime wall)
{
    distributor_take_wall(distributor, wall);
    if (distributor->failed) {
        return MONO_NEVER;
    }
    MDB_txn *txn = disk_read_begin(distributor);
    if (txn == NULL) {
        return mono_add_ms(now, PAUSE_MS);
    }
    purge_visit_states(distributor, txn, now);
    steering_load_hosts(distributor, txn, front, required, now);
    page_db_txn_abort(distributor->db, txn);
    if (distributor->walk.cut) {
        return now;
    }
    const HeapNode *node = heap_top(&distributor->purge);
    MonoTime next = node == NULL ? MONO_NEVER : (MonoTime){node->key};
    /* A walk that stopped half-way, or was not needed, goes on when somebody is hungry. */
    MonoTime walk_time = mono_later(distributor->walk.next, distributor->steering.next);
    if (!mono_before(now, walk_time)) {
        walk_time = mono_add_ms(now, PAUSE_MS);
    }
    return mono_before(walk_time, next) ? walk_time : next;
}

void distributor_replan(Distributor *distributor, const DistributorChange *change, MonoTime now)
{
    size_t place = 0;
    VisitState *visit_state = NULL;
    distributor->options.memory_bytes = change->memory_bytes;
    distributor->options.robots_expiry_ms = change->robots_expiry_ms;
    distributor->politeness = change->politeness;
    while ((visit_state = map_next(&distributor->visit_states, &place)) != NULL) {
        if (visit_state->distributor.idle) {
            visit_home_replan(distributor, visit_state, now);
            if (heap_holds(&visit_state->distributor.by_purge)) {
                heap_remove(&distributor->purge, &visit_state->distributor.by_purge);
                visit_home_rest(distributor, visit_state, now);
            }
        } else {
            visit_state->distributor.replanned = true;
            visit_home_recall(distributor, visit_state);
        }
    }
}
