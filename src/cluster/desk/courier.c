#include "cluster/desk/courier.h"

#include <stdlib.h>
#include <string.h>

#include "base/thread/log.h"

#define AGE_FOR_EACH_MS 10 /* blocks are collected so long for each agent there is */
#define TICKETS_MOST    100000u

#define AWAY_MS    20000 /* until an operator is told of an agent that is not there */
#define AGENT_BITS 16u

typedef enum CourierAnswer { COURIER_COMMITTED, COURIER_REFUSED, COURIER_NOBODY } CourierAnswer;

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
    MonoTime rested;     /* a message that is not full may go */
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

Result courier_init(Courier *courier, NodeLink *link, GreetDesk *greet,
                    const CourierOptions *options, const CourierSinks *sinks)
{
    *courier = (Courier){.link = link,
                         .greet = greet,
                         .sinks = *sinks,
                         .given = *options,
                         .options = *options,
                         .packer = envelope_packer_new()};
    map_init(&courier->customers);
    map_init(&courier->tickets);
    heap_init(&courier->due);
    buffer_init(&courier->blocks, BUFFER_NO_LIMIT);
    return courier->packer == NULL ? RESULT_MEMORY : RESULT_OK;
}

static void courier_free_all(Map *map)
{
    size_t place = 0;
    void *one = NULL;
    while ((one = map_next(map, &place)) != NULL) {
        free(one);
    }
    map_destroy(map);
}

void courier_destroy(Courier *courier)
{
    courier_free_all(&courier->customers);
    courier_free_all(&courier->tickets);
    heap_destroy(&courier->due);
    envelope_packer_delete(courier->packer);
    buffer_destroy(&courier->blocks);
}

void courier_set_agents(Courier *courier, uint32_t agents)
{
    int64_t age = (int64_t)agents * AGE_FOR_EACH_MS;
    courier->options.age_ms = age < courier->given.age_ms ? age : courier->given.age_ms;
    courier->options.window_bytes = courier->given.window_bytes / (agents == 0 ? 1 : agents);
}

/* ---- customers ---- */

static bool courier_has_room(const Courier *courier, const Customer *customer)
{
    return customer->n < 2 ||
           (customer->n < COURIER_WINDOW_MOST &&
            customer->out + courier->options.message_bytes <= courier->options.window_bytes);
}

/* When what was not sent yet is to be. */
static MonoTime courier_leaves(const Courier *courier, const Customer *customer)
{
    if (customer->pending >= courier->options.message_bytes) {
        return customer->not_before;
    }
    MonoTime aged = mono_add_ms(customer->oldest, courier->options.age_ms);
    return mono_later(customer->not_before, mono_later(aged, customer->rested));
}

/* When something is to be done for an agent. */
static MonoTime courier_due_of(const Courier *courier, const Customer *customer)
{
    MonoTime due = MONO_NEVER;
    if (customer->pending > 0 && courier_has_room(courier, customer)) {
        due = courier_leaves(courier, customer);
    }
    for (size_t i = 0; i < customer->n; i++) {
        const Parcel *parcel = &customer->parcels[i];
        due = mono_earlier(due, parcel->token == 0
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
            courier->stats.in_flight -= parcel->token != 0;
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

/* ---- parcels ---- */

static void courier_give_up(Courier *courier, Parcel *parcel, MonoTime again)
{
    courier->stats.in_flight -= parcel->token != 0;
    parcel->token = 0;
    parcel->time = again;
}

/* The blocks that were read, in an envelope. */
static Result courier_send(Courier *courier, uint16_t to, const OutboxRange *range, uint64_t token)
{
    const Buffer *blocks = &courier->blocks;
    const NodeHead *head = &courier->link->head;
    Envelope envelope = {.from = head->from,
                         .to = to,
                         .blocks = range->blocks,
                         .epoch = head->epoch,
                         .session = head->session,
                         .sequence = range->first};
    memcpy(envelope.uuid, head->uuid, sizeof envelope.uuid);
    Result rc = envelope_pack(courier->packer, &envelope, blocks->data, blocks->length,
                              node_link_blank(courier->link));
    if (rc != RESULT_OK) {
        LOG_ERROR("cluster", "a block cannot be packed", "to=%u bytes=%zu error=\"%s\"",
                  (unsigned)to, blocks->length, result_name(rc));
        return rc;
    }
    return node_link_request(courier->link, "in", to, node_token(NODE_PART_BLOCKS, token));
}

/* Sends the blocks that were read as a parcel. */
static void send_parcel(Courier *courier, Customer *customer, Parcel *parcel, MonoTime now)
{
    uint64_t token = ++courier->last_token << AGENT_BITS | customer->to;
    Result rc = courier_send(courier, customer->to, &parcel->range, token);
    if (rc != RESULT_OK) {
        customer->not_before = mono_add_ms(now, courier->options.again_ms);
        parcel->time = customer->not_before;
        return;
    }
    parcel->token = token;
    parcel->time = now;
    courier->stats.in_flight++;
    courier->stats.sent++;
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
    courier->stats.repeated++;
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
    customer->rested = mono_add_ms(now, courier->options.rest_ms);
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
           !mono_before(now, courier_leaves(courier, customer))) {
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

/* What came of a message; false: it is not in flight (any more). heard: of one that is committed,
 * OutboxRange.heard. */
static bool courier_answer(Courier *courier, uint64_t token, CourierAnswer answer, MonoTime now,
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
        courier->stats.in_flight--;
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

void courier_answered(Courier *courier, const TransportEvent *event, MonoTime now)
{
    WireReader reader;
    NodeHead head;
    uint64_t token = node_token_number(event->token);
    if (!node_link_open(courier->link, event, &reader, &head)) {
        return;
    }
    uint8_t verdict = wire_get_8(&reader);
    uint8_t fault = wire_get_8(&reader);
    uint64_t taken = wire_get_varint(&reader);
    if (!wire_reader_ended(&reader)) {
        return;
    }
    if (verdict == NODE_COMMITTED) {
        if (greet_desk_heard(courier->greet, head.from, head.session, taken)) {
            (void)courier_answer(courier, token, COURIER_COMMITTED, now, taken);
        }
    } else if (courier_answer(courier, token, COURIER_REFUSED, now, 0)) {
        uint64_t count = ++courier->refused_ours;
        bool is_usual = fault == BLOCK_DRAINED || fault == BLOCK_UNGREETED;
        if (!is_usual && (count & (count - 1)) == 0) {
            LOG_ERROR("cluster", "an agent refuses our blocks", "agent=%u reason=\"%s\" count=%llu",
                      (unsigned)head.from, block_fault_name((BlockFault)fault),
                      (unsigned long long)count);
        }
    }
}

void courier_nobody(Courier *courier, uint64_t number, MonoTime now)
{
    (void)courier_answer(courier, number, COURIER_NOBODY, now, 0);
}

/* ---- coming in ---- */

static void courier_reply(Courier *courier, const char *reply_to, BlockFault fault, uint64_t taken)
{
    WireWriter writer = node_link_begin(courier->link);
    wire_put_8(&writer, fault == BLOCK_GOOD ? NODE_COMMITTED : NODE_REFUSED);
    wire_put_8(&writer, (uint8_t)fault);
    wire_put_varint(&writer, taken);
    node_link_answer(courier->link, &writer, reply_to);
}

static void courier_refuse(Courier *courier, const char *reply_to, BlockFault fault, uint16_t from)
{
    uint64_t count = ++courier->refused[fault];
    /* Until the sender has the newer table, or we have greeted it. */
    bool is_usual = fault == BLOCK_DRAINED || fault == BLOCK_UNGREETED;
    if (!is_usual && (count & (count - 1)) == 0) { /* the 1st, 2nd, 4th, 8th ... */
        LOG_ERROR("cluster", "a block was refused", "from=%u reason=\"%s\" count=%llu",
                  (unsigned)from, block_fault_name(fault), (unsigned long long)count);
    }
    courier_reply(courier, reply_to, fault, 0);
}

/* NULL without memory: the sender sends it again. */
static InboxItem *open_item(Courier *courier, const TransportEvent *event, const Envelope *envelope)
{
    char *reply_to = strdup(event->reply_to);
    size_t length = courier->blocks.length;
    char *blocks = buffer_detach(&courier->blocks);
    InboxItem *item = reply_to == NULL || blocks == NULL
                          ? NULL
                          : inbox_item_new(++courier->last_ticket, envelope, blocks, length);
    if (item == NULL || map_put(&courier->tickets, map_key(item->ticket), reply_to) != RESULT_OK) {
        free(reply_to);
        if (item == NULL) {
            free(blocks);
        }
        inbox_item_delete(item);
        return NULL;
    }
    return item;
}

void courier_arrived(Courier *courier, const TransportEvent *event, MonoTime now)
{
    Envelope envelope;
    if (event->reply_to == NULL || courier->tickets.count >= TICKETS_MOST) {
        return;
    }
    BlockFault fault =
        envelope_open(courier->packer, event->bytes, event->length, courier->link->head.uuid,
                      courier->link->head.from, &envelope, &courier->blocks);
    if (fault == BLOCK_GOOD &&
        !greet_desk_may_take(courier->greet, envelope.from, envelope.session, now)) {
        fault = BLOCK_UNGREETED;
    }
    if (fault != BLOCK_GOOD) {
        courier_refuse(courier, event->reply_to, fault, envelope.from);
        return;
    }
    InboxItem *item = open_item(courier, event, &envelope);
    if (item != NULL) {
        courier->sinks.block(courier->sinks.context, item);
    }
}

void courier_forget(Courier *courier, uint64_t ticket)
{
    free(map_remove(&courier->tickets, map_key(ticket)));
}

void courier_settled(Courier *courier, const BlockSettled *settled)
{
    char *reply_to = map_remove(&courier->tickets, map_key(settled->ticket));
    greet_desk_took(courier->greet, settled->from, settled->taken);
    if (reply_to == NULL) {
        return;
    }
    if (settled->fault == BLOCK_GOOD) {
        courier_reply(courier, reply_to, settled->fault, settled->taken);
    } else {
        courier_refuse(courier, reply_to, settled->fault, settled->from);
    }
    free(reply_to);
}

void courier_stats(const Courier *courier, CourierStats *stats)
{
    size_t place_in_map = 0;
    const Customer *customer = NULL;
    *stats = courier->stats;
    stats->refused = courier->refused_ours;
    for (size_t i = 0; i < BLOCK_FAULTS; i++) {
        stats->refused += courier->refused[i];
    }
    while ((customer = map_next(&courier->customers, &place_in_map)) != NULL) {
        stats->agents_away += customer->away;
    }
}
