#include "frontier/distributor/notice_reader.h"

#include "frontier/distributor/host_walk.h"
#include "frontier/host/disk_read.h"
#include "frontier/host/visit_dispatch.h"
#include "frontier/host/visit_home.h"

/* It came too late for an evicted host, but not for its next turn. */
static void note_leaving(VisitState *visit_state, unsigned level)
{
    if (level < visit_state->distributor.leaving_level) {
        visit_state->distributor.leaving_level = (uint8_t)level;
    }
}

/* URLs that stand elsewhere now: they are in a window, or should be. */
static void take_moves(Distributor *distributor, const CommitNotice *notice, MonoTime now)
{
    for (size_t i = 0; i < notice->n_moved; i++) {
        const ScheduleChange *move = &notice->moved[i];
        VisitState *visit_state = map_get(&distributor->visit_states, map_key(move->host));
        if (visit_state == NULL) {
            host_walk_left_out(distributor, move->host, move->to, now);
        } else if (visit_state->distributor.leaving) {
            note_leaving(visit_state, move->to);
        } else if (move->to < visit_state_level(visit_state) ||
                   map_get(&distributor->in_flight, map_key(move->index)) != NULL) {
            visit_home_recall(distributor, visit_state);
        }
    }
}

/* Hosts that waited for the last of their results: what came of them is counted now. */
static void wake_capped(Distributor *distributor, MDB_txn *txn, const CommitNotice *notice,
                        MonoTime now)
{
    for (size_t i = 0; txn != NULL && i < notice->n_done; i++) {
        VisitState *visit_state =
            map_get(&distributor->visit_states, map_key(notice->done[i].host));
        if (visit_state != NULL && visit_state->distributor.capped &&
            visit_state->distributor.uncommitted == 0 && visit_state->distributor.idle &&
            !visit_state->politeness.dropped && !visit_state->distributor.retired &&
            !visit_state->distributor.leaving) {
            visit_dispatch(distributor, txn, visit_state, now);
        }
    }
}

/* Its visit state still says that it was given up: another one takes its place. True when that has
 * to wait. */
static bool is_in_the_way(Distributor *distributor, const CommitHost *host, MonoTime now)
{
    VisitState *visit_state = map_get(&distributor->visit_states, map_key(host->host));
    if (visit_state == NULL) {
        return false;
    }
    if (visit_state->distributor.idle && visit_state->distributor.uncommitted == 0 &&
        !visit_state->distributor.recalled) {
        visit_home_forget(distributor, visit_state);
        return false;
    }
    visit_state->distributor.retired = true;
    visit_state->distributor.revived = true;
    visit_state->distributor.revived_level = host->level;
    visit_home_recall(distributor, visit_state); /* it may be waiting for a retry */
    if (heap_holds(&visit_state->distributor.by_purge)) {
        heap_remove(&distributor->purge, &visit_state->distributor.by_purge);
        visit_home_rest(distributor, visit_state, now);
    }
    return true;
}

/* A host that got new URLs, or was brought back. */
static void notice_reader_take_host(Distributor *distributor, MDB_txn *txn, const CommitHost *host,
                                    MonoTime now)
{
    if (host->revived && is_in_the_way(distributor, host, now)) {
        return;
    }
    VisitState *visit_state = map_get(&distributor->visit_states, map_key(host->host));
    if (visit_state == NULL) {
        bool welcome = txn != NULL && visit_home_has_room(distributor) &&
                       host->level <= distributor->walk.waiting_level;
        /* Also when it cannot be loaded now: as a guest it may be out on an errand. */
        if (!welcome ||
            visit_dispatch_load(distributor, txn, host->host, host->level, now) != RESULT_OK) {
            host_walk_left_out(distributor, host->host, host->level, now);
        }
    } else if (visit_state->distributor.leaving) {
        note_leaving(visit_state, host->level);
    } else if (txn != NULL && visit_state->distributor.idle &&
               !mono_before(visit_state->address.expiry, now) && !visit_state->politeness.dropped &&
               !visit_state->distributor.retired) {
        visit_dispatch(distributor, txn, visit_state, now);
    } else {
        visit_state->distributor.more = true;
        if (host->level < visit_state_level(visit_state)) {
            visit_home_recall(distributor, visit_state);
        }
    }
}

/* Nothing of the host is to be fetched any more. */
static void notice_reader_drop_host(Distributor *distributor, uint32_t host, MonoTime now)
{
    VisitState *visit_state = map_get(&distributor->visit_states, map_key(host));
    bool is_awaited = distributor->sinks.left != NULL;
    if (visit_state == NULL) {
        if (is_awaited) {
            distributor->sinks.left(distributor->sinks.context, host);
        }
        return;
    }
    visit_state->distributor.retired = true;
    visit_state->distributor.awaited = is_awaited;
    visit_home_recall(distributor, visit_state);
    if (heap_holds(&visit_state->distributor.by_purge)) {
        heap_remove(&distributor->purge, &visit_state->distributor.by_purge);
        visit_home_rest(distributor, visit_state, now);
    }
}

void notice_reader_take(Distributor *distributor, const CommitNotice *notice, MonoTime now,
                        WallTime wall)
{
    distributor_take_wall(distributor, wall);
    distributor->steering.results += notice->n_done;
    for (size_t i = 0; i < notice->n_done; i++) {
        VisitState *visit_state =
            map_get(&distributor->visit_states, map_key(notice->done[i].host));
        if (map_remove(&distributor->in_flight, map_key(notice->done[i].index)) != NULL &&
            visit_state != NULL && visit_state->distributor.uncommitted > 0) {
            distributor_set_uncommitted(distributor, visit_state,
                                        visit_state->distributor.uncommitted - 1);
        }
    }
    for (size_t i = 0; i < notice->n_dropped; i++) {
        notice_reader_drop_host(distributor, notice->dropped[i], now);
    }
    MDB_txn *txn = disk_read_begin(distributor);
    for (size_t i = 0; i < notice->n_hosts; i++) {
        notice_reader_take_host(distributor, txn, &notice->hosts[i], now);
    }
    take_moves(distributor, notice, now);
    wake_capped(distributor, txn, notice, now);
    if (txn != NULL) {
        page_db_txn_abort(distributor->db, txn);
    }
}
