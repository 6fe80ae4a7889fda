#include "cluster/desk/courier.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/heap.h"
#include "base/memory/map.h"
#include "base/thread/log.h"

#define AWAY_MS    20000 /* until an operator is told of an agent that is not there */
#define AGENT_BITS 16u

/* Consecutive rows on their way. */
typedef struct Parcel {
    uint64_t token; /* 0: it is to be sent again */
    OutboxRange range;
    size_t bytes;
    MonoTime time; /* when it was sent, or may be sent again */
} Parcel;

/* An agent that there is something for. */
typedef struct Customer {
    uint16_t to;
    uint64_t next;       /* sequence of the first row that was not sent yet, or less */
    size_t pending;      /* bytes of rows that were not sent yet */
    MonoTime oldest;     /* of these */
    MonoTime not_before; /* nobody was there, or it refused */
    Parcel parcels[COURIER_WINDOW_MOST];
    size_t n;
    size_t out; /* bytes of the parcels */
    bool away;
    bool told; /* the operator, that it is away */
    MonoTime away_since;
    bool looks; /* there may be rows that nobody has told of */
    HeapNode due;
} Customer;

struct Courier {
    CourierOptions options;
    CourierSinks sinks;
    Map customers; /* by agent + 1 */
    Heap due;
    uint64_t last_token;
    Buffer blocks;
    size_t in_flight;
    uint64_t sent;
    uint64_t repeated;
    uint64_t bytes;
};

Result courier_new(Courier **out, const CourierOptions *options, const CourierSinks *sinks)
{
    Courier *courier = calloc(1, sizeof *courier);
    if (courier == NULL) {
        return RESULT_MEMORY;
    }
    courier->options = *options;
    courier->sinks = *sinks;
    map_init(&courier->customers);
    heap_init(&courier->due);
    buffer_init(&courier->blocks, BUFFER_NO_LIMIT);
    *out = courier;
    return RESULT_OK;
}

void courier_delete(Courier *courier)
{
    size_t place = 0;
    Customer *customer = NULL;
    if (courier == NULL) {
        return;
    }
    while ((customer = map_next(&courier->customers, &place)) != NULL) {
        free(customer);
    }
    map_destroy(&courier->customers);
    heap_destroy(&courier->due);
    buffer_destroy(&courier->blocks);
    free(courier);
}

void courier_set_options(Courier *courier, const CourierOptions *options)
{
    courier->options = *options;
}

/* ---- customers ------------------------------------------------------------------------------- */

static bool courier_has_room(const Courier *courier, const Customer *customer)
{
    return customer->n < 2 ||
           (customer->n < COURIER_WINDOW_MOST &&
            customer->out + courier->options.message_bytes <= courier->options.window_bytes);
}

static MonoTime courier_sooner(MonoTime a, MonoTime b)
{
    return mono_before(a, b) ? a : b;
}

/* When something is to be done for an agent. */
static MonoTime courier_due_of(const Courier *courier, const Customer *customer)
{
    MonoTime due = MONO_NEVER;
    if (customer->pending > 0 && courier_has_room(courier, customer)) {
        bool full = customer->pending >= courier->options.message_bytes;
        due = customer->not_before;
        if (!full) {
            due = mono_later(due, mono_add_ms(customer->oldest, courier->options.age_ms));
        }
    }
    for (size_t i = 0; i < customer->n; i++) {
        const Parcel *parcel = &customer->parcels[i];
        due = courier_sooner(due, parcel->token == 0
                                      ? mono_later(parcel->time, customer->not_before)
                                      : mono_add_ms(parcel->time, courier->options.answer_ms));
    }
    return due;
}

static void courier_place(Courier *courier, Customer *customer)
{
    heap_remove(&courier->due, &customer->due); /* it is always in: so the push cannot fail */
    (void)heap_push(&courier->due, &customer->due, courier_due_of(courier, customer).ns,
                    customer->to);
}

static Customer *courier_find(const Courier *courier, uint16_t to)
{
    return map_get(&courier->customers, map_key(to + UINT64_C(1)));
}

static Customer *courier_find_or_add(Courier *courier, uint16_t to)
{
    Customer *customer = courier_find(courier, to);
    if (customer != NULL) {
        return customer;
    }
    customer = calloc(1, sizeof *customer);
    if (customer == NULL) {
        return NULL;
    }
    customer->to = to;
    heap_node_init(&customer->due);
    if (heap_push(&courier->due, &customer->due, MONO_NEVER.ns, to) != RESULT_OK) {
        free(customer);
        return NULL;
    }
    if (map_put(&courier->customers, map_key(to + UINT64_C(1)), customer) != RESULT_OK) {
        heap_remove(&courier->due, &customer->due);
        free(customer);
        return NULL;
    }
    return customer;
}

Result courier_grown(Courier *courier, uint16_t to, size_t bytes, MonoTime now)
{
    Customer *customer = courier_find_or_add(courier, to);
    if (customer == NULL) {
        return RESULT_MEMORY;
    }
    customer->oldest = customer->pending == 0 ? now : customer->oldest;
    customer->pending += bytes;
    courier_place(courier, customer);
    return RESULT_OK;
}

Result courier_look(Courier *courier, uint16_t to, MonoTime now)
{
    Result rc = courier_grown(courier, to, 1, now);
    if (rc == RESULT_OK) {
        courier_find(courier, to)->looks = true;
    }
    return rc;
}

static void note_present(Customer *customer)
{
    if (customer->told) {
        LOG_INFO("cluster", "an agent is there again", "agent=%u", (unsigned)customer->to);
    }
    customer->away = customer->told = false;
}

static void note_away(Customer *customer, MonoTime now)
{
    if (!customer->away) {
        customer->away_since = now;
    }
    customer->away = true;
    if (!customer->told && mono_ms_between(customer->away_since, now) >= AWAY_MS) {
        customer->told = true;
        LOG_WARN("cluster", "links wait for an agent that is not there",
                 "agent=%u next=\"start it\"", (unsigned)customer->to);
    }
}

void courier_present(Courier *courier, uint16_t to, MonoTime now)
{
    Customer *customer = courier_find(courier, to);
    if (customer != NULL) {
        note_present(customer);
        customer->not_before = now;
        for (size_t i = 0; i < customer->n; i++) { /* what its former process was sent is lost */
            Parcel *parcel = &customer->parcels[i];
            courier->in_flight -= parcel->token != 0;
            parcel->token = 0;
            parcel->time = now;
        }
        courier_place(courier, customer);
    }
}

void courier_lost(Courier *courier, MonoTime now)
{
    size_t place_in_map = 0;
    const Customer *customer = NULL;
    while ((customer = map_next(&courier->customers, &place_in_map)) != NULL) {
        courier_present(courier, customer->to, now);
    }
}

/* ---- parcels --------------------------------------------------------------------------------- */

static void courier_give_up(Courier *courier, Parcel *parcel, MonoTime again)
{
    courier->in_flight -= parcel->token != 0;
    parcel->token = 0;
    parcel->time = again;
}

/* Sends the blocks that were read as a parcel. */
static void send_parcel(Courier *courier, Customer *customer, Parcel *parcel, MonoTime now)
{
    uint64_t token = ++courier->last_token << AGENT_BITS | customer->to;
    Result rc = courier->sinks.send(courier->sinks.context, customer->to, &parcel->range,
                                    &courier->blocks, token);
    if (rc != RESULT_OK) {
        customer->not_before = mono_add_ms(now, courier->options.again_ms);
        parcel->time = customer->not_before;
        return;
    }
    parcel->token = token;
    parcel->time = now;
    courier->in_flight++;
    courier->sent++;
    courier->bytes += courier->blocks.length;
}

static void forget_parcel(Customer *customer, size_t i)
{
    customer->out -= customer->parcels[i].bytes;
    customer->n--;
    memmove(&customer->parcels[i], &customer->parcels[i + 1],
            (customer->n - i) * sizeof *customer->parcels);
}

/* A parcel that is to be sent again: its rows are there until it is answered. */
static void repeat(Courier *courier, Customer *customer, size_t i, MonoTime now)
{
    Parcel *parcel = &customer->parcels[i];
    OutboxRange range;
    Result rc = courier->sinks.read(courier->sinks.context, customer->to, parcel->range.first,
                                    parcel->bytes, &courier->blocks, &range);
    if (rc == RESULT_NOT_FOUND || (rc == RESULT_OK && range.first > parcel->range.last)) {
        forget_parcel(customer, i);
        return;
    }
    if (rc != RESULT_OK) {
        parcel->time = mono_add_ms(now, courier->options.again_ms);
        return;
    }
    customer->out += courier->blocks.length - parcel->bytes;
    parcel->bytes = courier->blocks.length;
    parcel->range = range;
    courier->repeated++;
    send_parcel(courier, customer, parcel, now);
}

/* The rows that come next. */
static void courier_advance(Courier *courier, Customer *customer, MonoTime now)
{
    OutboxRange range;
    Result rc = courier->sinks.read(courier->sinks.context, customer->to, customer->next,
                                    courier->options.message_bytes, &courier->blocks, &range);
    if (rc != RESULT_OK) {
        customer->pending = rc == RESULT_NOT_FOUND ? 0 : customer->pending;
        customer->looks = customer->looks && rc != RESULT_NOT_FOUND;
        customer->not_before = mono_add_ms(now, courier->options.again_ms);
        return;
    }
    size_t bytes = courier->blocks.length;
    Parcel *parcel = &customer->parcels[customer->n++];
    *parcel = (Parcel){.range = range, .bytes = bytes, .time = now};
    customer->out += bytes;
    customer->next = range.last + 1;
    customer->pending -= bytes < customer->pending ? bytes : customer->pending;
    customer->pending += customer->pending == 0 && customer->looks;
    customer->oldest = now;
    send_parcel(courier, customer, parcel, now);
}

static void courier_serve(Courier *courier, Customer *customer, MonoTime now)
{
    for (size_t i = customer->n; i > 0; i--) {
        Parcel *parcel = &customer->parcels[i - 1];
        if (parcel->token != 0 &&
            !mono_before(now, mono_add_ms(parcel->time, courier->options.answer_ms))) {
            courier_give_up(courier, parcel, now);
        }
        if (parcel->token == 0 && !mono_before(now, parcel->time) &&
            !mono_before(now, customer->not_before)) {
            repeat(courier, customer, i - 1, now);
        }
    }
    while (customer->pending > 0 && courier_has_room(courier, customer) &&
           !mono_before(now, customer->not_before) &&
           (customer->pending >= courier->options.message_bytes ||
            !mono_before(now, mono_add_ms(customer->oldest, courier->options.age_ms)))) {
        courier_advance(courier, customer, now);
    }
    courier_place(courier, customer);
}

void courier_work(Courier *courier, MonoTime now)
{
    HeapNode *node = NULL;
    size_t most = courier->customers.count; /* each once: whoever fails is due again later */
    while (most-- > 0 && (node = heap_top(&courier->due)) != NULL && node->key <= now.ns) {
        courier_serve(courier, HEAP_ELEMENT(node, Customer, due), now);
    }
}

MonoTime courier_next(const Courier *courier)
{
    const HeapNode *node = heap_top(&courier->due);
    return node == NULL ? MONO_NEVER : (MonoTime){node->key};
}

bool courier_answer(Courier *courier, uint64_t token, CourierAnswer answer, MonoTime now,
                    uint64_t heard)
{
    Customer *customer = courier_find(courier, (uint16_t)token);
    size_t i = 0;
    while (customer != NULL && i < customer->n && customer->parcels[i].token != token) {
        i++;
    }
    if (customer == NULL || i == customer->n) {
        return false;
    }
    if (answer == COURIER_COMMITTED) {
        OutboxRange range = customer->parcels[i].range;
        range.heard = heard;
        courier->in_flight--;
        note_present(customer);
        forget_parcel(customer, i);
        courier->sinks.answered(courier->sinks.context, customer->to, &range);
    } else {
        customer->not_before = mono_add_ms(now, courier->options.again_ms);
        if (answer == COURIER_NOBODY) {
            note_away(customer, now);
        } else {
            note_present(customer);
        }
        courier_give_up(courier, &customer->parcels[i], customer->not_before);
    }
    courier_place(courier, customer);
    return true;
}

void courier_stats(const Courier *courier, CourierStats *stats)
{
    size_t place_in_map = 0;
    const Customer *customer = NULL;
    *stats = (CourierStats){.in_flight = courier->in_flight,
                            .sent = courier->sent,
                            .repeated = courier->repeated,
                            .bytes = courier->bytes};
    while ((customer = map_next(&courier->customers, &place_in_map)) != NULL) {
        stats->agents_away += customer->away;
    }
}
