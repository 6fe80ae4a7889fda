#include "cluster/desk/lease_desk.h"

#include <stdlib.h>
#include <string.h>

#define AGENT_BITS 16u
#define PACE_MOST  1000 /* with very many agents */

Result lease_desk_init(LeaseDesk *desk, NodeLink *link, const LeaseRules *rules, size_t addresses,
                       uint64_t dead_below, bool alone, const LeaseNoticeSink *sink, MonoTime now)
{
    memset(desk, 0, sizeof *desk);
    desk->link = link;
    desk->rules = *rules;
    desk->rules.lead_ms = link->wire < LEASE_WAIT_WIRE ? 0 : rules->lead_ms;
    desk->dead_below = dead_below;
    desk->alone = alone;
    desk->pace_ms = rules->pace_ms;
    desk->next_census = MONO_NEVER;
    desk->begun = now;
    Result rc = lease_arbiter_new(&desk->arbiter, &desk->rules, link->head.from, addresses, now);
    return rc == RESULT_OK ? lease_holder_new(&desk->holder, rules, sink) : rc;
}

void lease_desk_destroy(LeaseDesk *desk)
{
    lease_arbiter_delete(desk->arbiter);
    lease_holder_delete(desk->holder);
    free(desk->counted);
}

/* Nobody is counted yet under this table. Others have it by the time of a pace, and when many start
 * at once the next one comes soon after. */
static void begin_census(LeaseDesk *desk, MonoTime now)
{
    desk->census++;
    desk->counting = true;
    desk->next_census = mono_add_ms(now, 2 * desk->link->pace_ms + CENSUS_AGAIN_MS / 10);
}

Result lease_desk_set(LeaseDesk *desk, const ClusterTable *table, MonoTime now)
{
    Arbiters one, other;
    if (table->n_agents > desk->n_agents) {
        uint8_t *more = reallocarray(desk->counted, table->n_agents, 1);
        if (more == NULL) {
            return RESULT_MEMORY;
        }
        memset(more + desk->n_agents, 0, table->n_agents - desk->n_agents);
        desk->counted = more;
        desk->n_agents = table->n_agents;
    }
    /* Answers by another table do not count; an agent that nobody has ever been holds nothing. */
    for (uint32_t i = 0; i < desk->n_agents && i < table->n_agents; i++) {
        bool nobody = table->agents[i].life == 1 && table->agents[i].claimed == 0;
        desk->counted[i] = nobody ? COUNTED_NOBODY : COUNTED_NOT;
    }
    Result rc = arbiters_of_table(&one, table);
    if (rc == RESULT_OK) {
        rc = arbiters_of_table(&other, table);
    }
    if (rc != RESULT_OK) {
        arbiters_destroy(&one);
        return rc;
    }
    int64_t pace = desk->rules.pace_ms + (int64_t)one.n;
    desk->pace_ms = pace < PACE_MOST ? pace : PACE_MOST;
    lease_holder_set_pace(desk->holder, desk->pace_ms);
    if (lease_arbiter_set(desk->arbiter, &one, table->epoch, now)) {
        begin_census(desk, now);
    }
    lease_holder_set(desk->holder, &other, now);
    return RESULT_OK;
}

void lease_desk_close(LeaseDesk *desk, MonoTime now)
{
    lease_holder_give_back(desk->holder, now);
    lease_arbiter_close(desk->arbiter);
    lease_desk_work(desk, now);
}

/* ---- census ---- */

void lease_desk_up(LeaseDesk *desk, MonoTime settled, MonoTime now)
{
    desk->settled = settled;
    desk->known = false;
    for (uint32_t i = 0; i < desk->n_agents; i++) {
        desk->counted[i] = desk->counted[i] == COUNTED_NOBODY ? COUNTED_NOBODY : COUNTED_NOT;
    }
    begin_census(desk, now);
}

static bool lease_desk_is_alone(const LeaseDesk *desk, MonoTime now)
{
    return desk->alone || !mono_before(now, mono_add_ms(desk->begun, lease_rest_ms(&desk->rules)));
}

/* What this node itself holds, of arbiters before this one. */
static bool learn_own(LeaseDesk *desk, MonoTime now)
{
    LeaseClient self = {desk->link->head.from, desk->link->head.session};
    size_t n =
        lease_holder_held(desk->holder, self.agent, self.session, desk->held, LEASE_HELD_MOST, now);
    bool good = n != SIZE_MAX;
    for (size_t i = 0; good && i < n; i++) {
        good = lease_arbiter_learn(desk->arbiter, self, &desk->held[i], now) == RESULT_OK;
    }
    return good;
}

/* When all have answered. */
static void end_census(LeaseDesk *desk, MonoTime now)
{
    for (uint32_t i = 0; i < desk->n_agents; i++) {
        if (desk->counted[i] == COUNTED_NOT && i != desk->link->head.from) {
            return;
        }
    }
    desk->counting = false;
    desk->known = true;
    desk->next_census = MONO_NEVER;
    if (lease_desk_is_alone(desk, now) && learn_own(desk, now)) {
        lease_arbiter_know(desk->arbiter, now);
    }
}

static void ask_for_held(LeaseDesk *desk, MonoTime now)
{
    desk->next_census = mono_add_ms(now, CENSUS_AGAIN_MS + desk->link->pace_ms);
    end_census(desk, now);
    MonoTime rested = lease_arbiter_rested(desk->arbiter); /* in any case */
    if (!desk->counting || !mono_before(now, mono_later(desk->settled, rested))) {
        desk->counting = false;
        desk->next_census = MONO_NEVER;
        return;
    }
    for (uint32_t i = 0; i < desk->n_agents; i++) {
        WireWriter writer = node_link_question(desk->link, NODE_ASK_HELD);
        if (i != desk->link->head.from && desk->counted[i] == COUNTED_NOT) {
            (void)node_link_ask(desk->link, &writer, (uint16_t)i,
                                node_token(NODE_PART_HELD, desk->census << AGENT_BITS | i));
        }
    }
}

/* One whose former process may still hold something does not answer before all of that is over. */
void lease_desk_tell_held(LeaseDesk *desk, const NodeMessage *in, uint64_t edict, MonoTime now)
{
    if (!lease_desk_is_alone(desk, now)) {
        return;
    }
    size_t n = lease_holder_held(desk->holder, in->head.from, in->head.session, desk->held,
                                 LEASE_HELD_MOST, now);
    if (n == SIZE_MAX) {
        return;
    }
    WireWriter writer = node_link_begin(desk->link);
    wire_put_number(&writer, edict, 8);
    wire_put_list(&writer, &node_lease_held, desk->held, n);
    node_link_reply(desk->link, &writer, in->event->reply_to);
}

/* Learns what an agent holds; false: the answer does not count. */
static bool learn_held(LeaseDesk *desk, NodeMessage *in, uint64_t edict, MonoTime now)
{
    if (!in->says || in->head.epoch != desk->link->head.epoch ||
        wire_get_number(&in->body, 8) > edict) {
        return false;
    }
    size_t n = wire_get_list(&in->body, &node_lease_held, desk->held, LEASE_HELD_MOST);
    bool good = wire_reader_ended(&in->body);
    bool rests = mono_before(now, lease_arbiter_rested(desk->arbiter));
    LeaseClient client = {in->head.from, in->head.session};
    for (size_t i = 0; good && rests && i < n; i++) {
        good = lease_arbiter_learn(desk->arbiter, client, &desk->held[i], now) == RESULT_OK;
    }
    return good;
}

void lease_desk_count(LeaseDesk *desk, NodeMessage *in, uint64_t edict, MonoTime now)
{
    uint64_t agent = in->number & ((1u << AGENT_BITS) - 1);
    bool ours = in->number >> AGENT_BITS == desk->census;
    if (desk->counting && ours && agent < desk->n_agents && desk->counted[agent] == COUNTED_NOT &&
        learn_held(desk, in, edict, now)) {
        desk->counted[agent] = COUNTED;
        end_census(desk, now);
    }
}

/* ---- as arbiter ---- */

/* The lines of a message that *reader has, as answers; false: it came late, or again. */
static bool lease_desk_judge(LeaseDesk *desk, LeaseClient client, uint64_t number,
                             uint64_t dead_below, const LeaseItem *items, size_t n, MonoTime now)
{
    bool fresh = lease_arbiter_hear(desk->arbiter, client, number, dead_below, now);
    for (size_t i = 0; fresh && i < n; i++) {
        desk->answers[i] = lease_arbiter_ask(desk->arbiter, client, &items[i], now);
    }
    return fresh;
}

void lease_desk_asked(LeaseDesk *desk, NodeMessage *in, MonoTime now)
{
    LeaseClient client = {in->head.from, in->head.session};
    uint64_t number = wire_get_number(&in->body, 8);
    uint64_t dead_below = wire_get_number(&in->body, 8);
    size_t n = wire_get_list(&in->body, &node_lease_item, desk->items, LEASE_ITEMS_MOST);
    if (wire_reader_ended(&in->body) &&
        lease_desk_judge(desk, client, number, dead_below, desk->items, n, now)) {
        WireWriter writer = node_link_begin(desk->link);
        wire_put_number(&writer, number, 8);
        wire_put_list(&writer, node_lease_answer(desk->link), desk->answers, n);
        node_link_reply(desk->link, &writer, in->event->reply_to);
    }
}

/* By agents. */
static int compare_hints(const void *a, const void *b)
{
    const LeaseHint *one = a, *other = b;
    return (one->to.agent > other->to.agent) - (one->to.agent < other->to.agent);
}

static void lease_desk_hint(LeaseDesk *desk, uint16_t from, const LeaseHint *hints, size_t n,
                            MonoTime now)
{
    for (size_t i = 0; i < n; i++) {
        if (hints[i].to.session == desk->link->head.session) {
            lease_holder_hint(desk->holder, from, hints[i].kind, &hints[i].address, now);
        }
    }
}

/* Those of one agent, which may be this one. */
static void send_some(LeaseDesk *desk, const LeaseHint *hints, size_t n, MonoTime now)
{
    if (hints->to.agent == desk->link->head.from) {
        lease_desk_hint(desk, hints->to.agent, hints, n, now);
        return;
    }
    WireWriter writer = node_link_begin(desk->link);
    wire_put_list(&writer, &node_lease_hint, hints, n);
    if (writer.rc == RESULT_OK) {
        (void)node_link_publish(desk->link, "hint", hints->to.agent);
    }
}

/* A hint may be lost: the arbiter repeats offers, and refuses extensions. */
static void send_hints(LeaseDesk *desk, MonoTime now)
{
    size_t n = 0;
    if (mono_before(now, desk->next_hints)) {
        return;
    }
    while (n < LEASE_ITEMS_MOST && lease_arbiter_hint(desk->arbiter, now, &desk->hints[n])) {
        n++;
    }
    if (n == 0) {
        return;
    }
    qsort(desk->hints, n, sizeof *desk->hints, compare_hints);
    for (size_t i = 0, end = 0; i < n; i = end) {
        while (end < n && desk->hints[end].to.agent == desk->hints[i].to.agent) {
            end++;
        }
        send_some(desk, &desk->hints[i], end - i, now);
    }
    desk->next_hints = mono_add_ms(now, desk->pace_ms);
}

/* ---- as holder ---- */

void lease_desk_hinted(LeaseDesk *desk, NodeMessage *in, MonoTime now)
{
    size_t n = wire_get_list(&in->body, &node_lease_hint, desk->hints, LEASE_ITEMS_MOST);
    lease_desk_hint(desk, in->head.from, desk->hints, n, now);
}

void lease_desk_take(LeaseDesk *desk, NodeMessage *in, MonoTime now)
{
    uint64_t number = wire_get_number(&in->body, 8);
    size_t n =
        wire_get_list(&in->body, node_lease_answer(desk->link), desk->answers, LEASE_ITEMS_MOST);
    if (!in->says) {
        lease_holder_nobody(desk->holder, (uint16_t)in->number, in->number >> AGENT_BITS, now);
    } else if (wire_reader_ended(&in->body)) {
        lease_holder_answer(desk->holder, in->head.from, number, desk->answers, n, now);
    }
}

/* A message to this node's own arbiter. */
static void ask_self(LeaseDesk *desk, const LeaseMessage *message, MonoTime now)
{
    LeaseClient client = {desk->link->head.from, desk->link->head.session};
    if (lease_desk_judge(desk, client, message->number, desk->dead_below, message->items,
                         message->n, now)) {
        lease_holder_answer(desk->holder, message->to, message->number, desk->answers, message->n,
                            now);
    }
}

static void send_message(LeaseDesk *desk, const LeaseMessage *message, MonoTime now)
{
    WireWriter writer = node_link_begin(desk->link);
    wire_put_number(&writer, message->number, 8);
    wire_put_number(&writer, desk->dead_below, 8);
    wire_put_list(&writer, &node_lease_item, message->items, message->n);
    uint64_t number = message->number << AGENT_BITS | message->to;
    if (writer.rc != RESULT_OK ||
        node_link_request(desk->link, "lease", message->to, node_token(NODE_PART_LEASES, number)) !=
            RESULT_OK) {
        lease_holder_nobody(desk->holder, message->to, message->number, now);
    }
}

void lease_desk_work(LeaseDesk *desk, MonoTime now)
{
    LeaseMessage message;
    if (desk->link->up && !mono_before(now, desk->next_census)) {
        ask_for_held(desk, now);
    }
    send_hints(desk, now);
    while (lease_holder_message(desk->holder, now, &message)) {
        if (message.to == desk->link->head.from) {
            ask_self(desk, &message, now);
        } else {
            send_message(desk, &message, now);
        }
    }
    send_hints(desk, now);
}

MonoTime lease_desk_next(const LeaseDesk *desk)
{
    MonoTime arbiter = mono_later(lease_arbiter_next(desk->arbiter), desk->next_hints);
    MonoTime holder = lease_holder_next(desk->holder);
    MonoTime next = mono_earlier(arbiter, holder);
    return desk->link->up ? mono_earlier(desk->next_census, next) : next;
}
