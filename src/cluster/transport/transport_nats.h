/* Transport NATS: agents reach each other through a NATS server (transport.h).
 *
 *   subject.N  <-- listen, publish, request -->  inbox of this connection.KIND.TOKEN
 *   key-value bucket "ragno_CRAWL" of JetStream (transport_kv.h), made when it is missing
 *
 * What: requests, looks and puts carry a reply subject that ends with what was asked and its token,
 * so one subscription hears all answers and nothing waits. Every put is a message on a subject of
 * the bucket, so hearing these is hearing of changes.
 *
 * The connection comes back by itself, for ever. While it is away nothing is sent: the functions
 * say RESULT_CLOSED. When the server does not accept who we are, it is closed for good.
 *
 * Owns: connection and subscriptions. libnats has threads of its own; events come in these.
 * Threads: as transport.h; opened and closed by one.
 * Errors: RESULT_NOT_FOUND: libnats is not installed. RESULT_INVALID: URL, credentials or
 * certificates cannot be used; error holds one sentence. */
#pragma once

#include "base/memory/buffer.h"
#include "cluster/transport/transport.h"

typedef struct TransportNatsOptions {
    const char *url;         /* or several, comma separated; tls://: encrypted */
    const char *crawl;       /* its name; letters, digits, '-' and '_' */
    const char *name;        /* of this client, for the server's lists */
    const char *credentials; /* file (transport_login.h); "": none */
    const char *authority;   /* file of certificates that a server's is checked by; "": system's */
    const char *certificate; /* of this client, and its key: files; "": none */
    const char *key;
    unsigned replicas; /* of the bucket, if it is made */
} TransportNatsOptions;

typedef struct TransportNats TransportNats;

/* Begins to connect; TRANSPORT_UP follows. The sink is called until transport_nats_close. */
Result transport_nats_open(TransportNats **nats, const TransportNatsOptions *options,
                           const TransportSink *sink, Buffer *error);
/* Sends what was given to it, if that can be done soon, and ends it: no event comes afterwards. */
void transport_nats_close(TransportNats *nats); /* NULL is allowed */
/* Borrowed. */
const Transport *transport_nats(const TransportNats *nats);
