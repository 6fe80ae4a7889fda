/* The lease desk: a node's arbiter and holder (cluster/lease), and their messages.
 *
 * What: what the holder has to say goes to the arbiters, which may be this node's own; others'
 * lines are answered; hints go where they belong, those of one moment to one agent in one message.
 *   UP, or some address rests --NODE_ASK_HELD--> each other agent --what it holds--> [census]
 *        all have answered, with our table and no newer edict: what is granted is known, and so is
 *        that our table is the newest
 *
 * The census takes the place of the rest (lease.h, invariant 3), and, at a start, of the time in
 * which others might put back what a server has forgotten. Without an answer of all, both take
 * their time.
 *
 * Owns: arbiter and holder. Time is a parameter; belongs to one thread. */
#pragma once

#define CENSUS_AGAIN_MS 300 /* until who has not answered is asked again */

#include "cluster/lease/lease_arbiter.h"
#include "cluster/lease/lease_holder.h"
#include "cluster/message/node_link.h"

typedef enum Counted {
    COUNTED_NOT,
    COUNTED,
    COUNTED_NOBODY /* no process has ever been it */
} Counted;

typedef struct LeaseDesk {
    NodeLink *link; /* borrowed */
    LeaseRules rules;
    LeaseArbiter *arbiter;
    LeaseHolder *holder;
    uint64_t dead_below;
    LeaseItem items[LEASE_ITEMS_MOST]; /* scratch, as the next three */
    LeaseAnswer answers[LEASE_ITEMS_MOST];
    LeaseHint hints[LEASE_ITEMS_MOST];
    LeaseHeld held[LEASE_HELD_MOST];
    MonoTime next_hints; /* none is sent before */
    int64_t pace_ms;
    uint8_t *counted; /* Counted, by agent; owned */
    uint64_t census;  /* number of it */
    uint32_t n_agents;
    bool counting;
    bool
        known; /* the census has ended with all answers: whoever sees to that takes the mark away */
    bool alone; /* no former process of this agent can hold anything */
    MonoTime begun;
    MonoTime settled;     /* the census counts for this, too */
    MonoTime next_census; /* question */
} LeaseDesk;

/* The link's agent and session are set. alone: no former process of this agent can hold anything.
 * RESULT_MEMORY: it is to be destroyed all the same. */
Result lease_desk_init(LeaseDesk *desk, NodeLink *link, const LeaseRules *rules, size_t addresses,
                       uint64_t dead_below, bool alone, const LeaseNoticeSink *sink, MonoTime now);
void lease_desk_destroy(LeaseDesk *desk);

/* This agent stops: gives back what it holds, and grants nothing from now on. */
void lease_desk_close(LeaseDesk *desk, MonoTime now);
/* The connection is there: the census begins, until everything has rested in any case. */
void lease_desk_up(LeaseDesk *desk, MonoTime settled, MonoTime now);
/* What another agent's arbiter asks of us: what we hold. edict: the newest one that is known here.
 */
void lease_desk_tell_held(LeaseDesk *desk, const NodeMessage *in, uint64_t edict, MonoTime now);
/* An answer to that. */
void lease_desk_count(LeaseDesk *desk, NodeMessage *in, uint64_t edict, MonoTime now);
/* A table was committed. RESULT_MEMORY: the arbiters are as before. */
Result lease_desk_set(LeaseDesk *desk, const ClusterTable *table, MonoTime now);
/* A message to "lease.N", one to "hint.N", what came of a message to an arbiter. */
void lease_desk_asked(LeaseDesk *desk, NodeMessage *in, MonoTime now);
void lease_desk_hinted(LeaseDesk *desk, NodeMessage *in, MonoTime now);
void lease_desk_take(LeaseDesk *desk, NodeMessage *in, MonoTime now);
/* Sends what is due. */
void lease_desk_work(LeaseDesk *desk, MonoTime now);
MonoTime lease_desk_next(const LeaseDesk *desk);
