#include "frontier/distributor/distributor.h"

#include <assert.h>
#include <stdlib.h>

#include "frontier/distributor/host_walk.h"
#include "frontier/distributor/steering.h"
#include "frontier/host/visit_dispatch.h"
#include "frontier/host/visit_errand.h"
#include "frontier/host/visit_home.h"
#include "frontier/host/visit_window.h"
#include "frontier/visit/visit_turn.h"
#include "base/core/hash.h"
#include "frontier/host/visit_birth.h"
#include "store/schedule/schedule_read.h"

/* Name walk: hosts that have no address yet, asked for in turns.
 *
 * What: a page can name tens of thousands of hosts that do not exist, at no cost to whoever wrote
 * it. So hosts that have never had an address have a bounded part of the frontier's memory
 * (NAME_SHARE); further ones wait on disk, where their URLs are, and nobody is evicted for a name.
 * Within that part each page that names hosts, and each registered domain, holds as much as any
 * other, and one that comes new finds room: of n sources none holds more than a part of n + 1.
 *
 *   commit notice --name_walk_offer--> in memory (RESOLVING) --an address--> a host like any other
 *                        |    ^                           |
 *         (no room, no turn)  '-- name_walk               '--none: given up, or waits on disk
 *                        '--> on disk -'
 *
 * The walk has two places in the list of hosts with work. Before `front` all have had their turn:
 * it stops at the first host whose source has none, and goes on there. The `scout` goes on from it
 * to the end, past hosts of sources without a turn, so that those of others need not wait for them.
 *
 * Threads: distributor.
 * Invariants:
 *  1. Distributor.names.bytes is at most a part of NAME_SHARE of the memory, and one host more.
 *  2. A host that was passed by is met again: `waits` stays set until a walk has found none.
 *  3. A look reads a bounded number of hosts, whatever waits on disk.
 * Source: IRLbot (budgets of domains), Mercator (one queue for each host). */
#define NAME_WALK_BATCHES  16u   /* at one look */
#define NAME_PAUSE_MS      100   /* between two looks of the scout */
#define NAME_IDLE_PAUSE_MS 15000 /* after a walk that left none but those that are not due */
#define NAME_BYTES         1200u /* of a visit state without an address, about */
#define NAME_LEAST_TURN    256u  /* a source may always hold 1/256 of the room */

/* ---- turns ---- */

static bool name_has_room(const Distributor *distributor)
{
    return distributor->names.bytes < distributor_names_most(distributor) &&
           distributor->memory < distributor->options.memory_bytes;
}

static uint16_t name_source(uint64_t key)
{
    return (uint16_t)(1 + hash_mix(key) % (NAME_SOURCES - 1));
}

/* Who named the host. A seed was named by the operator: its page is no source. */
static Result name_sources(Distributor *distributor, MDB_txn *txn, uint32_t host,
                           const HostRecord *record, uint16_t sources[NAME_KINDS])
{
    ScheduleItem first;
    size_t n = 0;
    uint64_t from = PAGE_DB_NO_INDEX;
    uint8_t hop = 0;
    Result rc = schedule_head(distributor->schedule, txn, host, NULL, &first, 1, &n);
    if (rc == RESULT_OK && n > 0 &&
        page_db_get_way(distributor->db, txn, first.index, &from, &hop, NULL) != 0) {
        rc = RESULT_DAMAGED;
    }
    sources[NAME_OF_PAGE] = from == PAGE_DB_NO_INDEX ? 0 : name_source(from);
    sources[NAME_OF_DOMAIN] = record->domain == 0 ? 0 : name_source(record->domain);
    return disk_read_note(distributor, rc);
}

/* Whether each of its sources may hold one more. */
static bool name_has_turn(const Distributor *distributor, const uint16_t sources[NAME_KINDS])
{
    const NameRoom *names = &distributor->names;
    size_t all = distributor_names_most(distributor) / NAME_BYTES;
    for (size_t kind = 0; kind < NAME_KINDS; kind++) {
        size_t held = names->held[kind][sources[kind]];
        size_t most = all / (names->n_sources[kind] + (held == 0) + 1);
        most = most > all / NAME_LEAST_TURN ? most : all / NAME_LEAST_TURN;
        if (sources[kind] != 0 && held > most) {
            return false;
        }
    }
    return true;
}

typedef enum NameStop {
    NAME_LOADED,
    NAME_IS_PLACED, /* it has had an address, or is given up */
    NAME_WAITS,     /* it is not due */
    NAME_NO_TURN
} NameStop;

/* Loads a host that is not in memory, if it has no address and its sources have their turn. */
static NameStop name_take(Distributor *distributor, MDB_txn *txn, uint32_t host, MonoTime now)
{
    HostRecord record;
    uint16_t sources[NAME_KINDS] = {0};
    page_db_looked_up(distributor->db, 1);
    if (disk_read_note(distributor, host_rows_get(distributor->host_rows, txn, host, &record)) !=
            RESULT_OK ||
        !visit_birth_is_nameless(distributor, &record)) {
        return NAME_IS_PLACED;
    }
    if (!visit_birth_is_open(distributor, &record) ||
        distributor_wait_ms(distributor, &record) > 0) {
        return record.state == HOST_ACTIVE ? NAME_WAITS : NAME_IS_PLACED;
    }
    if (!name_has_room(distributor)) {
        return NAME_NO_TURN;
    }
    page_db_looked_up(distributor->db, 2); /* its schedule, its first URL */
    if (name_sources(distributor, txn, host, &record, sources) != RESULT_OK) {
        return NAME_WAITS;
    }
    if (!name_has_turn(distributor, sources)) {
        return NAME_NO_TURN;
    }
    Result rc = visit_dispatch_load_name(distributor, txn, host, &record, sources, now);
    return rc == RESULT_OK ? NAME_LOADED : NAME_WAITS;
}

static bool name_walk_offer(Distributor *distributor, MDB_txn *txn, uint32_t host, unsigned level,
                            MonoTime now)
{
    NameRoom *names = &distributor->names;
    if (txn == NULL || distributor->sinks.placed == NULL) {
        return false;
    }
    NameStop stop = NAME_IS_PLACED;
    if (visit_home_has_room(distributor)) {
        stop = name_take(distributor, txn, host, now);
    } else if (visit_birth_due(distributor, txn, host) == VISIT_NAMELESS) {
        stop = NAME_NO_TURN;
    }
    if (stop == NAME_IS_PLACED) {
        return false;
    }
    if (stop != NAME_LOADED) {
        names->waits = true;
        names->left_out++;
        names->next = mono_earlier(names->next, mono_add_ms(now, HOST_WALK_PAUSE_MS));
    }
    bool is_before =
        level < names->front.level || (level == names->front.level && host <= names->front.host);
    if (stop == NAME_NO_TURN && names->front.started && is_before) {
        names->front = (ScheduleHostCursor){
            .started = level > 0, .level = level > 0 ? level - 1 : 0, .host = UINT32_MAX};
    }
    return true;
}

/* ---- the walk ---- */

/* Goes on from *place, which moves on, and loads whoever has a turn. passes: goes on behind those
 * who have none. WALK_END: to the end; WALK_ON: it has read enough; WALK_WORSE: the next is not
 * wanted; WALK_FULL: the next has no turn, or there is no room. */
static WalkStop name_walk_on(Distributor *distributor, MDB_txn *txn, ScheduleHostCursor *place,
                             bool passes, unsigned limit, MonoTime now)
{
    uint32_t hosts[HOST_WALK_BATCH];
    uint8_t levels[HOST_WALK_BATCH];
    size_t n = HOST_WALK_BATCH;
    for (size_t batch = 0; batch < NAME_WALK_BATCHES; batch++) {
        ScheduleHostCursor cursor = *place;
        Result rc = disk_read_note(distributor, schedule_hosts(distributor->schedule, txn, &cursor,
                                                               hosts, levels, HOST_WALK_BATCH, &n));
        for (size_t i = 0; rc == RESULT_OK && i < n; i++) {
            if (!name_has_room(distributor) || levels[i] >= limit) {
                return levels[i] >= limit ? WALK_WORSE : WALK_FULL;
            }
            NameStop stop = map_get(&distributor->visit_states, map_key(hosts[i])) != NULL
                                ? NAME_IS_PLACED
                                : name_take(distributor, txn, hosts[i], now);
            distributor->names.waits |= stop == NAME_WAITS || stop == NAME_NO_TURN;
            if (stop == NAME_NO_TURN && !passes) {
                return WALK_FULL;
            }
            *place = (ScheduleHostCursor){true, levels[i], hosts[i]};
        }
        if (rc != RESULT_OK || n < HOST_WALK_BATCH) {
            return WALK_END;
        }
    }
    return WALK_ON;
}

static bool is_behind(ScheduleHostCursor place, ScheduleHostCursor other)
{
    return place.started && (!other.started || place.level > other.level ||
                             (place.level == other.level && place.host > other.host));
}

static MonoTime name_walk(Distributor *distributor, MDB_txn *txn, unsigned limit, MonoTime now)
{
    NameRoom *names = &distributor->names;
    if (!names->waits || limit == 0 || !name_has_room(distributor)) {
        return MONO_NEVER; /* what changes that wakes the distributor */
    }
    if (mono_before(now, names->next)) {
        return names->next;
    }
    size_t before = names->count;
    if (!names->front.started) {
        names->waits = false; /* until one is met */
    }
    WalkStop stop = name_walk_on(distributor, txn, &names->front, false, limit, now);
    names->waits |= stop != WALK_END;
    if (stop == WALK_END) {
        names->front = names->scout = (ScheduleHostCursor){.started = false};
    } else if (stop == WALK_FULL) {
        names->scout = is_behind(names->scout, names->front) ? names->scout : names->front;
        if (name_walk_on(distributor, txn, &names->scout, true, limit, now) == WALK_END) {
            names->scout = names->front;
        }
    }
    bool is_idle = names->count == before && stop == WALK_END;
    int64_t pause_ms = stop == WALK_WORSE ? HOST_WALK_PAUSE_MS : NAME_PAUSE_MS;
    names->next = mono_add_ms(now, is_idle ? NAME_IDLE_PAUSE_MS : pause_ms);
    return names->next;
}

/* ---- Commit notice ---- */

void commit_notice_delete(CommitNotice *notice)
{
    if (notice != NULL) {
        free(notice->done);
        free(notice->hosts);
        free(notice->dropped);
        free(notice->moved);
        free(notice);
    }
}

/* ---- Distributor ---- */

/* Notice reader: what a commit means for the visit states.
 *
 * What: results that were committed are no longer in flight; a host that got URLs is loaded, woken
 * or recalled when they are better than its window; a host whose schedule was cleared is retired; a
 * window whose URLs have moved is read anew.
 * Threads: distributor. */

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

/* It is forgotten as soon as nothing of it is on its way; it may be waiting for a retry. */
static void notice_reader_retire(Distributor *distributor, VisitState *visit_state, MonoTime now)
{
    visit_state->distributor.retired = true;
    visit_home_recall(distributor, visit_state);
    if (heap_holds(&visit_state->distributor.by_purge)) {
        heap_remove(&distributor->purge, &visit_state->distributor.by_purge);
        visit_home_rest(distributor, visit_state, now);
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
    visit_state->distributor.revived = true;
    visit_state->distributor.revived_level = host->level;
    notice_reader_retire(distributor, visit_state, now);
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
    if (visit_state == NULL && name_walk_offer(distributor, txn, host->host, host->level, now)) {
        return;
    }
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
        if (host->level < visit_state_level(visit_state) ||
            atomic_load_explicit(&visit_state->signals.waits, memory_order_relaxed)) {
            visit_home_recall(distributor, visit_state);
        }
    }
}

/* Nothing of the host is to be fetched any more. */
static void notice_reader_drop_host(Distributor *distributor, uint32_t host, MonoTime now)
{
    VisitState *visit_state = map_get(&distributor->visit_states, map_key(host));
    bool is_awaited = distributor->sinks.peers.left != NULL;
    if (visit_state == NULL) {
        if (is_awaited) {
            distributor->sinks.peers.left(distributor->sinks.peers.context, host);
        }
        return;
    }
    visit_state->distributor.awaited = is_awaited;
    notice_reader_retire(distributor, visit_state, now);
}

/* The notice stays the caller's.
 *
 * The indices leave in_flight before any window is read, so that a URL that is tried again can be
 * in one. The snapshot that windows are read from has this commit and perhaps later ones, whose
 * notices are on their way. That does no harm: a URL that a later commit took out is not in the
 * schedule, one that it brought is read now instead of then, and an index stays in in_flight until
 * its own notice comes. */
void distributor_committed(Distributor *distributor, const CommitNotice *notice, MonoTime now,
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
    page_db_txn_abort(distributor->db, txn);
}

/* Purge: forgets visit states that have nothing to do, and wakes those that have waited.
 *
 * What: visit states that rest are in a heap, by when each may be forgotten. A host that must wait
 * long makes room before that when memory is short, as soon as its committed record makes it wait
 * as long as its visit state does: politeness survives nowhere else.
 * Threads: distributor. */

#define PURGE_PAUSE_MS    1000 /* until it is looked again at what could not be forgotten */
#define RULES_PATIENCE_MS 10000
#define CLOCKS_DIFFER_MS  100 /* what rounding may make between the two clocks */

/* Whether the host's committed record makes it wait as long as its visit state does. */
static bool is_on_disk(Distributor *distributor, MDB_txn *txn, const VisitState *visit_state,
                       MonoTime now)
{
    HostRecord record;
    return host_rows_get(distributor->host_rows, txn, visit_state->identity.host, &record) ==
               RESULT_OK &&
           distributor_wait_ms(distributor, &record) + CLOCKS_DIFFER_MS >=
               mono_ms_between(now, visit_state->politeness.next_fetch);
}

/* Rules that were just fetched are read again from the disk: not before they are there. What
 * a commit has not brought in this time it will not bring. */
static bool awaits_rules(Distributor *distributor, MDB_txn *txn, const VisitState *visit_state,
                         MonoTime now)
{
    HostRecord record;
    return visit_state->distributor.leaving &&
           mono_ms_between(visit_state->politeness.last_end, now) < RULES_PATIENCE_MS &&
           host_rows_get(distributor->host_rows, txn, visit_state->identity.host, &record) ==
               RESULT_OK &&
           record.robots_version != visit_state->robots.version;
}

/* What becomes of a visit state whose time to rest is over, the first that applies:
 *
 *   it has parked, and must still wait     forgotten when its record on disk makes it wait as long;
 *                                          else it rests on
 *   retired, dropped, leaving, or it       forgotten; not while a recall is on its way to the todo
 *   has nothing more                       thread, results are uncommitted, or rules are to be read
 *                                          again: then it is looked at in PURGE_PAUSE_MS
 *   anything else                          dispatched: it has waited for its delay
 *
 * Each look ends with the visit state out of the heap, or in it at a later time than now. Only one
 * that was dispatched and got no URL is there again at once, and the next look forgets it. So the
 * loop ends. */
static void purge_visit_states(Distributor *distributor, MDB_txn *txn, MonoTime now)
{
    HeapNode *node = heap_top(&distributor->purge);
    while (node != NULL && node->key <= now.ns) {
        VisitState *visit_state = HEAP_ELEMENT(node, VisitState, distributor.by_purge);
        heap_remove(&distributor->purge, node);
        if (visit_state->distributor.parked && !visit_state->distributor.retired &&
            mono_before(now, visit_state->politeness.next_fetch)) {
            if (visit_state->distributor.uncommitted == 0 && !visit_state->distributor.recalled &&
                is_on_disk(distributor, txn, visit_state, now)) {
                distributor->names.waits |= visit_state->distributor.nameless;
                visit_home_forget(distributor, visit_state);
            } else {
                visit_home_rest(distributor, visit_state, now);
            }
        } else if (visit_state->distributor.retired || visit_state->politeness.dropped ||
                   visit_state->distributor.leaving || !visit_state->distributor.more) {
            if (visit_state->distributor.recalled ||
                (visit_state->distributor.uncommitted > 0 &&
                 (!visit_state->distributor.retired || visit_state->distributor.awaited)) ||
                awaits_rules(distributor, txn, visit_state, now)) {
                /* Looked at again soon: its last results are about to be committed. */
                (void)heap_push(&distributor->purge, node, mono_add_ms(now, PURGE_PAUSE_MS).ns, 0);
            } else {
                if (visit_state->distributor.leaving) {
                    host_walk_left_out(distributor, visit_state->identity.host,
                                       visit_state->distributor.leaving_level, now);
                    distributor->steering.next = now; /* its room has been waited for */
                }
                if (visit_state->distributor.revived) {
                    host_walk_left_out(distributor, visit_state->identity.host,
                                       visit_state->distributor.revived_level, now);
                }
                visit_home_forget(distributor, visit_state);
            }
        } else {
            visit_dispatch(distributor, txn, visit_state, now);
        }
        node = heap_top(&distributor->purge);
    }
}

/* ---- Distributor ---- */

#define LOCAL_PAUSES 5     /* of the waits for FETCH_LOCAL, until a name is asked for again */
#define NAME_FAR_MS  60000 /* a name that is to be asked for later than this waits on disk */
#define PAUSE_MS     1000  /* until it is looked again at what could not be done */
#define TEXT_LIMIT   ((size_t)2 << 20)

Result distributor_init(Distributor *distributor, const DistributorOptions *options,
                        const PolitenessOptions *politeness, const DistributorSinks *sinks,
                        PageDB *db, Schedule *schedule, HostRows *host_rows)
{
    *distributor = (Distributor){.options = *options,
                                 .politeness = *politeness,
                                 .sinks = *sinks,
                                 .db = db,
                                 .schedule = schedule,
                                 .host_rows = host_rows,
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

static void delete_visit_states(Map *map)
{
    size_t place = 0;
    VisitState *visit_state = NULL;
    while ((visit_state = map_next(map, &place)) != NULL) {
        visit_state_delete(visit_state);
    }
    map_destroy(map);
}

void distributor_destroy(Distributor *distributor)
{
    delete_visit_states(&distributor->visit_states);
    delete_visit_states(&distributor->guests);
    delete_visit_states(&distributor->questions);
    map_destroy(&distributor->in_flight);
    heap_destroy(&distributor->purge);
    buffer_destroy(&distributor->text);
    free(distributor->steering.dues);
}

/* It has no address, and rests until it is to be asked for again. */
static void wait_for_names(Distributor *distributor, VisitState *visit_state, int64_t wait_ms,
                           MonoTime now)
{
    visit_turn_put_off(visit_state, now, wait_ms);
    visit_window_release(distributor, visit_state);
    visit_home_account(distributor, visit_state);
    visit_state->distributor.more = true;
    visit_state->distributor.parked = visit_state->distributor.nameless && wait_ms > NAME_FAR_MS;
    visit_home_rest(distributor, visit_state, now);
}

static void resolved(Distributor *distributor, MDB_txn *txn, VisitState *visit_state, MonoTime now)
{
    assert(distributor->n_resolving > 0);
    distributor->n_resolving--;
    if (visit_state->address.class == FETCH_OK) {
        visit_state->address.tries = 0;
        visit_home_name(distributor, visit_state);
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
        visit_turn_put_off(visit_state, now, 0);
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
    page_db_txn_abort(distributor->db, txn);
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
    page_db_txn_abort(distributor->db, txn);
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
    page_db_txn_abort(distributor->db, txn);
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
    MonoTime names =
        name_walk(distributor, txn, steering_names_limit(distributor, front, required), now);
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
    return mono_earlier(mono_earlier(walk_time, next), names);
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
