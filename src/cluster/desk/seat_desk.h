/* The seat desk: who arbitrates, when an agent is away for long.
 *
 *   the lowest agent that is there --NODE_ASK_EDICTS--> all others
 *        silent for SEAT_MS, and more than half of all are there --> the table: without a seat
 *        it answers for SEAT_BACK_MS                             --> the table: seated again
 *
 * What: an agent without a seat decides about no address; it keeps its hosts, which wait for it. To
 * move arbitration costs the others a rest for its addresses (lease_arbiter.h) and no URL, so it
 * may be done by itself. Who is in a minority changes nothing, and the table is changed by
 * compare-and-set; an operator may do it at once (`ragno cluster unseat`), and should, when half of
 * the agents are lost. That the one without a seat is only cut off does no harm: it grants nothing
 * while it cannot confirm its table, and the others rest until what it has granted is over.
 *
 * Each agent asks those with lower numbers, from the lowest on, until one is there. So messages
 * grow with the number of agents, and not with its square.
 *
 * Owns: when each was heard. Time is a parameter; belongs to one thread. */
#ifndef CLUSTER_DESK_SEAT_DESK_H
#define CLUSTER_DESK_SEAT_DESK_H

#include "cluster/desk/table_keeper.h"

#define SEAT_LOOK_MS 3000
#define SEAT_MS      20000
#define SEAT_BACK_MS 600000

typedef struct SeatPeer {
    MonoTime heard;
    MonoTime since; /* it answers without a gap of SEAT_MS */
} SeatPeer;

typedef struct SeatDesk {
    NodeLink *link;      /* borrowed */
    TableKeeper *keeper; /* borrowed */
    SeatPeer *peers;     /* by number; owned */
    uint32_t n;
    MonoTime next;
    Buffer bytes;
} SeatDesk;

void seat_desk_init(SeatDesk *desk, NodeLink *link, TableKeeper *keeper);
void seat_desk_destroy(SeatDesk *desk);
/* The number of agents. RESULT_MEMORY. */
Result seat_desk_resize(SeatDesk *desk, uint32_t n, MonoTime now);
/* Nobody is silent before SEAT_MS from now. */
void seat_desk_up(SeatDesk *desk, MonoTime now);
/* What came of a question. */
void seat_desk_take(SeatDesk *desk, const TransportEvent *event, MonoTime now);
void seat_desk_work(SeatDesk *desk, MonoTime now);
MonoTime seat_desk_next(const SeatDesk *desk);

#endif
