#include "frontier/visit/visit_turn.h"

static Standing standing_now(const VisitState *visit_state)
{
    return standing_of(&visit_state->politeness.standing, &visit_state->politeness.health);
}

void visit_turn_begin(VisitState *visit_state)
{
    visit_state->turn = (VisitTurn){.standing = standing_now(visit_state)};
}

void visit_turn_ask(VisitState *visit_state, MonoTime now)
{
    VisitTurn *turn = &visit_state->turn;
    if (turn->requests == 0) {
        turn->start = now;
        turn->level = visit_state_level(visit_state);
    }
    turn->requests++;
    turn->in_flight++;
    turn->goes_on = false;
}

bool visit_turn_has_asked(const VisitState *visit_state)
{
    return visit_state->turn.requests > 0;
}

/* The host is well, is owed its configured delay and nothing else, and has something to ask for. */
static bool is_at_ease(const VisitState *visit_state, const PolitenessVerdict *verdict)
{
    const Robots *rules = visit_state->robots.rules;
    return verdict->host_wait_ms <= visit_state->politeness.delay_ms && !verdict->retry &&
           visit_state->politeness.health.failures == 0 && !visit_state->politeness.dropped &&
           (rules == NULL || robots_crawl_delay_ms(rules) <= 0) &&
           visit_state->errands.askers == NULL && !atomic_load(&visit_state->signals.wanted) &&
           standing_now(visit_state) == visit_state->turn.standing &&
           visit_state_n_ready(visit_state) > 0;
}

/* Nothing is owed, and the time of the turn is not over. */
static bool is_free(const VisitState *visit_state, const PolitenessVerdict *verdict, MonoTime end)
{
    const VisitTurn *turn = &visit_state->turn;
    return verdict->host_wait_ms == 0 && verdict->ip_wait_ms == 0 &&
           visit_state_level(visit_state) <= turn->level &&
           mono_before(end, mono_add_ms(turn->start, VISIT_TURN_FREE_MS));
}

bool visit_turn_end(VisitState *visit_state, const PolitenessOptions *options,
                    const PolitenessVerdict *verdict, MonoTime end)
{
    VisitTurn *turn = &visit_state->turn;
    bool is_kept = options->keep_alive_ms > 0 && turn->in_flight <= 1 &&
                   mono_before(end, mono_add_ms(turn->start, options->keep_alive_ms));
    turn->goes_on =
        (is_kept || is_free(visit_state, verdict, end)) && is_at_ease(visit_state, verdict) &&
        (!visit_turn_is_wide(visit_state) || !mono_before(end, visit_state->politeness.next_fetch));
    turn->has_failed =
        !turn->goes_on && (turn->has_failed || visit_state->politeness.health.failures > 0);
    return turn->goes_on;
}

bool visit_turn_may_widen(const VisitState *visit_state, const PolitenessOptions *options,
                          unsigned most, MonoTime now)
{
    const VisitTurn *turn = &visit_state->turn;
    const VisitPoliteness *politeness = &visit_state->politeness;
    const Robots *rules = visit_state->robots.rules;
    int64_t crawl_delay_ms = rules == NULL ? -1 : robots_crawl_delay_ms(rules);
    MonoTime before = politeness->fetch_before;
    return turn->in_flight > 0 && turn->in_flight < most && options->ip_delay_ms == 0 &&
           options->adaptive_factor <= 0 &&
           politeness_host_delay(options, politeness->delay_ms, crawl_delay_ms, 0) == 0 &&
           politeness->health.failures == 0 && !turn->has_failed && !politeness->dropped &&
           visit_state->errands.askers == NULL && !atomic_load(&visit_state->signals.wanted) &&
           visit_state_n_ready(visit_state) > 0 && (before.ns == 0 || mono_before(now, before)) &&
           mono_before(now, mono_add_ms(turn->start, VISIT_TURN_FREE_MS));
}

bool visit_turn_is_wide(const VisitState *visit_state)
{
    return visit_state->turn.in_flight > 1 || visit_state->turn.has_failed;
}

void visit_turn_land(VisitState *visit_state)
{
    VisitTurn *turn = &visit_state->turn;
    turn->in_flight -= turn->in_flight > 0;
}

bool visit_turn_has_landed(const VisitState *visit_state)
{
    return visit_state->turn.in_flight == 0;
}

bool visit_turn_goes_on(const VisitState *visit_state)
{
    return visit_state->turn.goes_on;
}

unsigned visit_turn_burst(const VisitState *visit_state)
{
    const VisitTurn *turn = &visit_state->turn;
    return turn->goes_on || turn->requests > 1 ? turn->requests : 0;
}

bool visit_turn_slow_down(VisitState *visit_state, LiveShares *shares)
{
    VisitTurn *turn = &visit_state->turn;
    if (turn->slowed || turn->standing == STANDING_ILL) {
        return false;
    }
    turn->slowed = true;
    atomic_fetch_add(&shares->slowed[turn->standing], 1);
    return true;
}

void visit_turn_leave(VisitState *visit_state, LiveShares *shares)
{
    VisitTurn *turn = &visit_state->turn;
    if (turn->slowed) {
        turn->slowed = false;
        atomic_fetch_sub(&shares->slowed[turn->standing], 1);
    }
}

void visit_turn_put_off(VisitState *visit_state, MonoTime now, int64_t ms)
{
    MonoTime *next = &visit_state->politeness.next_fetch;
    *next = mono_later(*next, mono_add_ms(now, ms));
}
