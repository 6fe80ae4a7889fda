#include "cluster/desk/courier.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/bounds.h"
#include "base/memory/array.h"
#include "base/thread/log.h"

#define AGE_FOR_EACH_MS 10    /* blocks are collected so long for each agent there is */
#define AWAY_MS         20000 /* until an operator is told of an agent that is not there */
#define AGENT_BITS      16u

/* An agent that there may be something for. */
typedef struct Customer {
    uint16_t to;
    uint64_t next;       /* sequence of the first row that was not sent yet, or less */
    size_t pending;      /* bytes of rows that were not sent yet */
    MonoTime oldest;     /* of these */
    MonoTime rested;     /* a message that is not full may go */
    MonoTime not_before; /* nobody was there, or it refused */
    uint64_t token;      /* of the message in flight; 0: none */
    OutboxRange range;   /* its rows, as the next two */
    size_t bytes;
    MonoTime sent;
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
    heap_init(&courier->due);
    buffer_init(&courier->blocks, BUFFER_NO_LIMIT);
    return courier->packer == NULL ? RESULT_MEMORY : RESULT_OK;
}

void courier_destroy(Courier *courier)
{
    for (uint32_t i = 0; i < courier->n; i++) {
        free(courier->customers[i]);
    }
    free(courier->customers);
    heap_destroy(&courier->due);
    envelope_packer_delete(courier->packer);
    buffer_destroy(&courier->blocks);
}

/* ---- customers ---- */

/* When something is to be done for an agent. */
static MonoTime courier_due_of(const Courier *courier, const Customer *customer)
{
    if (customer->token != 0) {
        return mono_add_ms(customer->sent, courier->options.answer_ms);
    }
    if (customer->pending == 0 || customer->pending >= courier->options.message_bytes) {
        return customer->pending == 0 ? MONO_NEVER : customer->not_before;
    }
    MonoTime aged = mono_add_ms(customer->oldest, courier->options.age_ms);
    return mono_later(customer->not_before, mono_later(aged, customer->rested));
}

static void courier_place(Courier *courier, Customer *customer)
{
    heap_remove(&courier->due, &customer->due); /* it is always in: so the push cannot fail */
    (void)heap_push(&courier->due, &customer->due, courier_due_of(courier, customer).ns,
                    customer->to);
}

static Customer *courier_find(const Courier *courier, uint16_t to)
{
    return to < courier->n ? courier->customers[to] : NULL;
}

Result courier_set_agents(Courier *courier, uint32_t agents, MonoTime now)
{
    int64_t age = (int64_t)agents * AGE_FOR_EACH_MS;
    courier->options.age_ms = age < courier->given.age_ms ? age : courier->given.age_ms;
    courier->options.window_bytes = courier->given.window_bytes / (agents == 0 ? 1 : agents);
    for (uint32_t i = courier->n; i < agents; i++) {
        size_t n = i; /* its place counts once it is in the heap, too */
        Customer *customer = calloc(1, sizeof *customer);
        Result rc = customer == NULL
                        ? RESULT_MEMORY
                        : array_add(&courier->customers, &n, sizeof customer, &customer);
        if (rc == RESULT_OK) {
            *customer = (Customer){.to = (uint16_t)i, .pending = 1, .oldest = now, .looks = true};
            heap_node_init(&customer->due);
            rc = heap_push(&courier->due, &customer->due, courier_due_of(courier, customer).ns, i);
        }
        if (rc != RESULT_OK) {
            free(customer);
            return rc;
        }
        courier->n = (uint32_t)n;
    }
    return RESULT_OK;
}

void courier_grown(Courier *courier, uint16_t to, size_t bytes, MonoTime now)
{
    Customer *customer = courier_find(courier, to);
    if (customer != NULL) {
        customer->oldest = customer->pending == 0 ? now : customer->oldest;
        customer->pending += bytes;
        courier_place(courier, customer);
    }
}

static void note_present(Courier *courier, Customer *customer)
{
    if (customer->told) {
        LOG_INFO("cluster", "an agent is there again", "agent=%u", (unsigned)customer->to);
    }
    courier->stats.agents_away -= customer->away;
    customer->away = customer->told = false;
}

static void note_away(Courier *courier, Customer *customer, MonoTime now)
{
    if (!customer->away) {
        customer->away_since = now;
    }
    courier->stats.agents_away += !customer->away;
    customer->away = true;
    if (!customer->told && mono_ms_between(customer->away_since, now) >= AWAY_MS) {
        customer->told = true;
        LOG_WARN("cluster", "links wait for an agent that is not there",
                 "agent=%u next=\"start it\"", (unsigned)customer->to);
    }
}

/* What is in flight is to be sent again then: its rows are there until it is answered. */
static void courier_give_up(Courier *courier, Customer *customer, MonoTime again)
{
    customer->not_before = again;
    if (customer->token != 0) {
        customer->token = 0;
        customer->next = customer->range.first;
        customer->pending += customer->bytes;
        customer->oldest = customer->rested = (MonoTime){0};
    }
    courier_place(courier, customer);
}

void courier_present(Courier *courier, uint16_t to, MonoTime now)
{
    Customer *customer = courier_find(courier, to);
    if (customer != NULL) { /* what its former process was sent is lost */
        note_present(courier, customer);
        courier_give_up(courier, customer, now);
    }
}

void courier_lost(Courier *courier, MonoTime now)
{
    for (uint32_t i = 0; i < courier->n; i++) {
        courier_present(courier, (uint16_t)i, now);
    }
}

/* ---- going out ---- */

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

/* Sends the rows that come next. */
static void courier_advance(Courier *courier, Customer *customer, MonoTime now)
{
    const CourierOptions *options = &courier->options;
    size_t window =
        bounds_size(options->window_bytes, options->message_bytes, COURIER_MESSAGE_MOST);
    OutboxRange range;
    Result rc = courier->sinks.read(courier->sinks.context, customer->to, customer->next, window,
                                    &courier->blocks, &range);
    if (rc == RESULT_NOT_FOUND) {
        customer->pending = 0;
        customer->looks = false;
        return;
    }
    uint64_t token = ++courier->last_token << AGENT_BITS | customer->to;
    if (rc == RESULT_OK) {
        rc = courier_send(courier, customer->to, &range, token);
    }
    if (rc != RESULT_OK) {
        customer->not_before = mono_add_ms(now, options->again_ms);
        return;
    }
    size_t bytes = courier->blocks.length;
    courier->stats.sent++;
    courier->stats.repeated += customer->range.blocks > 0 && range.first <= customer->range.last;
    customer->token = token;
    customer->range = range;
    customer->bytes = bytes;
    customer->sent = now;
    customer->next = range.last + 1;
    customer->pending -= bytes < customer->pending ? bytes : customer->pending;
    customer->pending += customer->pending == 0 && customer->looks;
    customer->oldest = now;
    customer->rested = mono_add_ms(now, options->rest_ms);
}

void courier_work(Courier *courier, MonoTime now)
{
    HeapNode *node = NULL;
    size_t most = courier->n; /* each once: whoever fails is due again later */
    while (most-- > 0 && (node = heap_top(&courier->due)) != NULL && node->key <= now.ns) {
        Customer *customer = HEAP_ELEMENT(node, Customer, due);
        if (customer->token != 0) {
            courier_give_up(courier, customer, now);
        } else {
            courier_advance(courier, customer, now);
        }
        courier_place(courier, customer);
    }
}

MonoTime courier_next(const Courier *courier)
{
    const HeapNode *node = heap_top(&courier->due);
    return node == NULL ? MONO_NEVER : (MonoTime){node->key};
}

/* Counts a refusal. True: it is to be told, the 1st, 2nd, 4th, 8th ... of its kind, unless it is
 * usual: until the sender has the newer table, or the two have greeted. */
static bool courier_refused(Courier *courier, BlockFault fault, uint64_t *count)
{
    bool is_usual = fault == BLOCK_DRAINED || fault == BLOCK_UNGREETED;
    courier->stats.refused++;
    ++*count;
    return !is_usual && (*count & (*count - 1)) == 0;
}

/* Whose message an answer is to; NULL: it is not in flight (any more). */
static Customer *courier_asked(const Courier *courier, uint64_t token)
{
    Customer *customer = courier_find(courier, (uint16_t)token);
    return customer != NULL && customer->token == token ? customer : NULL;
}

void courier_take(Courier *courier, NodeMessage *in, MonoTime now)
{
    Customer *customer = courier_asked(courier, in->number);
    uint8_t fault = (uint8_t)wire_get_number(&in->body, 1);
    uint64_t taken = wire_get_varint(&in->body);
    if (customer != NULL && !in->says) {
        note_away(courier, customer, now);
        courier_give_up(courier, customer, mono_add_ms(now, courier->options.again_ms));
    }
    if (customer == NULL || !in->says || !wire_reader_ended(&in->body)) {
        return;
    }
    if (fault != BLOCK_GOOD) {
        if (courier_refused(courier, (BlockFault)fault, &courier->refused_ours)) {
            LOG_ERROR("cluster", "an agent refuses our blocks", "agent=%u reason=\"%s\" count=%llu",
                      (unsigned)in->head.from, block_fault_name((BlockFault)fault),
                      (unsigned long long)courier->refused_ours);
        }
        note_present(courier, customer);
        courier_give_up(courier, customer, mono_add_ms(now, courier->options.again_ms));
    } else if (greet_desk_heard(courier->greet, in->head.from, in->head.session, taken)) {
        customer->range.heard = taken;
        customer->token = 0;
        note_present(courier, customer);
        courier_place(courier, customer);
        courier->sinks.answered(courier->sinks.context, customer->to, &customer->range);
    }
}

/* ---- coming in ---- */

static void courier_reply(Courier *courier, const char *reply_to, BlockFault fault, uint64_t taken)
{
    WireWriter writer = node_link_begin(courier->link);
    wire_put_number(&writer, fault, 1);
    wire_put_varint(&writer, taken);
    node_link_reply(courier->link, &writer, reply_to);
}

static void courier_refuse(Courier *courier, const char *reply_to, BlockFault fault, uint16_t from)
{
    if (courier_refused(courier, fault, &courier->refused[fault])) {
        LOG_ERROR("cluster", "a block was refused", "from=%u reason=\"%s\" count=%llu",
                  (unsigned)from, block_fault_name(fault),
                  (unsigned long long)courier->refused[fault]);
    }
    courier_reply(courier, reply_to, fault, 0);
}

void courier_arrived(Courier *courier, const TransportEvent *event, MonoTime now)
{
    Envelope envelope;
    if (event->reply_to == NULL) {
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
    size_t length = courier->blocks.length;
    InboxItem *item =
        inbox_item_new(strdup(event->reply_to), &envelope, buffer_detach(&courier->blocks), length);
    if (item != NULL) { /* else the sender sends it again */
        courier->sinks.block(courier->sinks.context, item);
    }
}

void courier_settled(Courier *courier, const BlockSettled *settled, const char *reply_to)
{
    greet_desk_took(courier->greet, settled->from, settled->taken);
    if (settled->fault == BLOCK_GOOD) {
        courier_reply(courier, reply_to, settled->fault, settled->taken);
    } else {
        courier_refuse(courier, reply_to, settled->fault, settled->from);
    }
}
