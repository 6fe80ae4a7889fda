/* The watch desk: who is there, and has time passed that no clock of this machine has counted?
 *
 *   seats: the lowest agent that is there --NODE_ASK_EDICTS--> all others, each SEAT_LOOK_MS
 *     silent for SEAT_MS, and more than half of all are there --> the table: without a seat
 *     it answers for SEAT_BACK_MS                             --> the table: seated again
 *   pulse: while leases are held, the clocks of two others, each 2 * PULSE_MS, from their messages
 *     about leases or by NODE_ASK_EDICTS
 *     one went further than ours since the last answer        --> leases are asked for anew
 *     nothing is heard, of them or of the server, for DEAF_MS --> likewise
 *
 * What: an agent without a seat decides about no address; it keeps its hosts, which wait for it. To
 * move arbitration costs the others a rest for its addresses (lease_arbiter.h) and no URL, so it
 * may be done by itself. Who is in a minority changes nothing, and the table is changed by
 * compare-and-set; an operator may do it at once (`ragno cluster unseat`), and should, when half of
 * the agents are lost. That the one without a seat is only cut off does no harm: it grants nothing
 * while it cannot confirm its table, and the others rest until what it has granted is over.
 * Each agent asks those with lower numbers, from the lowest on, until one is there. So messages
 * grow with the number of agents, and not with its square.
 *
 * A machine that a hypervisor stops for a while goes on as if nothing had been: none of its clocks
 * shows it, but others' do. Ours is taken from before the first question until after the second
 * answer, and theirs from between, so that slow messages never look like a pause. In place of the
 * second answer goes any message about leases, since it has its sender's clock: so where there are
 * many, little is asked. Another agent is asked in place of one that is silent; of a cluster with
 * one agent that is there, nobody can tell, and nobody else has leases.
 *
 * Owns: what was heard for the pulse; when each was heard is the members'. Time is a parameter;
 * belongs to one thread.
 * Invariant: after a pause, leases from before it are used for 2 * PULSE_MS of this process's own
 * running time and a round trip at most, while one of the two agents was not stopped itself; for
 * PULSE_DEAF_MS where the network is gone, too, when it goes on. A request that is in flight at the
 * moment of the pause ends after it in any case. */
#pragma once

#include "cluster/desk/members.h"
#include "cluster/desk/table_keeper.h"

#define SEAT_LOOK_MS 3000
#define SEAT_MS      20000
#define SEAT_BACK_MS 600000

#define PULSE_MS       200
#define PULSE_SLACK_MS 100 /* clocks may differ by so much within a look */
#define PULSE_LATE_MS  1500
#define PULSE_FIRST_MS 3000 /* a first answer is good for so long */
#define PULSE_DEAF_MS  3000 /* leases are not used for longer without a word from outside */
#define PULSE_PEERS    2u

/* One agent that is asked. */
typedef struct PulsePeer {
    uint16_t agent;
    uint64_t asked; /* number of the question in flight; 0: none */
    MonoTime sent;  /* by our clock */
    bool known;     /* what follows */
    MonoTime first; /* the question of the last answer, by our clock */
    uint64_t clock; /* of the last answer, by theirs: milliseconds */
    MonoTime heard; /* its clock, last */
} PulsePeer;

typedef struct WatchDesk {
    NodeLink *link; /* borrowed, as the next one */
    TableKeeper *keeper;
    MonoTime next_look; /* at the seats */
    PulsePeer peers[PULSE_PEERS];
    uint64_t last;
    bool holds;     /* leases */
    bool deaf;      /* it was told that nothing is heard */
    MonoTime heard; /* something, of whom ever; or when leases were held first */
} WatchDesk;

void watch_desk_init(WatchDesk *desk, NodeLink *link, TableKeeper *keeper);
/* There are more members. */
void watch_desk_set(WatchDesk *desk, MonoTime now);
/* Nobody is silent before SEAT_MS from now. */
void watch_desk_up(WatchDesk *desk, MonoTime now);
/* What came of a question; true: time has passed that we have not counted. */
bool watch_desk_take(WatchDesk *desk, NodeMessage *in, MonoTime now);
/* A message about leases has come from an agent, which begins with its number: likewise. */
bool watch_desk_hear(WatchDesk *desk, const NodeMessage *in, MonoTime now);
/* Something has come from outside. */
void watch_desk_heard(WatchDesk *desk, MonoTime now);
/* holds: leases. True, once: for too long nothing has come, and they are not to be used any more.
 */
bool watch_desk_work(WatchDesk *desk, bool holds, MonoTime now);
MonoTime watch_desk_next(const WatchDesk *desk);
