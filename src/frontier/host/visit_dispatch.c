#include "frontier/host/visit_dispatch.h"

#include "base/thread/log.h"
#include "frontier/host/visit_birth.h"
#include "frontier/host/visit_errand.h"
#include "frontier/host/visit_home.h"
#include "frontier/host/visit_window.h"

static void visit_dispatch_resolve(Distributor *distributor, VisitState *visit_state)
{
    visit_state->place = VISIT_STATE_RESOLVING;
    distributor->n_resolving++;
    distributor->sinks.resolve(distributor->sinks.context, visit_state);
}

/* True: an evicted visit state that came home rests until it may be forgotten. One that serves
 * others stays. */
static bool visit_dispatch_leave(Distributor *distributor, VisitState *visit_state, MonoTime now)
{
    if (visit_state->errands.askers != NULL || visit_state->robots.elsewhere ||
        visit_state->distributor.retired || visit_state->politeness.dropped) {
        visit_home_keep(distributor, visit_state);
    }
    if (!visit_state->distributor.leaving) {
        return false;
    }
    visit_window_release(distributor, visit_state);
    if (visit_state->robots.rules != NULL &&
        robots_bytes(visit_state->robots.rules) > VISIT_STATE_LARGE) {
        robots_delete(visit_state->robots.rules); /* not kept until it may be forgotten */
        visit_state->robots.rules = NULL;
        visit_state->robots.state = ROBOTS_UNKNOWN;
    }
    visit_home_account(distributor, visit_state);
    visit_state->distributor.more = true;
    visit_state->distributor.capped = false;
    if (mono_ms_between(now, visit_state->politeness.next_fetch) > VISIT_FAR_MS) {
        visit_home_keep(distributor, visit_state); /* its room cannot be waited for */
        visit_state->distributor.parked = true;
    }
    visit_home_rest(distributor, visit_state, now);
    return true;
}

/* Rules are as large as the host wants: when there is no memory for all, those who have many make
 * room behind a visit, and are read again with the next window. One that was just loaded may fetch
 * first. */
static void shed(Distributor *distributor, VisitState *visit_state)
{
    visit_home_account(distributor, visit_state);
    if (visit_state->news == NEWS_EMPTY && !visit_state->distributor.leaving &&
        !visit_state->identity.guest && visit_state->distributor.accounted > VISIT_STATE_LARGE &&
        distributor->memory > distributor->options.memory_bytes) {
        visit_state->distributor.leaving = true;
        visit_state->distributor.leaving_level = (uint8_t)visit_state_level(visit_state);
        distributor->steering.n_leaving++;
        distributor->steering.evictions++;
    }
}

/* True when the visit state went with the one that has its robots.txt. */
static bool go_on_errand(Distributor *distributor, MDB_txn *txn, VisitState *asker, MonoTime now)
{
    VisitState *wakes = NULL;
    bool went = visit_errand_send(distributor, txn, asker, now, &wakes);
    if (wakes != NULL) {
        visit_dispatch(distributor, txn, wakes, now); /* it serves: it goes on no errand itself */
    }
    return went;
}

void visit_dispatch(Distributor *distributor, MDB_txn *txn, VisitState *visit_state, MonoTime now)
{
    heap_remove(&distributor->purge, &visit_state->distributor.by_purge);
    visit_state->distributor.idle = false;
    visit_state->distributor.parked = false;
    if (visit_state->distributor.replanned) {
        visit_home_replan(distributor, visit_state, now);
    }
    if (visit_state->distributor.stale) {
        visit_state->distributor.stale = false;
        visit_state->distributor.appetite = visit_state->window.count / 2;
        visit_window_release_ready(distributor, visit_state);
    }
    visit_errand_take_waiting(visit_state);
    shed(distributor, visit_state);
    if (visit_dispatch_leave(distributor, visit_state, now)) {
        return;
    }
    bool serves = visit_state->errands.askers != NULL; /* before it asks itself: invariant 4 */
    bool gone = visit_state->distributor.retired || visit_state->politeness.dropped;
    if (!serves && !gone && visit_state->robots.elsewhere && visit_state->errands.answer == NULL &&
        go_on_errand(distributor, txn, visit_state, now)) {
        return;
    }
    gone |= visit_state->politeness.dropped;
    if (!gone && visit_state_n_ready(visit_state) == 0) {
        visit_state->distributor.more = false;
        Result rc = disk_read_note(distributor, visit_window_refill(distributor, txn, visit_state));
        if (rc != RESULT_OK) {
            LOG_WARN("distributor", "refill failed", "host=%s error=\"%s\"",
                     visit_state->identity.origin, result_name(rc));
            visit_state->distributor.more = true; /* tried again when it is next looked at */
        }
    }
    visit_home_account(distributor, visit_state);
    if (gone) {
        visit_window_release(distributor, visit_state);
    }
    if (!serves && visit_state_count(visit_state) == 0) {
        visit_home_rest(distributor, visit_state, now);
    } else if (!serves && visit_home_is_scarce(distributor) &&
               mono_ms_between(now, visit_state->politeness.next_fetch) > VISIT_FAR_MS) {
        visit_window_release(distributor, visit_state);
        visit_home_account(distributor, visit_state);
        visit_state->distributor.more = true;
        visit_state->distributor.parked = true;
        visit_home_rest(distributor, visit_state, now);
    } else if (!mono_before(now, visit_state->address.expiry)) {
        visit_dispatch_resolve(distributor, visit_state);
    } else {
        distributor->n_away++;
        visit_state->place = VISIT_STATE_QUEUED;
        distributor->sinks.ready(distributor->sinks.todo, visit_state);
    }
}

/* Makes the visit state of a host, and sends it to the resolver. NULL: it was not made. */
static Result visit_dispatch_bear(Distributor *distributor, MDB_txn *txn, uint32_t host,
                                  const HostRecord *record, MonoTime now, VisitState **out)
{
    VisitState *visit_state = NULL;
    Result rc = visit_birth_host(distributor, txn, host, record, now, &visit_state);
    *out = visit_state;
    if (rc != RESULT_OK) {
        return rc; /* the walk comes by again */
    }
    if (!port_set_has(distributor->options.ports, visit_state->identity.port)) {
        visit_state->politeness.dropped = true;
        distributor->sinks.drop(distributor->sinks.context, visit_state, FETCH_BAD_PORT);
    } else {
        rc = disk_read_note(distributor, visit_window_refill(distributor, txn, visit_state));
    }
    visit_home_account(distributor, visit_state);
    if (rc != RESULT_OK || visit_state_count(visit_state) == 0) {
        visit_home_rest(distributor, visit_state, now);
    } else {
        visit_dispatch_resolve(distributor, visit_state);
    }
    return rc;
}

Result visit_dispatch_load(Distributor *distributor, MDB_txn *txn, uint32_t host, unsigned level,
                           MonoTime now)
{
    HostRecord record;
    VisitState *visit_state = NULL;
    Result rc =
        disk_read_note(distributor, host_rows_get(distributor->host_rows, txn, host, &record));
    page_db_looked_up(distributor->db, 3); /* the host, its robots.txt, its schedule */
    if (rc != RESULT_OK || !visit_birth_is_open(distributor, &record)) {
        return rc;
    }
    if (visit_birth_is_nameless(distributor, &record)) {
        distributor->names.waits = true;
        return RESULT_OK;
    }
    rc = visit_dispatch_bear(distributor, txn, host, &record, now, &visit_state);
    if (visit_state != NULL && visit_state_count(visit_state) > 0) {
        distributor->steering
            .loaded_at[level < SCHEDULE_MAX_LEVELS ? level : SCHEDULE_MAX_LEVELS - 1]++;
    }
    return rc;
}

Result visit_dispatch_load_name(Distributor *distributor, MDB_txn *txn, uint32_t host,
                                const HostRecord *record, const uint16_t sources[NAME_KINDS],
                                MonoTime now)
{
    NameRoom *names = &distributor->names;
    VisitState *visit_state = NULL;
    Result rc = visit_dispatch_bear(distributor, txn, host, record, now, &visit_state);
    if (visit_state == NULL) {
        return rc;
    }
    visit_state->distributor.nameless = true;
    names->bytes += visit_state->distributor.accounted;
    names->count++;
    for (size_t kind = 0; kind < NAME_KINDS; kind++) {
        visit_state->distributor.sources[kind] = sources[kind];
        if (sources[kind] != 0) {
            names->n_sources[kind] += names->held[kind][sources[kind]] == 0;
            names->held[kind][sources[kind]]++;
        }
    }
    return rc;
}
