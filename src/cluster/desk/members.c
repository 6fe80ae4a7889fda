#include "cluster/desk/members.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread/log.h"

#define LOOK_MS     10000
#define STOP_MS     500   /* until our last word is said again */
#define SETTINGS_MS 60000 /* nobody changes them while we can be asked */

void members_init(Members *members, NodeLink *link)
{
    *members = (Members){.link = link};
    key_init(&members->own, link, NODE_PART_MEMBERS, "", LOOK_MS);
    key_init(&members->settings, link, NODE_PART_SETTINGS, SETTINGS_KEY, SETTINGS_MS);
    buffer_init(&members->heard, BUFFER_NO_LIMIT);
}

void members_destroy(Members *members)
{
    for (uint32_t i = 0; i < members->n; i++) {
        free(members->members[i].greet.reply_to);
    }
    free(members->members);
    buffer_destroy(&members->heard);
}

Result members_resize(Members *members, uint32_t n, MonoTime now)
{
    if (n <= members->n) {
        return RESULT_OK;
    }
    Member *more = reallocarray(members->members, n, sizeof *more);
    if (more == NULL) {
        return RESULT_MEMORY;
    }
    members->members = more;
    for (; members->n < n; members->n++) {
        more[members->n] = (Member){.heard = now, .since = now, .greet = {.next = now}};
    }
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

void members_up(Members *members, uint64_t revision, MonoTime now)
{
    key_up(&members->own, now);
    key_up(&members->settings, now);
    members->own.revision = revision;
    member_key(members->link->head.from, members->own.name);
    for (uint32_t i = 0; i < members->n; i++) {
        if (i != members->link->head.from) {
            members_look_at(members, (uint16_t)i);
        }
    }
}

void members_changed(const Members *members, const char *key)
{
    char *end = NULL;
    unsigned long agent = strtoul(key + sizeof MEMBER_KEY - 1, &end, 10);
    if (*end == '\0' && agent < members->n && agent != members->link->head.from) {
        members_look_at(members, (uint16_t)agent);
    }
}

/* When nothing comes of it, the next look finds that. */
void members_put_self(Members *members, MonoTime now)
{
    Buffer *out = node_link_blank(members->link);
    if (member_record_write(&members->self, &members->heard, out) == RESULT_OK) {
        (void)key_put(&members->own, now);
    }
    if (members->self.state == MEMBER_STOPPED) {
        members->own.put_end = mono_add_ms(now, STOP_MS);
    }
}

/* A record that is not there, an older one, or not what has become of us is replaced. */
static MemberNews members_take_own(Members *members, const MemberRecord *record, MonoTime now)
{
    const MemberRecord *self = &members->self;
    if (record == NULL) { /* then the settings may be gone, too */
        key_doubt(&members->settings, now);
    }
    if (record != NULL && record->session > self->session) {
        return MEMBER_LOST;
    }
    if (record == NULL || record->session < self->session || record->state != self->state) {
        members_put_self(members, now);
        return MEMBER_NOTHING;
    }
    return self->state == MEMBER_STOPPED ? MEMBER_WRITTEN : MEMBER_NOTHING;
}

MemberNews members_take(Members *members, const TransportEvent *event, MonoTime now,
                        uint16_t *agent)
{
    uint64_t number = node_token_number(event->token);
    MemberRecord record;
    bool good = event->kind == TRANSPORT_VALUE && event->revision > 0 &&
                member_record_read(&record, members->link->head.from, event->bytes,
                                   event->length) == RESULT_OK;
    if (key_is_of(event)) {
        KeyNews news = key_take(&members->own, event, now);
        bool told = news == KEY_STORED && members->self.state == MEMBER_STOPPED;
        if (news == KEY_VALUE) {
            return members_take_own(members, good ? &record : NULL, now);
        }
        return told ? MEMBER_WRITTEN : MEMBER_NOTHING;
    }
    *agent = (uint16_t)number;
    if (!good || number >= members->n) {
        return MEMBER_NOTHING;
    }
    Member *member = &members->members[number];
    if (member->known && member->record.session > record.session) {
        return MEMBER_NOTHING;
    }
    bool fresh = !member->known || member->record.session != record.session;
    member->record = record;
    member->known = true;
    member->seen = now;
    return fresh ? MEMBER_STARTED : MEMBER_NOTHING;
}

/* ---- settings ---- */

void members_hold(Members *members, const char *settings, uint64_t revision)
{
    members->text = settings;
    members->held = revision;
}

bool members_take_settings(Members *members, const TransportEvent *event, MonoTime now)
{
    Key *key = &members->settings;
    bool returned = !key->seen;
    KeyNews news = key_take(key, event, now);
    bool same = news == KEY_STORED || (news == KEY_VALUE && event->revision > 0 &&
                                       strcmp(event->bytes, members->text) == 0);
    members->held = same ? key->revision : members->held;
    if (news != KEY_VALUE || same) {
        return true;
    }
    bool newer = key->revision > members->held; /* else the server's, or the look, is out of date */
    if (newer && returned) {
        return false;
    }
    if (newer) {
        LOG_WARN("cluster", "the settings of the crawl were changed while it runs; put back",
                 "revision=%llu", (unsigned long long)key->revision);
    }
    if (buffer_append_string(node_link_blank(members->link), members->text) == RESULT_OK) {
        (void)key_put(key, now);
    }
    return true;
}
