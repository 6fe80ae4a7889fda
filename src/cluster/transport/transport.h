/* Transport: how agents reach each other, and the small values that all of them share.
 *
 *   node --request, publish, get, put--> transport --events--> node
 *
 * What: messages by subject ("ragno.crawl.in.3"), answers to them, and a table of keys and values
 * with revisions. Nothing waits: what comes of a call comes as an event, or not at all. A message
 * may be lost, late, repeated, or out of order, and so may an answer; whoever needs it asks again.
 *
 * A value is replaced by compare-and-set: `expected` is the revision that is to be replaced, 0 when
 * there is to be none. A listener hears that a key has changed soon after; it may miss one, and may
 * hear of one that was refused: it looks then.
 *
 * Owns: an event and its bytes belong to whoever gets it (transport_event_delete).
 *
 * Threads: the functions may be called by one thread; events come in any thread, through the sink,
 * which must not wait. Two of them: transport_nats.h, and tests/sim/transport_sim.h.
 * Source: MANY-MACHINES 2. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"

#define TRANSPORT_SUBJECT_BYTES 128u

typedef enum TransportEventKind {
    TRANSPORT_UP,       /* connected, for the first time or again */
    TRANSPORT_DOWN,     /* not connected any more; it comes back by itself */
    TRANSPORT_CLOSED,   /* it does not come back: text says why */
    TRANSPORT_MESSAGE,  /* to a subject that is listened to */
    TRANSPORT_ANSWER,   /* to a request */
    TRANSPORT_NOBODY,   /* nobody listens to the subject of a request */
    TRANSPORT_VALUE,    /* of a key; revision 0: there is none */
    TRANSPORT_STORED,   /* put: revision is the new one */
    TRANSPORT_CONFLICT, /* put: another revision is there */
    TRANSPORT_FAILED,   /* get or put: no answer can be had now; text says why */
    TRANSPORT_CHANGED   /* a key may have changed: subject is its name */
} TransportEventKind;

typedef struct TransportEvent {
    TransportEventKind kind;
    uint64_t token;    /* of the request, get or put that this comes of */
    uint64_t revision; /* TRANSPORT_VALUE, TRANSPORT_STORED */
    char *subject;     /* TRANSPORT_MESSAGE, TRANSPORT_CHANGED; owned, as all of these; else NULL */
    char *reply_to;    /* of a request: for transport->publish; NULL: it was published */
    char *bytes;       /* NUL behind the length */
    size_t length;
    char *text; /* for the operator; may be NULL */
} TransportEvent;

/* NULL without memory. Copies. */
TransportEvent *transport_event_new(TransportEventKind kind, uint64_t token, const char *subject,
                                    const char *reply_to, const void *bytes, size_t length);
void transport_event_delete(TransportEvent *event); /* NULL is allowed */

/* Takes the event. */
typedef struct TransportSink {
    void *context;
    void (*take)(void *context, TransportEvent *event);
} TransportSink;

/* Bytes are copied, or sent, before a function returns. RESULT_CLOSED: not connected; nothing comes
 * of it. RESULT_LIMIT: too long. RESULT_MEMORY. */
typedef struct Transport {
    void *state;
    /* To one subject, which may have a "*"; again has no effect. */
    Result (*listen)(void *state, const char *subject);
    Result (*request)(void *state, const char *subject, const void *bytes, size_t length,
                      uint64_t token);
    /* Also an answer, to TransportEvent.reply_to. */
    Result (*publish)(void *state, const char *subject, const void *bytes, size_t length);
    Result (*get)(void *state, const char *key, uint64_t token);
    Result (*put)(void *state, const char *key, const void *bytes, size_t length, uint64_t expected,
                  uint64_t token);
} Transport;
