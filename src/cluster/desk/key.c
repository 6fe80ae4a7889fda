#include "cluster/desk/key.h"

#include <stdio.h>

void key_init(Key *key, NodeLink *link, NodePart part, const char *name, int64_t pause_ms)
{
    *key = (Key){.link = link, .part = part, .pause_ms = pause_ms, .next = MONO_NEVER};
    (void)snprintf(key->name, sizeof key->name, "%s", name);
}

void key_up(Key *key, MonoTime now)
{
    key->look = key->put = 0;
    key->seen = false;
    key->is_up = true;
    key->next = now;
}

void key_changed(Key *key, MonoTime now)
{
    key->again = key->look != 0;
    MonoTime soon = mono_add_ms(now, key->link->pace_ms);
    if (key->look == 0 && key->is_up && mono_before(soon, key->next)) {
        key->next = soon;
    }
}

void key_doubt(Key *key, MonoTime now)
{
    key->look = 0;
    key->next = now;
}

static uint64_t key_token(Key *key)
{
    return node_token(key->part, KEY_BIT | ++key->last);
}

void key_work(Key *key, MonoTime now)
{
    if (key->put != 0 && !mono_before(now, key->put_end)) {
        key->put = 0;
        key->next = now;
    }
    if (!key->link->up || key->put != 0 || mono_before(now, key->next)) {
        return;
    }
    uint64_t token = key_token(key);
    key->look = key->last;
    key->asked = now;
    key->again = false;
    key->next = mono_add_ms(now, KEY_ANSWER_MS);
    if (node_link_get(key->link, key->name, token) != RESULT_OK) {
        key->look = 0;
    }
}

MonoTime key_next(const Key *key)
{
    MonoTime next = key->put != 0 ? key->put_end : key->next;
    return key->link->up ? next : MONO_NEVER;
}

Result key_put(Key *key, MonoTime now)
{
    uint64_t token = key_token(key);
    Result rc = node_link_put(key->link, key->name, key->revision, token);
    key->put = rc == RESULT_OK ? key->last : 0;
    key->put_end = mono_add_ms(now, KEY_ANSWER_MS);
    return rc;
}

KeyNews key_take(Key *key, const TransportEvent *event, MonoTime now)
{
    uint64_t number = node_token_number(event->token) & (KEY_BIT - 1);
    if (!key_is_of(event) || (number != key->look && number != key->put)) {
        return KEY_NOTHING;
    }
    if (number == key->look) {
        key->look = 0;
        key->next = mono_add_ms(now, key->again ? key->link->pace_ms : key->pause_ms);
        if (event->kind != TRANSPORT_VALUE) {
            return KEY_NOTHING;
        }
        key->seen = true;
        key->revision = event->revision;
        return KEY_VALUE;
    }
    key->put = 0;
    if (event->kind != TRANSPORT_STORED) {
        key->next = now;
        return KEY_REFUSED;
    }
    key->revision = event->revision;
    return KEY_STORED;
}
