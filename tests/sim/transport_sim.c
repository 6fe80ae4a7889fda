#include "transport_sim.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"

typedef enum SimWhat { SIM_MESSAGE, SIM_GET, SIM_PUT, SIM_TELL } SimWhat;

typedef struct SimEvent {
    HeapNode node;
    SimWhat what;
    uint16_t from;
    uint64_t life; /* of the one that is answered, or told */
    uint64_t token;
    uint64_t expected;
    bool asked; /* an answer is wanted */
    char subject[TRANSPORT_SUBJECT_BYTES];
    char *bytes;
    size_t length;
    TransportEvent *tell; /* owned */
} SimEvent;

static void delete_event(SimEvent *event)
{
    transport_event_delete(event->tell);
    free(event->bytes);
    free(event);
}

static void *checked(void *memory)
{
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static bool happens(SimNet *net)
{
    return dice_below(&net->dice, 1000) < net->lost;
}

static bool stands_still(const SimNet *net, const SimPort *port)
{
    return mono_before(net->now, port->still_until);
}

static bool is_cut(const SimNet *net, const SimPort *port)
{
    return mono_before(net->now, port->cut_until) || mono_before(net->now, net->down_until);
}

/* Takes the event. */
static void post(SimNet *net, SimEvent *event)
{
    bool late = happens(net);
    int64_t ms = 1 + (int64_t)dice_below(&net->dice, late ? 8000 : 20);
    heap_node_init(&event->node);
    (void)heap_push(&net->events, &event->node, mono_add_ms(net->now, ms).ns, net->ties++);
    net->messages++;
    net->bytes += event->length + (event->tell == NULL ? 0 : event->tell->length);
}

static SimEvent *new_event(SimWhat what, const SimPort *from, const char *subject,
                           const void *bytes, size_t length, uint64_t token)
{
    SimEvent *event = checked(calloc(1, sizeof *event));
    event->what = what;
    event->from = from->agent;
    event->life = from->life;
    event->token = token;
    event->bytes = checked(malloc(length + 1));
    memcpy(event->bytes, bytes == NULL ? "" : bytes, length);
    event->length = length;
    (void)snprintf(event->subject, sizeof event->subject, "%s", subject);
    return event;
}

/* Sends it once, twice or not at all. */
static Result send(SimPort *port, SimWhat what, const char *subject, const void *bytes,
                   size_t length, uint64_t token, uint64_t expected, bool asked)
{
    SimNet *net = port->net;
    if (!port->up) {
        return RESULT_CLOSED;
    }
    int copies = (happens(net) ? 0 : 1) + (happens(net) ? 1 : 0);
    for (int i = 0; i < copies; i++) {
        SimEvent *event = new_event(what, port, subject, bytes, length, token);
        event->asked = asked;
        event->expected = expected;
        post(net, event);
    }
    return RESULT_OK;
}

/* Takes the event: what the port is to hear a little later. */
static void tell(SimNet *net, uint16_t agent, uint64_t life, TransportEvent *told, bool may_fail)
{
    SimPort to = {.agent = agent, .life = life};
    if (may_fail && happens(net)) {
        transport_event_delete(told);
        return;
    }
    SimEvent *event = new_event(SIM_TELL, &to, "", NULL, 0, 0);
    event->tell = checked(told);
    post(net, event);
}

/* ---- the transport --------------------------------------------------------------------------- */

/* The agent of "ragno.CRAWL.what.agent". */
static uint16_t number_of(const char *subject)
{
    return (uint16_t)strtoul(strrchr(subject, '.') + 1, NULL, 10);
}

static Result do_listen(void *state, const char *subject)
{
    SimPort *port = state;
    port->listens = true;
    port->number = number_of(subject);
    port->net->listeners[port->number] = port;
    return RESULT_OK;
}

static Result do_request(void *state, const char *subject, const void *bytes, size_t length,
                         uint64_t token)
{
    return send(state, SIM_MESSAGE, subject, bytes, length, token, 0, true);
}

/* reply_to: "agent life token". */
static Result do_reply(void *state, const char *reply_to, const void *bytes, size_t length)
{
    SimPort *port = state;
    char *end = NULL;
    uint16_t agent = (uint16_t)strtoul(reply_to, &end, 10);
    uint64_t life = strtoull(end, &end, 10);
    uint64_t token = strtoull(end, NULL, 10);
    if (!port->up) {
        return RESULT_CLOSED;
    }
    tell(port->net, agent, life,
         transport_event_new(TRANSPORT_ANSWER, token, NULL, NULL, bytes, length), true);
    return RESULT_OK;
}

static Result do_publish(void *state, const char *subject, const void *bytes, size_t length)
{
    return isdigit((unsigned char)*subject) != 0
               ? do_reply(state, subject, bytes, length)
               : send(state, SIM_MESSAGE, subject, bytes, length, 0, 0, false);
}

static Result do_get(void *state, const char *key, uint64_t token)
{
    return send(state, SIM_GET, key, NULL, 0, token, 0, true);
}

static Result do_put(void *state, const char *key, const void *bytes, size_t length,
                     uint64_t expected, uint64_t token)
{
    return send(state, SIM_PUT, key, bytes, length, token, expected, true);
}

/* ---- the server ------------------------------------------------------------------------------ */

static SimValue *find_value(SimNet *net, const char *key)
{
    MapKey hash = map_key(hash_64(key, strlen(key), 0));
    SimValue *value = map_get(&net->by_key, hash);
    if (value != NULL) {
        return value;
    }
    value = &net->values[net->n_values++];
    if (net->n_values > SIM_NET_KEYS || map_put(&net->by_key, hash, value) != RESULT_OK) {
        abort();
    }
    *value = (SimValue){.revision = 0};
    (void)snprintf(value->key, sizeof value->key, "%s", key);
    return value;
}

/* A leader that is none any more may have the value before (stale_ms). */
static void serve_get(SimNet *net, const SimEvent *event)
{
    const SimValue *value = find_value(net, event->subject);
    bool stale = net->stale_ms > 0 && value->before_bytes != NULL &&
                 mono_before(net->now, mono_add_ms(value->replaced, net->stale_ms)) &&
                 dice_below(&net->dice, 2) == 0;
    const char *bytes = stale ? value->before_bytes : value->bytes;
    TransportEvent *told =
        transport_event_new(TRANSPORT_VALUE, event->token, NULL, NULL, bytes == NULL ? "" : bytes,
                            stale ? value->before_length : value->length);
    told->revision = stale ? value->before_revision : value->revision;
    tell(net, event->from, event->life, told, true);
}

/* Takes the bytes. */
static void replace_value(SimNet *net, SimValue *value, char *bytes, size_t length)
{
    free(value->before_bytes);
    value->before_bytes = value->bytes;
    value->before_length = value->length;
    value->before_revision = value->revision;
    value->replaced = net->now;
    value->bytes = bytes;
    value->length = length;
    value->revision = ++net->revision;
}

static void tell_of_change(SimNet *net, const char *key)
{
    for (uint16_t i = 0; i < net->n_ports; i++) {
        if (net->ports[i].alive) {
            tell(net, i, net->ports[i].life,
                 transport_event_new(TRANSPORT_CHANGED, 0, key, NULL, NULL, 0), true);
        }
    }
}

static void serve_put(SimNet *net, SimEvent *event)
{
    SimValue *value = find_value(net, event->subject);
    bool fits = event->expected == value->revision;
    TransportEvent *told = transport_event_new(fits ? TRANSPORT_STORED : TRANSPORT_CONFLICT,
                                               event->token, NULL, NULL, NULL, 0);
    if (fits) {
        replace_value(net, value, event->bytes, event->length);
        event->bytes = NULL;
        told->revision = value->revision;
    }
    tell(net, event->from, event->life, told, true);
    tell_of_change(net, event->subject);
}

void sim_net_store(SimNet *net, const char *key, const void *bytes, size_t length)
{
    char *copy = checked(malloc(length + 1));
    memcpy(copy, bytes, length);
    replace_value(net, find_value(net, key), copy, length);
    tell_of_change(net, key);
}

const SimValue *sim_net_value(SimNet *net, const char *key)
{
    const SimValue *value = find_value(net, key);
    return value->bytes == NULL ? NULL : value;
}

bool sim_net_is_down(const SimNet *net)
{
    return mono_before(net->now, net->down_until);
}

static SimPort *listener(SimNet *net, const char *subject)
{
    uint16_t number = number_of(subject);
    SimPort *port = number < SIM_NET_AGENTS ? net->listeners[number] : NULL;
    bool hears = port != NULL && port->alive && port->listens && port->number == number;
    return hears && !is_cut(net, port) ? port : NULL;
}

static void serve_message(SimNet *net, const SimEvent *event)
{
    SimPort *to = listener(net, event->subject);
    char reply_to[64];
    if (to == NULL) {
        if (event->asked) {
            tell(net, event->from, event->life,
                 transport_event_new(TRANSPORT_NOBODY, event->token, NULL, NULL, NULL, 0), true);
        }
        return;
    }
    (void)snprintf(reply_to, sizeof reply_to, "%u %llu %llu", (unsigned)event->from,
                   (unsigned long long)event->life, (unsigned long long)event->token);
    to->sink.take(
        to->sink.context,
        checked(transport_event_new(TRANSPORT_MESSAGE, 0, event->subject,
                                    event->asked ? reply_to : NULL, event->bytes, event->length)));
}

/* Takes the event. */
static void deliver(SimNet *net, SimEvent *event)
{
    SimPort *port = &net->ports[event->from];
    const SimPort *to = event->what == SIM_MESSAGE ? listener(net, event->subject)
                        : event->what == SIM_TELL  ? port
                                                   : NULL;
    if (to != NULL && stands_still(net, to)) {
        (void)heap_push(&net->events, &event->node, mono_add_ms(to->still_until, 1).ns,
                        net->ties++);
        return;
    }
    if (event->what == SIM_TELL) {
        if (port->alive && port->life == event->life && !is_cut(net, port)) {
            TransportEvent *told = event->tell;
            event->tell = NULL;
            port->sink.take(port->sink.context, told);
        }
    } else if (!is_cut(net, port)) { /* else it never reached the server */
        if (event->what == SIM_GET) {
            serve_get(net, event);
        } else if (event->what == SIM_PUT) {
            serve_put(net, event);
        } else {
            serve_message(net, event);
        }
    }
    delete_event(event);
}

/* ---- life ------------------------------------------------------------------------------------ */

void sim_net_init(SimNet *net, uint64_t seed, unsigned lost, MonoTime now)
{
    memset(net, 0, sizeof *net);
    net->dice = (Dice){seed};
    net->lost = lost;
    net->now = now;
    heap_init(&net->events);
    map_init(&net->by_key);
}

void sim_net_destroy(SimNet *net)
{
    HeapNode *node = NULL;
    while ((node = heap_pop(&net->events)) != NULL) {
        delete_event(HEAP_ELEMENT(node, SimEvent, node));
    }
    heap_destroy(&net->events);
    map_destroy(&net->by_key);
    for (size_t i = 0; i < net->n_values; i++) {
        free(net->values[i].bytes);
        free(net->values[i].before_bytes);
    }
}

void sim_net_open(SimNet *net, uint16_t agent, const TransportSink *sink)
{
    SimPort *port = &net->ports[agent];
    net->n_ports = agent < net->n_ports ? net->n_ports : (uint16_t)(agent + 1);
    *port = (SimPort){.net = net,
                      .agent = agent,
                      .life = port->life + 1,
                      .alive = true,
                      .cut_until = port->cut_until,
                      .still_until = port->still_until,
                      .sink = *sink};
    port->transport = (Transport){.state = port,
                                  .listen = do_listen,
                                  .request = do_request,
                                  .publish = do_publish,
                                  .get = do_get,
                                  .put = do_put};
}

void sim_net_close(SimNet *net, uint16_t agent)
{
    net->ports[agent].alive = net->ports[agent].up = false;
}

void sim_net_cut(SimNet *net, uint16_t agent, MonoTime until)
{
    net->ports[agent].cut_until = until;
}

void sim_net_down(SimNet *net, MonoTime until, bool forgets)
{
    net->down_until = until;
    for (size_t i = 0; i < net->n_values && forgets; i++) {
        free(net->values[i].bytes);
        net->values[i].bytes = NULL;
        net->values[i].length = 0;
        net->values[i].revision = 0;
        free(net->values[i].before_bytes);
        net->values[i].before_bytes = NULL;
    }
}

/* Who is cut off notices at once here, and when it is over. */
static void tell_of_connections(SimNet *net)
{
    for (uint16_t i = 0; i < net->n_ports; i++) {
        SimPort *port = &net->ports[i];
        bool up = port->alive && !is_cut(net, port);
        if (port->alive && up != port->up && !stands_still(net, port)) {
            port->up = up;
            port->up_since = net->now;
            port->sink.take(port->sink.context,
                            checked(transport_event_new(up ? TRANSPORT_UP : TRANSPORT_DOWN, 0, NULL,
                                                        NULL, NULL, 0)));
        }
    }
}

/* The sooner of two, of which t is still to come. */
static MonoTime sooner(const SimNet *net, MonoTime next, MonoTime t)
{
    return mono_before(net->now, t) && mono_before(t, next) ? t : next;
}

MonoTime sim_net_next(const SimNet *net)
{
    const HeapNode *node = heap_top(&net->events);
    MonoTime next = node == NULL ? MONO_NEVER : (MonoTime){node->key};
    next = sooner(net, next, net->down_until);
    for (size_t i = 0; i < net->n_ports; i++) {
        const SimPort *port = &net->ports[i];
        if (port->alive && !port->up && !is_cut(net, port) && !stands_still(net, port)) {
            return net->now; /* it has just been opened */
        }
        next = sooner(net, next, port->cut_until);
        next = sooner(net, next, port->still_until);
    }
    return next;
}

void sim_net_run(SimNet *net, MonoTime now)
{
    HeapNode *node = NULL;
    net->now = now;
    tell_of_connections(net);
    while ((node = heap_top(&net->events)) != NULL && node->key <= now.ns) {
        deliver(net, HEAP_ELEMENT(heap_pop(&net->events), SimEvent, node));
    }
}
