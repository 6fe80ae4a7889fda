#include "command/cluster/cluster_client.h"

#include <string.h>

#include "cluster/desk/table_keeper.h"

#define CONNECT_MS 10000
#define ANSWER_MS  3000
#define TRIES      3u

static void cluster_client_take_event(void *context, TransportEvent *event)
{
    ClusterClient *client = context;
    Mail letter = {.kind = MAIL_EVENT, .event = event};
    cluster_mail_post(&client->mail, &letter);
}

/* The event that comes of a token, or (0) of the connection; NULL: none in time. The caller's. */
static TransportEvent *await(ClusterClient *client, uint64_t token, int64_t ms)
{
    MonoTime until = mono_add_ms(mono_now(), ms);
    TransportEvent *found = NULL;
    Mail *letter = NULL;
    while (found == NULL &&
           (letter = cluster_mail_take(&client->mail, (MonoTime){0}, until)) != NULL) {
        while (letter != NULL) {
            Mail *next = letter->next;
            const TransportEvent *event = letter->event;
            bool life = event->kind == TRANSPORT_UP || event->kind == TRANSPORT_CLOSED;
            bool ours =
                token == 0 ? life : event->token == token || event->kind == TRANSPORT_CLOSED;
            if (ours && found == NULL) {
                found = letter->event;
                letter->event = NULL;
            }
            cluster_mail_delete(letter);
            letter = next;
        }
    }
    return found;
}

static Result cluster_client_complain(const TransportEvent *event, const char *what, Buffer *error)
{
    Result rc = event == NULL ? RESULT_TIMEOUT : RESULT_CLOSED;
    (void)buffer_printf(error, "%s: %s", what,
                        event == NULL         ? "no answer; is a server there, and JetStream on?"
                        : event->text == NULL ? "the server cannot do it now"
                                              : event->text);
    return rc;
}

Result cluster_client_open(ClusterClient *client, const Config *config, Buffer *error)
{
    TransportNatsOptions options = cluster_nats_options(config, "ragno");
    TransportSink sink = {.context = client, .take = cluster_client_take_event};
    *client = (ClusterClient){.last = 0};
    cluster_mail_init(&client->mail);
    Result rc = transport_nats_open(&client->nats, &options, &sink, error);
    if (rc != RESULT_OK) {
        return rc;
    }
    node_link_init(&client->link, transport_nats(client->nats), config->cluster_name);
    TransportEvent *event = await(client, 0, CONNECT_MS);
    bool up = event != NULL && event->kind == TRANSPORT_UP;
    rc = up ? RESULT_OK : cluster_client_complain(event, config->cluster_url, error);
    client->link.up = up;
    transport_event_delete(event);
    return rc;
}

void cluster_client_close(ClusterClient *client)
{
    transport_nats_close(client->nats);
    cluster_mail_destroy(&client->mail);
}

Result cluster_client_get(ClusterClient *client, const char *key, Buffer *value, uint64_t *revision,
                          Buffer *error)
{
    TransportEvent *event = NULL;
    for (unsigned i = 0; i < TRIES; i++) { /* the first one may only have made the bucket */
        transport_event_delete(event);
        event = NULL;
        if (node_link_get(&client->link, key, ++client->last) == RESULT_OK) {
            event = await(client, client->last, ANSWER_MS);
        }
        if (event != NULL && event->kind == TRANSPORT_VALUE) {
            *revision = event->revision;
            Result rc = buffer_append(value, event->bytes, event->length);
            transport_event_delete(event);
            return rc;
        }
    }
    Result rc = cluster_client_complain(event, key, error);
    transport_event_delete(event);
    return rc;
}

Result cluster_client_put(ClusterClient *client, const char *key, const Buffer *value,
                          uint64_t expected, Buffer *error)
{
    TransportEvent *event = NULL;
    if (node_link_put(&client->link, key, value, expected, ++client->last) == RESULT_OK) {
        event = await(client, client->last, ANSWER_MS);
    }
    Result rc = event != NULL && event->kind == TRANSPORT_STORED ? RESULT_OK
                : event != NULL && event->kind == TRANSPORT_CONFLICT
                    ? RESULT_EXISTS
                    : cluster_client_complain(event, key, error);
    transport_event_delete(event);
    return rc;
}

Result cluster_client_table(ClusterClient *client, ClusterTable *table, uint64_t *revision,
                            Buffer *error)
{
    Buffer value;
    buffer_init(&value, BUFFER_NO_LIMIT);
    Result rc = cluster_client_get(client, TABLE_KEY, &value, revision, error);
    if (rc == RESULT_OK && *revision == 0) {
        (void)buffer_printf(error, "there is no cluster \"%s\" at this server", client->link.crawl);
        rc = RESULT_NOT_FOUND;
    } else if (rc == RESULT_OK) {
        rc = cluster_table_read(table, value.data, value.length);
        if (rc != RESULT_OK) {
            (void)buffer_printf(error, "the cluster table cannot be read: %s", result_name(rc));
        }
    }
    if (rc == RESULT_OK) {
        memcpy(client->link.head.uuid, table->uuid, sizeof client->link.head.uuid);
        client->link.head.from = CLUSTER_NOBODY;
        client->link.head.epoch = table->epoch;
    }
    buffer_destroy(&value);
    return rc;
}

WireWriter cluster_client_begin(const ClusterClient *client, NodeQuestion question, Buffer *bytes)
{
    WireWriter writer = node_link_begin(&client->link, bytes);
    wire_put_8(&writer, (uint8_t)question);
    return writer;
}

Result cluster_client_send(ClusterClient *client, uint16_t agent, const Buffer *question,
                           Buffer *answer)
{
    WireReader reader;
    NodeHead head;
    TransportEvent *event = NULL;
    if (node_link_request(&client->link, "ask", agent, question, ++client->last) != RESULT_OK) {
        return RESULT_CLOSED;
    }
    event = await(client, client->last, ANSWER_MS);
    Result rc = event == NULL                                          ? RESULT_TIMEOUT
                : event->kind == TRANSPORT_NOBODY                      ? RESULT_NOT_FOUND
                : event->kind == TRANSPORT_CLOSED                      ? RESULT_CLOSED
                : event->kind != TRANSPORT_ANSWER                      ? RESULT_TIMEOUT
                : node_link_open(&client->link, event, &reader, &head) ? RESULT_OK
                                                                       : RESULT_INVALID;
    if (rc == RESULT_OK) {
        client->epoch = head.epoch;
        rc = buffer_append(answer, reader.next, wire_left(&reader));
    }
    transport_event_delete(event);
    return rc;
}

Result cluster_client_ask(ClusterClient *client, uint16_t agent, Buffer *text)
{
    Buffer bytes;
    buffer_init(&bytes, BUFFER_NO_LIMIT);
    WireWriter writer = cluster_client_begin(client, NODE_ASK_STATUS, &bytes);
    Result rc =
        writer.rc == RESULT_OK ? cluster_client_send(client, agent, &bytes, text) : writer.rc;
    buffer_destroy(&bytes);
    return rc == RESULT_OK ? rc : RESULT_NOT_FOUND;
}
