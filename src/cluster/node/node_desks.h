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
#include "cluster/desk/pulse_desk.h"
#include "cluster/desk/seat_desk.h"
#include "cluster/desk/table_keeper.h"

/* Node stats: the figures of a node.
 *
 * What: plain values for status.log and `ragno cluster status`. */

typedef struct NodeStats {
    bool up;
    bool confirmed; /* the table, lately */
    uint64_t epoch;
    size_t held; /* leases */
    size_t wanted;
    size_t leases_away; /* of these, whose arbiter does not answer */
    uint16_t waits_for; /* that arbiter, or one of them; CLUSTER_NOBODY */
    size_t arbitrated;  /* addresses that this node decides about */
    size_t lease_bytes;
    uint64_t lease_messages;
    uint64_t granted; /* by this node */
    uint64_t expired;
    size_t in_flight; /* messages of blocks */
    size_t agents_away;
    size_t agents_awaited; /* by the ledger of limits */
    uint64_t sent;
    uint64_t repeated;
    uint64_t bytes_sent; /* of blocks, before they are packed */
    uint64_t refused;    /* blocks of others, and ours by others */
} NodeStats;

typedef struct NodeDeskOptions {
    CourierOptions courier; /* window_bytes: of all senders to one agent */
    LeaseRules lease;
    size_t lease_addresses;
    uint64_t dead_below; /* sessions of this agent that have ended for certain */
    bool alone;          /* all of them have ended for certain */
    uint64_t limits[LEDGER_UNITS];
    uint64_t used[LEDGER_UNITS];
    MassDeskOptions mass;
    ErrandDeskSinks errands;
    GreetSinks greet;
    EdictSinks edicts;
    const Edicts *kept_edicts; /* by the directory; borrowed */
} NodeDeskOptions;

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
    SeatDesk seats;
    PulseDesk pulse;
} NodeDesks;

/* The link says who we are. RESULT_MEMORY: it is to be destroyed all the same. */
Result node_desks_init(NodeDesks *desks, NodeLink *link, const NodeDeskOptions *options,
                       const BlockDeskSinks *blocks, const LeaseNewsSink *leases, MonoTime now);
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
/* Fills in what the desks know. */
void node_desks_stats(const NodeDesks *desks, NodeStats *stats);

#endif
