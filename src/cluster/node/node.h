/* Node: this agent's side of everything that agents say to each other.
 *
 *   transport --node_take--> node --sinks--> frontier (leases), ingest (blocks, tables), main
 * thread ^                     | ^                                          |
 *       '------ requests -----' '---- node_hear: NodeNote ----------------'
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
 *  1. Nothing is done by a table that is not committed here (NODE_TABLE).
 *  2. An arbiter's confirmation is a look at the table that began when the connection had settled.
 *  3. When another process runs as this agent, this one is OUT. */
#pragma once

#include "cluster/desk/courier.h"
#include "cluster/desk/edict_desk.h"
#include "cluster/desk/end_desk.h"
#include "cluster/desk/errand_desk.h"
#include "cluster/desk/lease_desk.h"
#include "cluster/desk/limit_desk.h"
#include "cluster/desk/mass_desk.h"

/* Node stats: the figures of a node.
 *
 * What: plain values for status.log and `ragno cluster status`. */

typedef struct NodeStats {
    LeaseHolderStats leases; /* bytes: with the arbiter's */
    CourierStats blocks;
    size_t agents_awaited; /* by the ledger of limits */
} NodeStats;

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
    size_t lease_addresses; /* the most that an arbiter knows */
    CourierOptions courier; /* age_ms: with very many agents, with few of them less; window_bytes:
                               that wait at one agent, of all others together */
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
    /* A newer table: commit it; NODE_TABLE follows. */
    void (*new_table)(void *context, const ClusterTable *table);
    LeaseNoticeSink leases;
    CourierSinks blocks; /* NODE_SETTLED follows a block */
    void (*situation)(void *context, NodeSituation *situation);
    /* So much may be used in all. */
    void (*granted)(void *context, LedgerUnit unit, uint64_t granted);
    void (*ended)(void *context, EndVerdict verdict);
    void (*status)(void *context, Buffer *text); /* appends: how this agent does */
    /* Appends the answer to a NODE_ASK_RUN, or nothing. NULL: none is answered. */
    void (*run)(void *context, WireReader *question, WireWriter *answer);
    GreetSinks greet;        /* NODE_RETOLD follows a retell */
    EdictSinks edicts;       /* NODE_APPLIED follows */
    ErrandDeskSinks errands; /* NODE_FETCHED follows a fetch */
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
/* Gives up what it holds, and says that it has stopped; LEFT when that is known, or soon after. */
void node_leave(Node *node, MonoTime now);

/* Takes what the note owns; one that is no member has nothing to do with it. */
void node_hear(Node *node, NodeNote *note, MonoTime now);
/* Time has passed that the clock did not count: leases and confirmations are void. */
void node_slept(Node *node, MonoTime now);
void node_stats(const Node *node, NodeStats *stats);
