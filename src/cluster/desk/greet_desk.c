#include "cluster/desk/greet_desk.h"

#include <stdlib.h>
#include <string.h>

#include "base/thread/log.h"

#define AGAIN_MS 2000 /* until one that has not answered is greeted again */
#define SOON_MS  100  /* when its blocks come already */

void greet_desk_init(GreetDesk *desk, NodeLink *link, const GreetSinks *sinks)
{
    *desk = (GreetDesk){.link = link, .sinks = *sinks, .next = MONO_NEVER};
}

static Member *greet_desk_member(const GreetDesk *desk, uint32_t agent)
{
    return &desk->link->members->members[agent];
}

static GreetPeer *greet_desk_peer(GreetDesk *desk, uint16_t agent)
{
    bool other = agent < desk->n && agent != desk->link->head.from;
    return other ? &greet_desk_member(desk, agent)->greet : NULL;
}

static void greet_desk_hurry(GreetDesk *desk, GreetPeer *peer, MonoTime when)
{
    peer->next = mono_earlier(when, peer->next);
    desk->next = mono_earlier(peer->next, desk->next);
}

Result greet_desk_set(GreetDesk *desk, MonoTime now)
{
    desk->next = now; /* an agent may have been started that never was */
    for (; desk->n < desk->link->members->n; desk->n++) {
        Result rc = desk->sinks.mark(desk->sinks.context, (uint16_t)desk->n,
                                     &greet_desk_member(desk, desk->n)->greet.mark);
        if (rc != RESULT_OK) {
            return rc;
        }
    }
    return RESULT_OK;
}

void greet_desk_up(GreetDesk *desk, MonoTime now)
{
    for (uint32_t i = 0; i < desk->n; i++) {
        GreetPeer *peer = &greet_desk_member(desk, i)->greet;
        peer->next = peer->confirmed == 0 ? now : peer->next;
    }
    desk->next = now;
}

/* ---- greeting ---- */

static bool greet_desk_has_started(const GreetDesk *desk, uint32_t agent)
{
    return agent < desk->link->table->n_agents && desk->link->table->agents[agent].claimed > 0;
}

static void greet_desk_greet(GreetDesk *desk, uint16_t agent, MonoTime now)
{
    GreetPeer *peer = &greet_desk_member(desk, agent)->greet;
    peer->next = mono_add_ms(now, AGAIN_MS);
    WireWriter writer = node_link_question(desk->link, NODE_ASK_GREET);
    wire_put_number(&writer, peer->mark.taken, 8);
    (void)node_link_ask(desk->link, &writer, agent, node_token(NODE_PART_GREET, agent));
}

void greet_desk_work(GreetDesk *desk, MonoTime now)
{
    if (!desk->link->up || mono_before(now, desk->next)) {
        return;
    }
    desk->next = MONO_NEVER;
    for (uint32_t i = 0; i < desk->n; i++) {
        GreetPeer *peer = &greet_desk_member(desk, i)->greet;
        if (i == desk->link->head.from || peer->confirmed != 0 ||
            !greet_desk_has_started(desk, i)) {
            continue;
        }
        if (!mono_before(now, peer->next)) {
            greet_desk_greet(desk, (uint16_t)i, now);
        }
        desk->next = mono_earlier(peer->next, desk->next);
    }
}

MonoTime greet_desk_next(const GreetDesk *desk)
{
    return desk->link->up ? desk->next : MONO_NEVER;
}

void greet_desk_present(GreetDesk *desk, uint16_t agent, MonoTime now)
{
    GreetPeer *peer = greet_desk_peer(desk, agent);
    if (peer != NULL && peer->confirmed != greet_desk_member(desk, agent)->record.session) {
        peer->confirmed = 0;
        greet_desk_hurry(desk, peer, now);
    }
}

/* ---- being greeted ---- */

static void greet_desk_answer(GreetDesk *desk, const char *reply_to)
{
    WireWriter writer = node_link_begin(desk->link);
    node_link_reply(desk->link, &writer, reply_to);
}

/* It begins with what it has now; what an earlier process of it has said does not count any more.
 */
static void greet_desk_settle(GreetPeer *peer, uint64_t session, uint64_t taken)
{
    peer->compared = session;
    peer->mark.heard = taken;
    peer->waiting = 0;
}

void greet_desk_asked(GreetDesk *desk, NodeMessage *in, MonoTime now)
{
    const NodeHead *head = &in->head;
    GreetPeer *peer = greet_desk_peer(desk, head->from);
    uint64_t taken = wire_get_number(&in->body, 8);
    if (!wire_reader_ended(&in->body) || peer == NULL || head->session < peer->compared) {
        return;
    }
    if (peer->confirmed != 0 && peer->confirmed != head->session) { /* a new process */
        peer->confirmed = 0;
        greet_desk_hurry(desk, peer, now);
    }
    if (peer->compared != head->session && taken >= peer->mark.heard) {
        greet_desk_settle(peer, head->session, taken);
    }
    if (peer->compared == head->session) {
        greet_desk_answer(desk, in->event->reply_to);
        return;
    }
    free(peer->reply_to);
    peer->reply_to = strdup(in->event->reply_to);
    peer->compared = 0;
    if (peer->waiting != head->session) {
        LOG_WARN("cluster",
                 "an agent runs from an older copy of its directory; its URLs are sent again",
                 "agent=%u has=%llu had=%llu", (unsigned)head->from, (unsigned long long)taken,
                 (unsigned long long)peer->mark.heard);
        Result rc = desk->sinks.retell(desk->sinks.context, head->from, taken);
        peer->waiting = rc == RESULT_OK ? head->session : 0;
        peer->claims = taken;
    }
}

void greet_desk_retold(GreetDesk *desk, uint16_t agent)
{
    GreetPeer *peer = greet_desk_peer(desk, agent);
    if (peer == NULL || peer->waiting == 0) {
        return;
    }
    greet_desk_settle(peer, peer->waiting, peer->claims);
    if (peer->reply_to != NULL) {
        greet_desk_answer(desk, peer->reply_to);
    }
    free(peer->reply_to);
    peer->reply_to = NULL;
}

/* ---- agents that have stopped ---- */

Result greet_desk_stop(const GreetDesk *desk, Buffer *heard)
{
    buffer_reset(heard);
    WireWriter writer = wire_writer(heard);
    for (uint32_t i = 0; i < desk->n; i++) {
        const GreetPeer *peer = &greet_desk_member(desk, i)->greet;
        wire_put_varint(&writer, peer->waiting == 0 ? peer->mark.heard : UINT64_MAX);
    }
    return writer.rc;
}

void greet_desk_seen(GreetDesk *desk, uint16_t agent)
{
    GreetPeer *peer = greet_desk_peer(desk, agent);
    const Member *member = peer == NULL ? NULL : greet_desk_member(desk, agent);
    if (member == NULL || peer->confirmed != 0 || !member->known ||
        member->record.state != MEMBER_STOPPED) {
        return;
    }
    if (member->record.heard <= peer->mark.taken) {
        peer->confirmed = member->record.session;
    } else if (!peer->is_older) {
        peer->is_older = true;
        LOG_WARN("cluster", "this directory is older than what an agent that has stopped knows",
                 "agent=%u next=\"start that agent, too\"", (unsigned)agent);
    }
}

void greet_desk_take(GreetDesk *desk, const NodeMessage *in)
{
    uint16_t agent = (uint16_t)in->number;
    GreetPeer *peer = greet_desk_peer(desk, agent);
    if (in->event->kind == TRANSPORT_NOBODY && peer != NULL && peer->confirmed == 0) {
        members_look_at(desk->link->members, agent);
    } else if (in->says && peer != NULL && in->head.from == agent &&
               in->head.session > peer->confirmed) {
        peer->confirmed = in->head.session;
    }
}

/* ---- what goes between the two ---- */

bool greet_desk_may_take(GreetDesk *desk, uint16_t agent, uint64_t session, MonoTime now)
{
    GreetPeer *peer = greet_desk_peer(desk, agent);
    if (peer == NULL) {
        return agent == desk->link->head.from;
    }
    if (peer->confirmed != session && session > peer->confirmed) {
        peer->confirmed = 0;
        greet_desk_hurry(desk, peer, mono_add_ms(now, SOON_MS));
    }
    return peer->confirmed == session;
}

void greet_desk_took(GreetDesk *desk, uint16_t agent, uint64_t taken)
{
    GreetPeer *peer = greet_desk_peer(desk, agent);
    if (peer != NULL && taken > peer->mark.taken) {
        peer->mark.taken = taken;
    }
}

bool greet_desk_heard(GreetDesk *desk, uint16_t agent, uint64_t session, uint64_t taken)
{
    GreetPeer *peer = greet_desk_peer(desk, agent);
    if (peer == NULL || peer->compared != session) {
        return agent == desk->link->head.from;
    }
    peer->mark.heard = taken > peer->mark.heard ? taken : peer->mark.heard;
    return true;
}

bool greet_desk_misses(const GreetDesk *desk)
{
    for (uint32_t i = 0; i < desk->n; i++) {
        if (i != desk->link->head.from && greet_desk_member(desk, i)->greet.confirmed == 0 &&
            greet_desk_has_started(desk, i) && cluster_table_had(desk->link->table, (uint16_t)i)) {
            return true;
        }
    }
    return false;
}
