/* Transport NATS: agents reach each other through a NATS server (transport.h).
 *
 *   subject.N  <-- listen, publish, request -->  inbox of this connection.KIND.TOKEN
 *   key-value bucket "ragno_CRAWL" of JetStream, made when it is missing:
 *     look at a key:   $JS.API.STREAM.MSG.GET.KV_BUCKET  {"last_by_subj":"$KV.BUCKET.KEY"}
 *     replace a value: $KV.BUCKET.KEY, header Nats-Expected-Last-Subject-Sequence: REVISION
 *     make the bucket: $JS.API.STREAM.CREATE.KV_BUCKET
 *
 * What: requests, looks and puts carry a reply subject that ends with what was asked and its token,
 * so one subscription hears all answers and nothing waits. Every put is a message on a subject of
 * the bucket, so hearing these is hearing of changes. A bucket is a stream that keeps the last
 * message of each subject; the revision of a value is its sequence there. libnats has functions for
 * it that wait for the server; here nothing waits. A look asks the stream's leader, so it never
 * shows an older value than was stored before it began.
 *
 * The connection comes back by itself, for ever. While it is away nothing is sent: the functions
 * say RESULT_CLOSED. When the server does not accept who we are, it is closed for good.
 *
 * Owns: connection and subscriptions. libnats has threads of its own; events come in these.
 * Threads: as transport.h; opened and closed by one.
 * Errors: RESULT_NOT_FOUND: libnats is not installed. RESULT_INVALID: URL, credentials or
 * certificates cannot be used; error holds one sentence. An answer of the bucket that is not
 * understood is TRANSPORT_FAILED, with the server's words if it has any.
 * Source: the NATS documentation, "JetStream wire API"; ADR-8 of nats-architecture-and-design. */
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

/* What the bucket has answered, as the event that comes of it (token: its own); NULL: nothing does,
 * or there is no memory. *missing: the bucket is to be made. */
TransportEvent *transport_nats_stored(const char *text, uint64_t token, bool *missing);
/* The key of a subject of the bucket; NULL: it is none of this crawl's. */
const char *transport_nats_key(const char *crawl, const char *subject);
