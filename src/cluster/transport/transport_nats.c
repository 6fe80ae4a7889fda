#include "cluster/transport/transport_nats.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/base64.h"
#include "base/thread/log.h"
#include "base/thread/mutex.h"
#include "cluster/transport/transport_login.h"

/* Transport setup: options of a connection to a NATS server, as libnats wants them.
 *
 * What: where the server is, who we are, by which certificates both are checked, and how long a
 * silent server is waited for. The callbacks are transport_nats.h's.
 * Threads: one.
 * Errors: as transport_nats_open. */

#define RECONNECT_MS 500
#define CONNECT_MS   5000
#define PING_MS      5000 /* so long, and two pings more, until a silent server is given up */
#define PENDING_MOST 1000000

static natsStatus set_login(const NatsLibrary *library, natsOptions *setup, const Login *login,
                            const char *path)
{
    switch (login->kind) {
    case LOGIN_NONE:
        return NATS_OK;
    case LOGIN_USER:
        return library->natsOptions_SetUserInfo(setup, login->first, login->second);
    case LOGIN_TOKEN:
        return library->natsOptions_SetToken(setup, login->first);
    case LOGIN_NKEY:
        return library->natsOptions_SetNKeyFromSeed(setup, login->first, path);
    case LOGIN_FILE:
        return library->natsOptions_SetUserCredentialsFromFiles(setup, path, NULL);
    }
    return NATS_ERR;
}

static natsStatus set_tls(const NatsLibrary *library, natsOptions *setup,
                          const TransportNatsOptions *options)
{
    natsStatus status = NATS_OK;
    /* The first address decides for all: where one is to be encrypted, none gets the login in the
     * clear. */
    if (strncmp(options->url, "tls://", 6) == 0) {
        status = library->natsOptions_SetSecure(setup, true);
    }
    if (status == NATS_OK && *options->authority != '\0') {
        status = library->natsOptions_LoadCATrustedCertificates(setup, options->authority);
    }
    if (status == NATS_OK && *options->certificate != '\0') {
        status =
            library->natsOptions_LoadCertificatesChain(setup, options->certificate, options->key);
    }
    return status;
}

static natsStatus set_patience(const NatsLibrary *library, natsOptions *setup)
{
    /* For ever (-1), each half second, with a jitter so that a hundred agents do not come back at
     * once. SendAsap: a message is not held back for the next. */
    bool good = library->natsOptions_SetMaxReconnect(setup, -1) == NATS_OK &&
                library->natsOptions_SetReconnectWait(setup, RECONNECT_MS) == NATS_OK &&
                library->natsOptions_SetReconnectJitter(setup, 100, 100) == NATS_OK &&
                library->natsOptions_SetPingInterval(setup, PING_MS) == NATS_OK &&
                library->natsOptions_SetMaxPendingMsgs(setup, PENDING_MOST) == NATS_OK &&
                library->natsOptions_SetTimeout(setup, CONNECT_MS) == NATS_OK &&
                library->natsOptions_SetSendAsap(setup, true) == NATS_OK &&
                library->natsOptions_UseGlobalMessageDelivery(setup, true) == NATS_OK;
    return good ? NATS_OK : NATS_ERR;
}

/* Says what libnats did not like; what: which option. */
static Result transport_complain(const NatsLibrary *library, natsStatus status, const char *what,
                                 Buffer *error)
{
    /* The library's last error is this thread's, and mostly says more than the status. */
    const char *why = library->nats_GetLastError(NULL);
    (void)buffer_printf(error, "%s: %s", what,
                        why != NULL && *why != '\0' ? why : library->natsStatus_GetText(status));
    return status == NATS_NO_MEMORY ? RESULT_MEMORY : RESULT_INVALID;
}

/* *setup is to be destroyed (natsOptions_Destroy) in any case. */
static Result transport_setup(const NatsLibrary *library, natsOptions **setup,
                              const TransportNatsOptions *options, Buffer *error)
{
    Login login;
    natsStatus status = library->natsOptions_Create(setup);
    if (status == NATS_OK) {
        status = library->natsOptions_SetURL(*setup, options->url);
    }
    if (status == NATS_OK) {
        status = library->natsOptions_SetName(*setup, options->name);
    }
    if (status == NATS_OK) {
        status = set_patience(library, *setup);
    }
    if (status != NATS_OK) {
        return transport_complain(library, status, "cluster.url", error);
    }
    /* Which options the words name is the point: the operator has to know which one to mend. */
    status = set_tls(library, *setup, options);
    if (status != NATS_OK) {
        return transport_complain(library, status, "cluster.tls_authority, cluster.tls_certificate",
                                  error);
    }
    Result rc = login_read(&login, options->credentials, error);
    if (rc == RESULT_OK) {
        status = set_login(library, *setup, &login, options->credentials);
        rc = status == NATS_OK ? rc
                               : transport_complain(library, status, "cluster.credentials", error);
    }
    login_destroy(&login);
    return rc;
}

/* RESULT_LIMIT: a message is too long for the server. RESULT_MEMORY. RESULT_CLOSED otherwise. */
static Result transport_result(natsStatus status)
{
    switch ((int)status) {
    case NATS_OK:
        return RESULT_OK;
    case NATS_MAX_PAYLOAD:
        return RESULT_LIMIT;
    case NATS_NO_MEMORY:
        return RESULT_MEMORY;
    /* Whatever else goes wrong with a send is repeated by the caller when it is up again. */
    default:
        return RESULT_CLOSED;
    }
}

/* ---- bucket ---- */

#define BUCKET_SUBJECT_BYTES 256u
#define BUCKET_EXPECTED      "Nats-Expected-Last-Subject-Sequence"

/* As other programs make buckets, so that their tools show it. */
/* max_msgs_per_subject 1 makes a stream a key-value store. deny_delete and discard "new" keep a
 * full server from dropping a record: it refuses the put instead. Nothing ages. */
#define BUCKET_CONFIG                                                                              \
    "{\"name\":\"KV_ragno_%s\",\"subjects\":[\"$KV.ragno_%s.>\"],\"retention\":\"limits\","        \
    "\"storage\":\"file\",\"discard\":\"new\",\"max_msgs_per_subject\":1,\"max_consumers\":-1,"    \
    "\"max_msgs\":-1,\"max_bytes\":-1,\"max_age\":0,\"max_msg_size\":-1,"                          \
    "\"duplicate_window\":120000000000,\"num_replicas\":%u,\"allow_rollup_hdrs\":true,"            \
    "\"deny_delete\":true,\"allow_direct\":true}"

/* err_code of the server's answers */
#define BUCKET_NO_STREAM      10059u
#define BUCKET_NO_MESSAGE     10037u
#define BUCKET_WRONG_REVISION 10071u
#define BUCKET_NAME_IN_USE    10058u

static void bucket_subject(const char *crawl, const char *key, char subject[BUCKET_SUBJECT_BYTES])
{
    (void)snprintf(subject, BUCKET_SUBJECT_BYTES, "$KV.ragno_%s.%s", crawl, key);
}

const char *transport_nats_key(const char *crawl, const char *subject)
{
    char head[BUCKET_SUBJECT_BYTES];
    bucket_subject(crawl, "", head);
    size_t length = strlen(head);
    return strncmp(subject, head, length) == 0 ? subject + length : NULL;
}

/* What stands behind "name": in JSON whose names are never inside of strings; NULL: there is none.
 */
static const char *bucket_find(const char *text, const char *name)
{
    /* No parser of JSON: the answers are the server's own, short, and what users write stands in
     * base64. */
    const char *place = strstr(text, name);
    return place == NULL ? NULL : place + strlen(name) + strspn(place + strlen(name), " ");
}

static uint64_t bucket_number(const char *text, const char *name)
{
    const char *place = bucket_find(text, name);
    return place == NULL ? 0 : strtoull(place, NULL, 10);
}

/* A string without escapes; its length in *length. */
static const char *bucket_string(const char *text, const char *name, size_t *length)
{
    const char *place = bucket_find(text, name);
    /* A string with an escape is not whole, and is not taken: base64 has none. */
    *length = place == NULL || *place != '"' ? 0 : strcspn(place + 1, "\"\\");
    bool whole = place != NULL && *place == '"' && place[1 + *length] == '"';
    return whole ? place + 1 : NULL;
}

/* text: for an operator, length bytes; NULL: nothing. */
static TransportEvent *transport_event_said(TransportEventKind kind, uint64_t token,
                                            const char *text, size_t length)
{
    TransportEvent *event = transport_event_new(kind, token, NULL, NULL, NULL, 0);
    if (event != NULL && text != NULL) {
        event->text = strndup(text, length);
    }
    return event;
}

static TransportEvent *bucket_refused(const char *text, uint64_t token)
{
    size_t length = 0;
    const char *words = bucket_string(text, "\"description\":", &length);
    if (words == NULL) {
        words = "an answer that is not understood";
        length = strlen(words);
    }
    return transport_event_said(TRANSPORT_FAILED, token, words, length);
}

static TransportEvent *bucket_fault(const char *text, uint64_t token, bool *missing)
{
    switch (bucket_number(text, "\"err_code\":")) {
    /* Revision 0 and no bytes: the key is not there. A put that expects 0 makes it. */
    case BUCKET_NO_MESSAGE:
        return transport_event_new(TRANSPORT_VALUE, token, NULL, NULL, "", 0);
    case BUCKET_NO_STREAM:
        *missing = true;
        return transport_event_said(TRANSPORT_FAILED, token, NULL, 0);
    /* Somebody else was first: the caller looks again (transport.h). */
    case BUCKET_WRONG_REVISION:
        return transport_event_said(TRANSPORT_CONFLICT, token, NULL, 0);
    case BUCKET_NAME_IN_USE: /* with other settings, because an operator made it: as good */
        return NULL;
    default:
        return bucket_refused(text, token);
    }
}

TransportEvent *transport_nats_stored(const char *text, uint64_t token, bool *missing)
{
    Buffer value = {.limit = BUFFER_NO_LIMIT};
    TransportEvent *event = NULL;
    size_t length = 0;
    *missing = false;
    if (strstr(text, "\"error\":") != NULL) {
        return bucket_fault(text, token, missing);
    }
    /* The bucket was made: nobody has asked for that, and the look that missed it is repeated. */
    if (strstr(text, "\"config\":") != NULL) {
        return NULL;
    }
    uint64_t revision = bucket_number(text, "\"seq\":");
    const char *data = bucket_string(text, "\"data\":", &length);
    /* A look answers with the whole message, a put with its sequence only. */
    bool looked = strstr(text, "\"message\":") != NULL;
    if (revision == 0 ||
        (data != NULL && base64_read(&value, data, length, BASE64_STANDARD) != RESULT_OK)) {
        event = bucket_refused(text, token);
    } else {
        event = transport_event_new(looked ? TRANSPORT_VALUE : TRANSPORT_STORED, token, NULL, NULL,
                                    buffer_string(&value), value.length);
    }
    if (event != NULL) {
        event->revision = revision;
    }
    buffer_destroy(&value);
    return event;
}

/* ---- Transport NATS ---- */

#define CLOSE_MS     2000
#define KIND_REQUEST 'r'
#define KIND_STORED  's' /* of the bucket */
#define REPLY_BYTES  128u
#define LISTENS_MOST 3u /* answers, changes, messages */

struct TransportNats {
    const NatsLibrary *library;
    Transport transport;
    TransportSink sink;
    char crawl[64];
    char *url;
    bool has_login;
    unsigned replicas;
    natsOptions *options;
    natsConnection *connection;
    natsSubscription *listening[LISTENS_MOST];
    size_t n_listening;
    char inbox[64];
    atomic_bool up;
    atomic_bool closing;
    atomic_bool told; /* why the bucket cannot be used */
    Mutex mutex;      /* RANK_TABLE; guards what follows */
    Condition changed;
    bool closed; /* the library has said so: no event of the connection follows */
    size_t open; /* subscriptions that may still call back */
};

/* ---- events ---- */

/* Without memory an event is lost, as a message may be. */
static void transport_nats_tell(TransportNats *nats, TransportEvent *event)
{
    if (event == NULL) {
        return;
    }
    /* Told once, and again only after the store has worked in between: looks are repeated every two
     * seconds. */
    if (event->kind == TRANSPORT_VALUE) {
        atomic_store(&nats->told, false);
    } else if (event->kind == TRANSPORT_FAILED && event->text != NULL &&
               !atomic_exchange(&nats->told, true)) {
        LOG_WARN("cluster", "the server's key-value store cannot be used",
                 "error=\"%s\" next=\"is JetStream on? (nats-server -js)\"", event->text);
    }
    nats->sink.take(nats->sink.context, event);
}

/* text: for an operator, or NULL. */
static void tell_kind(TransportNats *nats, TransportEventKind kind, uint64_t token,
                      const char *text)
{
    transport_nats_tell(nats,
                        transport_event_said(kind, token, text, text == NULL ? 0 : strlen(text)));
}

static void make_reply(const TransportNats *nats, char kind, uint64_t token,
                       char reply[REPLY_BYTES])
{
    /* INBOX.KIND.TOKEN: what came back is known by its subject alone, so nothing is remembered
     * here. */
    (void)snprintf(reply, REPLY_BYTES, "%s.%c.%016llx", nats->inbox, kind,
                   (unsigned long long)token);
}

/* Publishes what is answered with that kind and token. */
static natsStatus nats_ask(const TransportNats *nats, const char *subject, const void *bytes,
                           size_t length, char kind, uint64_t token)
{
    char reply[REPLY_BYTES];
    make_reply(nats, kind, token, reply);
    return nats->library->natsConnection_PublishRequest(nats->connection, subject, reply, bytes,
                                                        (int)length);
}

/* A request about the stream that is the bucket. */
static Result nats_ask_stream(const TransportNats *nats, const char *what, const char *request,
                              uint64_t token)
{
    char subject[BUCKET_SUBJECT_BYTES];
    (void)snprintf(subject, sizeof subject, "$JS.API.STREAM.%s.KV_ragno_%s", what, nats->crawl);
    return transport_result(nats_ask(nats, subject, request, strlen(request), KIND_STORED, token));
}

/* When there is no bucket, the look finds it when it is repeated. */
static void transport_nats_take_stored(TransportNats *nats, uint64_t token, const char *text)
{
    char request[1024];
    bool missing = false;
    transport_nats_tell(nats, transport_nats_stored(text, token, &missing));
    if (missing) {
        (void)snprintf(request, sizeof request, BUCKET_CONFIG, nats->crawl, nats->crawl,
                       nats->replicas);
        /* Token 0 is nobody's. Two agents may make it at once: the second hears that the name is in
         * use. */
        (void)nats_ask_stream(nats, "CREATE", request, 0);
    }
}

static void transport_nats_take_answer(TransportNats *nats, char kind, uint64_t token,
                                       natsMsg *message)
{
    bool nobody = nats->library->natsMsg_IsNoResponders(message);
    const char *data = nats->library->natsMsg_GetData(message); /* libnats puts a NUL behind it */
    const char *text = data == NULL ? "" : data;
    int length = nats->library->natsMsg_GetDataLength(message);
    if (kind == KIND_REQUEST) {
        transport_nats_tell(nats, transport_event_new(nobody ? TRANSPORT_NOBODY : TRANSPORT_ANSWER,
                                                      token, NULL, NULL, text, (size_t)length));
    } else if (nobody) {
        tell_kind(nats, TRANSPORT_FAILED, token, "nobody serves it");
    } else {
        transport_nats_take_stored(nats, token, text);
    }
}

/* An answer, a change of a key, or a message to this node: its subject says which. */
static void on_message(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                       void *context)
{
    TransportNats *nats = context;
    const NatsLibrary *library = nats->library;
    const char *subject = library->natsMsg_GetSubject(message);
    size_t head = strlen(nats->inbox);
    bool is_answer = strncmp(subject, nats->inbox, head) == 0;
    const char *key = is_answer ? NULL : transport_nats_key(nats->crawl, subject);
    (void)connection;
    (void)subscription;
    /* The sink's owner may be on its way out already. */
    if (atomic_load(&nats->closing)) {
        library->natsMsg_Destroy(message);
        return;
    }
    if (key != NULL) {
        transport_nats_tell(nats, transport_event_new(TRANSPORT_CHANGED, 0, key, NULL, NULL, 0));
    } else if (!is_answer) {
        transport_nats_tell(nats,
                            transport_event_new(TRANSPORT_MESSAGE, 0, subject,
                                                library->natsMsg_GetReply(message),
                                                library->natsMsg_GetData(message),
                                                (size_t)library->natsMsg_GetDataLength(message)));
        /* Behind the inbox stand a dot, the kind, a dot, the token. Anything shorter is not ours.
         */
    } else if (strlen(subject) > head + 3) {
        transport_nats_take_answer(nats, subject[head + 1], strtoull(subject + head + 3, NULL, 16),
                                   message);
    }
    library->natsMsg_Destroy(message);
}

static void on_up(natsConnection *connection, void *context)
{
    TransportNats *nats = context;
    (void)connection;
    atomic_store(&nats->up, true);
    if (!atomic_load(&nats->closing)) {
        tell_kind(nats, TRANSPORT_UP, 0, NULL);
    }
}

static void on_down(natsConnection *connection, void *context)
{
    TransportNats *nats = context;
    (void)connection;
    /* Only a change is an event: the library may say so twice. */
    if (atomic_exchange(&nats->up, false) && !atomic_load(&nats->closing)) {
        tell_kind(nats, TRANSPORT_DOWN, 0, NULL);
    }
}

static void on_closed(natsConnection *connection, void *context)
{
    TransportNats *nats = context;
    (void)connection;
    atomic_store(&nats->up, false);
    if (!atomic_load(&nats->closing)) {
        char text[256] = "the NATS server has closed the connection for good; ";
        size_t length = strlen(text);
        login_explain(nats->url, nats->has_login, text + length, sizeof text - length);
        tell_kind(nats, TRANSPORT_CLOSED, 0, text);
    }
    mutex_lock(&nats->mutex);
    nats->closed = true;
    condition_broadcast(&nats->changed);
    mutex_unlock(&nats->mutex);
}

/* Messages that are lost are asked for again; that it happens is told. */
static void transport_nats_on_error(natsConnection *connection, natsSubscription *subscription,
                                    natsStatus status, void *context)
{
    const TransportNats *nats = context;
    (void)connection;
    (void)subscription;
    LOG_WARN("cluster", "libnats complains", "error=\"%s\"",
             nats->library->natsStatus_GetText(status));
}

/* ---- what a node does with it ---- */

/* libnats delivers messages in a thread of its own, and after the last one of a closed connection
 * it says so for each subscription. Until then that thread may call back, and what it gives to the
 * library's collector of garbage after nats_CloseAndWait has ended the collector stays allocated.
 * Source: natsSubscription_SetOnCompleteCB in nats/nats.h. */
static void count_open(TransportNats *nats, size_t more, size_t fewer)
{
    mutex_lock(&nats->mutex);
    nats->open += more;
    nats->open -= fewer;
    /* transport_nats_close waits for 0. */
    condition_broadcast(&nats->changed);
    mutex_unlock(&nats->mutex);
}

static void on_complete(void *context)
{
    count_open(context, 0, 1);
}

static Result transport_nats_subscribe(TransportNats *nats, const char *subject)
{
    const NatsLibrary *library = nats->library;
    natsSubscription **place = &nats->listening[nats->n_listening];
    Result rc = transport_result(
        library->natsConnection_Subscribe(place, nats->connection, subject, on_message, nats));
    if (rc != RESULT_OK) {
        return rc;
    }
    nats->n_listening++;
    count_open(nats, 1, 0);
    if (library->natsSubscription_SetOnCompleteCB(*place, on_complete, nats) != NATS_OK) {
        count_open(nats, 0, 1); /* it is closed already */
    }
    return RESULT_OK;
}

/* A subscription outlives connections: the library renews it. */
static Result do_listen(void *state, const char *subject)
{
    TransportNats *nats = state;
    /* Answers and changes were subscribed to at the start: the third is the node's own subject,
     * which a repeated join asks for once more. */
    return nats->n_listening == LISTENS_MOST ? RESULT_OK : transport_nats_subscribe(nats, subject);
}

static Result do_request(void *state, const char *subject, const void *bytes, size_t length,
                         uint64_t token)
{
    const TransportNats *nats = state;
    /* Without this the library would keep what is sent while it is down, and send it when it is
     * back: answers to questions that nobody asks any more. */
    return !atomic_load(&nats->up)
               ? RESULT_CLOSED
               : transport_result(nats_ask(nats, subject, bytes, length, KIND_REQUEST, token));
}

static Result do_publish(void *state, const char *subject, const void *bytes, size_t length)
{
    const TransportNats *nats = state;
    return !atomic_load(&nats->up) ? RESULT_CLOSED
                                   : transport_result(nats->library->natsConnection_Publish(
                                         nats->connection, subject, bytes, (int)length));
}

static Result do_get(void *state, const char *key, uint64_t token)
{
    const TransportNats *nats = state;
    char subject[BUCKET_SUBJECT_BYTES];
    char request[BUCKET_SUBJECT_BYTES + 32];
    if (!atomic_load(&nats->up)) {
        return RESULT_CLOSED;
    }
    bucket_subject(nats->crawl, key, subject);
    (void)snprintf(request, sizeof request, "{\"last_by_subj\":\"%s\"}", subject);
    return nats_ask_stream(nats, "MSG.GET", request, token);
}

static Result do_put(void *state, const char *key, const void *bytes, size_t length,
                     uint64_t expected, uint64_t token)
{
    const TransportNats *nats = state;
    const NatsLibrary *library = nats->library;
    natsMsg *message = NULL;
    char subject[BUCKET_SUBJECT_BYTES];
    char reply[REPLY_BYTES];
    char number[24];
    if (!atomic_load(&nats->up)) {
        return RESULT_CLOSED;
    }
    bucket_subject(nats->crawl, key, subject);
    make_reply(nats, KIND_STORED, token, reply);
    natsStatus status = library->natsMsg_Create(&message, subject, reply, bytes, (int)length);
    if (status == NATS_OK) {
        (void)snprintf(number, sizeof number, "%llu", (unsigned long long)expected);
        /* The server compares and stores in one step: of two puts that saw the same revision one
         * fails. */
        status = library->natsMsgHeader_Set(message, BUCKET_EXPECTED, number);
    }
    if (status == NATS_OK) {
        status = library->natsConnection_PublishMsg(nats->connection, message);
    }
    library->natsMsg_Destroy(message);
    return transport_result(status);
}

const Transport *transport_nats(const TransportNats *nats)
{
    return &nats->transport;
}

/* ---- birth and death ---- */

static natsStatus set_callbacks(TransportNats *nats)
{
    const NatsLibrary *library = nats->library;
    natsOptions *options = nats->options;
    bool good =
        library->natsOptions_SetRetryOnFailedConnect(options, true, on_up, nats) == NATS_OK &&
        library->natsOptions_SetReconnectedCB(options, on_up, nats) == NATS_OK &&
        library->natsOptions_SetDisconnectedCB(options, on_down, nats) == NATS_OK &&
        library->natsOptions_SetClosedCB(options, on_closed, nats) == NATS_OK &&
        library->natsOptions_SetErrorHandler(options, transport_nats_on_error, nats) == NATS_OK;
    return good ? NATS_OK : NATS_ERR;
}

static Result subscribe(TransportNats *nats)
{
    const NatsLibrary *library = nats->library;
    natsInbox *inbox = NULL;
    char subject[BUCKET_SUBJECT_BYTES];
    Result rc = transport_result(library->natsInbox_Create(&inbox));
    if (rc != RESULT_OK) {
        return rc;
    }
    (void)snprintf(nats->inbox, sizeof nats->inbox, "%s", inbox);
    library->natsInbox_Destroy(inbox);
    (void)snprintf(subject, sizeof subject, "%s.>", nats->inbox);
    rc = transport_nats_subscribe(nats, subject);
    /* All keys: a change of any is heard by who must look at it (TRANSPORT_CHANGED). */
    bucket_subject(nats->crawl, ">", subject);
    return rc == RESULT_OK ? transport_nats_subscribe(nats, subject) : rc;
}

/* The library calls nothing back for a connection that was there at once. */
static Result transport_nats_connect_to(TransportNats *nats, Buffer *error)
{
    natsStatus status = nats->library->natsConnection_Connect(&nats->connection, nats->options);
    /* No server yet is no error: on_up is called when there is one. */
    bool later = status == NATS_NOT_YET_CONNECTED;
    if (status != NATS_OK && !later) {
        nats->connection = NULL;
        return transport_complain(nats->library, status, "cluster.url", error);
    }
    Result rc = subscribe(nats);
    if (rc == RESULT_CLOSED) {
        return RESULT_OK; /* it is closed for good already: on_closed tells why */
    }
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "cluster.url: cannot listen there: %s", result_name(rc));
        return rc;
    }
    if (!later) {
        on_up(nats->connection, nats);
    }
    return RESULT_OK;
}

Result transport_nats_open(TransportNats **out, const TransportNatsOptions *options,
                           const TransportSink *sink, Buffer *error)
{
    const NatsLibrary *library = nats_library(error);
    if (library == NULL) {
        return RESULT_NOT_FOUND;
    }
    TransportNats *nats = calloc(1, sizeof *nats);
    if (nats == NULL) {
        return RESULT_MEMORY;
    }
    nats->library = library;
    nats->sink = *sink;
    nats->replicas = options->replicas;
    nats->url = strdup(options->url);
    nats->has_login = *options->credentials != '\0';
    nats->transport = (Transport){.state = nats,
                                  .listen = do_listen,
                                  .request = do_request,
                                  .publish = do_publish,
                                  .get = do_get,
                                  .put = do_put};
    (void)snprintf(nats->crawl, sizeof nats->crawl, "%s", options->crawl);
    mutex_init(&nats->mutex, RANK_TABLE);
    condition_init(&nats->changed);
    Result rc = nats->url == NULL ? RESULT_MEMORY
                                  : transport_setup(library, &nats->options, options, error);
    if (rc == RESULT_OK && set_callbacks(nats) != NATS_OK) {
        rc = RESULT_MEMORY;
    }
    if (rc == RESULT_OK) {
        rc = transport_nats_connect_to(nats, error);
    }
    if (rc != RESULT_OK) {
        transport_nats_close(nats);
        return rc;
    }
    *out = nats;
    return RESULT_OK;
}

void transport_nats_close(TransportNats *nats)
{
    if (nats == NULL) {
        return;
    }
    const NatsLibrary *library = nats->library;
    /* From here on no event leaves. What was sent is flushed first, as a goodbye must arrive; then
     * on_closed and each on_complete are waited for, CLOSE_MS at most: a library that hangs must
     * not hold the crawl's end. */
    atomic_store(&nats->closing, true);
    if (nats->connection != NULL) {
        if (atomic_load(&nats->up)) {
            (void)library->natsConnection_FlushTimeout(nats->connection, CLOSE_MS);
        }
        library->natsConnection_Close(nats->connection);
        MonoTime until = mono_add_ms(mono_now(), CLOSE_MS);
        mutex_lock(&nats->mutex);
        while ((!nats->closed || nats->open > 0) &&
               condition_wait_until(&nats->changed, &nats->mutex, until)) {
        }
        mutex_unlock(&nats->mutex);
    }
    for (size_t i = 0; i < nats->n_listening; i++) {
        library->natsSubscription_Destroy(nats->listening[i]);
    }
    library->natsConnection_Destroy(nats->connection);
    library->natsOptions_Destroy(nats->options);
    nats_library_close(library, CLOSE_MS); /* none of its threads calls back afterwards */
    condition_destroy(&nats->changed);
    mutex_destroy(&nats->mutex);
    free(nats->url);
    free(nats);
}
