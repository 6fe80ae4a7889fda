#include "frontier/distributor/host_walk.h"

#include "store/schedule/schedule_read.h"
#include "frontier/host/visit_birth.h"
#include "frontier/host/visit_dispatch.h"

#define WALK_IDLE_PAUSE_MS 15000 /* after one that found nothing to load */
#define WALK_PASSED_MS     8     /* for each 8 hosts that it could not load, 1 ms more */
#define WALK_AGAIN_MS      60000 /* it begins anew: hosts that were passed by may be loaded now */

void host_walk_left_out(Distributor *distributor, uint32_t host, unsigned level, MonoTime now)
{
    ScheduleHostCursor *cursor = &distributor->walk.cursor;
    bool is_better = level < distributor->walk.waiting_level; /* equals wait for their turn */
    distributor->walk.waiting_level = is_better ? level : distributor->walk.waiting_level;
    if (!cursor->started) {
        MonoTime soon = mono_add_ms(now, HOST_WALK_PAUSE_MS);
        distributor->walk.next =
            mono_before(soon, distributor->walk.next) ? soon : distributor->walk.next;
    } else if (is_better &&
               (level < cursor->level || (level == cursor->level && host <= cursor->host))) {
        if (level < cursor->level && !distributor->walk.back.started) {
            distributor->walk.back = *cursor;
        }
        *cursor = (ScheduleHostCursor){.started = level > 0 || host > 0,
                                       .level = host > 0 || level == 0 ? level : level - 1,
                                       .host = host > 0 ? host - 1 : UINT32_MAX};
    }
}

static WalkStop host_walk_end(Distributor *distributor, MonoTime now)
{
    /* After a fruitless walk only hosts whose back-off ends can be found: that is not urgent. */
    int64_t pause_ms = distributor->walk.loaded ? HOST_WALK_PAUSE_MS : WALK_IDLE_PAUSE_MS;
    pause_ms += (int64_t)(distributor->walk.n_passed / WALK_PASSED_MS);
    distributor->walk.n_passed = 0;
    distributor->walk.loaded = false;
    distributor->walk.cursor = (ScheduleHostCursor){.started = false};
    distributor->walk.back.started = false;
    distributor->walk.next = mono_add_ms(now, pause_ms);
    distributor->walk.waiting_level = SCHEDULE_NO_LEVEL;
    return WALK_END;
}

bool host_walk_has_room(const Distributor *distributor)
{
    size_t bytes = distributor_memory_most(distributor);
    size_t kept = distributor->steering.wants_lower
                      ? (size_t)(level_bias_lower_share(&distributor->options.bias) * (double)bytes)
                      : 0;
    return distributor_memory(distributor) < bytes - kept;
}

void host_walk_restart(Distributor *distributor, MonoTime now)
{
    ScheduleHostCursor *back = &distributor->walk.back;
    if (distributor->walk.cursor.started &&
        (!back->started || distributor->walk.cursor.level < back->level)) {
        *back = distributor->walk.cursor;
    }
    distributor->walk.cursor = (ScheduleHostCursor){.started = false};
    distributor->walk.again = mono_add_ms(now, WALK_AGAIN_MS);
}

/* True when a walk that was restarted has come to the level it was at: it goes on from its place
 * there, or the first hosts of a level would be loaded again and again before the others. */
static bool goes_back(Distributor *distributor, unsigned level, uint32_t host)
{
    ScheduleHostCursor back = distributor->walk.back;
    if (!back.started || level < back.level) {
        return false;
    }
    distributor->walk.back.started = false;
    if (level > back.level || host > back.host) {
        return false;
    }
    distributor->walk.cursor = back;
    return true;
}

WalkStop host_walk_on(Distributor *distributor, MDB_txn *txn, unsigned limit, MonoTime now)
{
    uint32_t hosts[HOST_WALK_BATCH];
    uint8_t levels[HOST_WALK_BATCH];
    size_t n = 0;
    ScheduleHostCursor place = distributor->walk.cursor;
    Result rc = disk_read_note(distributor,
                               schedule_hosts(distributor->schedule, txn, &distributor->walk.cursor,
                                              hosts, levels, HOST_WALK_BATCH, &n));
    for (size_t i = 0; rc == RESULT_OK && i < n; i++) {
        if (goes_back(distributor, levels[i], hosts[i])) {
            return WALK_ON;
        }
        if (map_get(&distributor->visit_states, map_key(hosts[i])) == NULL) {
            bool is_full = !host_walk_has_room(distributor);
            if (levels[i] >= limit ||
                (is_full && visit_birth_due(distributor, txn, hosts[i]) == VISIT_DUE)) {
                distributor->walk.cursor = place;
                distributor->walk.waiting_level = levels[i];
                return is_full ? WALK_FULL : WALK_WORSE;
            }
            size_t before = distributor->n_resolving;
            if (!is_full) {
                (void)visit_dispatch_load(distributor, txn, hosts[i], levels[i], now);
            }
            distributor->walk.loaded |= distributor->n_resolving > before;
            distributor->walk.n_passed += distributor->n_resolving == before;
        }
        place = (ScheduleHostCursor){true, levels[i], hosts[i]};
    }
    bool goes_on = rc == RESULT_OK && n == HOST_WALK_BATCH && !distributor->failed;
    return goes_on ? WALK_ON : host_walk_end(distributor, now);
}
