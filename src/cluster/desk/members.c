#include "cluster/desk/members.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MS 10000
#define PUT_BIT (UINT64_C(1) << 40) /* numbers of puts; looks have the agent's */

void members_init(Members *members, NodeLink *link)
{
    *members = (Members){.link = link, .next_look = MONO_NEVER};
    buffer_init(&members->bytes, BUFFER_NO_LIMIT);
}

void members_destroy(Members *members)
{
    free(members->members);
    buffer_destroy(&members->bytes);
}

Result members_resize(Members *members, uint32_t n)
{
    if (n <= members->n) {
        return RESULT_OK;
    }
    Member *more = reallocarray(members->members, n, sizeof *more);
    if (more == NULL) {
        return RESULT_MEMORY;
    }
    memset(more + members->n, 0, (n - members->n) * sizeof *more);
    members->members = more;
    members->n = n;
    return RESULT_OK;
}

void member_key(uint16_t agent, char key[32])
{
    (void)snprintf(key, 32, MEMBER_KEY "%u", (unsigned)agent);
}

void members_look_at(const Members *members, uint16_t agent)
{
    char key[32];
    member_key(agent, key);
    (void)node_link_get(members->link, key, node_token(NODE_PART_MEMBERS, agent));
}

void members_look(Members *members, MonoTime now)
{
    members->next_look = mono_add_ms(now, LOOK_MS);
    for (uint32_t i = 0; i < members->n; i++) {
        members_look_at(members, (uint16_t)i);
    }
}

void members_changed(Members *members, const char *key)
{
    char *end = NULL;
    unsigned long agent = strtoul(key + sizeof MEMBER_KEY - 1, &end, 10);
    if (*end == '\0' && agent < members->n) {
        members_look_at(members, (uint16_t)agent);
    }
}

void members_work(Members *members, MonoTime now)
{
    if (!mono_before(now, members->next_look) && members->link->up) {
        members->next_look = mono_add_ms(now, LOOK_MS);
        members_look_at(members, members->link->head.from);
    }
}

MonoTime members_next(const Members *members)
{
    return members->next_look;
}

/* When nothing comes of it, the next look finds that. */
void members_put_self(Members *members)
{
    char key[32];
    buffer_reset(&members->bytes);
    member_key(members->link->head.from, key);
    members->put = PUT_BIT | ++members->last;
    if (member_record_write(&members->self, &members->bytes) == RESULT_OK) {
        (void)node_link_put(members->link, key, &members->bytes, members->revision,
                            node_token(NODE_PART_MEMBERS, members->put));
    }
}

static MemberNews take_self(Members *members, const TransportEvent *event,
                            const MemberRecord *record)
{
    const MemberRecord *self = &members->self;
    if (record != NULL && record->session > self->session) {
        return MEMBER_LOST;
    }
    members->revision = event->revision;
    if (record == NULL || record->session < self->session || record->state != self->state) {
        members_put_self(members); /* forgotten, an older one, or not what has become of us */
    }
    return MEMBER_NOTHING;
}

static MemberNews members_take_put(Members *members, const TransportEvent *event)
{
    if (event->kind == TRANSPORT_CONFLICT) {
        members_look_at(members, members->link->head.from);
    }
    if (event->kind != TRANSPORT_STORED) {
        return MEMBER_NOTHING;
    }
    members->revision = event->revision;
    return members->self.state == MEMBER_STOPPED ? MEMBER_WRITTEN : MEMBER_NOTHING;
}

MemberNews members_take(Members *members, const TransportEvent *event, MonoTime now,
                        uint16_t *agent)
{
    uint64_t number = node_token_number(event->token);
    MemberRecord record;
    if ((number & PUT_BIT) != 0) {
        return number == members->put ? members_take_put(members, event) : MEMBER_NOTHING;
    }
    if (event->kind != TRANSPORT_VALUE || number >= members->n) {
        return MEMBER_NOTHING;
    }
    bool good = event->revision > 0 &&
                member_record_read(&record, event->bytes, event->length) == RESULT_OK;
    *agent = (uint16_t)number;
    if (*agent == members->link->head.from) {
        return take_self(members, event, good ? &record : NULL);
    }
    Member *member = &members->members[number];
    if (!good || (member->known && member->record.session > record.session)) {
        return MEMBER_NOTHING;
    }
    bool fresh = !member->known || member->record.session != record.session;
    *member = (Member){.record = record, .known = true, .seen = now};
    return fresh ? MEMBER_STARTED : MEMBER_NOTHING;
}
