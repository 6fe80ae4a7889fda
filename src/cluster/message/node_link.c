#include "cluster/message/node_link.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

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
