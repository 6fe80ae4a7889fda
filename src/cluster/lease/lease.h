/* Leases of addresses: two agents that crawl hosts of one address never ask it at the same time,
 * nor too soon one after the other.
 *
 *   workbench        holder                                 arbiter of the address
 *   wants it ------> LEASE_WANT -------------------------->  queues it; free and nobody before it:
 *                       <------------------------- GRANTED       granted, with a number; soon
 *                                                                free: to begin then
 *                       <---------------------------- WAIT   or it waits
 *                       <--------------------- hint: OFFER   its turn has come: kept free a moment
 *                    LEASE_WANT ----------- GRANTED ------>  (as above)
 *   fetches as it likes until the end
 *                    LEASE_WANT at two thirds -- GRANTED ->  nobody waits: longer
 *                       <----------- hint: OTHERS or WAIT    somebody does
 *   has no use for it, or the end has come and the last fetch is over
 *               ---> LEASE_RELEASE ----------------------->  the next one, after the rest it names
 *
 * What: the rules that both sides share, and the lines of their messages. lease_holder.h is one
 * side, lease_arbiter.h the other.
 *
 * Threads: none of its own.
 * Invariants:
 *  1. A holder begins a fetch only before the end of a lease, which it counts from before it
 *     asked; the arbiter counts from when it granted, which is later. So no common clock is
 *     needed, only that clocks run equally fast within LEASE_DRIFT.
 *  2. An arbiter grants an address again when it was released, or when so much time has passed
 *     that the last fetch has ended in any case (lease_busy_ms). What is granted while it still
 *     rests begins after the rest, which the holder counts from the answer on. (The model of 3 has
 *     no such early grants; tests/sim has.)
 *  3. (doc/spec/leases.pml has all of this as a model.) An arbiter grants nothing while it does not
 * know the cluster table to be the newest (confirm_ms), and nothing for lease_rest_ms after it
 * began or was given the address by a table, since it does not know what was granted before. One
 * that every other agent has told what it holds rests for the delay alone: each of these has the
 * same table, no former process of it can hold anything, and believes no grant of the arbiter's
 * former process, nor of a former arbiter, from then on (cluster/desk/lease_desk.h).
 *  4. Messages may be lost, repeated, late and out of order: nothing of this depends on them but
 *     progress.
 * Source: MANY-MACHINES 5; Gray, Cheriton: Leases, 1989. */
#pragma once

#include "base/core/clock.h"
#include "parse/host/ip_address.h"

typedef struct LeaseRules {
    int64_t term_ms;    /* of a lease */
    int64_t fetch_ms;   /* the longest that a fetch takes once it has begun */
    int64_t delay_ms;   /* between two fetches from an address */
    int64_t confirm_ms; /* how long a look at the cluster table is good for */
    int64_t stale_ms;   /* a look may show what the table was so long before it began */
    int64_t pace_ms;    /* between two messages from one agent to another */
    int64_t lead_ms;    /* so long before an address is free it is granted, to begin then */
} LeaseRules;

/* The number of a holder's message: its clock in such units, or one more than the number before, so
 * that whoever hears it knows what time it is there (cluster/desk/watch_desk.h). */
#define LEASE_TICK_BITS 14u

#define LEASE_DRIFT 5000 /* clocks differ by less than this part: 2 in 10 000 */

/* Who holds or waits: a process that runs as an agent. Sessions of an agent that come later are
 * greater numbers. */
typedef struct LeaseClient {
    uint16_t agent;
    uint64_t session;
} LeaseClient;

typedef enum LeaseAsk {
    LEASE_WANT,   /* also takes up an offer, and extends a lease */
    LEASE_RELEASE /* it neither holds the address nor waits for it */
} LeaseAsk;

/* One line of a message from a holder. */
typedef struct LeaseItem {
    LeaseAsk ask;
    IpAddress address;
    uint64_t number;          /* of a want: of the lease it has; 0: none that it knows of */
    int64_t rest_ms;          /* of a release: how long the address is to be left alone */
    struct LeaseClaim *claim; /* the holder's own (lease_holder.h); not in the message */
} LeaseItem;

typedef enum LeaseSaid {
    LEASE_GRANTED,
    LEASE_WAIT,      /* there will be an offer */
    LEASE_RELEASED,  /* to LEASE_RELEASE */
    LEASE_ELSEWHERE, /* another agent decides, by the arbiter's table */
    LEASE_ANSWERS
} LeaseSaid;

/* The answer to one line, in the same order. */
typedef struct LeaseAnswer {
    LeaseSaid said;
    uint64_t number; /* of what is granted */
    bool others;     /* some wait */
    int64_t wait_ms; /* of what is granted: nothing begins before so much time has passed */
} LeaseAnswer;

/* What a holder tells an arbiter that begins. */
typedef struct LeaseHeld {
    IpAddress address;
    int64_t left_ms; /* of the lease; a fetch may be under way for longer */
} LeaseHeld;
#define LEASE_HELD_MOST 4096u /* in one answer; who holds more does not answer */

typedef enum LeaseHintKind {
    LEASE_OFFER, /* ask again now */
    LEASE_OTHERS /* others wait for what you hold */
} LeaseHintKind;

/* From an arbiter to a holder, by itself; may be lost. */
typedef struct LeaseHint {
    LeaseHintKind kind;
    LeaseClient to;
    IpAddress address;
} LeaseHint;
