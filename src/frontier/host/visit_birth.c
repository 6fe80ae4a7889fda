#include "frontier/host/visit_birth.h"

#include "base/thread/log.h"
#include "frontier/host/visit_home.h"
#include "frontier/visit/visit_turn.h"

#define TEXT_LIMIT ((size_t)2 << 20)

/* The configured delay, and what a resumed crawl owes. */
static void set_delays(const Distributor *distributor, VisitState *visit_state,
                       int64_t crawl_delay_ms)
{
    const DistributorOptions *options = &distributor->options;
    visit_state->politeness.delay_ms = options->host_delay_ms;
    if (options->host_delay != NULL) {
        visit_state->politeness.delay_ms = options->host_delay(
            options->context, visit_state->identity.hostname, options->host_delay_ms);
    }
    if (options->floor.ns > 0) {
        int64_t owed = politeness_host_delay(&distributor->politeness,
                                             visit_state->politeness.delay_ms, crawl_delay_ms, 0);
        visit_state->politeness.next_fetch = mono_add_ms(options->floor, owed);
    }
}

/* What its record tells of how it answers, on average. */
static StandingRecord standing_of_record(const HostRecord *record)
{
    uint32_t n = record->fetches > 0 ? record->fetches : 1;
    return (StandingRecord){
        .has_answered = record->fetches > record->by_status[0],
        .is_proven = record->pages > 0 || record->duplicates > 0,
        .is_slow = standing_is_slow((int64_t)(record->fetch_ms / n), record->bytes / n, 0)};
}

/* The delay since the last fetch is owed whatever else the record says: that of a host that was
 * brought back says nothing. A clock that was set makes it no longer than the delay. */
static void owe_delay(const Distributor *distributor, VisitState *visit_state,
                      const HostRecord *record, MonoTime now)
{
    int64_t owed = politeness_host_delay(&distributor->politeness, visit_state->politeness.delay_ms,
                                         (int64_t)record->crawl_delay_ms, 0) +
                   1;
    int64_t left = record->last_fetch_ms + owed - distributor->wall.us / 1000;
    if (record->last_fetch_ms > 0 && left > 0) {
        visit_turn_put_off(visit_state, now, left < owed ? left : owed);
    }
}

static void restore_robots(Distributor *distributor, MDB_txn *txn, VisitState *visit_state,
                           const HostRecord *record, MonoTime now, WallTime wall)
{
    visit_state->robots.version = record->robots_version;
    if (record->robots_version == 0) {
        return;
    }
    HostRows *table = distributor->host_rows;
    VisitRobots *robots = &visit_state->robots;
    uint32_t host = visit_state->identity.host;
    int64_t left = record->robots_expiry_ms - wall.us / 1000;
    int64_t most = distributor->options.robots_expiry_ms;
    left = most > 0 && left > most ? most : left; /* written while the clock was ahead */
    if (record->robots_state != ROBOTS_KNOWN || left <= 0) {
        Buffer *body = &distributor->text;
        buffer_reset(body);
        (void)host_rows_get_robots(table, txn, host, body);
        robots->hash = robots_content_hash(body->data, body->length);
        return;
    }
    RslReader reader = {.origin = visit_state->identity.origin,
                        .user = distributor->options.licence_user};
    Result rc = host_rows_get_rules(table, txn, host, distributor->options.robots_agent, &reader,
                                    &robots->rules, &robots->hash);
    if (rc == RESULT_OK) {
        visit_state->robots.state = ROBOTS_KNOWN;
        visit_state->robots.allowance = ROBOTS_NEW_ALLOWANCE;
        visit_state->robots.expiry = mono_add_ms(now, left);
    }
}

/* The times of a guest are those of the host. False: the guest is away, and the host must wait. */
static bool take_over_guest(Distributor *distributor, VisitState *visit_state)
{
    VisitState *guest = visit_guest_find(distributor, visit_state->identity.origin,
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
    visit_home_forget(distributor, guest);
    return true;
}

Result visit_birth_host(Distributor *distributor, MDB_txn *txn, uint32_t host,
                        const HostRecord *record, MonoTime now, VisitState **out)
{
    Buffer origin = {.limit = TEXT_LIMIT};
    VisitState *visit_state = NULL;
    Result rc = RESULT_OK;
    if (page_db_host_origin(distributor->db, txn, host, &origin) != 0) {
        rc = disk_read_note(distributor, RESULT_DAMAGED); /* a host with work has a name */
    }
    if (rc == RESULT_OK) {
        rc = visit_state_new(&visit_state, host, origin.data, origin.length);
        rc = rc == RESULT_INVALID ? disk_read_note(distributor, RESULT_DAMAGED) : rc;
    }
    buffer_destroy(&origin);
    if (rc == RESULT_OK) {
        set_delays(distributor, visit_state, (int64_t)record->crawl_delay_ms);
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
    visit_state->distributor.placed = record->address != 0;
    visit_state->window.bias = distributor->options.bias;
    visit_state->window.ticket =
        distributor->births++; /* or each would begin with a lower level's turn */
    visit_state->politeness.health =
        (HostHealth){.failures = record->failures,
                     .last = (FetchClass)record->last_failure,
                     .extra_ms = record->extra_ms,
                     .rested_ms = record->rested_ms,
                     .judgements = (uint16_t)(record->judgements + POLITENESS_JUDGEMENTS_LEAP)};
    if (record->failures > 0 && record->last_failure == FETCH_WALL) {
        visit_state->politeness.walls =
            (WallRun){.length = UINT32_MAX / 2, .same = record->wall_mark};
    }
    visit_state->politeness.standing = standing_of_record(record);
    restore_robots(distributor, txn, visit_state, record, now, distributor->wall);
    owe_delay(distributor, visit_state, record, now);
    int64_t wait = distributor_wait_ms(distributor, record);
    if (wait > 0) {
        visit_turn_put_off(visit_state, now, wait);
    }
    *out = visit_state;
    return RESULT_OK;
}

Result visit_birth_guest(Distributor *distributor, const char *origin, size_t length,
                         VisitState **out)
{
    VisitState *guest = NULL;
    Result rc = visit_state_new(&guest, UINT32_MAX, origin, length);
    if (rc == RESULT_OK) {
        guest->identity.guest = true;
        guest->distributor.retired = true;
        set_delays(distributor, guest, -1);
        rc = map_put(&distributor->guests,
                     map_key_of(guest->identity.origin, guest->identity.origin_length), guest);
    }
    if (rc != RESULT_OK) {
        visit_state_delete(guest);
        return rc;
    }
    *out = guest;
    return RESULT_OK;
}

bool visit_birth_is_open(const Distributor *distributor, const HostRecord *record)
{
    return (record->state == HOST_ACTIVE ||
            (record->state == HOST_FULL && distributor->options.visits_full_hosts)) &&
           distributor_wait_ms(distributor, record) <= VISIT_FAR_MS;
}

bool visit_birth_is_nameless(const Distributor *distributor, const HostRecord *record)
{
    return record->address == 0 && distributor->sinks.placed != NULL;
}

VisitDue visit_birth_due(Distributor *distributor, MDB_txn *txn, uint32_t host)
{
    HostRecord record;
    distributor->steering.reads++;
    page_db_looked_up(distributor->db, 1);
    if (host_rows_get(distributor->host_rows, txn, host, &record) != RESULT_OK ||
        !visit_birth_is_open(distributor, &record)) {
        return VISIT_NOT_DUE;
    }
    bool is_nameless = visit_birth_is_nameless(distributor, &record);
    distributor->names.waits |= is_nameless;
    return is_nameless ? VISIT_NAMELESS : VISIT_DUE;
}
