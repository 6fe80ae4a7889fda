/* What a member of the cluster works with, together: its table keeper, the members it knows, and
 * its desks.
 *
 * What: begins and ends them, tells all of them when the connection comes or goes or a table was
 * committed, and lets each do what is due. What messages and answers mean is node.h's.
 * Owns: them all. Time is a parameter; belongs to one thread. */
#ifndef CLUSTER_NODE_NODE_DESKS_H
#define CLUSTER_NODE_NODE_DESKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/desk/courier.h"
#include "cluster/desk/edict_desk.h"
#include "cluster/desk/end_desk.h"
#include "cluster/desk/errand_desk.h"
#include "cluster/desk/greet_desk.h"
#include "cluster/desk/lease_desk.h"
#include "cluster/desk/limit_desk.h"
#include "cluster/desk/mass_desk.h"
#include "cluster/desk/members.h"
#include "cluster/desk/table_keeper.h"
#include "cluster/desk/watch_desk.h"
#include "cluster/whole/edicts.h"

/* Node stats: the figures of a node.
 *
 * What: plain values for status.log and `ragno cluster status`. */

typedef struct NodeStats {
    LeaseHolderStats leases; /* bytes: with the arbiter's */
    CourierStats blocks;
    size_t agents_awaited; /* by the ledger of limits */
    uint64_t refused;      /* blocks of others, and ours by others */
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
    BlockDeskSinks blocks; /* NODE_SETTLED follows a block */
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

typedef struct NodeDesks {
    NodeLink *link; /* borrowed */
    TableKeeper keeper;
    Members members;
    GreetDesk greet;
    BlockDesk blocks;
    LeaseDesk leases;
    LimitDesk limits;
    EndDesk end;
    MassDesk mass;
    ErrandDesk errands;
    EdictDesk edicts;
    WatchDesk watch;
} NodeDesks;

/* The link says who we are. dead_below: sessions of this agent that have ended for certain; alone:
 * all of them have. used: of each limit, by earlier processes. RESULT_MEMORY: it is to be destroyed
 * all the same. */
Result node_desks_init(NodeDesks *desks, NodeLink *link, const NodeOptions *options,
                       const NodeSinks *sinks, uint64_t dead_below, bool alone,
                       const uint64_t used[LEDGER_UNITS], MonoTime now);
void node_desks_destroy(NodeDesks *desks);
/* revision: of our record, as far as is known. */
void node_desks_up(NodeDesks *desks, uint64_t revision, MonoTime now);
void node_desks_down(NodeDesks *desks);
/* Says that this agent has stopped, and what its next process should know. */
void node_desks_stop(NodeDesks *desks, MonoTime now);
/* RESULT_MEMORY: they are not to be used any more. */
Result node_desks_set_table(NodeDesks *desks, const ClusterTable *table, MonoTime now);
/* A message that is for one of them; false: it is a question. */
bool node_desks_heard(NodeDesks *desks, const TransportEvent *event, MonoTime now);
/* What came of a request of leases or blocks. */
void node_desks_answered(NodeDesks *desks, const TransportEvent *event, MonoTime now);
void node_desks_changed(NodeDesks *desks, const char *key, MonoTime now);
/* Does what is due, but for limits and the end, which want to know more. */
void node_desks_work(NodeDesks *desks, MonoTime now);
MonoTime node_desks_next(const NodeDesks *desks);
void node_desks_stats(const NodeDesks *desks, NodeStats *stats);

#endif
