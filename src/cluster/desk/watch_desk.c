#include "cluster/desk/watch_desk.h"

#include "base/thread/log.h"

/* Of questions for the seats, which have the number of the agent. */
#define SEAT_BIT (UINT64_C(1) << 40)

void watch_desk_init(WatchDesk *desk, NodeLink *link, TableKeeper *keeper)
{
    *desk = (WatchDesk){.link = link, .keeper = keeper, .next_look = MONO_NEVER};
    for (unsigned k = 0; k < PULSE_PEERS; k++) {
        desk->peers[k].agent = CLUSTER_NOBODY;
    }
}

static void watch_ask(WatchDesk *desk, uint16_t agent, uint64_t number)
{
    WireWriter writer = node_link_question(desk->link, NODE_ASK_EDICTS);
    wire_put_number(&writer, 0, 8);
    (void)node_link_ask(desk->link, &writer, agent, node_token(NODE_PART_WATCH, number));
}

/* ---- seats ---- */

static bool watch_is_silent(const WatchDesk *desk, uint32_t agent, MonoTime now)
{
    return !mono_before(now, mono_add_ms(desk->link->members->members[agent].heard, SEAT_MS));
}

/* Seats, and takes seats from, whom it is time for; false: nobody. */
static bool watch_change(const WatchDesk *desk, ClusterTable *table, MonoTime now)
{
    uint16_t self = desk->link->head.from;
    bool changed = false;
    for (uint32_t i = 0; i < table->n_agents && i < desk->link->members->n; i++) {
        bool silent = i != self && watch_is_silent(desk, i, now);
        bool back =
            !silent &&
            (i == self ||
             !mono_before(now, mono_add_ms(desk->link->members->members[i].since, SEAT_BACK_MS)));
        bool seated = table->agents[i].seated;
        if (seated ? silent && cluster_table_has(table, (uint16_t)i) : back) {
            changed |= cluster_table_seat(table, (uint16_t)i, !seated) == RESULT_OK;
            LOG_WARN("cluster",
                     seated ? "an agent is away: others decide about its addresses after a rest"
                            : "an agent is back, and decides about addresses again",
                     "agent=%u", i);
        }
    }
    return changed;
}

static void watch_propose(WatchDesk *desk, MonoTime now)
{
    ClusterTable next = {.epoch = 0};
    if (desk->keeper->newest && desk->keeper->key.put == 0 &&
        cluster_table_copy(&next, desk->link->table) == RESULT_OK &&
        watch_change(desk, &next, now)) {
        (void)table_keeper_propose(desk->keeper, &next, now);
    }
    cluster_table_destroy(&next);
}

/* The lowest that is there looks after all others. */
static void watch_look(WatchDesk *desk, MonoTime now)
{
    uint16_t self = desk->link->head.from;
    const ClusterTable *table = desk->link->table;
    uint32_t all = 0;
    uint32_t silent = 0;
    uint32_t lowest = self;
    for (uint32_t i = desk->link->members->n; i > 0; i--) {
        if (i - 1 < table->n_agents && cluster_table_has(table, (uint16_t)(i - 1))) {
            bool is_silent = i - 1 != self && watch_is_silent(desk, i - 1, now);
            all++;
            silent += is_silent;
            lowest = is_silent || i - 1 > self ? lowest : i - 1;
        }
    }
    bool leads = lowest == self;
    for (uint32_t i = 0; i < desk->link->members->n && i < table->n_agents; i++) {
        if (i != self && (leads || i <= lowest) && cluster_table_has(table, (uint16_t)i)) {
            watch_ask(desk, (uint16_t)i, SEAT_BIT | i);
        }
    }
    if (leads && 2 * (all - silent) > all) {
        watch_propose(desk, now);
    }
}

/* ---- pulse ---- */

/* The next agent behind `from` that is neither this one nor asked already. */
static uint16_t watch_another(const WatchDesk *desk, uint32_t from)
{
    for (uint32_t i = 1; i <= desk->link->members->n; i++) {
        uint16_t agent = (uint16_t)((from + i) % desk->link->members->n);
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

/* Whether its clock shows a pause of ours. */
static bool watch_compare(WatchDesk *desk, PulsePeer *peer, uint64_t clock, MonoTime now)
{
    int64_t theirs = (int64_t)(clock - peer->clock);
    int64_t ours = mono_ms_between(peer->first, now);
    /* Another process of it has another clock: one that was heard before counts. */
    bool slept = peer->known && theirs > ours + ours / LEASE_DRIFT + PULSE_SLACK_MS;
    peer->heard = now;
    for (unsigned k = 0; slept && k < PULSE_PEERS; k++) { /* it is told once */
        desk->peers[k].known = false;
        desk->peers[k].asked = 0;
    }
    return slept;
}

bool watch_desk_hear(WatchDesk *desk, const NodeMessage *in, MonoTime now)
{
    WireReader body = in->body; /* it is for the lease desk */
    uint64_t clock = (wire_get_number(&body, 8) << LEASE_TICK_BITS) / 1000000;
    bool slept = false;
    for (unsigned k = 0; k < PULSE_PEERS; k++) {
        PulsePeer *peer = &desk->peers[k];
        /* Numbers of the version before are no clock, and smaller. */
        if (peer->agent == in->head.from && peer->known && clock >= peer->clock) {
            slept |= watch_compare(desk, peer, clock, now);
        }
    }
    return slept;
}

/* When one of the two is to be asked: it is heard each 2 * PULSE_MS. */
static MonoTime watch_due_of(const PulsePeer *peer)
{
    if (peer->agent == CLUSTER_NOBODY) {
        return MONO_NEVER;
    }
    if (peer->asked != 0) {
        return mono_add_ms(peer->sent, 2 * PULSE_MS);
    }
    MonoTime old = mono_add_ms(peer->first, PULSE_FIRST_MS);
    MonoTime due = mono_earlier(old, mono_add_ms(peer->heard, 2 * PULSE_MS));
    return peer->known ? due : (MonoTime){0};
}

static void watch_ask_pulse(WatchDesk *desk, unsigned k, MonoTime now)
{
    PulsePeer *peer = &desk->peers[k];
    if (!mono_before(now, mono_add_ms(peer->heard, PULSE_LATE_MS))) {
        uint16_t agent = watch_another(desk, peer->agent);
        *peer = (PulsePeer){.agent = agent == CLUSTER_NOBODY ? peer->agent : agent, .heard = now};
    }
    if (peer->agent != CLUSTER_NOBODY) {
        peer->asked = (++desk->last) * PULSE_PEERS + k;
        peer->sent = now;
        watch_ask(desk, peer->agent, peer->asked);
    }
}

/* ---- both ---- */

void watch_desk_set(WatchDesk *desk, MonoTime now)
{
    for (unsigned k = 0; k < PULSE_PEERS; k++) {
        if (desk->peers[k].agent == CLUSTER_NOBODY) {
            desk->peers[k].agent = watch_another(desk, desk->link->head.from);
            desk->peers[k].heard = now;
        }
    }
}

void watch_desk_up(WatchDesk *desk, MonoTime now)
{
    for (uint32_t i = 0; i < desk->link->members->n; i++) {
        desk->link->members->members[i].heard = desk->link->members->members[i].since = now;
    }
    desk->next_look = now;
}

bool watch_desk_take(WatchDesk *desk, NodeMessage *in, MonoTime now)
{
    size_t length = 0;
    uint16_t from = in->head.from;
    PulsePeer *peer = &desk->peers[in->number % PULSE_PEERS];
    (void)wire_get_number(&in->body, 8); /* what is carried out there */
    (void)wire_get_string(&in->body, &length);
    uint64_t clock = wire_get_number(&in->body, 8);
    if (!in->says || from >= desk->link->members->n || !wire_reader_ended(&in->body)) {
        return false;
    }
    Member *member = &desk->link->members->members[from];
    member->since = watch_is_silent(desk, from, now) ? now : member->since;
    member->heard = now;
    if (in->number != peer->asked || from != peer->agent) {
        return false;
    }
    bool slept = watch_compare(desk, peer, clock, now);
    peer->known = !slept;
    peer->first = peer->heard = peer->sent;
    peer->clock = clock;
    peer->asked = 0;
    return slept;
}

void watch_desk_heard(WatchDesk *desk, MonoTime now)
{
    desk->heard = now;
    desk->deaf = false;
}

bool watch_desk_work(WatchDesk *desk, bool holds, MonoTime now)
{
    if (desk->link->up && !mono_before(now, desk->next_look)) {
        desk->next_look = mono_add_ms(now, SEAT_LOOK_MS);
        watch_look(desk, now);
    }
    if (holds && !desk->holds) {
        desk->heard = now;
    }
    desk->holds = holds;
    for (unsigned k = 0; holds && desk->link->up && k < PULSE_PEERS; k++) {
        if (!mono_before(now, watch_due_of(&desk->peers[k]))) {
            watch_ask_pulse(desk, k, now);
        }
    }
    bool was_deaf = desk->deaf;
    desk->deaf = holds && !mono_before(now, mono_add_ms(desk->heard, PULSE_DEAF_MS));
    return desk->deaf && !was_deaf;
}

MonoTime watch_desk_next(const WatchDesk *desk)
{
    MonoTime deaf =
        desk->holds && !desk->deaf ? mono_add_ms(desk->heard, PULSE_DEAF_MS) : MONO_NEVER;
    if (!desk->link->up) {
        return deaf;
    }
    MonoTime next = mono_earlier(deaf, desk->next_look);
    for (unsigned k = 0; desk->holds && k < PULSE_PEERS; k++) {
        next = mono_earlier(next, watch_due_of(&desk->peers[k]));
    }
    return next;
}
