#include "frontier/host/visit_home.h"

#include <string.h>

#include "frontier/host/visit_window.h"

/* ---- Guest ---- */

VisitState *visit_guest_find(Distributor *distributor, const char *origin, size_t length)
{
    VisitState *guest = map_get(&distributor->guests, map_key_of(origin, length));
    return guest != NULL && guest->identity.origin_length == length &&
                   memcmp(guest->identity.origin, origin, length) == 0
               ? guest
               : NULL;
}

/* ---- Home ---- */

#define PAUSE_MS         1000  /* until a visit state that wants more URLs asks again */
#define DROP_PATIENCE_MS 60000 /* a host given up is kept so long for its commit */

bool visit_home_is_scarce(const Distributor *distributor)
{
    return distributor->memory > distributor->options.memory_bytes / 2;
}

void visit_home_account(Distributor *distributor, VisitState *visit_state)
{
    size_t memory = visit_state_memory(visit_state);
    size_t change = memory - visit_state->distributor.accounted; /* modular: may shrink */
    distributor->memory += change;
    distributor->names.bytes += visit_state->distributor.nameless ? change : 0;
    visit_state->distributor.accounted = memory;
}

void visit_home_keep(Distributor *distributor, VisitState *visit_state)
{
    distributor->steering.n_leaving -= visit_state->distributor.leaving;
    visit_state->distributor.leaving = false;
}

void visit_home_name(Distributor *distributor, VisitState *visit_state)
{
    NameRoom *names = &distributor->names;
    if (!visit_state->distributor.nameless) {
        return;
    }
    visit_state->distributor.nameless = false;
    names->bytes -= visit_state->distributor.accounted;
    names->count--;
    for (size_t kind = 0; kind < NAME_KINDS; kind++) {
        uint16_t source = visit_state->distributor.sources[kind];
        if (source != 0) {
            names->held[kind][source]--;
            names->n_sources[kind] -= names->held[kind][source] == 0;
        }
    }
}

/* When the delay behind its last fetch ends, whatever rest a failure has cost. */
static MonoTime delay_end(const Distributor *distributor, const VisitState *visit_state)
{
    const VisitPoliteness *politeness = &visit_state->politeness;
    int64_t crawl_delay_ms =
        visit_state->robots.rules == NULL ? -1 : robots_crawl_delay_ms(visit_state->robots.rules);
    int64_t delay_ms =
        politeness_host_delay(&distributor->politeness, politeness->delay_ms, crawl_delay_ms, 0);
    return mono_add_ms(politeness->last_end, delay_ms + 1);
}

void visit_home_replan(Distributor *distributor, VisitState *visit_state, MonoTime now)
{
    const DistributorOptions *options = &distributor->options;
    VisitPoliteness *politeness = &visit_state->politeness;
    MonoTime oldest = mono_add_ms(now, options->robots_expiry_ms);
    visit_state->distributor.replanned = false;
    if (options->robots_expiry_ms > 0 && mono_before(oldest, visit_state->robots.expiry)) {
        visit_state->robots.expiry = oldest;
    }
    if (options->host_delay == NULL) {
        return;
    }
    politeness->delay_ms = options->host_delay(options->context, visit_state->identity.hostname,
                                               options->host_delay_ms);
    bool was_asked = politeness->last_end.ns != 0;
    if (!was_asked && options->floor.ns == 0) {
        return;
    }
    bool has_crawl_delay =
        visit_state->robots.rules != NULL && robots_crawl_delay_ms(visit_state->robots.rules) > 0;
    bool is_well = politeness->health.failures == 0 && politeness->health.extra_ms == 0;
    MonoTime end = was_asked ? delay_end(distributor, visit_state)
                             : mono_add_ms(options->floor, politeness->delay_ms + 1);
    bool may_shorten = is_well && !has_crawl_delay;
    politeness->next_fetch = may_shorten ? end : mono_later(politeness->next_fetch, end);
    politeness->owed_ms = may_shorten ? politeness->delay_ms : politeness->owed_ms;
}

void visit_home_rest(Distributor *distributor, VisitState *visit_state, MonoTime now)
{
    visit_state->place = VISIT_STATE_IDLE;
    visit_state->distributor.idle = true;
    int64_t least_ms = visit_state->distributor.more ? PAUSE_MS : 0;
    if (visit_state->distributor.retired || visit_state->distributor.leaving) {
        least_ms = 0;
    } else if (visit_state->politeness.dropped) {
        least_ms = DROP_PATIENCE_MS;
    }
    MonoTime until = mono_later(visit_state->politeness.next_fetch, mono_add_ms(now, least_ms));
    if (visit_state->distributor.revived) {
        until = delay_end(distributor, visit_state); /* what it waits for is over */
    }
    if (visit_state->distributor.parked) {
        until = mono_add_ms(now, PAUSE_MS);
    }
    if (!heap_holds(&visit_state->distributor.by_purge)) {
        (void)heap_push(&distributor->purge, &visit_state->distributor.by_purge, until.ns, 0);
    }
}

void visit_home_recall(Distributor *distributor, VisitState *visit_state)
{
    if (!visit_state->distributor.idle && !visit_state->distributor.stale &&
        !visit_state->distributor.recalled) {
        visit_state->distributor.stale = true;
        visit_state->distributor.recalled = true;
        atomic_store(&visit_state->signals.wanted, true);
        distributor->sinks.recall(distributor->sinks.todo, visit_state);
    }
}

void visit_home_forget(Distributor *distributor, VisitState *visit_state)
{
    heap_remove(&distributor->purge, &visit_state->distributor.by_purge);
    visit_home_keep(distributor, visit_state);
    visit_window_release(distributor, visit_state);
    if (visit_state->identity.guest) {
        (void)map_remove(&distributor->guests, map_key_of(visit_state->identity.origin,
                                                          visit_state->identity.origin_length));
    } else {
        (void)map_remove(&distributor->visit_states, map_key(visit_state->identity.host));
    }
    if (visit_state->distributor.awaited) {
        distributor->sinks.peers.left(distributor->sinks.peers.context, visit_state->identity.host);
    }
    visit_home_name(distributor, visit_state);
    distributor_set_uncommitted(distributor, visit_state, 0); /* a retired one may have some */
    distributor->memory -= visit_state->distributor.accounted;
    visit_state_delete(visit_state);
}
