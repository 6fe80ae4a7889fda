#include "frontier/distributor/name_walk.h"

#include "base/core/hash.h"
#include "frontier/distributor/host_walk.h"
#include "frontier/host/visit_birth.h"
#include "frontier/host/visit_dispatch.h"
#include "frontier/host/visit_home.h"
#include "store/pages/page_db_read.h"
#include "store/schedule/schedule_read.h"

#define NAME_WALK_BATCHES  16u   /* at one look */
#define NAME_PAUSE_MS      100   /* between two looks of the scout */
#define NAME_IDLE_PAUSE_MS 15000 /* after a walk that left none but those that are not due */
#define NAME_BYTES         1200u /* of a visit state without an address, about */
#define NAME_LEAST_TURN    256u  /* a source may always hold a part of so many */

/* ---- turns ---- */

static size_t names_most_count(const Distributor *distributor)
{
    return distributor_names_most(distributor) / NAME_BYTES;
}

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
    size_t all = names_most_count(distributor);
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
    if (disk_read_note(distributor, host_table_get(distributor->host_table, txn, host, &record)) !=
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

bool name_walk_offer(Distributor *distributor, MDB_txn *txn, uint32_t host, unsigned level,
                     MonoTime now)
{
    NameRoom *names = &distributor->names;
    if (txn == NULL || distributor->sinks.placed == NULL) {
        return false;
    }
    NameStop stop = visit_home_has_room(distributor) ? name_take(distributor, txn, host, now)
                    : visit_birth_due(distributor, txn, host) == VISIT_NAMELESS ? NAME_NO_TURN
                                                                                : NAME_IS_PLACED;
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

MonoTime name_walk(Distributor *distributor, MDB_txn *txn, unsigned limit, MonoTime now)
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
