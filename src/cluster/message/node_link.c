#include "cluster/message/node_link.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- Node wire ---- */

#define MAGIC         0x4d43u /* "CM" */
#define VERSION       1u
#define ADDRESS_BYTES 16u

void node_wire_put_head(WireWriter *writer, const NodeHead *head)
{
    wire_put_16(writer, MAGIC);
    wire_put_8(writer, VERSION);
    wire_put_bytes(writer, head->uuid, sizeof head->uuid);
    wire_put_16(writer, head->from);
    wire_put_64(writer, head->session);
    wire_put_64(writer, head->epoch);
}

bool node_wire_get_head(WireReader *reader, NodeHead *head)
{
    uint16_t magic = wire_get_16(reader);
    uint8_t version = wire_get_8(reader);
    const uint8_t *uuid = wire_get_bytes(reader, sizeof head->uuid);
    *head = (NodeHead){.from = wire_get_16(reader)};
    head->session = wire_get_64(reader);
    head->epoch = wire_get_64(reader);
    if (uuid != NULL) {
        memcpy(head->uuid, uuid, sizeof head->uuid);
    }
    return !reader->bad && magic == MAGIC && version == VERSION;
}

/* ---- leases ---- */

static void put_address(WireWriter *writer, const IpAddress *address)
{
    wire_put_8(writer, address->v6 ? 6 : 4);
    wire_put_bytes(writer, address->bytes, ADDRESS_BYTES);
}

static void get_address(WireReader *reader, IpAddress *address)
{
    uint8_t family = wire_get_8(reader);
    const uint8_t *bytes = wire_get_bytes(reader, ADDRESS_BYTES);
    memset(address, 0, sizeof *address);
    address->v6 = family == 6;
    reader->bad |= family != 4 && family != 6;
    if (bytes != NULL) {
        memcpy(address->bytes, bytes, ADDRESS_BYTES);
    }
}

void node_wire_put_lines(WireWriter *writer, uint64_t number, uint64_t dead_below,
                         const LeaseItem *items, size_t n)
{
    wire_put_64(writer, number);
    wire_put_64(writer, dead_below);
    wire_put_varint(writer, n);
    for (size_t i = 0; i < n; i++) {
        wire_put_8(writer, (uint8_t)items[i].ask);
        put_address(writer, &items[i].address);
        wire_put_varint(writer, items[i].number);
        wire_put_varint(writer, items[i].rest_ms > 0 ? (uint64_t)items[i].rest_ms : 0);
    }
}

Result node_wire_get_lines(WireReader *reader, NodeLeaseMessage *message, LeaseItem *items,
                           size_t most)
{
    message->number = wire_get_64(reader);
    message->dead_below = wire_get_64(reader);
    uint64_t n = wire_get_varint(reader);
    if (reader->bad || n > most) {
        return RESULT_INVALID;
    }
    message->n = (size_t)n;
    for (size_t i = 0; i < n; i++) {
        uint8_t ask = wire_get_8(reader);
        items[i].ask = (LeaseAsk)ask;
        get_address(reader, &items[i].address);
        items[i].number = wire_get_varint(reader);
        uint64_t rest = wire_get_varint(reader);
        items[i].rest_ms = rest > INT32_MAX ? INT32_MAX : (int64_t)rest;
        reader->bad |= ask > LEASE_RELEASE;
    }
    return wire_reader_ended(reader) ? RESULT_OK : RESULT_INVALID;
}

void node_wire_put_answers(WireWriter *writer, uint64_t number, const LeaseAnswer *answers,
                           size_t n)
{
    wire_put_64(writer, number);
    wire_put_varint(writer, n);
    for (size_t i = 0; i < n; i++) {
        wire_put_8(writer, (uint8_t)((unsigned)answers[i].said << 1 | answers[i].others));
        wire_put_varint(writer, answers[i].number);
    }
}

Result node_wire_get_answers(WireReader *reader, uint64_t *number, LeaseAnswer *answers,
                             size_t most, size_t *n)
{
    *number = wire_get_64(reader);
    uint64_t count = wire_get_varint(reader);
    if (reader->bad || count > most) {
        return RESULT_INVALID;
    }
    *n = (size_t)count;
    for (size_t i = 0; i < count; i++) {
        uint8_t said = wire_get_8(reader);
        answers[i] = (LeaseAnswer){.said = (LeaseSaid)(said >> 1), .others = (said & 1) != 0};
        answers[i].number = wire_get_varint(reader);
        reader->bad |= said >> 1 >= LEASE_ANSWERS;
    }
    return wire_reader_ended(reader) ? RESULT_OK : RESULT_INVALID;
}

void node_wire_put_held(WireWriter *writer, const LeaseHeld *held)
{
    put_address(writer, &held->address);
    wire_put_varint(writer, (uint64_t)held->left_ms);
}

void node_wire_get_held(WireReader *reader, LeaseHeld *held)
{
    get_address(reader, &held->address);
    held->left_ms = (int64_t)(wire_get_varint(reader) & INT32_MAX);
}

void node_wire_put_hint(WireWriter *writer, const LeaseHint *hint)
{
    wire_put_8(writer, (uint8_t)hint->kind);
    wire_put_64(writer, hint->to.session);
    put_address(writer, &hint->address);
}

bool node_wire_get_hint(WireReader *reader, LeaseHint *hint)
{
    if (reader->bad || wire_left(reader) == 0) {
        return false;
    }
    uint8_t kind = wire_get_8(reader);
    hint->kind = (LeaseHintKind)kind;
    hint->to.session = wire_get_64(reader);
    get_address(reader, &hint->address);
    reader->bad |= kind > LEASE_OTHERS;
    return !reader->bad;
}

/* ---- questions ---- */

void node_wire_put_report(WireWriter *writer, uint64_t round, const EndReport *report)
{
    wire_put_64(writer, round);
    wire_put_8(writer, (uint8_t)(report->idle | report->spent << 1 | report->holds << 2 |
                                 report->tail << 3));
    wire_put_64(writer, report->changes);
    wire_put_64(writer, report->session);
}

Result node_wire_get_report(WireReader *reader, uint64_t *round, EndReport *report)
{
    *round = wire_get_64(reader);
    uint8_t marks = wire_get_8(reader);
    *report = (EndReport){.idle = (marks & 1) != 0,
                          .spent = (marks & 2) != 0,
                          .holds = (marks & 4) != 0,
                          .tail = (marks & 8) != 0,
                          .changes = wire_get_64(reader)};
    report->session = wire_get_64(reader);
    return wire_reader_ended(reader) ? RESULT_OK : RESULT_INVALID;
}

/* ---- A node's link ---- */

bool node_link_is_name(const char *crawl)
{
    size_t length = strlen(crawl);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)crawl[i];
        if (isalnum(c) == 0 && c != '-' && c != '_') {
            return false;
        }
    }
    return length > 0 && length < NODE_CRAWL_BYTES;
}

void node_link_init(NodeLink *link, const Transport *transport, const char *crawl)
{
    *link = (NodeLink){.transport = transport, .head = {.from = CLUSTER_NOBODY}};
    (void)snprintf(link->crawl, sizeof link->crawl, "%s", crawl);
}

void node_link_subject(const NodeLink *link, const char *what, uint16_t agent,
                       char subject[TRANSPORT_SUBJECT_BYTES])
{
    (void)snprintf(subject, TRANSPORT_SUBJECT_BYTES, "ragno.%s.%s.%u", link->crawl, what,
                   (unsigned)agent);
}

Result node_link_listen(const NodeLink *link, const char *what)
{
    char subject[TRANSPORT_SUBJECT_BYTES];
    node_link_subject(link, what, link->head.from, subject);
    return link->transport->listen(link->transport->state, subject);
}

Result node_link_request(const NodeLink *link, const char *what, uint16_t agent,
                         const Buffer *bytes, uint64_t token)
{
    char subject[TRANSPORT_SUBJECT_BYTES];
    node_link_subject(link, what, agent, subject);
    return link->transport->request(link->transport->state, subject, bytes->data, bytes->length,
                                    token);
}

Result node_link_publish(const NodeLink *link, const char *what, uint16_t agent,
                         const Buffer *bytes)
{
    char subject[TRANSPORT_SUBJECT_BYTES];
    node_link_subject(link, what, agent, subject);
    return link->transport->publish(link->transport->state, subject, bytes->data, bytes->length);
}

Result node_link_reply(const NodeLink *link, const char *reply_to, const Buffer *bytes)
{
    return link->transport->reply(link->transport->state, reply_to, bytes->data, bytes->length);
}

Result node_link_get(const NodeLink *link, const char *key, uint64_t token)
{
    return link->transport->get(link->transport->state, key, token);
}

Result node_link_put(const NodeLink *link, const char *key, const Buffer *bytes, uint64_t expected,
                     uint64_t token)
{
    return link->transport->put(link->transport->state, key, bytes->data, bytes->length, expected,
                                token);
}

WireWriter node_link_begin(const NodeLink *link, Buffer *out)
{
    buffer_reset(out);
    WireWriter writer = wire_writer(out);
    node_wire_put_head(&writer, &link->head);
    return writer;
}

bool node_link_open(const NodeLink *link, const TransportEvent *event, WireReader *reader,
                    NodeHead *head)
{
    *reader = wire_reader(event->bytes, event->length);
    return node_wire_get_head(reader, head) &&
           memcmp(head->uuid, link->head.uuid, sizeof head->uuid) == 0;
}
