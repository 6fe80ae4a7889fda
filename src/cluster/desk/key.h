/* Key: one value of the bucket, as a desk looks at it and replaces it.
 *
 *   key_work --look--> [look in flight] --> KEY_VALUE: event has it, key->revision, key->asked
 *   key_put  ------->  [put in flight]  --> KEY_STORED, or KEY_REFUSED: another one was faster, or
 *                                           there was no answer; it is looked at again at once
 *
 * What: the one way in which a node keeps a value that all agents share: it looks soon after it has
 * heard of a change (NodeLink.pace_ms), and every pause_ms in any case; it replaces the revision
 * that it has seen last, and no other. What is not answered within KEY_ANSWER_MS is lost. While a
 * put is in flight nothing is looked at, so an answer never speaks of what is being replaced.
 * Owns: nothing. Time is a parameter; belongs to one thread.
 * Invariant: a KEY_VALUE shows what the server had at some moment after key->asked. */
#pragma once

#include "cluster/message/node_link.h"

#define KEY_ANSWER_MS 5000
#define KEY_BIT       (UINT64_C(1) << 55) /* of numbers in tokens; other questions of a part: without */

typedef struct Key {
    NodeLink *link; /* borrowed */
    NodePart part;
    char name[32];
    int64_t pause_ms;
    uint64_t revision; /* seen or stored last; 0: there is none */
    uint64_t look;     /* number of the look in flight; 0: none */
    uint64_t put;
    uint64_t last;
    MonoTime asked; /* when the last look began */
    MonoTime next;  /* look */
    MonoTime put_end;
    bool again; /* it has changed since the look began */
    bool seen;  /* since key_up */
    bool is_up; /* key_up was called once: the value is wanted here */
} Key;

typedef enum KeyNews { KEY_NOTHING, KEY_VALUE, KEY_STORED, KEY_REFUSED } KeyNews;

/* It is not looked at before key_up. */
void key_init(Key *key, NodeLink *link, NodePart part, const char *name, int64_t pause_ms);
/* The connection is there; the value may have changed. */
void key_up(Key *key, MonoTime now);
void key_changed(Key *key, MonoTime now);
/* A look that is in flight is too old: another one. */
void key_doubt(Key *key, MonoTime now);
/* Looks when it is time. */
void key_work(Key *key, MonoTime now);
MonoTime key_next(const Key *key);
static inline bool key_is_busy(const Key *key)
{
    return key->look != 0 || key->put != 0;
}
/* As Transport.put, of what was written (node_link_blank). */
Result key_put(Key *key, MonoTime now);
/* Whether an event is of a look or put of this part at all. */
static inline bool key_is_of(const TransportEvent *event)
{
    return (node_token_number(event->token) & KEY_BIT) != 0;
}
/* What an event says; one of another call says nothing. */
KeyNews key_take(Key *key, const TransportEvent *event, MonoTime now);
