#include "cluster/message/node_link.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Node wire ---- */

#define MAGIC      0x4d43u             /* "CM" */
#define LONGEST_MS (UINT64_C(1) << 40) /* no rest is longer */
#define ANY_NUMBER UINT64_MAX
#define ADDRESS(type)                                                                              \
    WIRE_FIELD(type, address.v6, 1, 1), WIRE_FIELD(type, address.bytes, WIRE_BYTES, 0)

static const WireField head_fields[] = {
    WIRE_FIELD(NodeHead, uuid, WIRE_BYTES, 0), WIRE_FIELD(NodeHead, from, 2, ANY_NUMBER),
    WIRE_FIELD(NodeHead, session, 8, ANY_NUMBER), WIRE_FIELD(NodeHead, epoch, 8, ANY_NUMBER)};
static const WireField item_fields[] = {WIRE_FIELD(LeaseItem, ask, 1, LEASE_RELEASE),
                                        ADDRESS(LeaseItem),
                                        WIRE_FIELD(LeaseItem, number, WIRE_VARINT, ANY_NUMBER),
                                        WIRE_FIELD(LeaseItem, rest_ms, WIRE_VARINT, LONGEST_MS)};
static const WireField answer_fields[] = {
    WIRE_FIELD(LeaseAnswer, said, 1, LEASE_ANSWERS - 1), WIRE_FIELD(LeaseAnswer, others, 1, 1),
    WIRE_FIELD(LeaseAnswer, number, WIRE_VARINT, ANY_NUMBER),
    WIRE_FIELD(LeaseAnswer, wait_ms, WIRE_VARINT, LONGEST_MS)};
static const WireField held_fields[] = {ADDRESS(LeaseHeld),
                                        WIRE_FIELD(LeaseHeld, left_ms, WIRE_VARINT, LONGEST_MS)};
static const WireField hint_fields[] = {WIRE_FIELD(LeaseHint, kind, 1, LEASE_OTHERS),
                                        WIRE_FIELD(LeaseHint, to.session, 8, ANY_NUMBER),
                                        ADDRESS(LeaseHint)};
static const WireField report_fields[] = {WIRE_FIELD(EndReport, idle, 1, 1),
                                          WIRE_FIELD(EndReport, spent, 1, 1),
                                          WIRE_FIELD(EndReport, holds, 1, 1),
                                          WIRE_FIELD(EndReport, tail, 1, 1),
                                          WIRE_FIELD(EndReport, changes, 8, ANY_NUMBER),
                                          WIRE_FIELD(EndReport, session, 8, ANY_NUMBER)};

static const WireRecord node_head = WIRE_RECORD(NodeHead, head_fields);
const WireRecord node_lease_item = WIRE_RECORD(LeaseItem, item_fields);
static const WireRecord answer_5 = WIRE_RECORD(LeaseAnswer, answer_fields);
static const WireRecord answer_4 = {answer_fields, 3, sizeof(LeaseAnswer)};
const WireRecord node_lease_held = WIRE_RECORD(LeaseHeld, held_fields);
const WireRecord node_lease_hint = WIRE_RECORD(LeaseHint, hint_fields);
const WireRecord node_end_report = WIRE_RECORD(EndReport, report_fields);

const WireRecord *node_lease_answer(const NodeLink *link)
{
    return link->wire < LEASE_WAIT_WIRE ? &answer_4 : &answer_5;
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
    *link = (NodeLink){.transport = transport, .head = {.from = CLUSTER_NOBODY}, .wire = NODE_WIRE};
    (void)snprintf(link->crawl, sizeof link->crawl, "%s", crawl);
    buffer_init(&link->out, BUFFER_NO_LIMIT);
}

void node_link_destroy(NodeLink *link)
{
    buffer_destroy(&link->out);
}

bool node_link_speak(NodeLink *link, const char *settings)
{
    size_t length = strlen(SETTINGS_WIRE);
    bool says = strncmp(settings, SETTINGS_WIRE, length) == 0;
    unsigned long wire = says ? strtoul(settings + length, NULL, 10) : 0;
    bool good = wire >= NODE_WIRE_LEAST && wire <= NODE_WIRE;
    link->wire = good ? (uint8_t)wire : NODE_WIRE;
    return good;
}

static void node_link_subject(const NodeLink *link, const char *what, uint16_t agent,
                              char subject[TRANSPORT_SUBJECT_BYTES])
{
    (void)snprintf(subject, TRANSPORT_SUBJECT_BYTES, "ragno.%s.%s.%u", link->crawl, what,
                   (unsigned)agent);
}

Result node_link_listen(const NodeLink *link)
{
    char subject[TRANSPORT_SUBJECT_BYTES];
    node_link_subject(link, "*", link->head.from, subject);
    return link->transport->listen(link->transport->state, subject);
}

Result node_link_request(const NodeLink *link, const char *what, uint16_t agent, uint64_t token)
{
    char subject[TRANSPORT_SUBJECT_BYTES];
    node_link_subject(link, what, agent, subject);
    return link->transport->request(link->transport->state, subject, link->out.data,
                                    link->out.length, token);
}

Result node_link_publish(const NodeLink *link, const char *what, uint16_t agent)
{
    char subject[TRANSPORT_SUBJECT_BYTES];
    node_link_subject(link, what, agent, subject);
    return link->transport->publish(link->transport->state, subject, link->out.data,
                                    link->out.length);
}

Result node_link_get(const NodeLink *link, const char *key, uint64_t token)
{
    return link->transport->get(link->transport->state, key, token);
}

Result node_link_put(const NodeLink *link, const char *key, uint64_t expected, uint64_t token)
{
    return link->transport->put(link->transport->state, key, link->out.data, link->out.length,
                                expected, token);
}

Buffer *node_link_blank(NodeLink *link)
{
    buffer_reset(&link->out);
    return &link->out;
}

WireWriter node_link_begin(NodeLink *link)
{
    WireWriter writer = wire_writer(node_link_blank(link));
    wire_put_number(&writer, MAGIC, 2);
    wire_put_number(&writer, link->wire, 1);
    wire_put(&writer, &node_head, &link->head);
    return writer;
}

void node_link_reply(const NodeLink *link, const WireWriter *writer, const char *reply_to)
{
    if (writer->rc == RESULT_OK) { /* an answer that is lost is asked for again */
        (void)link->transport->publish(link->transport->state, reply_to, link->out.data,
                                       link->out.length);
    }
}

WireWriter node_link_question(NodeLink *link, NodeQuestion question)
{
    WireWriter writer = node_link_begin(link);
    wire_put_number(&writer, question, 1);
    return writer;
}

Result node_link_ask(const NodeLink *link, const WireWriter *writer, uint16_t agent, uint64_t token)
{
    return writer->rc == RESULT_OK ? node_link_request(link, "ask", agent, token) : writer->rc;
}

bool node_link_open(const NodeLink *link, const TransportEvent *event, NodeMessage *in)
{
    *in = (NodeMessage){.event = event, .number = node_token_number(event->token)};
    if (event->kind != TRANSPORT_ANSWER && event->kind != TRANSPORT_MESSAGE) {
        return true;
    }
    in->body = wire_reader(event->bytes, event->length);
    uint16_t magic = (uint16_t)wire_get_number(&in->body, 2);
    uint8_t version = (uint8_t)wire_get_number(&in->body, 1);
    wire_get(&in->body, &node_head, &in->head);
    in->says = !in->body.bad && magic == MAGIC && version >= NODE_WIRE_LEAST &&
               version <= NODE_WIRE &&
               memcmp(in->head.uuid, link->head.uuid, sizeof in->head.uuid) == 0;
    return in->says;
}
