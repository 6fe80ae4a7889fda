#include "cluster/desk/seat_desk.h"

#include <stdlib.h>

#include "base/thread/log.h"

void seat_desk_init(SeatDesk *desk, NodeLink *link, TableKeeper *keeper)
{
    *desk = (SeatDesk){.link = link, .keeper = keeper, .next = MONO_NEVER};
    buffer_init(&desk->bytes, BUFFER_NO_LIMIT);
}

void seat_desk_destroy(SeatDesk *desk)
{
    free(desk->peers);
    buffer_destroy(&desk->bytes);
}

Result seat_desk_resize(SeatDesk *desk, uint32_t n, MonoTime now)
{
    if (n <= desk->n) {
        return RESULT_OK;
    }
    SeatPeer *more = reallocarray(desk->peers, n, sizeof *more);
    if (more == NULL) {
        return RESULT_MEMORY;
    }
    for (uint32_t i = desk->n; i < n; i++) {
        more[i] = (SeatPeer){now, now};
    }
    desk->peers = more;
    desk->n = n;
    return RESULT_OK;
}

void seat_desk_up(SeatDesk *desk, MonoTime now)
{
    for (uint32_t i = 0; i < desk->n; i++) {
        desk->peers[i] = (SeatPeer){now, now};
    }
    desk->next = now;
}

static bool seat_desk_is_silent(const SeatDesk *desk, uint32_t agent, MonoTime now)
{
    return !mono_before(now, mono_add_ms(desk->peers[agent].heard, SEAT_MS));
}

static void seat_desk_ask(SeatDesk *desk, uint32_t agent)
{
    WireWriter writer = node_link_question(desk->link, NODE_ASK_EDICTS, &desk->bytes);
    wire_put_64(&writer, 0);
    (void)node_link_ask(desk->link, &writer, (uint16_t)agent, node_token(NODE_PART_SEATS, agent));
}

void seat_desk_take(SeatDesk *desk, const TransportEvent *event, MonoTime now)
{
    uint64_t agent = node_token_number(event->token);
    if (event->kind == TRANSPORT_ANSWER && agent < desk->n) {
        SeatPeer *peer = &desk->peers[agent];
        bool gap = seat_desk_is_silent(desk, (uint32_t)agent, now);
        *peer = (SeatPeer){.heard = now, .since = gap ? now : peer->since};
    }
}

/* Seats, and takes seats from, whom it is time for; false: nobody. */
static bool seat_desk_change(const SeatDesk *desk, ClusterTable *table, MonoTime now)
{
    uint16_t self = desk->link->head.from;
    bool changed = false;
    for (uint32_t i = 0; i < table->n_agents && i < desk->n; i++) {
        bool silent = i != self && seat_desk_is_silent(desk, i, now);
        bool back = !silent && (i == self ||
                                !mono_before(now, mono_add_ms(desk->peers[i].since, SEAT_BACK_MS)));
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

static void seat_desk_propose(SeatDesk *desk, MonoTime now)
{
    ClusterTable next;
    cluster_table_init(&next);
    if (desk->keeper->newest && desk->keeper->key.put == 0 &&
        cluster_table_copy(&next, &desk->keeper->table) == RESULT_OK &&
        seat_desk_change(desk, &next, now)) {
        (void)table_keeper_propose(desk->keeper, &next, now);
    }
    cluster_table_destroy(&next);
}

/* The lowest that is there looks after all others. */
static void seat_desk_look(SeatDesk *desk, MonoTime now)
{
    uint16_t self = desk->link->head.from;
    const ClusterTable *table = &desk->keeper->table;
    uint32_t all = 0;
    uint32_t silent = 0;
    uint32_t lowest = self;
    for (uint32_t i = desk->n; i > 0; i--) {
        if (i - 1 < table->n_agents && cluster_table_has(table, (uint16_t)(i - 1))) {
            bool is_silent = i - 1 != self && seat_desk_is_silent(desk, i - 1, now);
            all++;
            silent += is_silent;
            lowest = is_silent || i - 1 > self ? lowest : i - 1;
        }
    }
    bool leads = lowest == self;
    for (uint32_t i = 0; i < desk->n && i < table->n_agents; i++) {
        if (i != self && (leads || i <= lowest) && cluster_table_has(table, (uint16_t)i)) {
            seat_desk_ask(desk, i);
        }
    }
    if (leads && 2 * (all - silent) > all) {
        seat_desk_propose(desk, now);
    }
}

void seat_desk_work(SeatDesk *desk, MonoTime now)
{
    if (desk->link->up && !mono_before(now, desk->next)) {
        desk->next = mono_add_ms(now, SEAT_LOOK_MS);
        seat_desk_look(desk, now);
    }
}

MonoTime seat_desk_next(const SeatDesk *desk)
{
    return desk->link->up ? desk->next : MONO_NEVER;
}
