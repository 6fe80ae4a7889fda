/* A node's link: whom messages go to, and how they begin.
 *
 * What: the subjects of a crawl, the head of its messages, and tokens that say which part of the
 * node an answer is for.
 * Owns: nothing; the transport is borrowed.
 * Threads: none of its own; belongs to one thread. */
#ifndef CLUSTER_MESSAGE_NODE_LINK_H
#define CLUSTER_MESSAGE_NODE_LINK_H

#include "base/core/clock.h"
#include "cluster/message/node_wire.h"
#include "cluster/transport/transport.h"

#define NODE_CRAWL_BYTES 64u /* of the name of a crawl, its end included */

/* Which part of a node an answer is for. */
typedef enum NodePart {
    NODE_PART_JOIN = 1,
    NODE_PART_TABLE,
    NODE_PART_MEMBERS,
    NODE_PART_LEASES,
    NODE_PART_BLOCKS,
    NODE_PART_LIMITS,
    NODE_PART_END,
    NODE_PART_QUESTIONS,
    NODE_PART_MASS,
    NODE_PART_ERRANDS
} NodePart;

typedef struct NodeLink {
    const Transport *transport;
    char crawl[NODE_CRAWL_BYTES];
    NodeHead head; /* of this node: from is CLUSTER_NOBODY until it is a member */
    bool up;
    MonoTime up_since;
} NodeLink;

/* Whether a crawl may have this name: letters, digits, '-' and '_'. */
bool node_link_is_name(const char *crawl);
/* name: as above. */
void node_link_init(NodeLink *link, const Transport *transport, const char *crawl);

static inline uint64_t node_token(NodePart part, uint64_t number)
{
    return (uint64_t)part << 56 | (number & ((UINT64_C(1) << 56) - 1));
}
static inline NodePart node_token_part(uint64_t token)
{
    return (NodePart)(token >> 56);
}
static inline uint64_t node_token_number(uint64_t token)
{
    return token & ((UINT64_C(1) << 56) - 1);
}

/* The subject "ragno.CRAWL.what.agent". */
void node_link_subject(const NodeLink *link, const char *what, uint16_t agent,
                       char subject[TRANSPORT_SUBJECT_BYTES]);
/* Hears what is sent to this node under a name. */
Result node_link_listen(const NodeLink *link, const char *what);
/* As of Transport. */
Result node_link_request(const NodeLink *link, const char *what, uint16_t agent,
                         const Buffer *bytes, uint64_t token);
Result node_link_publish(const NodeLink *link, const char *what, uint16_t agent,
                         const Buffer *bytes);
Result node_link_reply(const NodeLink *link, const char *reply_to, const Buffer *bytes);
Result node_link_get(const NodeLink *link, const char *key, uint64_t token);
Result node_link_put(const NodeLink *link, const char *key, const Buffer *bytes, uint64_t expected,
                     uint64_t token);

/* Begins a message: *out holds the head, the writer goes on. */
WireWriter node_link_begin(const NodeLink *link, Buffer *out);
/* Reads the head of a message; false: it is none, or of another crawl. */
bool node_link_open(const NodeLink *link, const TransportEvent *event, WireReader *reader,
                    NodeHead *head);

#endif
