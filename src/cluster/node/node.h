/* Node: this agent's side of everything that agents say to each other.
 *
 *   transport --node_take--> node --sinks--> frontier (leases), ingest (blocks, tables), main
 * thread ^                     | ^                                          |
 *       '------ requests -----' '---- node_want, node_grown, node_settled -'
 *
 *   JOINING --node_join.h--> JOINED --node_begin--> MEMBER --node_leave--> LEFT
 *      '------- refused -------'-------- replaced, or cut off for good ------> OUT
 *
 * What: a state machine. Its parts keep the cluster table (table_keeper.h), know the other agents
 * (members.h), carry blocks (courier.h), ask for leases and arbitrate them (lease_desk.h),
 * divide limits (limit_desk.h), ask for robots.txt at others' hosts (errand_desk.h), and find the
 * end (end_desk.h).
 *
 * Owns: its parts. Time is a parameter.
 * Threads: none of its own. One thread calls all functions, and the sinks are called in it, too. A
 * sink may not call the node.
 * Invariants:
 *  1. Nothing is done by a table that is not committed here (node_table_committed).
 *  2. An arbiter's confirmation is a look at the table that began when the connection had settled.
 *  3. When another process runs as this agent, this one is OUT. */
#ifndef CLUSTER_NODE_NODE_H
#define CLUSTER_NODE_NODE_H

#include "cluster/desk/courier.h"
#include "cluster/desk/errand_desk.h"
#include "cluster/desk/mass_desk.h"
#include "cluster/lease/lease_holder.h"
#include "cluster/link/inbox.h"
#include "cluster/link/outbox.h"
#include "cluster/message/membership.h"
#include "cluster/node/node_desks.h"
#include "cluster/transport/transport.h"
#include "cluster/whole/ending.h"
#include "cluster/whole/ledger.h"

typedef struct NodeOptions {
    const char *crawl; /* name in subjects; copied */
    NodeIdentity
        identity; /* what the directory is; self: the number it wants when it is none yet */
    const ClusterTable *table; /* that it has committed; epoch 0: none; copied */
    const char *machine;       /* as in MemberRecord; copied, as the next two */
    const char *name;
    const char *version;
    const char *settings; /* what must agree: lines "key=value"; borrowed */
    uint64_t luck;        /* random */
    LeaseRules lease;
    size_t lease_addresses;        /* the most that an arbiter knows */
    size_t message_bytes;          /* of blocks; a message is sent when it has these */
    int64_t message_age_ms;        /* with very many agents; with few of them less */
    size_t window_bytes;           /* that wait at one agent, of all others together */
    int64_t answer_ms;             /* without an answer blocks are sent again */
    uint64_t limits[LEDGER_UNITS]; /* of the crawl; 0 = none */
    MassDeskOptions mass;
    const Edicts *edicts; /* that the directory has; none are carried out yet; borrowed */
} NodeOptions;

/* What limits and the end are decided by. */
typedef struct NodeSituation {
    EndReport end;                        /* but for spent, holds, and session */
    LedgerAccount accounts[LEDGER_UNITS]; /* but for granted */
} NodeSituation;

typedef struct NodeSinks {
    void *context;
    /* Makes what the directory is durable before it returns; only while it joins. */
    Result (*save_identity)(void *context, const NodeIdentity *identity);
    /* It is OUT: a sentence for the operator. */
    void (*out)(void *context, const char *why);
    /* A newer table: commit it; node_table_committed follows. */
    void (*new_table)(void *context, const ClusterTable *table);
    void (*lease_news)(void *context, const LeaseNews *news);
    /* Takes the item; node_settled follows. */
    void (*block)(void *context, InboxItem *item);
    Result (*read_outbox)(void *context, uint16_t to, uint64_t from, size_t most, Buffer *blocks,
                          OutboxRange *range); /* as outbox_read */
    void (*answered)(void *context, uint16_t to, const OutboxRange *range);
    void (*situation)(void *context, NodeSituation *situation);
    /* So much may be used in all. */
    void (*granted)(void *context, LedgerUnit unit, uint64_t granted);
    void (*ended)(void *context, EndVerdict verdict);
    void (*status)(void *context, Buffer *text); /* appends: how this agent does */
    /* Appends the answer to a NodePageQuestion, or nothing. NULL: none is answered. */
    void (*page)(void *context, WireReader *question, WireWriter *answer);
    void (*run)(void *context, WireReader *question, WireWriter *answer); /* of NODE_ASK_RUN */
    GreetSinks greet;  /* node_retold follows a retell */
    EdictSinks edicts; /* node_applied follows */
    /* As ErrandDeskSinks: node_fetched follows a fetch. */
    void (*told)(void *context, uint32_t host, ErrandOutcome outcome, ErrandAnswer *answer);
    bool (*fetch)(void *context, uint64_t ticket, const char *url);
} NodeSinks;

typedef enum NodeState { NODE_JOINING, NODE_JOINED, NODE_MEMBER, NODE_LEFT, NODE_OUT } NodeState;

typedef struct Node Node;

/* RESULT_INVALID: the crawl's name. RESULT_MEMORY. */
Result node_new(Node **node, const NodeOptions *options, const Transport *transport,
                const NodeSinks *sinks);
void node_delete(Node *node); /* NULL is allowed */

/* An event of the transport; takes it. */
void node_take(Node *node, TransportEvent *event, MonoTime now);
/* Does what is due. Call it after each of these functions, and at node_next. */
void node_work(Node *node, MonoTime now);
MonoTime node_next(Node *node);

NodeState node_state(const Node *node);
/* Why it is OUT, or what it waits for. */
const char *node_text(const Node *node);
/* From JOINED on: who we are, and the table to be committed first. */
const NodeIdentity *node_identity(const Node *node);
const ClusterTable *node_table(const Node *node);

/* JOINED: the table is committed, the parts behind the sinks are there. used: of each limit, by
 * earlier processes. RESULT_MEMORY. */
Result node_begin(Node *node, const uint64_t used[LEDGER_UNITS], MonoTime now);
/* A table of NodeSinks.new_table, or what was made of it, is committed. */
void node_table_committed(Node *node, const ClusterTable *table, MonoTime now);
/* Gives up what it holds, and says that it has stopped; LEFT when that is known, or soon after. */
void node_leave(Node *node, MonoTime now);

/* Of the frontier: lease_holder.h. */
void node_want(Node *node, const IpAddress *address, uint64_t ticket, MonoTime now);
void node_release(Node *node, const IpAddress *address, MonoTime rest_end, MonoTime now);
/* Of the frontier: errand_desk.h. node_fetched takes the answer, which may be NULL. */
void node_ask(Node *node, uint32_t host, const char *url, MonoTime now);
void node_fetched(Node *node, uint64_t ticket, ErrandAnswer *answer, MonoTime now);
/* Of an operator: edict_desk.h. */
void node_order(Node *node, const Edict *edict, uint64_t ticket, MonoTime now);
void node_applied(Node *node, uint64_t number, const char *text);
/* Time has passed that the clock did not count: leases and confirmations are void. */
void node_slept(Node *node, MonoTime now);
/* Of ingest: rows were committed for an agent; a block of another one is committed, or refused. */
void node_grown(Node *node, uint16_t to, size_t bytes, MonoTime now);
void node_settled(Node *node, const BlockSettled *settled);
/* What an agent has lost is to be sent again: that is committed. */
void node_retold(Node *node, uint16_t agent);
/* The slots that are MOVING from this agent to `to` have been sent, all of them: said again until a
 * table of NodeSinks.new_table has it. */
void node_moved(Node *node, uint16_t to, MonoTime now);
/* A block came again, and has another ticket now. */
void node_forget(Node *node, uint64_t ticket);

void node_stats(const Node *node, NodeStats *stats);

#endif
