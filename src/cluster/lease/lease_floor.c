#include "cluster/lease/lease_floor.h"

void lease_floor_init(LeaseFloor *floor, const LeaseRules *rules, uint16_t self, MonoTime now)
{
    int64_t rest_ms = lease_rest_ms(rules);
    *floor = (LeaseFloor){.rest_ms = rest_ms,
                          .confirm_ms = rules->confirm_ms,
                          .self = self,
                          .floor = mono_add_ms(now, rest_ms),
                          .confirmed_until = now};
}

void lease_floor_destroy(LeaseFloor *floor)
{
    for (size_t i = 0; i < floor->n_formers; i++) {
        arbiters_destroy(&floor->formers[i].arbiters);
    }
    arbiters_destroy(&floor->arbiters);
    floor->n_formers = 0;
}

/* Forgets arbiters of whom nothing can be left. */
static void drop_formers(LeaseFloor *floor, MonoTime now)
{
    size_t kept = 0;
    for (size_t i = 0; i < floor->n_formers; i++) {
        LeaseFormer *former = &floor->formers[i];
        if (mono_before(now, mono_add_ms(former->until, floor->rest_ms))) {
            floor->formers[kept++] = *former;
        } else {
            arbiters_destroy(&former->arbiters);
        }
    }
    floor->n_formers = kept;
}

MonoTime lease_floor_of(const LeaseFloor *floor, const IpAddress *address)
{
    MonoTime first = floor->floor;
    for (size_t i = 0; i < floor->n_formers; i++) {
        const LeaseFormer *former = &floor->formers[i];
        if (arbiters_find(&former->arbiters, address) != floor->self) {
            first = mono_later(first, mono_add_ms(former->until, floor->rest_ms));
        }
    }
    return first;
}

MonoTime lease_floor_end(const LeaseFloor *floor)
{
    MonoTime end = floor->floor;
    for (size_t i = 0; i < floor->n_formers; i++) {
        end = mono_later(end, mono_add_ms(floor->formers[i].until, floor->rest_ms));
    }
    return end;
}

/* The first table: when the rest may be shorter, and until when it is then. */
static bool rests_less(const LeaseFloor *floor, uint64_t epoch, MonoTime now, MonoTime *until)
{
    int64_t kept_ms = floor->kept.rest_ms;
    bool none_before = floor->first && floor->original;
    bool is_kept = floor->kept.epoch == epoch && kept_ms < floor->rest_ms;
    *until = none_before ? now : mono_add_ms(now, kept_ms + kept_ms / LEASE_DRIFT + 1);
    return none_before || is_kept;
}

/* While the cluster is as it was made, there was never another arbiter of an address, whatever
 * tables were not seen; and when no former process of this agent was one, there is nothing to wait
 * for. Under the table of the former process there was none in between, and it said what it had
 * granted. A table that was not seen may have made another agent the arbiter of any address. If it
 * had been there while the last confirmation was good, that agent would rest still, and has granted
 * nothing.
 */
LeaseFloorChange lease_floor_set(LeaseFloor *floor, Arbiters *arbiters, uint64_t epoch,
                                 MonoTime now)
{
    bool begins = floor->epoch == 0;
    MonoTime until = {0};
    if (begins && rests_less(floor, epoch, now, &until)) {
        floor->floor = until;
        floor->epoch = epoch;
        floor->arbiters = *arbiters;
        *arbiters = (Arbiters){.n = 0};
        return LEASE_FLOOR_MOVED;
    }
    bool lapsed = !lease_floor_may_grant(floor, now) && (begins || !floor->original);
    bool same = epoch == floor->epoch;
    if (same || (!lapsed && arbiters_equal(&floor->arbiters, arbiters))) {
        floor->epoch = epoch;
        arbiters_destroy(arbiters);
        return LEASE_FLOOR_SAME;
    }
    drop_formers(floor, now);
    bool raised = lapsed || floor->n_formers == LEASE_FLOOR_TABLES;
    if (raised) {
        floor->floor = mono_add_ms(now, floor->rest_ms);
        arbiters_destroy(&floor->arbiters);
    } else {
        floor->formers[floor->n_formers++] = (LeaseFormer){floor->arbiters, now};
    }
    floor->epoch = epoch;
    floor->arbiters = *arbiters;
    *arbiters = (Arbiters){.n = 0};
    return raised ? LEASE_FLOOR_RAISED : LEASE_FLOOR_MOVED;
}

void lease_floor_confirm(LeaseFloor *floor, MonoTime asked)
{
    floor->confirmed_until =
        mono_later(floor->confirmed_until, mono_add_ms(asked, floor->confirm_ms));
}

void lease_floor_lapse(LeaseFloor *floor, MonoTime now)
{
    floor->confirmed_until =
        mono_before(now, floor->confirmed_until) ? now : floor->confirmed_until;
}
