/* The pulse desk: has time passed that no clock of this machine has counted?
 *
 *   every PULSE_MS, while leases are held: one of two other agents --its clock--> compared
 *        its clock went further than ours since the last time --> leases are asked for anew
 *
 * What: a machine that a hypervisor stops for a while goes on as if nothing had been: none of its
 * clocks shows it, but others' do. Ours is taken from before the first question until after the
 * second answer, and theirs from between, so that slow messages never look like a pause. Two agents
 * are asked in turn, and another one in place of one that is silent; of a cluster with one agent
 * that is there, nobody can tell, and nobody else has leases.
 *
 * Owns: what was heard last. Time is a parameter; belongs to one thread.
 * Invariant: after a pause, leases from before it are used for 2 * PULSE_MS of this process's own
 * running time and a round trip at most, while one of the two agents was not stopped itself. A
 * request that is in flight at the moment of the pause ends after it in any case. */
#ifndef CLUSTER_DESK_PULSE_DESK_H
#define CLUSTER_DESK_PULSE_DESK_H

#include "cluster/message/node_link.h"

#define PULSE_MS       200
#define PULSE_SLACK_MS 100 /* clocks may differ by so much within a look */
#define PULSE_LATE_MS  1500
#define PULSE_PEERS    2u

/* One agent that is asked. */
typedef struct PulsePeer {
    uint16_t agent;
    uint64_t asked; /* number of the question in flight; 0: none */
    MonoTime sent;  /* by our clock */
    bool known;     /* what follows */
    MonoTime first; /* the question of the last answer, by our clock */
    uint64_t clock; /* of the last answer, by theirs: milliseconds */
    MonoTime heard;
} PulsePeer;

typedef struct PulseDesk {
    NodeLink *link; /* borrowed */
    uint32_t n;     /* agents */
    PulsePeer peers[PULSE_PEERS];
    unsigned turn;
    uint64_t last;
    MonoTime next;
    Buffer bytes;
} PulseDesk;

void pulse_desk_init(PulseDesk *desk, NodeLink *link);
void pulse_desk_destroy(PulseDesk *desk);
/* The number of agents. */
void pulse_desk_set(PulseDesk *desk, uint32_t n, MonoTime now);
/* What came of a question; true: time has passed that we have not counted. */
bool pulse_desk_take(PulseDesk *desk, const TransportEvent *event, MonoTime now);
/* holds: leases. */
void pulse_desk_work(PulseDesk *desk, bool holds, MonoTime now);
MonoTime pulse_desk_next(const PulseDesk *desk);

#endif
