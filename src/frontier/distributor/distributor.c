#include "frontier/distributor/distributor.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread/log.h"
#include "frontier/distributor/distributor_inside.h"

#define PAUSE_MS          1000  /* until it is looked again at what could not be done */
#define DROP_PATIENCE_MS  60000 /* a host given up is kept so long for its commit */
#define RULES_PATIENCE_MS 10000
#define CLOCKS_DIFFER_MS  100   /* what rounding may make between the two clocks */
#define FAR_MS            60000 /* a host that must wait longer stays on disk */
#define TEXT_LIMIT        ((size_t)2 << 20)

Result distributor_init(Distributor *distributor, const DistributorOptions *options,
                        const PolitenessOptions *politeness, const DistributorSinks *sinks,
                        PageDB *db, Schedule *schedule, HostTable *host_table)
{
    *distributor = (Distributor){.options = *options,
                                 .politeness = politeness,
                                 .sinks = *sinks,
                                 .db = db,
                                 .schedule = schedule,
                                 .host_table = host_table,
                                 .waiting_level = SCHEDULE_NO_LEVEL};
    map_init(&distributor->visit_states);
    map_init(&distributor->guests);
    map_init(&distributor->in_flight);
    heap_init(&distributor->purge);
    buffer_init(&distributor->text, TEXT_LIMIT);
    return RESULT_OK;
}

/* Keeps Distributor.memory true for a visit state that is at home. */
static void account(Distributor *distributor, VisitState *visit_state)
{
    size_t memory = visit_state_memory(visit_state);
    distributor->memory += memory - visit_state->distributor.accounted; /* modular: may shrink */
    visit_state->distributor.accounted = memory;
}

/* It is not evicted any more: it has left, or is wanted after all. */
static void stay(Distributor *distributor, VisitState *visit_state)
{
    distributor->n_leaving -= visit_state->distributor.leaving;
    visit_state->distributor.leaving = false;
}

void distributor_forget(Distributor *distributor, VisitState *visit_state)
{
    if (heap_holds(&visit_state->distributor.by_purge)) {
        heap_remove(&distributor->purge, &visit_state->distributor.by_purge);
    }
    stay(distributor, visit_state);
    distributor_release_window(distributor, visit_state);
    if (visit_state->identity.guest) {
        distributor_remove_guest(distributor, visit_state);
    } else {
        (void)map_remove(&distributor->visit_states, map_key(visit_state->identity.host));
    }
    distributor->memory -= visit_state->distributor.accounted;
    visit_state_delete(visit_state);
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
    map_destroy(&distributor->visit_states);
    map_destroy(&distributor->guests);
    map_destroy(&distributor->in_flight);
    heap_destroy(&distributor->purge);
    buffer_destroy(&distributor->text);
}

/* ---- where a visit state goes next ----------------------------------------------------------- */

static void resolve(Distributor *distributor, VisitState *visit_state)
{
    visit_state->place = VISIT_STATE_RESOLVING;
    distributor->n_resolving++;
    distributor->sinks.resolve(distributor->sinks.context, visit_state);
}

/* Half of the memory is for hosts that can be fetched from soon. */
static bool is_scarce(const Distributor *distributor)
{
    return distributor->memory > distributor->options.memory_bytes / 2;
}

void distributor_rest(Distributor *distributor, VisitState *visit_state, MonoTime now)
{
    visit_state->place = VISIT_STATE_IDLE;
    visit_state->distributor.idle = true;
    int64_t least_ms = visit_state->distributor.retired || visit_state->distributor.leaving ? 0
                       : visit_state->politeness.dropped ? DROP_PATIENCE_MS
                       : visit_state->distributor.more   ? PAUSE_MS
                                                         : 0;
    MonoTime until = mono_later(visit_state->politeness.next_fetch, mono_add_ms(now, least_ms));
    if (visit_state->distributor.parked) {
        until = mono_add_ms(now, PAUSE_MS);
    }
    if (!heap_holds(&visit_state->distributor.by_purge)) {
        (void)heap_push(&distributor->purge, &visit_state->distributor.by_purge, until.ns, 0);
    }
}

/* True: an evicted visit state that came home rests until it may be forgotten. One that serves
 * others stays. */
static bool leave(Distributor *distributor, VisitState *visit_state, MonoTime now)
{
    if (visit_state->errands.askers != NULL || visit_state->robots.elsewhere ||
        visit_state->distributor.retired || visit_state->politeness.dropped) {
        stay(distributor, visit_state);
    }
    if (!visit_state->distributor.leaving) {
        return false;
    }
    distributor_release_window(distributor, visit_state);
    if (visit_state->robots.rules != NULL &&
        robots_bytes(visit_state->robots.rules) > VISIT_STATE_LARGE) {
        robots_delete(visit_state->robots.rules); /* not kept until it may be forgotten */
        visit_state->robots.rules = NULL;
        visit_state->robots.state = ROBOTS_UNKNOWN;
    }
    account(distributor, visit_state);
    visit_state->distributor.more = true;
    visit_state->distributor.capped = false;
    if (mono_ms_between(now, visit_state->politeness.next_fetch) > FAR_MS) {
        stay(distributor, visit_state); /* its room cannot be waited for */
        visit_state->distributor.parked = true;
    }
    distributor_rest(distributor, visit_state, now);
    return true;
}

/* Rules are as large as the host wants: when there is no memory for all, those who have many make
 * room behind a visit, and are read again with the next window. One that was just loaded may fetch
 * first. */
static void shed(Distributor *distributor, VisitState *visit_state)
{
    account(distributor, visit_state);
    if (visit_state->news == NEWS_EMPTY && !visit_state->distributor.leaving &&
        !visit_state->identity.guest && visit_state->distributor.accounted > VISIT_STATE_LARGE &&
        distributor->memory > distributor->options.memory_bytes) {
        visit_state->distributor.leaving = true;
        visit_state->distributor.leaving_level = (uint8_t)visit_state_level(visit_state);
        distributor->n_leaving++;
        distributor->evictions++;
    }
}

/* A visit state that is at home: on an errand, to the workbench, to sleep, or out. */
static void dispatch(Distributor *distributor, MDB_txn *txn, VisitState *visit_state, MonoTime now)
{
    if (heap_holds(&visit_state->distributor.by_purge)) {
        heap_remove(&distributor->purge, &visit_state->distributor.by_purge);
    }
    visit_state->distributor.idle = false;
    visit_state->distributor.parked = false;
    if (visit_state->distributor.stale) {
        visit_state->distributor.stale = false;
        visit_state->distributor.appetite = visit_state->window.count / 2;
        distributor_release_window(distributor, visit_state);
    }
    distributor_take_waiting(visit_state);
    shed(distributor, visit_state);
    if (leave(distributor, visit_state, now)) {
        return;
    }
    bool serves = visit_state->errands.askers != NULL; /* before it asks itself: invariant 4 */
    bool gone = visit_state->distributor.retired || visit_state->politeness.dropped;
    if (!serves && !gone && visit_state->robots.elsewhere &&
        distributor_send(distributor, txn, visit_state, now)) {
        return;
    }
    gone |= visit_state->politeness.dropped;
    if (!gone && visit_state_count(visit_state) == 0) {
        visit_state->distributor.more = false;
        Result rc =
            distributor_note(distributor, distributor_refill(distributor, txn, visit_state));
        if (rc != RESULT_OK) {
            LOG_WARN("distributor", "refill failed", "host=%s error=\"%s\"",
                     visit_state->identity.origin, result_name(rc));
            visit_state->distributor.more = true; /* tried again when it is next looked at */
        }
    }
    account(distributor, visit_state);
    if (gone) {
        distributor_release_window(distributor, visit_state);
    }
    if (!serves && visit_state_count(visit_state) == 0) {
        distributor_rest(distributor, visit_state, now);
    } else if (!serves && is_scarce(distributor) &&
               mono_ms_between(now, visit_state->politeness.next_fetch) > FAR_MS) {
        distributor_release_window(distributor, visit_state);
        account(distributor, visit_state);
        visit_state->distributor.more = true;
        visit_state->distributor.parked = true;
        distributor_rest(distributor, visit_state, now);
    } else if (!mono_before(now, visit_state->address.expiry)) {
        resolve(distributor, visit_state);
    } else {
        distributor->n_away++;
        visit_state->place = VISIT_STATE_QUEUED;
        distributor->sinks.ready(distributor->sinks.context, visit_state);
    }
}

void distributor_dispatch(Distributor *distributor, MDB_txn *txn, VisitState *visit_state,
                          MonoTime now)
{
    dispatch(distributor, txn, visit_state, now);
}

static void resolved(Distributor *distributor, MDB_txn *txn, VisitState *visit_state, MonoTime now)
{
    assert(distributor->n_resolving > 0);
    distributor->n_resolving--;
    if (visit_state->address.class == FETCH_OK) {
        dispatch(distributor, txn, visit_state, now);
        return;
    }
    distributor_fail_askers(distributor, txn, visit_state, now);
    if (visit_state->distributor.retired ||
        visit_state->politeness.dropped) { /* it went for its askers only */
        visit_state->politeness.next_fetch = mono_later(visit_state->politeness.next_fetch, now);
        distributor_release_window(distributor, visit_state);
        distributor_rest(distributor, visit_state, now);
        return;
    }
    FetchEnd end = {.class = visit_state->address.class,
                    .duration_ms = visit_state->address.resolve_ms,
                    .retry_after_ms = -1,
                    .crawl_delay_ms = -1,
                    .host_delay_ms = visit_state->politeness.delay_ms};
    PolitenessVerdict verdict =
        politeness_judge(distributor->politeness, &end, &visit_state->politeness.health);
    if (verdict.drop_host || verdict.drop_url) {
        visit_state->politeness.dropped = true;
        distributor->sinks.drop(distributor->sinks.context, visit_state,
                                visit_state->address.class);
        distributor_release_window(distributor, visit_state);
        distributor_rest(distributor, visit_state, now);
        return;
    }
    distributor->sinks.unresolved(distributor->sinks.context, visit_state, verdict.host_wait_ms);
    visit_state->politeness.next_fetch =
        mono_later(visit_state->politeness.next_fetch, mono_add_ms(now, verdict.host_wait_ms));
    distributor_release_window(distributor, visit_state);
    account(distributor, visit_state);
    visit_state->distributor.more = true;
    distributor_rest(distributor, visit_state, now);
}

/* ---- birth ----------------------------------------------------------------------------------- */

static void restore_robots(Distributor *distributor, MDB_txn *txn, VisitState *visit_state,
                           const HostRecord *record, MonoTime now, WallTime wall)
{
    visit_state->robots.version = record->robots_version;
    if (record->robots_version == 0) {
        return;
    }
    const char *body = NULL;
    size_t length = 0;
    Result rc = host_table_get_robots(distributor->host_table, txn, visit_state->identity.host,
                                      &body, &length);
    visit_state->robots.hash = robots_content_hash(body, length);
    int64_t left = record->robots_expiry_ms - wall.us / 1000;
    if (record->robots_state != ROBOTS_KNOWN || left <= 0) {
        return;
    }
    if (rc == RESULT_OK) {
        rc = robots_parse(body, length, distributor->options.robots_agent,
                          &visit_state->robots.rules);
    } else if (rc == RESULT_NOT_FOUND) {
        rc = robots_allow_all(&visit_state->robots.rules);
    }
    if (rc == RESULT_OK) {
        visit_state->robots.state = ROBOTS_KNOWN;
        visit_state->robots.expiry = mono_add_ms(now, left);
    }
}

void distributor_set_delays(const Distributor *distributor, VisitState *visit_state,
                            int64_t crawl_delay_ms)
{
    const DistributorOptions *options = &distributor->options;
    visit_state->politeness.delay_ms = options->host_delay_ms;
    if (options->host_delay != NULL) {
        visit_state->politeness.delay_ms = options->host_delay(
            options->context, visit_state->identity.hostname, options->host_delay_ms);
    }
    if (options->floor.ns > 0) {
        int64_t owed = politeness_host_delay(distributor->politeness,
                                             visit_state->politeness.delay_ms, crawl_delay_ms, 0);
        visit_state->politeness.next_fetch = mono_add_ms(options->floor, owed);
    }
}

/* The times of a guest are those of the host. False: the guest is away, and the host must wait. */
static bool take_over_guest(Distributor *distributor, VisitState *visit_state)
{
    VisitState *guest = distributor_find_guest(distributor, visit_state->identity.origin,
                                               visit_state->identity.origin_length);
    if (guest == NULL) {
        return true;
    }
    if (!guest->distributor.idle) {
        return false;
    }
    visit_state->politeness.next_fetch =
        mono_later(visit_state->politeness.next_fetch, guest->politeness.next_fetch);
    visit_state->politeness.last_end = guest->politeness.last_end;
    visit_state->politeness.owed_ms = guest->politeness.owed_ms;
    distributor_forget(distributor, guest);
    return true;
}

Result distributor_bear(Distributor *distributor, MDB_txn *txn, uint32_t host,
                        const HostRecord *record, MonoTime now, VisitState **out)
{
    Buffer origin;
    buffer_init(&origin, TEXT_LIMIT);
    VisitState *visit_state = NULL;
    Result rc = RESULT_OK;
    if (page_db_host_origin(distributor->db, txn, host, &origin) != 0) {
        rc = distributor_note(distributor, RESULT_DAMAGED); /* a host with work has a name */
    }
    if (rc == RESULT_OK) {
        rc = visit_state_new(&visit_state, host, origin.data, origin.length);
    }
    buffer_destroy(&origin);
    if (rc == RESULT_OK) {
        distributor_set_delays(distributor, visit_state, (int64_t)record->crawl_delay_ms);
        if (!take_over_guest(distributor, visit_state)) {
            visit_state_delete(visit_state);
            return RESULT_EXISTS;
        }
        rc = map_put(&distributor->visit_states, map_key(host), visit_state);
    }
    if (rc != RESULT_OK) {
        LOG_WARN("distributor", "host cannot be loaded", "id=%u error=\"%s\"", host,
                 result_name(rc));
        visit_state_delete(visit_state);
        return rc;
    }
    visit_state->window.bias = distributor->options.bias;
    visit_state->window.ticket =
        distributor->births++; /* or each would begin with a lower level's turn */
    visit_state->politeness.health =
        (HostHealth){.failures = record->failures, .last = (FetchClass)record->last_failure};
    restore_robots(distributor, txn, visit_state, record, now, distributor->wall);
    int64_t wait = record->not_before_ms - distributor->wall.us / 1000;
    if (wait > 0) {
        visit_state->politeness.next_fetch =
            mono_later(visit_state->politeness.next_fetch, mono_add_ms(now, wait));
    }
    *out = visit_state;
    return RESULT_OK;
}

static bool is_open(const Distributor *distributor, const HostRecord *record)
{
    return (record->state == HOST_ACTIVE ||
            (record->state == HOST_FULL && distributor->options.visits_full_hosts)) &&
           record->not_before_ms - distributor->wall.us / 1000 <= FAR_MS;
}

bool distributor_may_load(Distributor *distributor, MDB_txn *txn, uint32_t host)
{
    HostRecord record;
    page_db_looked_up(distributor->db, 1);
    return host_table_get(distributor->host_table, txn, host, &record) == RESULT_OK &&
           is_open(distributor, &record);
}

Result distributor_load(Distributor *distributor, MDB_txn *txn, uint32_t host, unsigned level,
                        MonoTime now)
{
    HostRecord record;
    VisitState *visit_state = NULL;
    Result rc =
        distributor_note(distributor, host_table_get(distributor->host_table, txn, host, &record));
    page_db_looked_up(distributor->db, 3); /* the host, its robots.txt, its schedule */
    if (rc != RESULT_OK || !is_open(distributor, &record)) {
        return rc;
    }
    rc = distributor_bear(distributor, txn, host, &record, now, &visit_state);
    if (rc != RESULT_OK) {
        return rc; /* the walk comes by again */
    }
    rc = distributor_note(distributor, distributor_refill(distributor, txn, visit_state));
    account(distributor, visit_state);
    if (rc != RESULT_OK || visit_state_count(visit_state) == 0) {
        distributor_rest(distributor, visit_state, now);
        return rc;
    }
    distributor->loaded_at[level < SCHEDULE_MAX_LEVELS ? level : SCHEDULE_MAX_LEVELS - 1]++;
    resolve(distributor, visit_state);
    return RESULT_OK;
}

/* ---- entry points ------------------------------------------------------------------------------
 */

Result distributor_note(Distributor *distributor, Result rc)
{
    bool stays = rc == RESULT_DAMAGED || rc == RESULT_IO || rc == RESULT_INTERNAL;
    if (stays && !distributor->failed) {
        distributor->failed = true;
        LOG_ERROR("distributor", "the database cannot be read",
                  "error=\"%s\" next=\"ragno verify\"", result_name(rc));
        if (distributor->sinks.failed != NULL) {
            distributor->sinks.failed(distributor->sinks.context);
        }
    }
    return rc;
}

MDB_txn *distributor_begin_read(Distributor *distributor)
{
    MDB_txn *txn = NULL;
    int rc = page_db_txn_begin(distributor->db, true, &txn);
    if (rc != 0) {
        LOG_ERROR("distributor", "read transaction failed", "rc=%d", rc);
        return NULL;
    }
    return txn;
}

void distributor_receive(Distributor *distributor, VisitState *visit_state, MonoTime now,
                         WallTime wall)
{
    distributor->wall = wall;
    MDB_txn *txn = distributor_begin_read(distributor);
    if (txn == NULL) {
        visit_state->distributor.retired =
            true; /* its URLs stay scheduled: found again by the next walk */
    }
    if (visit_state->news == NEWS_RESOLVED) {
        resolved(distributor, txn, visit_state, now);
    } else if (visit_state->news == NEWS_ANSWERED) {
        assert(distributor->n_asking > 0);
        distributor->n_asking--;
        dispatch(distributor, txn, visit_state, now);
    } else {
        assert(visit_state->news == NEWS_EMPTY && distributor->n_away > 0);
        distributor->n_away--;
        dispatch(distributor, txn, visit_state, now);
    }
    if (txn != NULL) {
        page_db_txn_abort(distributor->db, txn);
    }
}

void distributor_recall(Distributor *distributor, VisitState *visit_state)
{
    if (!visit_state->distributor.idle && !visit_state->distributor.stale &&
        !visit_state->distributor.recalled) {
        visit_state->distributor.stale = true;
        visit_state->distributor.recalled = true;
        atomic_store(&visit_state->signals.wanted, true);
        distributor->sinks.recall(distributor->sinks.context, visit_state);
    }
}

void distributor_recalled(Distributor *distributor, VisitState *visit_state)
{
    (void)distributor;
    visit_state->distributor.recalled = false;
}

/* Whether the host's committed record makes it wait as long as its visit state does. */
static bool is_on_disk(Distributor *distributor, MDB_txn *txn, const VisitState *visit_state,
                       MonoTime now, WallTime wall)
{
    HostRecord record;
    return txn != NULL &&
           host_table_get(distributor->host_table, txn, visit_state->identity.host, &record) ==
               RESULT_OK &&
           record.not_before_ms - wall.us / 1000 + CLOCKS_DIFFER_MS >=
               mono_ms_between(now, visit_state->politeness.next_fetch);
}

/* Rules that were just fetched are read again from the disk: not before they are there. What
 * a commit has not brought in this time it will not bring. */
static bool awaits_rules(Distributor *distributor, MDB_txn *txn, const VisitState *visit_state,
                         MonoTime now)
{
    HostRecord record;
    return visit_state->distributor.leaving && txn != NULL &&
           mono_ms_between(visit_state->politeness.last_end, now) < RULES_PATIENCE_MS &&
           host_table_get(distributor->host_table, txn, visit_state->identity.host, &record) ==
               RESULT_OK &&
           record.robots_version != visit_state->robots.version;
}

/* Forgets what may be forgotten; wakes what has waited (a failed resolution, URLs that came). */
static void purge(Distributor *distributor, MDB_txn *txn, MonoTime now, WallTime wall)
{
    HeapNode *node = heap_top(&distributor->purge);
    while (node != NULL && node->key <= now.ns) {
        VisitState *visit_state = HEAP_ELEMENT(node, VisitState, distributor.by_purge);
        heap_remove(&distributor->purge, node);
        if (visit_state->distributor.parked && !visit_state->distributor.retired &&
            mono_before(now, visit_state->politeness.next_fetch)) {
            if (visit_state->distributor.uncommitted == 0 && !visit_state->distributor.recalled &&
                is_on_disk(distributor, txn, visit_state, now, wall)) {
                distributor_forget(distributor, visit_state);
            } else {
                distributor_rest(distributor, visit_state, now);
            }
        } else if (visit_state->distributor.retired || visit_state->politeness.dropped ||
                   visit_state->distributor.leaving || !visit_state->distributor.more) {
            if (visit_state->distributor.recalled ||
                (visit_state->distributor.uncommitted > 0 && !visit_state->distributor.retired) ||
                awaits_rules(distributor, txn, visit_state, now)) {
                /* Looked at again soon: its last results are about to be committed. */
                (void)heap_push(&distributor->purge, node, mono_add_ms(now, PAUSE_MS).ns, 0);
            } else {
                if (visit_state->distributor.leaving) {
                    distributor_left_out(distributor, visit_state->identity.host,
                                         visit_state->distributor.leaving_level, now);
                    distributor->next_steer = now; /* its room has been waited for */
                }
                distributor_forget(distributor, visit_state);
            }
        } else if (txn != NULL) {
            dispatch(distributor, txn, visit_state, now);
        }
        node = heap_top(&distributor->purge);
    }
}

MonoTime distributor_work(Distributor *distributor, size_t front, size_t required, MonoTime now,
                          WallTime wall)
{
    distributor->wall = wall;
    if (distributor->failed) {
        return MONO_NEVER;
    }
    MDB_txn *txn = distributor_begin_read(distributor);
    if (txn == NULL) {
        return mono_add_ms(now, PAUSE_MS);
    }
    purge(distributor, txn, now, wall);
    distributor_load_hosts(distributor, txn, front, required, now);
    page_db_txn_abort(distributor->db, txn);
    const HeapNode *node = heap_top(&distributor->purge);
    MonoTime next = node == NULL ? MONO_NEVER : (MonoTime){node->key};
    /* A walk that stopped half-way, or was not needed, goes on when somebody is hungry. */
    MonoTime walk_time = mono_later(distributor->next_walk, distributor->next_steer);
    if (!mono_before(now, walk_time)) {
        walk_time = mono_add_ms(now, PAUSE_MS);
    }
    return mono_before(walk_time, next) ? walk_time : next;
}
