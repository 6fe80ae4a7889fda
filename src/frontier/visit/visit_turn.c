#include "frontier/visit/visit_turn.h"

void visit_turn_begin(VisitState *visit_state)
{
    visit_state->turn = (VisitTurn){.requests = 0};
}

void visit_turn_ask(VisitState *visit_state, MonoTime now)
{
    VisitTurn *turn = &visit_state->turn;
    if (turn->requests == 0) {
        turn->start = now;
    }
    turn->requests++;
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
           visit_state_count(visit_state) > 0;
}

bool visit_turn_end(VisitState *visit_state, const PolitenessOptions *options,
                    const PolitenessVerdict *verdict, MonoTime end)
{
    VisitTurn *turn = &visit_state->turn;
    turn->goes_on = options->keep_alive_ms > 0 &&
                    mono_before(end, mono_add_ms(turn->start, options->keep_alive_ms)) &&
                    is_at_ease(visit_state, verdict);
    return turn->goes_on;
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

void visit_turn_put_off(VisitState *visit_state, MonoTime now, int64_t ms)
{
    MonoTime *next = &visit_state->politeness.next_fetch;
    *next = mono_later(*next, mono_add_ms(now, ms));
}
