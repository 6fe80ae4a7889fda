#include "cluster/desk/pulse_desk.h"

void pulse_desk_init(PulseDesk *desk, NodeLink *link)
{
    *desk = (PulseDesk){.link = link, .next = MONO_NEVER};
    buffer_init(&desk->bytes, BUFFER_NO_LIMIT);
}

void pulse_desk_destroy(PulseDesk *desk)
{
    buffer_destroy(&desk->bytes);
}

/* The next agent behind `from` that is neither this one nor asked already. */
static uint16_t pulse_desk_another(const PulseDesk *desk, uint32_t from)
{
    for (uint32_t i = 1; i <= desk->n; i++) {
        uint16_t agent = (uint16_t)((from + i) % desk->n);
        bool taken = agent == desk->link->head.from;
        for (unsigned k = 0; k < PULSE_PEERS; k++) {
            taken = taken || desk->peers[k].agent == agent;
        }
        if (!taken) {
            return agent;
        }
    }
    return CLUSTER_NOBODY;
}

void pulse_desk_set(PulseDesk *desk, uint32_t n, MonoTime now)
{
    if (n == desk->n) {
        return;
    }
    desk->n = n;
    desk->next = now;
    for (unsigned k = 0; k < PULSE_PEERS; k++) {
        desk->peers[k] = (PulsePeer){.agent = CLUSTER_NOBODY};
    }
    for (unsigned k = 0; k < PULSE_PEERS; k++) {
        desk->peers[k].agent = pulse_desk_another(desk, desk->link->head.from);
        desk->peers[k].heard = now;
    }
}

bool pulse_desk_take(PulseDesk *desk, const TransportEvent *event, MonoTime now)
{
    WireReader reader;
    NodeHead head;
    size_t length = 0;
    uint64_t number = node_token_number(event->token);
    PulsePeer *peer = &desk->peers[number % PULSE_PEERS];
    if (number != peer->asked || event->kind != TRANSPORT_ANSWER ||
        !node_link_open(desk->link, event, &reader, &head) || head.from != peer->agent) {
        return false;
    }
    (void)wire_get_64(&reader); /* what is carried out there */
    (void)wire_get_string(&reader, &length);
    uint64_t clock = wire_get_64(&reader);
    if (!wire_reader_ended(&reader)) {
        return false;
    }
    int64_t theirs = (int64_t)(clock - peer->clock);
    int64_t ours = mono_ms_between(peer->first, now);
    /* Another process of it has another clock: one that was heard before counts. */
    bool slept = peer->known && theirs > ours + ours / LEASE_DRIFT + PULSE_SLACK_MS;
    peer->asked = 0;
    peer->known = true;
    peer->first = peer->sent;
    peer->clock = clock;
    peer->heard = now;
    for (unsigned k = 0; slept && k < PULSE_PEERS; k++) { /* it is told once */
        desk->peers[k].known = false;
        desk->peers[k].asked = 0;
    }
    return slept;
}

static void pulse_desk_ask(PulseDesk *desk, unsigned k, MonoTime now)
{
    PulsePeer *peer = &desk->peers[k];
    if (!mono_before(now, mono_add_ms(peer->heard, PULSE_LATE_MS))) {
        uint16_t agent = pulse_desk_another(desk, peer->agent);
        *peer = (PulsePeer){.agent = agent == CLUSTER_NOBODY ? peer->agent : agent, .heard = now};
    }
    if (peer->agent == CLUSTER_NOBODY) {
        return;
    }
    peer->asked = (++desk->last) * PULSE_PEERS + k;
    peer->sent = now;
    WireWriter writer = node_link_question(desk->link, NODE_ASK_EDICTS, &desk->bytes);
    wire_put_64(&writer, 0);
    (void)node_link_ask(desk->link, &writer, peer->agent, node_token(NODE_PART_PULSE, peer->asked));
}

void pulse_desk_work(PulseDesk *desk, bool holds, MonoTime now)
{
    if (!desk->link->up || mono_before(now, desk->next)) {
        return;
    }
    desk->next = mono_add_ms(now, PULSE_MS);
    if (holds && desk->n > 1) {
        pulse_desk_ask(desk, desk->turn, now);
        desk->turn = (desk->turn + 1) % PULSE_PEERS;
    }
}

MonoTime pulse_desk_next(const PulseDesk *desk)
{
    return desk->link->up && desk->n > 1 ? desk->next : MONO_NEVER;
}
