/* Lease peer: what a holder has to say to each arbiter. A part of lease_holder.h.
 *
 * What: claims with something to send wait in a queue, and one message of them is in flight at a
 * time.
 * Owns: the queues and the messages; claims are the holder's. Time is a parameter.
 * Threads: one at a time. */
#ifndef CLUSTER_LEASE_LEASE_PEER_H
#define CLUSTER_LEASE_LEASE_PEER_H

#include "base/core/result.h"
#include "base/memory/heap.h"
#include "base/memory/map.h"
#include "cluster/lease/lease.h"

/* One address that is wanted, held, or being given back. */
typedef struct LeaseClaim {
    IpAddress address;
    uint16_t arbiter;
    uint64_t ticket;
    bool wanted;       /* the workbench wants it, or has it */
    bool held;         /* it was granted, and not given back since */
    bool others;       /* wait for it, as far as is known */
    bool told;         /* that the lease has ended */
    bool ask;          /* LEASE_WANT is to be sent */
    bool leaves;       /* LEASE_RELEASE is to be sent, with rest_end */
    unsigned messages; /* in flight that speak of it: two when its arbiter has changed meanwhile */
    uint64_t number;   /* of the lease while it is held; 0: its arbiter does not know it */
    MonoTime end;
    MonoTime rest_end;
    HeapNode timer; /* extension, end, refresh */
    struct LeaseClaim *next_queued;
    bool queued;
} LeaseClaim;

/* An arbiter. */
typedef struct LeasePeer {
    uint16_t agent;
    HeapNode due;    /* when a message may be sent, or the wait for an answer ends */
    uint64_t number; /* of the message in flight; 0: none */
    MonoTime sent;
    MonoTime not_before; /* the next one */
    LeaseClaim *first;   /* with something to send */
    LeaseClaim *last;
    LeaseItem *items;    /* of the message in flight */
    LeaseClaim **claims; /* and whose they are; the items of one stand together */
    size_t n;
} LeasePeer;

typedef struct LeasePeers {
    Map peers; /* by agent + 1 */
    Heap due;
} LeasePeers;

void lease_peers_init(LeasePeers *peers);
void lease_peers_destroy(LeasePeers *peers);

/* A claim has something to say to its arbiter. Without memory, or without an arbiter, nothing
 * happens: its timer comes by again. */
void lease_peers_queue(LeasePeers *peers, LeaseClaim *claim);
/* The peer of an agent if its message in flight has this number; NULL. */
LeasePeer *lease_peers_with(LeasePeers *peers, uint16_t agent, uint64_t number);
/* Its number, its times or its queue have changed. */
void lease_peers_place(LeasePeers *peers, LeasePeer *peer);
/* Takes what waits into the peer's items; peer->n of them. Claims that have another arbiter by now
 * go to that one. */
void lease_peers_fill(LeasePeers *peers, LeasePeer *peer, MonoTime now);

#endif
