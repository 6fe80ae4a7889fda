#include "command/cluster/cluster_client.h"

#include <stdio.h>
#include <string.h>

#include "cluster/desk/table_keeper.h"
#include "crawl/command_line.h"
#include "rules/config_check.h"

#define CONNECT_MS 10000
#define ANSWER_MS  3000
#define TRIES      3u
#define PAUSE_MS   50 /* until a command that prints nothing is asked again */

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
    const char *why = "no answer; is a server there, and JetStream on?";
    if (event != NULL) {
        why = event->text == NULL ? "the server cannot do it now" : event->text;
    }
    (void)buffer_printf(error, "%s: %s", what, why);
    return rc;
}

bool cluster_client_option(Config *config, int argc, char **argv, int *i, Result *rc, Buffer *error)
{
    static const char *const names[][2] = {
        {"--url", "cluster.url"},
        {"--name", "cluster.name"},
        {"--credentials", "cluster.credentials"},
        {"--tls-authority", "cluster.tls_authority"},
        {"--tls-certificate", "cluster.tls_certificate"},
        {"--tls-key", "cluster.tls_key"},
        {"--replicas", "cluster.replicas"},
    };
    if (strcmp(argv[*i], "-c") == 0 && *i + 1 < argc) {
        *rc = options_load(&config->options, argv[++*i], error);
        return true;
    }
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const char *value = command_option(names[k][0], argc, argv, i);
        if (value != NULL) {
            *rc = options_set(&config->options, names[k][1], value, "command line", error);
            return true;
        }
    }
    return false;
}

Result cluster_client_set_url(Config *config, const char *url, Buffer *error)
{
    char server[1024];
    const char *slash = strrchr(url, '/');
    int length = (int)(slash - url);
    if (slash[-1] == '/' || slash[1] == '\0' || length >= (int)sizeof server) {
        (void)buffer_printf(error, "expected nats://HOST:PORT/NAME, not '%s'", url);
        return RESULT_INVALID;
    }
    (void)snprintf(server, sizeof server, "%.*s", length, url);
    Result rc = options_set(&config->options, "cluster.url", server, "command line", error);
    return rc == RESULT_OK
               ? options_set(&config->options, "cluster.name", slash + 1, "command line", error)
               : rc;
}

Result cluster_client_check(const Config *config, Buffer *error)
{
    const char *name = NULL;
    Buffer what = {.limit = 4096};
    if (*config->cluster_url == '\0') {
        (void)buffer_append_string(error, "which server? give --url and --name, or -c FILE");
        return RESULT_INVALID;
    }
    Result rc = config_cluster_check(config, &name, &what);
    if (rc != RESULT_OK) {
        (void)buffer_printf(error, "%s: %s", name, buffer_string(&what));
    }
    buffer_destroy(&what);
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
    node_link_destroy(&client->link);
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
    if (buffer_append(node_link_blank(&client->link), value->data, value->length) == RESULT_OK &&
        node_link_put(&client->link, key, expected, ++client->last) == RESULT_OK) {
        event = await(client, client->last, ANSWER_MS);
    }
    Result rc = RESULT_OK;
    if (event != NULL && event->kind == TRANSPORT_CONFLICT) {
        rc = RESULT_EXISTS;
    } else if (event == NULL || event->kind != TRANSPORT_STORED) {
        rc = cluster_client_complain(event, key, error);
    }
    transport_event_delete(event);
    return rc;
}

Result cluster_client_table(ClusterClient *client, ClusterTable *table, uint64_t *revision,
                            Buffer *error)
{
    Buffer value = {.limit = BUFFER_NO_LIMIT};
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
    buffer_reset(&value);
    if (rc == RESULT_OK) {
        uint64_t ignored = 0;
        memcpy(client->link.head.uuid, table->uuid, sizeof client->link.head.uuid);
        client->link.head.from = CLUSTER_NOBODY;
        client->link.head.epoch = table->epoch;
        rc = cluster_client_get(client, SETTINGS_KEY, &value, &ignored, error);
        (void)node_link_speak(&client->link, buffer_string(&value));
    }
    buffer_destroy(&value);
    return rc;
}

Result cluster_client_member(ClusterClient *client, uint16_t agent, MemberRecord *record)
{
    char key[32];
    uint64_t revision = 0;
    Buffer value = {.limit = BUFFER_NO_LIMIT};
    Buffer error = {.limit = 4096};
    member_key(agent, key);
    Result rc = cluster_client_get(client, key, &value, &revision, &error);
    if (rc == RESULT_OK) {
        rc = revision == 0 ? RESULT_NOT_FOUND
                           : member_record_read(record, CLUSTER_NOBODY, value.data, value.length);
    }
    buffer_destroy(&value);
    buffer_destroy(&error);
    return rc;
}

/* Asks an agent what was written (node_link_question); *answer is what it says, its head left out.
 * RESULT_NOT_FOUND: it does not run; RESULT_TIMEOUT. */
static Result cluster_client_send(ClusterClient *client, uint16_t agent, Buffer *answer)
{
    NodeMessage in;
    TransportEvent *event = NULL;
    if (node_link_request(&client->link, "ask", agent, ++client->last) != RESULT_OK) {
        return RESULT_CLOSED;
    }
    event = await(client, client->last, ANSWER_MS);
    Result rc = RESULT_TIMEOUT;
    if (event != NULL && event->kind == TRANSPORT_NOBODY) {
        rc = RESULT_NOT_FOUND;
    } else if (event != NULL && event->kind == TRANSPORT_CLOSED) {
        rc = RESULT_CLOSED;
    } else if (event != NULL && event->kind == TRANSPORT_ANSWER) {
        rc = node_link_open(&client->link, event, &in) ? RESULT_OK : RESULT_INVALID;
    }
    if (rc == RESULT_OK) {
        client->epoch = in.head.epoch;
        rc = buffer_append(answer, in.body.next, wire_left(&in.body));
    }
    transport_event_delete(event);
    return rc;
}

Result cluster_client_ask(ClusterClient *client, uint16_t agent, Buffer *text)
{
    WireWriter writer = node_link_question(&client->link, NODE_ASK_STATUS);
    Result rc = writer.rc == RESULT_OK ? cluster_client_send(client, agent, text) : writer.rc;
    return rc == RESULT_OK ? rc : RESULT_NOT_FOUND;
}

void cluster_client_pause(ClusterClient *client)
{
    transport_event_delete(await(client, client->last + 1, PAUSE_MS));
}

Result cluster_client_run(ClusterClient *client, ClusterRun *run, char *const *words, size_t n,
                          Buffer *out)
{
    Buffer answer = {.limit = BUFFER_NO_LIMIT};
    size_t length = 0;
    WireWriter writer = node_link_question(&client->link, NODE_ASK_RUN);
    wire_put_number(&writer, run->ticket, 8);
    wire_put_number(&writer, run->offset, 8);
    wire_put_varint(&writer, n);
    for (size_t i = 0; i < n; i++) {
        wire_put_string(&writer, words[i], strlen(words[i]));
    }
    Result rc = writer.rc == RESULT_OK ? RESULT_TIMEOUT : writer.rc;
    for (unsigned i = 0; rc == RESULT_TIMEOUT && i < TRIES; i++) {
        rc = cluster_client_send(client, run->agent, &answer);
    }
    if (rc != RESULT_OK) {
        goto done;
    }
    WireReader reader = wire_reader(answer.data, answer.length);
    ConsoleState state = (ConsoleState)(uint8_t)wire_get_number(&reader, 1);
    run->status = (int)(uint32_t)wire_get_number(&reader, 4);
    const uint8_t *said = wire_get_string(&reader, &length);
    rc = wire_reader_ended(&reader) ? buffer_append(out, said, length) : RESULT_INVALID;
    if (rc != RESULT_OK) {
        goto done;
    }
    run->offset += length;
    run->ended = state == CONSOLE_ENDED;
    rc = state == CONSOLE_REFUSED ? RESULT_LIMIT : RESULT_OK;
done:
    buffer_destroy(&answer);
    return rc;
}

Result cluster_client_run_whole(ClusterClient *client, ClusterRun *run, char *const *words,
                                size_t n, Buffer *out)
{
    Result rc = RESULT_OK;
    while (rc == RESULT_OK && !run->ended) {
        uint64_t before = run->offset;
        rc = cluster_client_run(client, run, words, n, out);
        if (rc == RESULT_OK && !run->ended && run->offset == before) {
            cluster_client_pause(client);
        }
    }
    return rc;
}
