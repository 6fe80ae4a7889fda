#include "cluster/desk/block_desk.h"

#include <stdlib.h>
#include <string.h>

#include "base/thread/log.h"

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
    if (writer.rc == RESULT_OK) {
        (void)node_link_reply(desk->link, reply_to, &desk->message);
    }
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
