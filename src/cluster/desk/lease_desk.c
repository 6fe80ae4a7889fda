#include "cluster/desk/lease_desk.h"

#include <stdlib.h>

#define AGENT_BITS 16u
#define PACE_MS    20 /* between two messages to one arbiter, with few agents */
#define PACE_MOST  1000

Result lease_desk_init(LeaseDesk *desk, NodeLink *link, const LeaseRules *rules, size_t addresses,
                       uint64_t dead_below, const LeaseNewsSink *sink, MonoTime now)
{
    *desk =
        (LeaseDesk){.link = link, .rules = *rules, .dead_below = dead_below, .pace_ms = PACE_MS};
    buffer_init(&desk->bytes, BUFFER_NO_LIMIT);
    desk->items = calloc(LEASE_ITEMS_MOST, sizeof *desk->items);
    desk->answers = calloc(LEASE_ITEMS_MOST, sizeof *desk->answers);
    desk->hints = calloc(LEASE_ITEMS_MOST, sizeof *desk->hints);
    bool all = desk->items != NULL && desk->answers != NULL && desk->hints != NULL;
    Result rc = all ? RESULT_OK : RESULT_MEMORY;
    if (rc == RESULT_OK) {
        rc = lease_arbiter_new(&desk->arbiter, rules, link->head.from, addresses, now);
    }
    return rc == RESULT_OK ? lease_holder_new(&desk->holder, rules, PACE_MS, sink) : rc;
}

void lease_desk_destroy(LeaseDesk *desk)
{
    lease_arbiter_delete(desk->arbiter);
    lease_holder_delete(desk->holder);
    free(desk->items);
    free(desk->answers);
    free(desk->hints);
    buffer_destroy(&desk->bytes);
}

Result lease_desk_set(LeaseDesk *desk, const ClusterTable *table, MonoTime now)
{
    Arbiters one, other;
    Result rc = arbiters_of_table(&one, table);
    if (rc == RESULT_OK) {
        rc = arbiters_of_table(&other, table);
    }
    if (rc != RESULT_OK) {
        arbiters_destroy(&one);
        return rc;
    }
    int64_t pace = PACE_MS + (int64_t)one.n;
    desk->pace_ms = pace < PACE_MOST ? pace : PACE_MOST;
    lease_holder_set_pace(desk->holder, desk->pace_ms);
    lease_arbiter_trust(desk->arbiter, desk->first, cluster_table_is_original(table), &desk->kept);
    lease_arbiter_set(desk->arbiter, &one, table->epoch, now);
    lease_holder_set(desk->holder, &other, now);
    return RESULT_OK;
}

void lease_desk_close(LeaseDesk *desk, MonoTime now)
{
    lease_holder_give_back(desk->holder, now);
    lease_arbiter_close(desk->arbiter);
    lease_desk_work(desk, now);
}

bool lease_desk_is_held(const LeaseDesk *desk)
{
    LeaseArbiterStats stats;
    lease_arbiter_stats(desk->arbiter, &stats);
    return stats.held > 0;
}

LeaseKept lease_desk_kept(const LeaseDesk *desk, MonoTime now)
{
    int64_t rest_ms = mono_ms_between(now, lease_arbiter_end(desk->arbiter)) + 1;
    return (LeaseKept){.epoch = desk->link->head.epoch, .rest_ms = rest_ms > 0 ? rest_ms : 0};
}

/* ---- as arbiter ---- */

void lease_desk_asked(LeaseDesk *desk, const TransportEvent *event, MonoTime now)
{
    WireReader reader;
    NodeHead head;
    NodeLeaseMessage message;
    if (event->reply_to == NULL || !node_link_open(desk->link, event, &reader, &head) ||
        node_wire_get_lines(&reader, &message, desk->items, LEASE_ITEMS_MOST) != RESULT_OK) {
        return;
    }
    LeaseClient client = {head.from, head.session};
    if (!lease_arbiter_hear(desk->arbiter, client, message.number, message.dead_below, now)) {
        return;
    }
    for (size_t i = 0; i < message.n; i++) {
        desk->answers[i] = lease_arbiter_ask(desk->arbiter, client, &desk->items[i], now);
    }
    WireWriter writer = node_link_begin(desk->link, &desk->bytes);
    node_wire_put_answers(&writer, message.number, desk->answers, message.n);
    if (writer.rc == RESULT_OK) {
        (void)node_link_reply(desk->link, event->reply_to, &desk->bytes);
    }
}

/* By agents. */
static int compare_hints(const void *a, const void *b)
{
    const LeaseHint *one = a, *other = b;
    return (one->to.agent > other->to.agent) - (one->to.agent < other->to.agent);
}

/* Those of one agent, which may be this one. */
static void send_some(LeaseDesk *desk, const LeaseHint *hints, size_t n, MonoTime now)
{
    if (hints->to.agent == desk->link->head.from) {
        for (size_t i = 0; i < n; i++) {
            if (hints[i].to.session == desk->link->head.session) {
                lease_holder_hint(desk->holder, hints->to.agent, hints[i].kind, &hints[i].address,
                                  now);
            }
        }
        return;
    }
    WireWriter writer = node_link_begin(desk->link, &desk->bytes);
    for (size_t i = 0; i < n; i++) {
        node_wire_put_hint(&writer, &hints[i]);
    }
    if (writer.rc == RESULT_OK) {
        (void)node_link_publish(desk->link, "hint", hints->to.agent, &desk->bytes);
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

void lease_desk_hinted(LeaseDesk *desk, const TransportEvent *event, MonoTime now)
{
    WireReader reader;
    NodeHead head;
    LeaseHint hint;
    if (!node_link_open(desk->link, event, &reader, &head)) {
        return;
    }
    while (node_wire_get_hint(&reader, &hint)) {
        if (hint.to.session == desk->link->head.session) {
            lease_holder_hint(desk->holder, head.from, hint.kind, &hint.address, now);
        }
    }
}

void lease_desk_answered(LeaseDesk *desk, const TransportEvent *event, MonoTime now)
{
    WireReader reader;
    NodeHead head;
    uint64_t number = 0;
    size_t n = 0;
    if (node_link_open(desk->link, event, &reader, &head) &&
        node_wire_get_answers(&reader, &number, desk->answers, LEASE_ITEMS_MOST, &n) == RESULT_OK) {
        lease_holder_answer(desk->holder, head.from, number, desk->answers, n, now);
    }
}

void lease_desk_nobody(LeaseDesk *desk, uint64_t number, MonoTime now)
{
    lease_holder_nobody(desk->holder, (uint16_t)number, number >> AGENT_BITS, now);
}

/* A message to this node's own arbiter. */
static void ask_self(LeaseDesk *desk, const LeaseMessage *message, MonoTime now)
{
    LeaseClient client = {desk->link->head.from, desk->link->head.session};
    if (!lease_arbiter_hear(desk->arbiter, client, message->number, desk->dead_below, now)) {
        return;
    }
    for (size_t i = 0; i < message->n; i++) {
        desk->answers[i] = lease_arbiter_ask(desk->arbiter, client, &message->items[i], now);
    }
    lease_holder_answer(desk->holder, message->to, message->number, desk->answers, message->n, now);
}

static void send_message(LeaseDesk *desk, const LeaseMessage *message, MonoTime now)
{
    WireWriter writer = node_link_begin(desk->link, &desk->bytes);
    node_wire_put_lines(&writer, message->number, desk->dead_below, message->items, message->n);
    uint64_t number = message->number << AGENT_BITS | message->to;
    if (writer.rc != RESULT_OK ||
        node_link_request(desk->link, "lease", message->to, &desk->bytes,
                          node_token(NODE_PART_LEASES, number)) != RESULT_OK) {
        lease_holder_nobody(desk->holder, message->to, message->number, now);
    }
}

void lease_desk_work(LeaseDesk *desk, MonoTime now)
{
    LeaseMessage message;
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
    return mono_before(arbiter, holder) ? arbiter : holder;
}
