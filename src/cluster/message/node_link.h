/* A node's link: whom messages go to, and how they begin.
 *
 * What: the subjects of a crawl, the head of its messages, and tokens that say which part of the
 * node an answer is for. All desks of a node have one link, and find in it what they all look at.
 * Owns: nothing; the transport is borrowed.
 * Threads: none of its own; belongs to one thread. */
#pragma once

#include "cluster/lease/lease.h"
#include "cluster/table/cluster_table.h"
#include "cluster/transport/transport.h"
#include "cluster/whole/ending.h"
#include "cluster/wire/wire.h"

/* Node wire: the messages between nodes, as bytes.
 *
 * What: blocks have envelopes of their own (cluster/wire/link_block.h). Every other message begins
 * with a head that says which crawl it belongs to and who sends it.
 *
 *   subject                 asked                       answered
 *   ragno.CRAWL.in.N        an envelope                 BLOCK_GOOD: all of it is on disk, and
 *                                                       PeerMark.taken; or a BlockFault, 0
 *   ragno.CRAWL.lease.N     head, lines of a holder     the arbiter's answers
 *   ragno.CRAWL.hint.N      head, hints of an arbiter   (published)
 *   ragno.CRAWL.ask.N       head, NodeQuestion          depends on the question
 *
 * Threads: any; pure.
 * Errors: bytes come from outside: a malformed message gives RESULT_INVALID. */

typedef struct NodeHead {
    uint8_t uuid[CLUSTER_UUID_BYTES];
    uint16_t from;
    uint64_t session;
    uint64_t epoch;
} NodeHead;

/* A message, or what came of a question. One that cannot be read is as if it had been lost. */
typedef struct NodeMessage {
    const TransportEvent *event; /* borrowed */
    uint64_t number;             /* of the question's token */
    bool says;                   /* what follows; else nobody was there, or it is of a key */
    NodeHead head;
    WireReader body; /* behind it */
} NodeMessage;

/* What messages are made of. A holder's: number 64, sessions of its agent below which all have
 * ended for certain 64, a list of node_lease_item. The answer: the number, a list of
 * node_lease_answer. Hints: a list of node_lease_hint, each for the session of the receiver that it
 * names. */
extern const WireRecord node_lease_item;
extern const WireRecord node_lease_held;
extern const WireRecord node_lease_hint;
extern const WireRecord node_end_report;

/* ---- questions ---- */

typedef enum NodeQuestion {
    NODE_ASK_END = 1, /* a round of ending.h, its number; answered by round and EndReport */
    NODE_ASK_ROBOTS,  /* a URL; answered as errand_desk.h says */
    NODE_ASK_STATUS,  /* answered by a text */
    /* Messages of the receiver that the sender has committed; answered by nothing more, when the
     * receiver has seen to what follows (greet_desk.h). */
    NODE_ASK_GREET,
    NODE_ASK_MASS, /* the round that we have, an offset; answered as mass_desk.h says */
    /* A number of an edict; answered by the number that is carried out there, a text, and the clock
     * there in milliseconds. */
    NODE_ASK_EDICTS,
    /* Answered by the number of the newest edict and a list of node_lease_held. */
    NODE_ASK_HELD,
    NODE_ASK_RUN /* a command of ragno (crawl/cluster/cluster_console.h) */
} NodeQuestion;

/* The version of messages; the one before is spoken, too. What a crawl speaks is the first line of
 * its settings, by whoever was the first to run: so agents are replaced one by one by those of the
 * next version, and the crawl speaks that once all have been stopped. */
#ifndef NODE_WIRE /* tests build the programs of later versions */
#define NODE_WIRE 5u
#endif
#define NODE_WIRE_LEAST (NODE_WIRE - 1u)
#define SETTINGS_KEY    "config"
#define SETTINGS_WIRE   "wire = "

#define NODE_PACE_MS   5 /* for each agent there is */
#define NODE_PACE_MOST 1000

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
    NODE_PART_MASS,
    NODE_PART_ERRANDS,
    NODE_PART_GREET,
    NODE_PART_EDICTS,
    NODE_PART_WATCH,
    NODE_PART_HELD,
    NODE_PART_SETTINGS
} NodePart;

typedef struct NodeLink {
    const Transport *transport;
    char crawl[NODE_CRAWL_BYTES];
    NodeHead head;             /* of this node: from is CLUSTER_NOBODY until it is a member */
    const ClusterTable *table; /* that is committed here; borrowed, as the next one */
    struct Members *members;   /* (desk/members.h) */
    uint8_t wire;              /* version that it speaks */
    bool up;
    int64_t
        pace_ms; /* what all agents do at a change waits so long, and is done once for several */
    Buffer out;  /* what is being written: nobody finds there what was written before */
} NodeLink;

/* Before version 5 answers have no wait_ms, which is 0. */
#define LEASE_WAIT_WIRE 5u
const WireRecord *node_lease_answer(const NodeLink *link);

/* Whether a crawl may have this name: letters, digits, '-' and '_'. */
bool node_link_is_name(const char *crawl);
/* name: as above. */
void node_link_init(NodeLink *link, const Transport *transport, const char *crawl);
void node_link_destroy(NodeLink *link);

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

/* Speaks from now on what a crawl with these settings does. False: this program cannot. */
bool node_link_speak(NodeLink *link, const char *settings);
/* Hears what is sent to this node. */
Result node_link_listen(const NodeLink *link);
/* As of Transport, of what was written; what: of the subject "ragno.CRAWL.what.agent". */
Result node_link_request(const NodeLink *link, const char *what, uint16_t agent, uint64_t token);
Result node_link_publish(const NodeLink *link, const char *what, uint16_t agent);
Result node_link_get(const NodeLink *link, const char *key, uint64_t token);
Result node_link_put(const NodeLink *link, const char *key, uint64_t expected, uint64_t token);

/* The link's buffer, empty, for a value. */
Buffer *node_link_blank(NodeLink *link);
/* Begins a message: its head is written, the writer goes on; it is sent as the answer to another.
 */
WireWriter node_link_begin(NodeLink *link);
void node_link_reply(const NodeLink *link, const WireWriter *writer, const char *reply_to);
/* A question to an agent: the same, and node_link_ask, as Transport.request. */
WireWriter node_link_question(NodeLink *link, NodeQuestion question);
Result node_link_ask(const NodeLink *link, const WireWriter *writer, uint16_t agent,
                     uint64_t token);
/* Reads the head of a message; false: it is none, or of another crawl. */
bool node_link_open(const NodeLink *link, const TransportEvent *event, NodeMessage *in);
