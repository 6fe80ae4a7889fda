#include "cluster/desk/courier.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/heap.h"
#include "base/thread/log.h"

/* ---- The block desk ---- */

#define AGE_FOR_EACH_MS 10 /* blocks are collected so long for each agent there is */
#define TICKETS_MOST    100000u

static Result read_rows(void *context, uint16_t to, uint64_t from, size_t most, Buffer *blocks,
                        OutboxRange *range)
{
    const BlockDesk *desk = context;
    return desk->sinks.read(desk->sinks.context, to, from, most, blocks, range);
}

static Result send_rows(void *context, uint16_t to, const OutboxRange *range, const Buffer *blocks,
                        uint64_t token)
{
    BlockDesk *desk = context;
    const NodeHead *head = &desk->link->head;
    Envelope envelope = {.from = head->from,
                         .to = to,
                         .blocks = range->blocks,
                         .epoch = head->epoch,
                         .session = head->session,
                         .sequence = range->first};
    memcpy(envelope.uuid, head->uuid, sizeof envelope.uuid);
    Result rc =
        envelope_pack(desk->packer, &envelope, blocks->data, blocks->length, &desk->message);
    if (rc != RESULT_OK) {
        LOG_ERROR("cluster", "a block cannot be packed", "to=%u bytes=%zu error=\"%s\"",
                  (unsigned)to, blocks->length, result_name(rc));
        return rc;
    }
    return node_link_request(desk->link, "in", to, &desk->message,
                             node_token(NODE_PART_BLOCKS, token));
}

static void rows_answered(void *context, uint16_t to, const OutboxRange *range)
{
    const BlockDesk *desk = context;
    desk->sinks.answered(desk->sinks.context, to, range);
}

Result block_desk_init(BlockDesk *desk, NodeLink *link, GreetDesk *greet,
                       const CourierOptions *options, const BlockDeskSinks *sinks)
{
    CourierSinks inner = {
        .context = desk, .read = read_rows, .send = send_rows, .answered = rows_answered};
    *desk = (BlockDesk){.link = link,
                        .greet = greet,
                        .sinks = *sinks,
                        .options = *options,
                        .window_bytes = options->window_bytes};
    map_init(&desk->tickets);
    buffer_init(&desk->blocks, ENVELOPE_BLOCKS_MOST + 1);
    buffer_init(&desk->message, BUFFER_NO_LIMIT);
    desk->packer = envelope_packer_new();
    Result rc = courier_new(&desk->courier, options, &inner);
    return desk->packer == NULL ? RESULT_MEMORY : rc;
}

void block_desk_destroy(BlockDesk *desk)
{
    size_t place = 0;
    char *ticket = NULL;
    while ((ticket = map_next(&desk->tickets, &place)) != NULL) {
        free(ticket);
    }
    map_destroy(&desk->tickets);
    courier_delete(desk->courier);
    envelope_packer_delete(desk->packer);
    buffer_destroy(&desk->blocks);
    buffer_destroy(&desk->message);
}

void block_desk_set_agents(BlockDesk *desk, uint32_t agents)
{
    CourierOptions options = desk->options;
    int64_t age = (int64_t)agents * AGE_FOR_EACH_MS;
    options.age_ms = age < options.age_ms ? age : options.age_ms;
    options.window_bytes = desk->window_bytes / (agents == 0 ? 1 : agents);
    courier_set_options(desk->courier, &options);
}

/* ---- coming in ---- */

static void block_desk_answer(BlockDesk *desk, const char *reply_to, BlockFault fault,
                              uint64_t taken)
{
    WireWriter writer = node_link_begin(desk->link, &desk->message);
    wire_put_8(&writer, fault == BLOCK_GOOD ? NODE_COMMITTED : NODE_REFUSED);
    wire_put_8(&writer, (uint8_t)fault);
    wire_put_varint(&writer, taken);
    node_link_answer(desk->link, &writer, reply_to);
}

static void block_desk_refuse(BlockDesk *desk, const char *reply_to, BlockFault fault,
                              uint16_t from)
{
    uint64_t count = ++desk->refused[fault];
    /* Until the sender has the newer table, or we have greeted it. */
    bool is_usual = fault == BLOCK_DRAINED || fault == BLOCK_UNGREETED;
    if (!is_usual && (count & (count - 1)) == 0) { /* the 1st, 2nd, 4th, 8th ... */
        LOG_ERROR("cluster", "a block was refused", "from=%u reason=\"%s\" count=%llu",
                  (unsigned)from, block_fault_name(fault), (unsigned long long)count);
    }
    block_desk_answer(desk, reply_to, fault, 0);
}

/* NULL without memory: the sender sends it again. */
static InboxItem *open_item(BlockDesk *desk, const TransportEvent *event, const Envelope *envelope)
{
    char *reply_to = strdup(event->reply_to);
    size_t length = desk->blocks.length;
    char *blocks = buffer_detach(&desk->blocks);
    InboxItem *item = reply_to == NULL || blocks == NULL
                          ? NULL
                          : inbox_item_new(++desk->last_ticket, envelope, blocks, length);
    if (item == NULL || map_put(&desk->tickets, map_key(item->ticket), reply_to) != RESULT_OK) {
        free(reply_to);
        if (item == NULL) {
            free(blocks);
        }
        inbox_item_delete(item);
        return NULL;
    }
    return item;
}

void block_desk_arrived(BlockDesk *desk, const TransportEvent *event, MonoTime now)
{
    Envelope envelope;
    if (event->reply_to == NULL || desk->tickets.count >= TICKETS_MOST) {
        return;
    }
    BlockFault fault =
        envelope_open(desk->packer, event->bytes, event->length, desk->link->head.uuid,
                      desk->link->head.from, &envelope, &desk->blocks);
    if (fault == BLOCK_GOOD &&
        !greet_desk_may_take(desk->greet, envelope.from, envelope.session, now)) {
        fault = BLOCK_UNGREETED;
    }
    if (fault != BLOCK_GOOD) {
        block_desk_refuse(desk, event->reply_to, fault, envelope.from);
        return;
    }
    InboxItem *item = open_item(desk, event, &envelope);
    if (item != NULL) {
        desk->sinks.block(desk->sinks.context, item);
    }
}

void block_desk_forget(BlockDesk *desk, uint64_t ticket)
{
    free(map_remove(&desk->tickets, map_key(ticket)));
}

void block_desk_settled(BlockDesk *desk, const BlockSettled *settled)
{
    char *reply_to = map_remove(&desk->tickets, map_key(settled->ticket));
    greet_desk_took(desk->greet, settled->from, settled->taken);
    if (reply_to == NULL) {
        return;
    }
    if (settled->fault == BLOCK_GOOD) {
        block_desk_answer(desk, reply_to, settled->fault, settled->taken);
    } else {
        block_desk_refuse(desk, reply_to, settled->fault, settled->from);
    }
    free(reply_to);
}

/* ---- going out ---- */

void block_desk_answered(BlockDesk *desk, const TransportEvent *event, MonoTime now)
{
    WireReader reader;
    NodeHead head;
    uint64_t token = node_token_number(event->token);
    if (!node_link_open(desk->link, event, &reader, &head)) {
        return;
    }
    uint8_t verdict = wire_get_8(&reader);
    uint8_t fault = wire_get_8(&reader);
    uint64_t taken = wire_get_varint(&reader);
    if (!wire_reader_ended(&reader)) {
        return;
    }
    if (verdict == NODE_COMMITTED) {
        if (greet_desk_heard(desk->greet, head.from, head.session, taken)) {
            (void)courier_answer(desk->courier, token, COURIER_COMMITTED, now, taken);
        }
    } else if (courier_answer(desk->courier, token, COURIER_REFUSED, now, 0)) {
        uint64_t count = ++desk->refused_ours;
        bool is_usual = fault == BLOCK_DRAINED || fault == BLOCK_UNGREETED;
        if (!is_usual && (count & (count - 1)) == 0) {
            LOG_ERROR("cluster", "an agent refuses our blocks", "agent=%u reason=\"%s\" count=%llu",
                      (unsigned)head.from, block_fault_name((BlockFault)fault),
                      (unsigned long long)count);
        }
    }
}

void block_desk_nobody(BlockDesk *desk, uint64_t number, MonoTime now)
{
    (void)courier_answer(desk->courier, number, COURIER_NOBODY, now, 0);
}

/* ---- Courier ---- */

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
    CourierStats stats; /* but for agents_away */
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

/* ---- customers ---- */

static bool courier_has_room(const Courier *courier, const Customer *customer)
{
    return customer->n < 2 ||
           (customer->n < COURIER_WINDOW_MOST &&
            customer->out + courier->options.message_bytes <= courier->options.window_bytes);
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

void courier_stats(const Courier *courier, CourierStats *stats)
{
    size_t place_in_map = 0;
    const Customer *customer = NULL;
    *stats = courier->stats;
    while ((customer = map_next(&courier->customers, &place_in_map)) != NULL) {
        stats->agents_away += customer->away;
    }
}
