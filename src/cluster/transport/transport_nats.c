#include "cluster/transport/transport_nats.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread/log.h"
#include "base/thread/mutex.h"
#include "cluster/transport/transport_kv.h"
#include "cluster/transport/transport_setup.h"
#include "cluster/transport/transport_subjects.h"

#define CLOSE_MS     2000
#define KIND_REQUEST 'r'
#define KIND_LOOK    'g'
#define KIND_PUT     'p'
#define KIND_MAKING  'm'
#define REPLY_BYTES  128u

struct TransportNats {
    const NatsLibrary *library;
    Transport transport;
    TransportSink sink;
    char crawl[64];
    unsigned replicas;
    natsOptions *options;
    natsConnection *connection;
    TransportSubjects subjects;
    char inbox[64];
    atomic_bool up;
    atomic_bool closing;
    atomic_bool told; /* why the bucket cannot be used */
    Mutex mutex;      /* RANK_TABLE; guards closed */
    Condition changed;
    bool closed; /* the library has said so: no event of the connection follows */
};

/* ---- events ---------------------------------------------------------------------------------- */

/* Without memory an event is lost, as a message may be. */
static void transport_nats_tell(TransportNats *nats, TransportEvent *event)
{
    if (event != NULL) {
        nats->sink.take(nats->sink.context, event);
    }
}

static void tell_kind(TransportNats *nats, TransportEventKind kind, uint64_t token)
{
    transport_nats_tell(nats, transport_event_new(kind, token, NULL, NULL, NULL, 0));
}

static void tell_failed(TransportNats *nats, uint64_t token, const char *why)
{
    TransportEvent *event = transport_event_new(TRANSPORT_FAILED, token, NULL, NULL, NULL, 0);
    if (event != NULL) {
        event->text = strdup(why);
    }
    transport_nats_tell(nats, event);
    if (!atomic_exchange(&nats->told, true)) {
        LOG_WARN("cluster", "the server's key-value store cannot be used",
                 "error=\"%s\" next=\"is JetStream on? (nats-server -js)\"", why);
    }
}

static void make_reply(const TransportNats *nats, char kind, uint64_t token,
                       char reply[REPLY_BYTES])
{
    (void)snprintf(reply, REPLY_BYTES, "%s.%c.%016llx", nats->inbox, kind,
                   (unsigned long long)token);
}

static void make_bucket(TransportNats *nats)
{
    char subject[KV_SUBJECT_BYTES];
    char reply[REPLY_BYTES];
    Buffer bytes;
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    kv_subject_of_making(nats->crawl, subject);
    make_reply(nats, KIND_MAKING, 0, reply);
    if (kv_write_making(nats->crawl, nats->replicas, &bytes) == RESULT_OK) {
        (void)nats->library->natsConnection_PublishRequest(nats->connection, subject, reply,
                                                           bytes.data, (int)bytes.length);
    }
    buffer_destroy(&bytes);
}

static void take_look(TransportNats *nats, uint64_t token, const char *text)
{
    Buffer value;
    buffer_init(&value, BUFFER_NO_LIMIT);
    KvAnswer answer = kv_read_look(text, &value);
    if (answer.kind == KV_VALUE || answer.kind == KV_NONE) {
        TransportEvent *event = transport_event_new(TRANSPORT_VALUE, token, NULL, NULL,
                                                    buffer_string(&value), value.length);
        if (event != NULL) {
            event->revision = answer.revision;
        }
        atomic_store(&nats->told, false);
        transport_nats_tell(nats, event);
    } else if (answer.kind == KV_NO_BUCKET) {
        make_bucket(nats);
        tell_kind(nats, TRANSPORT_FAILED, token);
    } else {
        tell_failed(nats, token, answer.text);
    }
    buffer_destroy(&value);
}

static void transport_nats_take_put(TransportNats *nats, uint64_t token, const char *text)
{
    KvAnswer answer = kv_read_put(text);
    TransportEvent *event = NULL;
    if (answer.kind == KV_STORED) {
        event = transport_event_new(TRANSPORT_STORED, token, NULL, NULL, NULL, 0);
        if (event != NULL) {
            event->revision = answer.revision;
        }
        transport_nats_tell(nats, event);
    } else if (answer.kind == KV_CONFLICT) {
        tell_kind(nats, TRANSPORT_CONFLICT, token);
    } else {
        tell_failed(nats, token, answer.text);
    }
}

/* The bytes of a message, with a NUL behind them; NULL without memory. */
static char *transport_nats_text_of(const TransportNats *nats, natsMsg *message)
{
    int length = nats->library->natsMsg_GetDataLength(message);
    char *text = malloc((size_t)length + 1);
    if (text != NULL) {
        if (length > 0) {
            memcpy(text, nats->library->natsMsg_GetData(message), (size_t)length);
        }
        text[length] = '\0';
    }
    return text;
}

static void transport_nats_take_answer(TransportNats *nats, char kind, uint64_t token,
                                       natsMsg *message)
{
    bool nobody = nats->library->natsMsg_IsNoResponders(message);
    char *text = transport_nats_text_of(nats, message);
    int length = nats->library->natsMsg_GetDataLength(message);
    if (text == NULL) {
        return;
    }
    if (kind == KIND_REQUEST) {
        transport_nats_tell(nats, transport_event_new(nobody ? TRANSPORT_NOBODY : TRANSPORT_ANSWER,
                                                      token, NULL, NULL, text, (size_t)length));
    } else if (nobody) {
        tell_failed(nats, token, "nobody serves it");
    } else if (kind == KIND_LOOK) {
        take_look(nats, token, text);
    } else if (kind == KIND_PUT) {
        transport_nats_take_put(nats, token, text);
    } else {
        KvAnswer answer = kv_read_making(text);
        if (answer.kind != KV_MADE) {
            tell_failed(nats, 0, answer.text);
        }
    }
    free(text);
}

static void transport_nats_on_answer(natsConnection *connection, natsSubscription *subscription,
                                     natsMsg *message, void *context)
{
    TransportNats *nats = context;
    const char *subject = nats->library->natsMsg_GetSubject(message);
    size_t head = strlen(nats->inbox);
    (void)connection;
    (void)subscription;
    if (!atomic_load(&nats->closing) && strlen(subject) > head + 3) {
        transport_nats_take_answer(nats, subject[head + 1], strtoull(subject + head + 3, NULL, 16),
                                   message);
    }
    nats->library->natsMsg_Destroy(message);
}

static void on_message(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                       void *context)
{
    TransportNats *nats = context;
    const NatsLibrary *library = nats->library;
    (void)connection;
    (void)subscription;
    if (!atomic_load(&nats->closing)) {
        transport_nats_tell(
            nats, transport_event_new(TRANSPORT_MESSAGE, 0, library->natsMsg_GetSubject(message),
                                      library->natsMsg_GetReply(message),
                                      library->natsMsg_GetData(message),
                                      (size_t)library->natsMsg_GetDataLength(message)));
    }
    library->natsMsg_Destroy(message);
}

static void on_change(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                      void *context)
{
    TransportNats *nats = context;
    const char *key = kv_key_of_subject(nats->crawl, nats->library->natsMsg_GetSubject(message));
    (void)connection;
    (void)subscription;
    if (!atomic_load(&nats->closing) && key != NULL) {
        transport_nats_tell(nats, transport_event_new(TRANSPORT_CHANGED, 0, key, NULL, NULL, 0));
    }
    nats->library->natsMsg_Destroy(message);
}

static void on_up(natsConnection *connection, void *context)
{
    TransportNats *nats = context;
    (void)connection;
    atomic_store(&nats->up, true);
    if (!atomic_load(&nats->closing)) {
        tell_kind(nats, TRANSPORT_UP, 0);
    }
}

static void on_down(natsConnection *connection, void *context)
{
    TransportNats *nats = context;
    (void)connection;
    if (atomic_exchange(&nats->up, false) && !atomic_load(&nats->closing)) {
        tell_kind(nats, TRANSPORT_DOWN, 0);
    }
}

static void on_closed(natsConnection *connection, void *context)
{
    TransportNats *nats = context;
    atomic_store(&nats->up, false);
    if (!atomic_load(&nats->closing)) {
        const char *why = NULL;
        char text[256];
        (void)nats->library->natsConnection_GetLastError(connection, &why);
        (void)snprintf(text, sizeof text,
                       "the NATS server has closed the connection for good: %s; are "
                       "cluster.credentials and cluster.tls_authority right?",
                       why == NULL ? "no reason given" : why);
        TransportEvent *event = transport_event_new(TRANSPORT_CLOSED, 0, NULL, NULL, NULL, 0);
        if (event != NULL) {
            event->text = strdup(text);
        }
        transport_nats_tell(nats, event);
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

/* ---- what a node does with it ---------------------------------------------------------------- */

/* A subscription outlives connections: the library renews it. */
static Result do_listen(void *state, const char *subject)
{
    TransportNats *nats = state;
    return transport_subjects_add(&nats->subjects, nats->connection, subject, on_message, nats);
}

static Result do_request(void *state, const char *subject, const void *bytes, size_t length,
                         uint64_t token)
{
    const TransportNats *nats = state;
    char reply[REPLY_BYTES];
    if (!atomic_load(&nats->up)) {
        return RESULT_CLOSED;
    }
    make_reply(nats, KIND_REQUEST, token, reply);
    return transport_result(nats->library->natsConnection_PublishRequest(
        nats->connection, subject, reply, bytes, (int)length));
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
    char subject[KV_SUBJECT_BYTES];
    char reply[REPLY_BYTES];
    Buffer bytes;
    if (!atomic_load(&nats->up)) {
        return RESULT_CLOSED;
    }
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    kv_subject_of_look(nats->crawl, subject);
    make_reply(nats, KIND_LOOK, token, reply);
    Result rc = kv_write_look(nats->crawl, key, &bytes);
    if (rc == RESULT_OK) {
        rc = transport_result(nats->library->natsConnection_PublishRequest(
            nats->connection, subject, reply, bytes.data, (int)bytes.length));
    }
    buffer_destroy(&bytes);
    return rc;
}

static Result do_put(void *state, const char *key, const void *bytes, size_t length,
                     uint64_t expected, uint64_t token)
{
    const TransportNats *nats = state;
    const NatsLibrary *library = nats->library;
    natsMsg *message = NULL;
    char subject[KV_SUBJECT_BYTES];
    char reply[REPLY_BYTES];
    char number[24];
    if (!atomic_load(&nats->up)) {
        return RESULT_CLOSED;
    }
    kv_subject_of_key(nats->crawl, key, subject);
    make_reply(nats, KIND_PUT, token, reply);
    natsStatus status = library->natsMsg_Create(&message, subject, reply, bytes, (int)length);
    if (status == NATS_OK) {
        (void)snprintf(number, sizeof number, "%llu", (unsigned long long)expected);
        status = library->natsMsgHeader_Set(message, KV_EXPECTED, number);
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

/* ---- birth and death ------------------------------------------------------------------------- */

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
    char subject[KV_SUBJECT_BYTES];
    Result rc = transport_result(library->natsInbox_Create(&inbox));
    if (rc != RESULT_OK) {
        return rc;
    }
    (void)snprintf(nats->inbox, sizeof nats->inbox, "%s", inbox);
    library->natsInbox_Destroy(inbox);
    (void)snprintf(subject, sizeof subject, "%s.>", nats->inbox);
    rc = transport_subjects_add(&nats->subjects, nats->connection, subject,
                                transport_nats_on_answer, nats);
    kv_subject_of_key(nats->crawl, ">", subject);
    return rc != RESULT_OK ? rc
                           : transport_subjects_add(&nats->subjects, nats->connection, subject,
                                                    on_change, nats);
}

/* The library calls nothing back for a connection that was there at once. */
static Result transport_nats_connect_to(TransportNats *nats, Buffer *error)
{
    natsStatus status = nats->library->natsConnection_Connect(&nats->connection, nats->options);
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
    nats->transport = (Transport){.state = nats,
                                  .listen = do_listen,
                                  .request = do_request,
                                  .publish = do_publish,
                                  .reply = do_publish,
                                  .get = do_get,
                                  .put = do_put};
    (void)snprintf(nats->crawl, sizeof nats->crawl, "%s", options->crawl);
    mutex_init(&nats->mutex, RANK_TABLE);
    condition_init(&nats->changed);
    transport_subjects_init(&nats->subjects, library);
    Result rc = transport_setup(library, &nats->options, options, error);
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

static void wait_until_closed(TransportNats *nats)
{
    MonoTime until = mono_add_ms(mono_now(), CLOSE_MS);
    mutex_lock(&nats->mutex);
    while (!nats->closed && condition_wait_until(&nats->changed, &nats->mutex, until)) {
    }
    mutex_unlock(&nats->mutex);
    transport_subjects_end(&nats->subjects, until);
}

void transport_nats_close(TransportNats *nats)
{
    if (nats == NULL) {
        return;
    }
    const NatsLibrary *library = nats->library;
    atomic_store(&nats->closing, true);
    if (nats->connection != NULL) {
        if (atomic_load(&nats->up)) {
            (void)library->natsConnection_FlushTimeout(nats->connection, CLOSE_MS);
        }
        library->natsConnection_Close(nats->connection);
        wait_until_closed(nats);
    }
    library->natsConnection_Destroy(nats->connection);
    library->natsOptions_Destroy(nats->options);
    nats_library_close(library, CLOSE_MS); /* none of its threads calls back afterwards */
    transport_subjects_destroy(&nats->subjects);
    condition_destroy(&nats->changed);
    mutex_destroy(&nats->mutex);
    free(nats);
}
